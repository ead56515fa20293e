//! One hook, and what a genuine call becomes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};

use super::text::said_by;
use super::verify::{Verify, only};
use crate::base::{BotName, ChatId, Locale, MessageId, Template, Timestamp};
use crate::envelope::{AgentMessage, Channel, DedupKey, Destination, Errand, ErrandKind};
use crate::telemetry::Event;

/// A delivery id is known again for at least this long, and for less than twice as long. The
/// store keeps keys for 28 hours.
const ID_KNOWN: Duration = Duration::from_secs(12 * 60 * 60);
/// A body without an id and a time is taken for a repetition for at least this long, and for less
/// than twice as long: senders that had no answer try again within minutes, and the same alert an
/// hour later is a new one.
const BODY_KNOWN: Duration = Duration::from_secs(5 * 60);

/// One hook of the configuration.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Its name, also in its URL.
    pub name: String,
    /// How callers prove who they are.
    pub verify: Verify,
    /// The header with the caller's id of a delivery.
    pub id_header: Option<String>,
    /// The bot that speaks.
    pub bot: BotName,
    /// Where.
    pub chat: ChatId,
    /// Whose calls they are.
    pub preset: Preset,
    /// What it says; `None`: the readable part of the body.
    pub template: Option<Template>,
    /// The language of the daemon's own words in it.
    pub locale: Locale,
    /// The bodies of the last calls.
    pub last: LastBodies,
}

/// Whose calls are known better than by their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Nobody's in particular.
    Generic,
    /// Those of Prometheus' Alertmanager.
    Alertmanager,
}

/// The digest of the last body of a hook, and of all that were others before it: "down" after "up"
/// is no repetition of the "down" before. Known to the process alone.
#[derive(Clone, Debug, Default)]
pub struct LastBodies(Arc<Mutex<(String, String)>>);

impl LastBodies {
    /// What came before `body`, which is the last one now.
    fn before(&self, body: &str) -> String {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != body {
            let before = std::mem::replace(&mut last.0, body.to_owned());
            last.1 = hex::encode(Sha256::digest(format!("{} {before}", last.1)));
        }
        last.1.clone()
    }
}

/// A call that is genuine.
pub(super) struct Call<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) signed_at: Option<Timestamp>,
    pub(super) now: Timestamp,
}

impl Hook {
    /// What the call asks for, and the id by which people can ask about it.
    pub(super) fn errand(&self, call: &Call<'_>) -> (MessageId, Errand) {
        let said = said_by(self, call.body);
        if let Some(error) = said.error {
            Event::HookTemplateFailed { hook: &self.name, error: &error }.emit();
        }
        let (id, keys) = self.identify(call);
        let destination = Destination {
            bot: self.bot.clone(),
            channel: Channel::Lark,
            chat: self.chat.clone(),
            reply_to: None,
            in_thread: false,
            thread: None,
        };
        let message = AgentMessage::errand(Channel::Webhook, id.clone(), said.text, destination);
        let reason = format!("webhook {}", self.name);
        let errand = Errand {
            bot: self.bot.clone(),
            message: message.sent_at(call.now),
            keys,
            kind: ErrandKind::Post { reason, in_place: said.in_place },
        };
        (id, errand)
    }

    /// The id of a call, the same for a repetition of it, and the keys that make it one.
    fn identify(&self, call: &Call<'_>) -> (MessageId, Vec<DedupKey>) {
        let given = self.id_header.as_deref().and_then(|name| only(call.headers, name));
        let given = given.map(str::trim).filter(|id| !id.is_empty());
        let body = hex::encode(Sha256::digest(call.body));
        let key = |at: Timestamp, what: &str, told: &str| {
            DedupKey::new(at, &["hook", &self.name, what, told])
        };
        let mut keys = Vec::new();
        if let Some(id) = given {
            keys.extend(periods(call.now, ID_KNOWN).map(|at| key(at, "id", id)));
        }
        // The id is not signed, the time is: whoever repeats a call under a new id is found out.
        match (call.signed_at, given) {
            (Some(at), _) => keys.push(key(at, "signed", &body)),
            (None, None) => {
                let told = format!("{body} after {}", self.last.before(&body));
                keys.extend(periods(call.now, BODY_KNOWN).map(|at| key(at, "body", &told)));
            }
            (None, Some(_)) => {}
        }
        let first = keys.first().map(|key| hex::encode(key.to_bytes())).unwrap_or_default();
        (MessageId::new(format!("hook-{first}")), keys)
    }
}

/// The beginnings of the period of `now` and of the one before. A call is stored under both, so
/// that a repetition in the next period finds one of them.
fn periods(now: Timestamp, length: Duration) -> impl Iterator<Item = Timestamp> {
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let number = now.as_millis() / length;
    let start = move |number: u64| Timestamp::from_millis(number.saturating_mul(length));
    [start(number), start(number.saturating_sub(1))].into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(id_header: Option<&str>) -> Hook {
        Hook {
            name: "alerts".to_owned(),
            verify: Verify::Nothing,
            id_header: id_header.map(str::to_owned),
            preset: Preset::Generic,
            bot: BotName::new("assistant"),
            chat: ChatId::new("oc_1"),
            template: None,
            locale: Locale::EnUs,
            last: LastBodies::default(),
        }
    }

    fn keys(hook: &Hook, id: Option<&str>, signed_s: Option<u64>, now_s: u64) -> Vec<DedupKey> {
        let mut headers = HeaderMap::new();
        if let Some(id) = id {
            headers.insert("x-delivery-id", id.parse().unwrap());
        }
        let time = |seconds: u64| Timestamp::from_millis(seconds * 1000);
        let signed_at = signed_s.map(time);
        let call = Call { headers: &headers, body: b"{}", signed_at, now: time(now_s) };
        hook.identify(&call).1
    }

    fn meet(a: &[DedupKey], b: &[DedupKey]) -> bool {
        a.iter().any(|key| b.contains(key))
    }

    #[test]
    fn an_equal_body_is_a_repetition_for_minutes_and_a_new_call_after_an_hour() {
        let hook = hook(None);
        let first = keys(&hook, None, None, 1_000_000);
        for (later, same) in [(0, true), (299, true), (600, false), (3600, false)] {
            assert_eq!(meet(&first, &keys(&hook, None, None, 1_000_000 + later)), same, "{later}");
        }
    }

    #[test]
    fn an_equal_body_after_another_one_is_a_new_call() {
        let body = |name: &str| name.to_owned();
        let last = LastBodies::default();
        let down = last.before(&body("down"));
        assert_eq!(last.before(&body("down")), down, "a repetition");
        let up = last.before(&body("up"));
        assert_ne!(last.before(&body("down")), down, "down again");
        assert_ne!(last.before(&body("up")), up, "up again");
    }

    #[test]
    fn a_delivery_id_is_known_for_half_a_day_and_tells_equal_bodies_apart() {
        let hook = hook(Some("X-Delivery-Id"));
        let first = keys(&hook, Some("1"), None, 1_000_000);
        assert!(meet(&first, &keys(&hook, Some("1"), None, 1_000_000 + 12 * 3600 - 1)));
        assert!(!meet(&first, &keys(&hook, Some("1"), None, 1_000_000 + 24 * 3600)));
        assert!(!meet(&first, &keys(&hook, Some("2"), None, 1_000_000)));
    }

    #[test]
    fn a_signed_call_repeated_under_another_id_is_the_same() {
        let hook = hook(Some("X-Delivery-Id"));
        let first = keys(&hook, Some("1"), Some(999_990), 1_000_000);
        assert!(meet(&first, &keys(&hook, Some("2"), Some(999_990), 1_000_100)));
        assert!(!meet(&first, &keys(&hook, Some("2"), Some(999_991), 1_000_100)));
    }
}
