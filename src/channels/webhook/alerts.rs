//! What Alertmanager says of a group of alerts, member by member: a group goes on firing as long as
//! one of its members does, and the others are told as what they are.
//!
//! Everything in a body is somebody's words: labels stand in code, sentences without marks of
//! Markdown, and there is a limit to all of it.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;

use super::text::TEXT_BYTES_MAX;
use crate::base::limit::one_line;
use crate::base::{AlertsSay, FromHook, Locale, Say};
use crate::envelope::InPlace;

/// So many members are listed, the others counted.
const LISTED_MAX: usize = 20;
/// The lines of members take at most this many bytes, which leaves room for what is around them.
const LINES_BYTES_MAX: usize = TEXT_BYTES_MAX - 3072;
/// The longest sentence of an alert, in characters.
const SENTENCE_CHARS_MAX: usize = 200;
/// The longest name or value of a label, in characters.
const LABEL_CHARS_MAX: usize = 80;
/// A line has at most this many labels.
const LABELS_MAX: usize = 8;
/// The longest link, in bytes.
const LINK_BYTES_MAX: usize = 1024;
/// The longest time, in bytes.
const TIME_BYTES_MAX: usize = 64;
/// The label with the name of an alert.
const NAME: &str = "alertname";
/// The label with what an alert is about.
const INSTANCE: &str = "instance";
/// Annotations that say what an alert is about, the first of them that it has.
const SENTENCES: [&str; 3] = ["summary", "description", "message"];

/// The alerts of one group.
pub(super) struct Group<'a> {
    key: &'a str,
    body: &'a Value,
    firing: Vec<Member<'a>>,
    resolved: Vec<Member<'a>>,
    /// Members that Alertmanager left out of its call.
    left_out: usize,
}

#[derive(Clone, Copy)]
struct Member<'a> {
    alert: &'a Map<String, Value>,
    is_over: bool,
}

impl<'a> Group<'a> {
    /// The group that a body tells of; `None` if it is not Alertmanager's.
    pub(super) fn of(body: &'a Value) -> Option<Self> {
        let key = body.get("groupKey")?.as_str().filter(|key| !key.is_empty())?;
        let alerts = body.get("alerts")?.as_array().filter(|alerts| !alerts.is_empty())?;
        let usual = body.get("status").and_then(Value::as_str);
        let member = |alert: &'a Value| {
            let alert = alert.as_object()?;
            let status = alert.get("status").and_then(Value::as_str).or(usual);
            Some(Member { alert, is_over: status == Some("resolved") })
        };
        let members: Option<Vec<_>> = alerts.iter().map(member).collect();
        let (resolved, firing) = members?.into_iter().partition(|member| member.is_over);
        let left_out = body.get("truncatedAlerts").and_then(Value::as_u64).unwrap_or_default();
        let left_out = usize::try_from(left_out).unwrap_or(usize::MAX);
        Some(Self { key, body, firing, resolved, left_out })
    }

    /// Whether none of its members goes on. Of those that were left out, the group's own word
    /// counts.
    fn is_over(&self) -> bool {
        let says_so = self.body.get("status").and_then(Value::as_str) == Some("resolved");
        self.firing.is_empty() && (self.left_out == 0 || says_so)
    }

    /// One message shows the group until it is over.
    pub(super) fn place(&self, hook: &str) -> InPlace {
        // A hook's name has no space.
        let key = hex::encode(Sha256::digest(format!("{hook} {}", self.key)));
        InPlace { key, is_last: self.is_over() }
    }

    /// All of it as Markdown.
    pub(super) fn text(&self, locale: Locale) -> String {
        let say = |what| Say::FromHook(FromHook::Alerts(what)).text(locale);
        let shared = Shared::by(&self.firing, &self.resolved);
        let mut text = self.heading(say);
        if let Some(told) = shared.sentence {
            text.push_str(&format!("\n{}", sentence(told)));
        }
        let mut room = Room { members: LISTED_MAX, bytes: LINES_BYTES_MAX };
        let kinds = [(AlertsSay::Firing, &self.firing), (AlertsSay::Resolved, &self.resolved)];
        let mut listed = 0;
        for (title, members) in kinds {
            let lines = members.iter().map(|member| member.line(&shared, say));
            let lines: Vec<String> = lines.take_while(|line| room.takes(line)).collect();
            if !lines.is_empty() {
                text.push_str(&format!("\n\n**{}**\n{}", say(title), lines.join("\n")));
            }
            listed += lines.len();
        }
        let members = self.firing.len() + self.resolved.len();
        let more = self.left_out.saturating_add(members - listed);
        if more > 0 {
            text.push_str(&format!("\n{}", say(AlertsSay::More { number: more })));
        }
        let link = self.body.get("externalURL").and_then(Value::as_str).and_then(link);
        if let Some(link) = link {
            text.push_str(&format!("\n\n[Alertmanager]({link})"));
        }
        text
    }

    /// What the group is called, and how many of it go on.
    fn heading(&self, say: impl Fn(AlertsSay) -> String) -> String {
        let (firing, resolved) = (self.firing.len(), self.resolved.len());
        let counts = if self.is_over() {
            AlertsSay::AllResolved { resolved }
        } else {
            AlertsSay::Counts { firing, resolved }
        };
        let members = self.firing.iter().chain(&self.resolved);
        let named = |labels: &'a Value| labels.get(NAME)?.as_str();
        let named = ["groupLabels", "commonLabels"]
            .iter()
            .filter_map(|place| self.body.get(place))
            .chain(members.filter_map(|member| member.alert.get("labels")))
            .find_map(named)
            .filter(|name| !name.trim().is_empty());
        let name = named.map_or_else(|| say(AlertsSay::Unnamed), sentence);
        format!("**{name}**: {}", say(counts))
    }
}

/// What all members have in common.
struct Shared<'a> {
    labels: HashMap<&'a str, &'a Value>,
    sentence: Option<&'a str>,
}

impl<'a> Shared<'a> {
    fn by(firing: &[Member<'a>], resolved: &[Member<'a>]) -> Self {
        let mut members = firing.iter().chain(resolved);
        let first = members.next();
        let mut labels: HashMap<_, _> = first.map(Member::labels).into_iter().flatten().collect();
        let mut sentence = first.and_then(Member::sentence);
        for member in members {
            labels.retain(|name, value| member.label(name) == Some(*value));
            sentence = sentence.filter(|told| member.sentence() == Some(told));
        }
        Self { labels, sentence }
    }
}

impl<'a> Member<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.alert.get(name)?.as_str()
    }

    fn labels(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let labels = self.alert.get("labels").and_then(Value::as_object);
        labels.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    fn label(&self, name: &str) -> Option<&'a Value> {
        self.alert.get("labels")?.get(name)
    }

    fn sentence(&self) -> Option<&'a str> {
        let annotations = self.alert.get("annotations")?;
        let mut told = SENTENCES.iter().filter_map(|name| annotations.get(name)?.as_str());
        told.find(|told| !told.trim().is_empty())
    }

    fn line(&self, shared: &Shared<'_>, say: impl Fn(AlertsSay) -> String) -> String {
        let told = self.sentence().filter(|told| shared.sentence != Some(told));
        let source = self.text("generatorURL").and_then(link);
        let parts = [
            Some(self.name(shared)).filter(|name| !name.is_empty()),
            told.map(sentence),
            self.times().map(&say),
            source.map(|link| format!("[{}]({link})", say(AlertsSay::Source))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("- {}", parts.join(" · "))
    }

    /// What tells it from the others: labels that these have not, else its instance, else whatever
    /// it has.
    fn name(&self, shared: &Shared<'_>) -> String {
        let others = || self.labels().filter(|(name, _)| *name != NAME);
        let own: Vec<String> = others()
            .filter(|(name, _)| !shared.labels.contains_key(name))
            .filter_map(pair)
            .take(LABELS_MAX)
            .collect();
        let instance = || self.label(INSTANCE).and_then(|value| pair((INSTANCE, value)));
        let names = match (own.as_slice(), instance()) {
            ([], Some(instance)) => vec![instance],
            ([], None) => others().filter_map(pair).take(LABELS_MAX).collect(),
            _ => own,
        };
        names.join(" ")
    }

    /// When it began, and when it ended if it did.
    fn times(&self) -> Option<AlertsSay> {
        let from = self.text("startsAt").and_then(minute);
        let to = self.text("endsAt").filter(|_| self.is_over).and_then(minute);
        Some(match (from, to) {
            (Some(from), Some(to)) => AlertsSay::Lasted { from, to },
            (Some(from), None) => AlertsSay::Since { from },
            (None, Some(to)) => AlertsSay::Until { to },
            (None, None) => return None,
        })
    }
}

/// How much more is listed.
struct Room {
    members: usize,
    bytes: usize,
}

impl Room {
    /// Whether a line is listed. Nothing is behind one that is not.
    fn takes(&mut self, line: &str) -> bool {
        let left = self.members.checked_sub(1).zip(self.bytes.checked_sub(line.len()));
        (self.members, self.bytes) = left.unwrap_or_default();
        left.is_some()
    }
}

/// A label in code, where no mark means anything.
fn pair((name, value): (&str, &Value)) -> Option<String> {
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let (name, value) = (one_line(name, LABEL_CHARS_MAX), one_line(&value, LABEL_CHARS_MAX));
    Some(format!("`{}`", format!("{name}={value}").replace('`', "'")))
}

/// One line of somebody's words, without the meaning that their marks could have.
fn sentence(text: &str) -> String {
    let line = one_line(text, SENTENCE_CHARS_MAX);
    let mut shown = String::with_capacity(line.len());
    let mut before = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let is_mark = match letter {
            '\\' | '`' | '*' | '[' | ']' | '<' | '~' | '|' => true,
            '_' => !(is_word(before) && is_word(letters.peek().copied())),
            '#' | '>' | '+' | '-' | '=' => before.is_none(),
            _ => false,
        };
        if is_mark {
            shown.push('\\');
        }
        shown.push(letter);
        before = Some(letter);
    }
    shown
}

/// The address of a page, as it can stand in a link; `None` for anything else.
fn link(written: &str) -> Option<String> {
    if written.len() > LINK_BYTES_MAX {
        return None;
    }
    let url = Url::parse(written).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let mut link = String::from(url);
    for (letter, code) in [('(', "%28"), (')', "%29"), ('<', "%3C"), ('`', "%60"), ('|', "%7C")] {
        link = link.replace(letter, code);
    }
    Some(link).filter(|link| link.len() <= LINK_BYTES_MAX)
}

/// A time to the minute. Alertmanager writes the year 1 for none.
fn minute(written: &str) -> Option<String> {
    let time: jiff::Timestamp = written.get(..TIME_BYTES_MAX.min(written.len()))?.parse().ok()?;
    let is_one = time > jiff::Timestamp::UNIX_EPOCH;
    is_one.then(|| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
#[path = "alerts_tests.rs"]
mod tests;
