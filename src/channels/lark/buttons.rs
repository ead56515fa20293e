//! Buttons of ours: signed when their card is rendered, proven when one is pressed.
//!
//! The platform hands a button's value back as it was, whoever sent the card on. So the value says
//! whose it is, which card it stands in, for which chat and since when, and a signature covers all
//! of that and what the button does. Nothing that is not signed like this reaches the gateway as a
//! button of ours.
//!
//! The key follows from the app's secret: every process that runs the app has the same one, and
//! with a new secret the buttons of the old one do nothing any more.

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::api::card_json;
use crate::base::{BotName, ChatId, Secret, Timestamp};
use crate::envelope::{
    Button, ButtonPress, CardStamp, ChatKind, GenuineButton, Press, PressReply, Tone,
};

/// The member of a button's value that holds ours.
const MEMBER: &str = "larkspur";
/// What the key is for, and how what it signs is written down.
const PURPOSE: &[u8] = b"larkspur buttons 1";
/// The platform lets go of a card after this (protocol page, section 1.7).
const CARD_LIFE: Duration = Duration::from_secs(14 * 24 * 3600);
/// The block of the hash, in bytes: the length to which a key is filled up.
const KEY_BYTES: usize = 64;

/// Signs the buttons of one bot.
#[derive(Clone)]
pub struct ButtonKey {
    bot: BotName,
    key: [u8; KEY_BYTES],
}

impl fmt::Debug for ButtonKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ButtonKey").field("bot", &self.bot).finish_non_exhaustive()
    }
}

/// What the value of a button says, beside what the button does.
#[derive(Debug, Serialize, Deserialize)]
struct Wire {
    #[serde(flatten)]
    press: ButtonPress,
    card: String,
    number: u16,
    chat: ChatId,
    kind: ChatKind,
    /// In milliseconds since the epoch.
    at: u64,
    /// Lower-case hexadecimal.
    sig: String,
}

impl ButtonKey {
    /// The key of a bot, from the secret of its app.
    pub(super) fn derive(bot: &BotName, app_secret: &Secret) -> Self {
        let secret: [u8; 32] = Sha256::digest(app_secret.expose().as_bytes()).into();
        let mut mac = Hmac::<Sha256>::new(&filled_up(secret).into());
        mac.update(PURPOSE);
        Self { bot: bot.clone(), key: filled_up(mac.finalize().into_bytes().into()) }
    }

    /// The value of a button.
    pub(super) fn value(&self, card: &CardStamp, number: u16, press: &ButtonPress) -> Value {
        let sig = hex::encode(self.mac(card, number, press).finalize().into_bytes());
        let CardStamp { id, chat, chat_kind, at } = card.clone();
        let (press, at) = (press.clone(), at.as_millis());
        let wire = Wire { press, card: id, number, chat, kind: chat_kind, at, sig };
        json!({ MEMBER: wire })
    }

    /// What a button with this value is, pressed in `chat`.
    fn judge(&self, value: &Value, chat: Option<&ChatId>, now: Timestamp) -> Button {
        let Some(claim) = value.get(MEMBER) else { return Button::Foreign };
        let Some(button) = self.proven(claim) else { return Button::Forged };
        // Where nobody says in which chat it was pressed, it may have been any.
        if chat != Some(&button.card.chat) {
            Button::Elsewhere
        } else if now.since(button.card.at) > CARD_LIFE {
            Button::Expired
        } else {
            Button::Genuine(Box::new(button))
        }
    }

    fn proven(&self, claim: &Value) -> Option<GenuineButton> {
        let Wire { press, card, number, chat, kind, at, sig } = Wire::deserialize(claim).ok()?;
        let at = Timestamp::from_millis(at);
        let card = CardStamp { id: card, chat, chat_kind: kind, at };
        let sig = hex::decode(sig).ok()?;
        // Takes the same time wherever a wrong signature differs.
        self.mac(&card, number, &press).verify_slice(&sig).ok()?;
        Some(GenuineButton { card, number, press })
    }

    fn mac(&self, card: &CardStamp, number: u16, press: &ButtonPress) -> Hmac<Sha256> {
        let (number, at) = (number.to_string(), card.at.as_millis().to_string());
        let kind = match card.chat_kind {
            ChatKind::Private => "private",
            ChatKind::Group => "group",
        };
        let (does, what) = match press {
            ButtonPress::Ask { text } => ("ask", text),
            ButtonPress::Open { url } => ("open", url),
        };
        let (bot, id, chat) = (self.bot.as_str(), card.id.as_str(), card.chat.as_str());
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        for part in [bot, id, number.as_str(), chat, kind, at.as_str(), does, what] {
            // The length in front keeps ("ab", "c") and ("a", "bc") apart.
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

fn filled_up(key: [u8; 32]) -> [u8; KEY_BYTES] {
    let mut filled = [0; KEY_BYTES];
    for (to, from) in filled.iter_mut().zip(key) {
        *to = from;
    }
    filled
}

/// The press with what its button is. Without this, no press is one of ours.
pub(super) fn judged(press: Press, key: &ButtonKey, now: Timestamp) -> Press {
    let button = key.judge(&press.pressed.value, press.chat.as_ref(), now);
    Press { button, ..press }
}

/// The body of the answer to a press. Both generations write a toast in the same place. Cards they
/// write differently, and the first takes none of those that we make: [`Press::takes_card`] said
/// so.
pub(super) fn answer(reply: &PressReply, takes_card: bool, key: &ButtonKey) -> Value {
    let kind = match reply.tone {
        Tone::Info => "info",
        Tone::Warning => "warning",
        Tone::Error => "error",
    };
    let mut body = Map::new();
    body.insert("toast".to_owned(), json!({ "type": kind, "content": reply.text }));
    if let Some(card) = reply.card.as_deref().filter(|_| takes_card) {
        body.insert("card".to_owned(), json!({ "type": "raw", "data": card_json(card, key) }));
    }
    Value::Object(body)
}

#[cfg(test)]
#[path = "buttons_tests.rs"]
mod tests;
