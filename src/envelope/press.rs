//! A press: a person used a control of a card. It wants an answer at once, not a message.

use serde_json::{Map, Value};

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

/// The answer to a press: a short line that appears and goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PressReply {
    /// How it is meant.
    pub tone: Tone,
    /// What it says.
    pub text: String,
}
