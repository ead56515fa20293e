//! From an opened event to the inlet and back: the one way of events, whichever way they came in.
//!
//! Whether an event is genuine and for this bot has been decided before; how the outcome is said
//! is the transport's affair. Decoding is apart from carrying out, so that a transport can keep
//! the events of one chat in their order.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::bot::LarkBot;
use super::buttons::{self, ButtonKey};
use super::event::{self, DecodeError, Opened, Receiver};
use crate::base::{ChatId, Timestamp};
use crate::envelope::{Arrival, Inlet, InletError, News, Press};

/// The answer to a press goes out after this at the latest; the platform waits three seconds,
/// the way there and back included.
const PRESS_PATIENCE: Duration = Duration::from_secs(2);

/// An event that is decoded and not yet handed over.
#[derive(Debug)]
pub(super) enum Work {
    /// To be taken over.
    Event(Arrival),
    /// Somebody waits for the answer.
    Press(Box<Press>, ButtonKey),
}

/// Why an event is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// It is none: another delivery cannot help.
    Undecodable(&'static str),
    /// Whether the bot is addressed cannot be told yet.
    IdentityUnknown,
    /// The store cannot take it.
    Unavailable,
    /// The daemon is ending.
    Draining,
    /// The bot does not run.
    UnknownBot,
}

/// What a delivery tells beside the event itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    /// It was signed too long ago to act on.
    pub(super) is_stale: bool,
    /// The header by which a repeated press of the first generation is known.
    pub(super) refresh_token: Option<&'a str>,
    /// When it came.
    pub(super) now: Timestamp,
}

/// Decodes an event. Never waits.
pub(super) fn decode(
    bot: &LarkBot,
    opened: Opened<'_>,
    circumstances: Circumstances<'_>,
) -> Result<Work, NotTaken> {
    let own = bot.identity().open_id();
    let receiver = Receiver { bot: bot.name(), app_id: bot.app_id(), own: own.as_ref() };
    if opened.is_press() && !circumstances.is_stale {
        let press = event::decode_press(&opened, receiver, circumstances.refresh_token);
        let press = buttons::judged(press, bot.buttons(), circumstances.now);
        return Ok(Work::Press(Box::new(press), bot.buttons().clone()));
    }
    let decoded = if circumstances.is_stale {
        event::decode_stale(opened, receiver)
    } else {
        event::decode(opened, receiver)
    };
    decoded.map(Work::Event).map_err(|error| match error {
        DecodeError::Undecodable(what) => NotTaken::Undecodable(what),
        DecodeError::IdentityUnknown => NotTaken::IdentityUnknown,
    })
}

/// The chat within which an event must not overtake another, if it is about one.
pub(super) fn chat_of(work: &Work) -> Option<ChatId> {
    match work {
        Work::Event(Arrival::Message(incoming)) => {
            Some(incoming.message.reply_fn.destination().chat.clone())
        }
        Work::Event(Arrival::Notice(notice)) => match &notice.news {
            News::Met(meeting) => Some(meeting.chat.clone()),
            News::Parted(chat) => Some(chat.clone()),
            News::TakenBack(_, chat) => chat.clone(),
            News::Nothing => None,
        },
        Work::Event(Arrival::Errand(_)) | Work::Press(..) => None,
    }
}

/// Hands an event over. On success it may be acknowledged, with the body of a reply if somebody
/// waits for one.
pub(super) async fn carry_out(
    inlet: Arc<dyn Inlet>,
    work: Work,
) -> Result<Option<Value>, NotTaken> {
    match work {
        Work::Event(arrival) => match inlet.submit(arrival).await {
            Ok(_taken) => Ok(None),
            Err(InletError::Unavailable(_)) => Err(NotTaken::Unavailable),
            Err(InletError::Draining) => Err(NotTaken::Draining),
            Err(InletError::UnknownBot(_)) => Err(NotTaken::UnknownBot),
        },
        // In a box, so that events do not carry the room for a press around.
        Work::Press(press, key) => Ok(Some(Box::pin(answer_press(inlet, press, key)).await)),
    }
}

/// Answers whatever happens: anything but a success in time is shown as an error, and the platform
/// does not ask again. `{}` leaves the card as it is.
async fn answer_press(inlet: Arc<dyn Inlet>, press: Box<Press>, key: ButtonKey) -> Value {
    let takes_card = press.takes_card;
    let answer = tokio::time::timeout(PRESS_PATIENCE, inlet.press(*press)).await;
    answer.map_or_else(|_late| json!({}), |reply| buttons::answer(&reply, takes_card, &key))
}
