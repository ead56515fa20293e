//! Text on its way out: no accidental mentions, nothing the platform's limit does not hold.

use serde_json::json;

/// The longest text of one message, in bytes of the request's `content` member as it travels.
///
/// The platform takes 150 KB a request for texts, but 30 KB for posts and cards. Parts are cut
/// once, before anybody knows in which form they will go out, so the smaller limit holds for all;
/// what is left of it is for the other members. Ten thousand Chinese characters are a long message.
pub(in crate::channels::lark) const TEXT_BYTES_MAX: usize = 30_000;

/// Breaks the `<at` that would make the platform notify somebody, or everybody. There is no
/// documented escape; an invisible character behind the bracket leaves the text readable.
///
/// Control characters other than line breaks and tabs become replacement characters: no client
/// shows them, and each would take seven bytes of the request.
pub(in crate::channels::lark) fn neutralise(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let printable = !character.is_control() || matches!(character, '\n' | '\t' | '\r');
        safe.push(if printable { character } else { char::REPLACEMENT_CHARACTER });
        let next = characters.as_str().as_bytes();
        if character == '<' && next.get(..2).is_some_and(|two| two.eq_ignore_ascii_case(b"at")) {
            safe.push('\u{200b}');
        }
    }
    safe
}

/// The `content` member of a text message: JSON inside a JSON string.
pub(super) fn text_content(text: &str) -> String {
    json!({ "text": neutralise(text) }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_cannot_mention_anybody() {
        let attack = r#"<at user_id="all"></at> <AT id=x> a<b <attach>"#;
        let safe = neutralise(attack);
        assert!(!safe.to_lowercase().contains("<at"));
        assert_eq!(safe.replace('\u{200b}', ""), attack);
        assert_eq!(neutralise("a < b 状态\n\t"), "a < b 状态\n\t");
    }
}
