//! From a message's type and content to text, attachments and mentions.
//!
//! Text and rich text are converted in full; every other type becomes a placeholder that names
//! what it stands for, so that nothing is dropped silently. Names and texts stay untrusted: they
//! are cleaned of control characters where they enter a placeholder, nothing more.

mod card;
mod mention;
mod other;
mod post;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::base::UserId;
use crate::base::limit::trim;
use crate::envelope::{Attachment, Mention};

pub(super) use card::UNTITLED;
pub(super) use mention::Named;
use mention::TextMentions;

/// A message as the engine reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    /// The text, the bot's own mentions removed, others as `@Name`, the ends trimmed.
    pub(super) text: String,
    /// What was sent along.
    pub(super) attachments: Vec<Attachment>,
    /// Who was named, the bot itself left out.
    pub(super) mentions: Vec<Mention>,
    /// The bot was named.
    pub(super) mentions_bot: bool,
    /// Everybody was named.
    pub(super) mentions_all: bool,
    /// It consists of attachments that can be looked at, and no word.
    pub(super) only_attachments: bool,
}

/// Converts a message. `own` is the bot's id, whose mentions are removed.
pub(super) fn render(
    message_type: &str,
    content: &str,
    named: &[Named],
    own: Option<&UserId>,
) -> Rendered {
    if message_type == "text"
        && content.starts_with('{')
        && let Ok(content) = serde_json::from_str::<TextContent<'_>>(content)
    {
        // What comes most often does not become a tree.
        return finish(text_message(&content.text, named, own), named, own);
    }
    let parsed: Option<Value> = serde_json::from_str(content).ok();
    let parsed = parsed.as_ref().filter(|value| value.is_object());
    let rendered = match (message_type, parsed) {
        ("text", Some(object)) => {
            let text = object.get("text").and_then(Value::as_str).unwrap_or("");
            text_message(text, named, own)
        }
        // Content that is no JSON is kept as the words it consists of.
        ("text" | "post", None) => text_message(content, &[], own),
        ("post", Some(object)) => post::render(object, named, own),
        ("interactive", Some(object)) => card::render(object, named),
        (kind, object) => other::render(kind, object.unwrap_or(&Value::Null)),
    };
    finish(rendered, named, own)
}

/// A text message's content, as it should be.
#[derive(Deserialize)]
struct TextContent<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn finish(mut rendered: Rendered, named: &[Named], own: Option<&UserId>) -> Rendered {
    rendered.mentions_bot |= named.iter().any(|named| named.is(own));
    rendered.mentions_all |= named.iter().any(|named| named.everybody);
    rendered.mentions = named
        .iter()
        .filter(|named| !named.everybody && !named.is(own))
        .map(Named::mention)
        .collect();
    // No person types it, and what is behind it may be hidden from whoever reads on.
    let text = trim(&rendered.text);
    if text.len() < rendered.text.len() || text.contains('\0') {
        rendered.text = text.replace('\0', "");
    }
    rendered
}

fn text_message(text: &str, named: &[Named], own: Option<&UserId>) -> Rendered {
    let replaced = TextMentions::new(text, named, own).replace();
    Rendered { text: replaced.text, mentions_all: replaced.everybody, ..Rendered::default() }
}

/// The text behind an address: `@bot: /new` and `@bot，你好` address the bot with punctuation.
fn trim_address(text: &str) -> &str {
    let addressed = trim(text);
    trim(addressed.trim_start_matches([',', ':', '，', '：', '、']))
}

/// An untrusted name for use inside one line: control characters out, at most `chars_max` long.
pub(super) fn one_line(name: &str, chars_max: usize) -> String {
    let clean: String = name
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    crate::base::limit::ellipsis(trim(&clean), chars_max)
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
