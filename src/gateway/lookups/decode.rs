//! From the bytes of a file to text, if it is one.

use encoding_rs::{GB18030, UTF_16BE, UTF_16LE};

use super::compose::OpenedFile;
use crate::envelope::Resource;

/// How the files of kinds begin that hold no text to read, whatever their bytes look like.
const BINARY_BEGINNINGS: [&[u8]; 4] = [b"%PDF", b"PK\x03\x04", b"\x89PNG", b"GIF8"];

/// Opens a file of which the beginning is there.
pub(super) fn open(resource: &Resource) -> OpenedFile {
    let read = u64::try_from(resource.bytes.len()).unwrap_or(u64::MAX);
    let is_cut = resource.length.is_none_or(|length| length > read);
    match text(&resource.bytes, is_cut) {
        Some(text) => OpenedFile::Text { text, is_cut },
        None => OpenedFile::Binary { length: resource.length },
    }
}

/// The text in UTF-8, UTF-16 with a mark, or GB18030, which files from Chinese systems often are.
fn text(bytes: &[u8], is_cut: bool) -> Option<String> {
    if BINARY_BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning)) {
        return None;
    }
    let marked = [([0xff, 0xfe], UTF_16LE), ([0xfe, 0xff], UTF_16BE)];
    for (mark, encoding) in marked {
        if bytes.starts_with(&mark) {
            let (text, _had_errors) = encoding.decode_with_bom_removal(bytes);
            return Some(text.into_owned()).filter(|text| is_plain(text));
        }
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(text) = utf8(bytes, is_cut) {
        return Some(text.to_owned()).filter(|text| is_plain(text));
    }
    let (text, had_errors) = GB18030.decode_without_bom_handling(bytes);
    let ends_within = is_cut && text.trim_end_matches('\u{fffd}').len() + 3 >= text.len();
    let is_sound = !had_errors || (ends_within && text.matches('\u{fffd}').count() == 1);
    Some(text.trim_end_matches('\u{fffd}').to_owned()).filter(|text| is_sound && is_plain(text))
}

/// UTF-8, whose last character may be cut in the middle if the file goes on.
fn utf8(bytes: &[u8], is_cut: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()
        }
        Err(_not_utf8) => None,
    }
}

/// Without control characters that no text has.
fn is_plain(text: &str) -> bool {
    let is_strange = |character: char| {
        character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}')
    };
    !text.contains(is_strange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], length: Option<u64>) -> Option<String> {
        match open(&Resource { bytes: bytes.to_vec(), length }) {
            OpenedFile::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    fn whole(bytes: &[u8]) -> Option<String> {
        shown(bytes, u64::try_from(bytes.len()).ok())
    }

    #[test]
    fn texts_are_read_in_the_encodings_that_files_have() {
        let (gb, ..) = GB18030.encode("姓名,电话\n张三,123");
        let mut utf16 = vec![0xff, 0xfe];
        utf16.extend("状态 ok".encode_utf16().flat_map(u16::to_le_bytes));
        for (bytes, text) in [
            ("plain\r\n\ttext".as_bytes(), "plain\r\n\ttext"),
            ("\u{feff}状态".as_bytes(), "状态"),
            (&gb, "姓名,电话\n张三,123"),
            (&utf16, "状态 ok"),
            (b"", ""),
        ] {
            assert_eq!(whole(bytes).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_text_is_not_taken_for_one() {
        let bytes: [&[u8]; 5] = [
            b"%PDF-1.4\nplain",
            b"PK\x03\x04",
            b"\x00\x01\x02",
            b"text\x00",
            b"\xff\xd8\xff\xe0\x00",
        ];
        for bytes in bytes {
            assert_eq!(whole(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_cut_at_the_end_of_a_beginning_is_left_out() {
        let utf8 = "状态".as_bytes();
        assert_eq!(shown(&utf8[..4], Some(6)).as_deref(), Some("状"));
        assert_eq!(shown(&utf8[..4], None).as_deref(), Some("状"), "the length is not known");
        let (gb, ..) = GB18030.encode("张三");
        assert_eq!(shown(&gb[..3], Some(4)).as_deref(), Some("张"));
        assert_eq!(whole(&gb[..3]), None, "a whole file does not end within a character");
    }
}
