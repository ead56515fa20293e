//! How much room a text takes as a card, without rendering it.

/// The card around a text.
const CARD_BYTES: usize = 700;
/// What a table needs besides its cells, each of its columns, and each cell.
const TABLE_BYTES: usize = 400;
const COLUMN_BYTES: usize = 130;
const CELL_BYTES: usize = 20;
/// A mention in the place of an `@` and a name.
const MENTION_BYTES: usize = 80;
/// A character that is written as an entity, or with an invisible one behind it.
const ENTITY_BYTES: usize = 6;

/// An upper bound, in bytes as they travel in the `content` member of a request (JSON inside of a
/// JSON string), of a card that says `text`. One pass, for it is asked again and again while a
/// long answer is cut.
pub(in crate::channels::lark) fn cost(text: &str) -> usize {
    CARD_BYTES + text.split_inclusive('\n').map(line).sum::<usize>()
}

fn line(line: &str) -> usize {
    let letters: usize = line.chars().map(letter).sum();
    let bars = line.bytes().filter(|byte| *byte == b'|').count();
    let is_delimiter = line.contains('-')
        && line
            .chars()
            .all(|letter| matches!(letter, '|' | ':' | '-' | '>') || letter.is_whitespace());
    letters
        + bars * CELL_BYTES
        + if is_delimiter { TABLE_BYTES + (bars + 1) * COLUMN_BYTES } else { 0 }
}

fn letter(letter: char) -> usize {
    match letter {
        '"' | '\\' => 4,
        '\n' | '\r' | '\t' => 3,
        '@' => MENTION_BYTES,
        '<' | '~' | ':' | '!' => ENTITY_BYTES,
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER.len_utf8(),
        letter => letter.len_utf8(),
    }
}
