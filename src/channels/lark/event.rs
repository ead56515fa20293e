//! From an opened event to an [`Arrival`].
//!
//! Both schemas are read; only messages of schema 2.0 become work, every other event is noted.
//! Ids may be absent, null or empty and numbers may be strings: what a field lacks is `None`, and
//! only what nothing can be done without (which message, which chat, when) is an error.

mod message;
mod time;
mod wire;

use message::decode_message;
pub(super) use time::platform_time;
pub(super) use wire::Opened;

use crate::base::{BotName, Timestamp, UserId, Verdict};
use crate::envelope::{Arrival, DedupKey, Notice};

/// The event type of a message to the bot.
const TYPE_MESSAGE: &str = "im.message.receive_v1";
/// The name under which a card callback of the first generation is noted; it has no type field.
const TYPE_CARD_FIRST: &str = "card.action.trigger_v1";

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
pub(super) fn decode(opened: Opened, receiver: Receiver<'_>) -> Result<Arrival, DecodeError> {
    if opened.head.event_type.as_deref() == Some(TYPE_MESSAGE) {
        decode_message(opened, receiver)
    } else {
        Ok(Arrival::Notice(notice(&opened, receiver.bot, Verdict::Filtered)))
    }
}

/// The note about an event that came too late to act on. It never depends on the bot's identity.
pub(super) fn decode_stale(opened: Opened, receiver: Receiver<'_>) -> Result<Arrival, DecodeError> {
    if opened.head.event_type.as_deref() == Some(TYPE_MESSAGE) {
        message::note(opened, receiver.bot, Verdict::Stale).map(Arrival::Notice)
    } else {
        Ok(Arrival::Notice(notice(&opened, receiver.bot, Verdict::Stale)))
    }
}

fn notice(opened: &Opened, bot: &BotName, verdict: Verdict) -> Notice {
    let head = &opened.head;
    let event_type = head.event_type.as_deref().unwrap_or(TYPE_CARD_FIRST);
    let message = opened.message_concerned();
    // A callback of the first generation has neither id nor time; its update token is unique.
    let id = head.event_id.as_deref().or(head.token.as_deref()).unwrap_or("");
    Notice {
        bot: bot.clone(),
        event_type: event_type.to_owned(),
        subject: message.unwrap_or(id).to_owned(),
        key: event_key(bot, head.created_at.unwrap_or_default(), id),
        verdict,
    }
}

fn event_key(bot: &BotName, time: Timestamp, event_id: &str) -> DedupKey {
    DedupKey::new(time, &["event", bot.as_str(), event_id])
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
