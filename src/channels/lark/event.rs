//! From an opened event to an [`Arrival`].
//!
//! Both schemas are read; only messages of schema 2.0 become work, every other event is noted, and
//! a few bring news. (Of the deprecated message event of schema 1.0 nothing tells that it is the
//! same message as one of schema 2.0, and apps may be subscribed to both.) Ids may be absent, null or empty and numbers may be strings: what a field lacks is `None`, and
//! only what nothing can be done without (which message, which chat, when) is an error.

mod message;
mod news;
mod press;
mod time;
mod wire;

use message::decode_message;
pub(super) use press::decode_press;
pub(super) use time::platform_time;
pub(super) use wire::Opened;

use crate::base::{BotName, Timestamp, UserId, Verdict};
use crate::envelope::{Arrival, Channel, DedupKey, News, Notice, Relation};

/// The event type of a message to the bot.
const TYPE_MESSAGE: &str = "im.message.receive_v1";
/// The same in schema 1.0.
const TYPE_MESSAGE_FIRST: &str = "message";
/// A person used a control of a card.
const TYPE_CARD: &str = "card.action.trigger";
/// The name under which a card callback of the first generation is noted; it has no type field.
const TYPE_CARD_FIRST: &str = "card.action.trigger_v1";
/// The person of an event that names none.
const SENDER_UNKNOWN: &str = "unknown";

/// Which bot an event is decoded for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver<'a> {
    /// The bot's name.
    pub(super) bot: &'a BotName,
    /// The bot's app.
    pub(super) app_id: &'a str,
    /// The bot's own id, once it is known.
    pub(super) own: Option<&'a UserId>,
}

/// Why an event could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DecodeError {
    /// It lacks what nothing can be done without, or has another shape altogether.
    #[error("the event cannot be decoded: {0}")]
    Undecodable(&'static str),
    /// It names somebody in a group, and the bot does not know yet who it is itself.
    #[error("whether the message names the bot is not known yet")]
    IdentityUnknown,
}

/// Decodes an opened event.
pub(super) fn decode(opened: Opened<'_>, receiver: Receiver<'_>) -> Result<Arrival, DecodeError> {
    if opened.head.event_type.as_deref() == Some(TYPE_MESSAGE) {
        decode_message(opened, receiver)
    } else {
        let news = news::news(&opened);
        Ok(Arrival::Notice(Notice { news, ..notice(&opened, receiver.bot, Verdict::Filtered) }))
    }
}

/// The note about an event that came too late to act on. It never depends on the bot's identity.
pub(super) fn decode_stale(
    opened: Opened<'_>,
    receiver: Receiver<'_>,
) -> Result<Arrival, DecodeError> {
    if opened.head.event_type.as_deref() == Some(TYPE_MESSAGE) {
        message::note(opened, receiver.bot, Verdict::Stale).map(Arrival::Notice)
    } else {
        Ok(Arrival::Notice(notice(&opened, receiver.bot, Verdict::Stale)))
    }
}

fn notice(opened: &Opened<'_>, bot: &BotName, verdict: Verdict) -> Notice {
    let head = &opened.head;
    let event_type = head.event_type.as_deref().unwrap_or_default();
    let message = opened.message_concerned();
    let id = head.event_id.as_deref();
    let subject = if event_type == TYPE_MESSAGE_FIRST { message.or(id) } else { id.or(message) };
    // Without an id, the same content is the same event.
    let told_apart = id.map_or_else(|| opened.event.to_string(), str::to_owned);
    Notice {
        channel: Channel::Lark,
        bot: bot.clone(),
        event_type: event_type.to_owned(),
        subject: subject.unwrap_or_default().to_owned(),
        key: event_key(bot, head.created_at.unwrap_or_default(), &told_apart),
        verdict,
        news: News::Nothing,
    }
}

fn event_key(bot: &BotName, time: Timestamp, event_id: &str) -> DedupKey {
    DedupKey::new(time, &["event", bot.as_str(), event_id])
}

/// Who a person is to the bot, where an event is not about a message. An id within the tenant is
/// told of its own people alone, so it counts where the tenant itself is not told.
fn relation(own_tenant: Option<&str>, tenant: Option<&str>, user_id: Option<&str>) -> Relation {
    let is_colleague = match tenant {
        Some(_) => tenant == own_tenant,
        None => user_id.is_some(),
    };
    if is_colleague { Relation::Colleague } else { Relation::Outsider }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
