//! Cutting text to a limit without breaking a character or hiding the cut.

/// The longest prefix of `text` that has at most `bytes_max` bytes and ends between characters.
pub fn prefix_bytes(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The first `chars_max` characters of `text`.
pub fn prefix_chars(text: &str, chars_max: usize) -> &str {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}

/// Characters without width, which clients leave at the ends of texts.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{180e}' | '\u{00ad}')
}

/// `text` without white space and invisible characters at its ends; its inside is not touched.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || is_invisible(character))
}

/// Whether there is nothing to see in `text`.
pub fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// `text` for use inside one line: control characters become spaces, and it is cut like by
/// [`ellipsis`].
pub fn one_line(text: &str, chars_max: usize) -> String {
    let clean = text.replace(char::is_control, " ");
    ellipsis(clean.trim(), chars_max)
}

/// `text` cut to `chars_max` characters, with an ellipsis in the place of what was cut.
pub fn ellipsis(text: &str, chars_max: usize) -> String {
    let prefix = prefix_chars(text, chars_max);
    if prefix.len() == text.len() {
        return text.to_owned();
    }
    format!("{}…", prefix_chars(text, chars_max.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(prefix_bytes("状态", 4), "状");
        assert_eq!(prefix_bytes("状态", 6), "状态");
        assert_eq!(prefix_bytes("状态", 100), "状态");
        assert_eq!(prefix_bytes("状态", 0), "");
    }

    #[test]
    fn one_line_has_no_breaks() {
        assert_eq!(one_line(" a\nb\u{0}c\r ", 10), "a b c");
        assert_eq!(one_line("部署进度如何", 4), "部署进…");
    }

    #[test]
    fn a_cut_text_says_so_and_keeps_its_length() {
        assert_eq!(ellipsis("部署进度如何", 4), "部署进…");
        assert_eq!(ellipsis("部署", 4), "部署");
        assert_eq!(prefix_chars("部署进度", 2), "部署");
    }
}
