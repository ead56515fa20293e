//! Mentions: who is named, and the placeholders that stand for them in a text.
//!
//! Only keys listed in the message's own `mentions` stand for anybody: a person can type the
//! same characters. `@_user_1` is a prefix of `@_user_10`, so placeholders are read as tokens.

use serde_json::Value;

use super::{one_line, trim, trim_address};
use crate::base::UserId;
use crate::envelope::Mention;

/// The placeholder of everybody.
pub(super) const KEY_ALL: &str = "@_all";
/// How everybody is written in the text.
pub(super) const NAME_ALL: &str = "@all";
/// What the placeholders of persons begin with.
const KEY_USER: &str = "@_user_";
/// The longest name written in the place of a mention, in characters.
const NAME_CHARS_MAX: usize = 64;

/// One entry of a message's `mentions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::channels::lark) struct Named {
    /// The placeholder.
    pub(super) key: String,
    id: Option<String>,
    name: String,
    /// It stands for everybody.
    pub(in crate::channels::lark) everybody: bool,
}

impl Named {
    /// Reads a `mentions` member; entries without a key and other shapes are left out. The id is
    /// an object of ids in events and a plain text in answers of the API.
    pub(in crate::channels::lark) fn list(mentions: &Value) -> Vec<Self> {
        let entries = mentions.as_array().map(Vec::as_slice).unwrap_or_default();
        entries.iter().filter_map(Self::read).collect()
    }

    fn read(entry: &Value) -> Option<Self> {
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let key = text(entry.get("key"))?;
        let ids = entry.get("id");
        let of = |name: &str| text(ids.and_then(|ids| ids.get(name)));
        let id = text(ids)
            .or_else(|| of("open_id"))
            .or_else(|| of("user_id"))
            .or_else(|| of("union_id"));
        let everybody = key == KEY_ALL || id.as_deref() == Some("all");
        Some(Self { everybody, id, name: text(entry.get("name")).unwrap_or_default(), key })
    }

    /// Whether it names `own`.
    pub(super) fn is(&self, own: Option<&UserId>) -> bool {
        self.id.is_some() && self.id.as_deref() == own.map(UserId::as_str)
    }

    pub(super) fn mention(&self) -> Mention {
        Mention { id: self.id.as_deref().map(UserId::new), name: self.shown_name() }
    }

    fn shown_name(&self) -> String {
        let name = one_line(&self.name, NAME_CHARS_MAX);
        if name.is_empty() {
            one_line(self.id.as_deref().unwrap_or(&self.key), NAME_CHARS_MAX)
        } else {
            name
        }
    }

    /// What stands in the text in the place of the placeholder.
    pub(super) fn shown(&self, own: Option<&UserId>) -> String {
        if self.everybody {
            NAME_ALL.to_owned()
        } else if self.is(own) {
            String::new()
        } else {
            format!("@{}", self.shown_name())
        }
    }
}

/// A text with its placeholders replaced.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) everybody: bool,
}

/// A text with placeholders.
#[derive(Debug)]
pub(super) struct TextMentions<'a> {
    text: &'a str,
    named: &'a [Named],
    own: Option<&'a UserId>,
    /// Keys that occur as tokens of their own, so that longer tokens are not meant to hold them.
    whole: Vec<&'a str>,
}

impl<'a> TextMentions<'a> {
    pub(super) fn new(text: &'a str, named: &'a [Named], own: Option<&'a UserId>) -> Self {
        let tokens: Vec<&str> =
            text.match_indices('@').filter_map(|(at, _)| user_token(text.get(at..)?)).collect();
        let whole = named
            .iter()
            .map(|named| named.key.as_str())
            .filter(|key| tokens.contains(key))
            .collect();
        Self { text, named, own, whole }
    }

    pub(super) fn replace(&self) -> Replaced {
        let mut replaced = Replaced::default();
        let mut rest = self.text;
        let mut addressed = false;
        while let Some(at) = rest.find('@') {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            replaced.text.push_str(before);
            rest = if let Some((named, behind)) = self.placeholder(from) {
                addressed |= named.is(self.own) && trim(&replaced.text).is_empty();
                replaced.text.push_str(&named.shown(self.own));
                behind
            } else if let Some(behind) = everybody(from) {
                replaced.everybody = true;
                replaced.text.push_str(NAME_ALL);
                behind
            } else {
                replaced.text.push('@');
                from.strip_prefix('@').unwrap_or("")
            };
        }
        replaced.text.push_str(rest);
        if addressed {
            replaced.text = trim_address(&replaced.text).to_owned();
        }
        replaced
    }

    /// The entry whose placeholder `text` begins with, and what follows it.
    fn placeholder<'t>(&self, text: &'t str) -> Option<(&'a Named, &'t str)> {
        let token = user_token(text);
        let exact = |key: &str| token == Some(key);
        // Digits typed right behind a placeholder lengthen its token. Then the longest key that
        // stands nowhere else is the one that was meant.
        let lengthened = |key: &str| !self.whole.contains(&key) && text.starts_with(key);
        let fits = |named: &&Named| {
            let key = named.key.as_str();
            if named.everybody {
                key != KEY_ALL && text.starts_with(key)
            } else {
                exact(key) || lengthened(key)
            }
        };
        let named = self
            .named
            .iter()
            .find(|named| exact(&named.key))
            .or_else(|| self.named.iter().filter(fits).max_by_key(|named| named.key.len()))?;
        Some((named, text.strip_prefix(named.key.as_str())?))
    }
}

/// The token of a person's placeholder at the beginning of `text`, with all its digits.
fn user_token(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(KEY_USER)?.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    text.get(..KEY_USER.len() + digits)
}

/// What follows the placeholder of everybody at the beginning of `text`. A letter, digit or
/// underscore behind it makes it another word.
fn everybody(text: &str) -> Option<&str> {
    let behind = text.strip_prefix(KEY_ALL)?;
    let continues = |character: char| character.is_ascii_alphanumeric() || character == '_';
    (!behind.starts_with(continues)).then_some(behind)
}
