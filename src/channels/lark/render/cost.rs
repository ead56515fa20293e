//! How much room a text takes as a card, without rendering it.

/// The card around a text.
const CARD_BYTES: usize = 700;
/// What a table needs besides its cells, and each of its columns.
const TABLE_BYTES: usize = 400;
const COLUMN_BYTES: usize = 130;

/// An upper bound, in bytes as they travel in the `content` member of a request (JSON inside of a
/// JSON string), of a card that says `text`. One pass, for it is asked again and again while a
/// long answer is cut.
pub(in crate::channels::lark) fn cost(text: &str) -> usize {
    // Looked up for each byte, which is quicker than asking.
    let costs: [usize; 256] = std::array::from_fn(|byte| u8::try_from(byte).map_or(0, byte_cost));
    let mut bytes = CARD_BYTES;
    let mut line = Line::default();
    for byte in text.bytes() {
        bytes += costs.get(usize::from(byte)).copied().unwrap_or_default();
        match byte {
            b'|' => line.bars += 1,
            b'-' => line.has_dash = true,
            b'\n' => bytes += std::mem::take(&mut line).delimiter(),
            b':' | b' ' | b'\t' | b'\r' | b'>' => {}
            _ => line.has_words = true,
        }
    }
    bytes + line.delimiter()
}

/// What was read of a line.
#[derive(Default)]
struct Line {
    bars: usize,
    has_dash: bool,
    has_words: bool,
}

impl Line {
    /// What a table takes besides its cells, if this is the line below its head.
    fn delimiter(self) -> usize {
        if self.has_words || !self.has_dash {
            return 0;
        }
        TABLE_BYTES + (self.bars + 1) * COLUMN_BYTES
    }
}

/// What a byte may become.
const fn byte_cost(byte: u8) -> usize {
    match byte {
        // Quotes and backslashes are escaped twice.
        b'"' | b'\\' => 4,
        // So are line breaks; other control characters become a replacement character.
        0x00..=0x1f | 0x7f => 3,
        // Those beyond ASCII begin with this byte.
        0xc2 => 2,
        // A mention, a cell.
        b'@' => 80,
        b'|' => 21,
        // An entity.
        b'<' | b'~' | b':' | b'!' => 6,
        _ => 1,
    }
}
