//! A press: a person used a control of a card. It wants an answer at once, not a message.

use serde_json::{Map, Value};

use super::card::{ButtonPress, Card, CardStamp};
use super::message::Channel;
use super::origin::{DedupKey, Relation};
use crate::base::{BotName, ChatId, MessageId, UserId};

/// What a person did to a card, as a channel hands it in.
#[derive(Clone, Debug)]
pub struct Press {
    /// The bot whose card it is.
    pub bot: BotName,
    /// The channel it came through.
    pub channel: Channel,
    /// The platform's name of the event type.
    pub event_type: String,
    /// The id people could ask about: of the event, else of the card's message.
    pub subject: String,
    /// Any of these seen before makes it a duplicate. At least one.
    pub keys: Vec<DedupKey>,
    /// Who pressed.
    pub operator: UserId,
    /// Who that is to the bot.
    pub relation: Relation,
    /// The chat of the card, where the platform tells.
    pub chat: Option<ChatId>,
    /// The message that holds the card, where the platform tells.
    pub message: Option<MessageId>,
    /// Where the card is shown, in the platform's words; may be empty.
    pub host: String,
    /// What was pressed.
    pub pressed: Pressed,
    /// Whether that is a button of ours. Nothing in [`Press::pressed`] says so.
    pub button: Button,
    /// Whether the answer can bring the changed card; else it is changed beside.
    pub takes_card: bool,
}

/// What a channel found out about a pressed button.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Button {
    /// It does not claim to be one of ours.
    #[default]
    Foreign,
    /// It claims to be one of ours and is not, or not as it was made.
    Forged,
    /// It is one of ours and was made for another chat: its card was forwarded or copied.
    Elsewhere,
    /// It is one of ours and too old.
    Expired,
    /// It is one of ours, in the chat that it was made for.
    Genuine(Box<GenuineButton>),
}

/// A button of ours, as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenuineButton {
    /// Its card.
    pub card: CardStamp,
    /// Its number among the questions of the card.
    pub number: u16,
    /// What it does.
    pub press: ButtonPress,
}

/// One control and what it was set to. Everything a person can forge but `value`, which the
/// platform keeps as the card's author wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pressed {
    /// The kind of control, such as `button`.
    pub tag: String,
    /// Its name in the card; may be empty.
    pub name: String,
    /// What the card's author attached to it: an object, a text, or null.
    pub value: Value,
    /// The inputs of the form that it submitted, by name.
    pub form: Map<String, Value>,
    /// The chosen options; one for a simple choice.
    pub options: Vec<String>,
    /// The text typed into it.
    pub input: Option<String>,
    /// Whether a tick was set or taken away.
    pub checked: Option<bool>,
}

/// How an answer to a press is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// For information.
    Info,
    /// It was not done, and pressing again will not help.
    Warning,
    /// It was not done now.
    Error,
}

/// The answer to a press: a short line that appears and goes, and the card as it stands then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PressReply {
    /// How it is meant.
    pub tone: Tone,
    /// What it says.
    pub text: String,
    /// Takes the place of the pressed card; `None`: that stays as it is.
    pub card: Option<Box<Card>>,
}
