//! What a call says in the chat.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::alerts::Group;
use super::hook::{Hook, Preset};
use crate::base::limit::{ellipsis, prefix_bytes};
use crate::base::{FromHook, Locale, Say, TemplateError};
use crate::envelope::InPlace;

/// The longest text of a call in the chat, in bytes; what is longer is cut, with a mark.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1024;
/// The longest explanation of a template that failed, in characters.
const ERROR_CHARS_MAX: usize = 200;
/// Members of a body that say what it is about, the first of them that it has.
const TITLES: [&str; 3] = ["title", "subject", "summary"];
/// Members of a body that say it in words, the first of them that it has.
const TEXTS: [&str; 5] = ["message", "text", "content", "description", "body"];

/// What a call says in the chat.
pub(super) struct Said {
    pub(super) text: String,
    /// What went wrong with the template.
    pub(super) error: Option<TemplateError>,
    /// Whose message it takes the place of.
    pub(super) in_place: Option<InPlace>,
}

/// What a body says.
pub(super) fn said_by(hook: &Hook, body: &[u8]) -> Said {
    let read = serde_json::from_slice::<Value>(body).ok();
    let in_place = group(hook, read.as_ref()).map(|group| group.place(&hook.name));
    let (text, error) = text_of(hook, body, read);
    Said { text, error, in_place }
}

/// The alerts that a body tells of.
fn group<'a>(hook: &Hook, read: Option<&'a Value>) -> Option<Group<'a>> {
    read.filter(|_| hook.preset == Preset::Alertmanager).and_then(Group::of)
}

/// The text, and what went wrong with the template if something did.
fn text_of(hook: &Hook, body: &[u8], read: Option<Value>) -> (String, Option<TemplateError>) {
    let text = String::from_utf8_lossy(body);
    let Some(template) = &hook.template else {
        return (plain(hook, read.as_ref(), &text), None);
    };
    match template.render(&content(read, &text), TEXT_BYTES_MAX) {
        // A template for other calls than this one: what it says would be marks without words.
        Ok((rendered, _is_cut)) if !rendered.chars().any(char::is_alphanumeric) => {
            let read = serde_json::from_slice::<Value>(body).ok();
            (plain(hook, read.as_ref(), &text), None)
        }
        Ok((rendered, is_cut)) => {
            (if is_cut { cut(hook.locale, rendered) } else { rendered }, None)
        }
        Err(error) => {
            let error_text = ellipsis(&error.to_string(), ERROR_CHARS_MAX);
            let note = say(hook.locale, FromHook::TemplateFailed { error: error_text });
            let read = serde_json::from_slice::<Value>(body).ok();
            (format!("{}\n\n{note}", plain(hook, read.as_ref(), &text)), Some(error))
        }
    }
}

/// What a template is given: the members of the body by name, and all of it as `body`; what is no
/// JSON as `text`.
fn content(read: Option<Value>, text: &str) -> Value {
    let Some(read) = read else { return json!({ "text": text }) };
    let mut names = read.as_object().cloned().unwrap_or_else(Map::new);
    names.insert("body".to_owned(), read);
    Value::Object(names)
}

/// What is said without a template.
fn plain(hook: &Hook, read: Option<&Value>, text: &str) -> String {
    if let Some(group) = group(hook, read) {
        return group.text(hook.locale);
    }
    let said: Cow<'_, str> = match read {
        Some(value) => Cow::Owned(readable(value)),
        None => Cow::Borrowed(text.trim()),
    };
    if said.is_empty() {
        return say(hook.locale, FromHook::Empty { hook: hook.name.clone() });
    }
    shortened(hook.locale, &said)
}

/// Title and text if the value has them, else all of it, laid out as code.
fn readable(value: &Value) -> String {
    let member = |names: &[&str]| {
        let texts = names.iter().filter_map(|name| value.get(*name)?.as_str());
        texts.map(str::trim).find(|text| !text.is_empty())
    };
    match (member(&TITLES), member(&TEXTS), value) {
        (Some(title), Some(text), _) => format!("**{title}**\n{text}"),
        (Some(alone), None, _) | (None, Some(alone), _) => alone.to_owned(),
        (None, None, Value::String(text)) => text.trim().to_owned(),
        (None, None, _) => {
            let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
            format!("```json\n{}\n```", prefix_bytes(&pretty, TEXT_BYTES_MAX).trim_end())
        }
    }
}

fn shortened(locale: Locale, text: &str) -> String {
    let prefix = prefix_bytes(text, TEXT_BYTES_MAX);
    if prefix.len() == text.len() { text.to_owned() } else { cut(locale, prefix.to_owned()) }
}

/// The mark behind what was cut. An open block of code is closed first.
fn cut(locale: Locale, mut text: String) -> String {
    if text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1 {
        text.push_str("\n```");
    }
    format!("{text}\n{}", say(locale, FromHook::Cut))
}

fn say(locale: Locale, what: FromHook) -> String {
    Say::FromHook(what).text(locale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BotName, ChatId, Template};
    use crate::channels::webhook::hook::{LastBodies, Preset};
    use crate::channels::webhook::verify::Verify;

    #[test]
    fn a_template_that_finds_no_words_leaves_the_body_as_it_is() {
        let template = Template::parse("**{{ alert.title }}** {{ alert.text }}").unwrap();
        let hook = Hook {
            name: "alerts".to_owned(),
            verify: Verify::Nothing,
            id_header: None,
            preset: Preset::Generic,
            bot: BotName::new("assistant"),
            chat: ChatId::new("oc_1"),
            template: Some(template),
            locale: Locale::EnUs,
            last: LastBodies::default(),
        };
        let Said { text, error, .. } = said_by(&hook, br#"{"x":1}"#);
        assert!(text.contains("\"x\": 1") && error.is_none(), "{text}");
        let said = said_by(&hook, br#"{"alert":{"title":"Disk full"}}"#);
        assert_eq!((said.text.trim(), said.in_place), ("**Disk full**", None));
    }
}
