//! `AgentMessage`: one message to the engine, wherever it came from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reply::{Destination, ReplyFn};
use crate::base::{BotName, ChatId, MessageId, SessionKey, Timestamp, UserId};

/// Where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The HTTP API.
    Http,
    /// Lark or Feishu.
    Lark,
    /// The terminal.
    Cli,
    /// An MCP client.
    Mcp,
    /// A generic webhook.
    Webhook,
    /// A schedule of a bot.
    Schedule,
    /// The engine itself: stages, workers, jobs.
    Internal,
}

/// Who wrote a line of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person (or a program in a person's place).
    User,
    /// The bot.
    Assistant,
}

/// One earlier line of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Who said it.
    pub speaker: Speaker,
    /// What was said.
    pub content: String,
}

/// The conversation a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// What is kept in order, and what `/new` starts afresh.
    pub id: SessionKey,
    /// Earlier lines, oldest first. Empty until the gateway restores the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Exchange>,
}

/// The kind of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderKind {
    /// A person.
    User,
    /// The daemon: schedules, the platform's own notices.
    System,
    /// Another bot, or an agent of this one.
    Agent,
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The channel's id of the sender.
    pub id: UserId,
    /// Person, system or agent.
    pub kind: SenderKind,
    /// How to call them, where the channel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A piece of a message's body, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text, mentions written as `@Name`.
        text: String,
    },
    /// A block of code with its language as far as it is known.
    Code {
        /// The language's name; empty if not given.
        language: String,
        /// The code.
        text: String,
    },
    /// The place of an attachment in the text.
    Attachment {
        /// Its index in [`AgentMessage::attachments`].
        index: usize,
    },
}

/// What an attachment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// A document or anything else.
    File,
    /// Speech or music.
    Audio,
    /// A film.
    Video,
    /// A sticker, which cannot be downloaded.
    Sticker,
    /// Messages of another conversation; found by the id of the message that carries them.
    Forward,
}

impl AttachmentKind {
    /// What it is called.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::File => "file",
            Self::Audio => "voice message",
            Self::Video => "video",
            Self::Sticker => "sticker",
            Self::Forward => "forwarded messages",
        }
    }

    /// Whether a message that consists of such attachments alone waits for a question about them.
    pub const fn can_wait(self) -> bool {
        match self {
            Self::Image | Self::File | Self::Audio | Self::Video => true,
            Self::Sticker | Self::Forward => false,
        }
    }
}

/// Something sent along with a message; fetched only when needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// The channel's key for fetching it; empty if the message's id is all it takes.
    pub key: String,
    /// The file name as the sender had it; untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The message that carries it, if it is another one than the message it is listed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<MessageId>,
}

impl Attachment {
    /// An attachment of the message it is listed in, without a name.
    pub fn of(kind: AttachmentKind, key: &str) -> Self {
        Self { kind, key: key.to_owned(), name: None, carrier: None }
    }

    /// Attachments as they are listed elsewhere than in the message that carries them.
    pub fn carried(attachments: &[Self], carrier: &MessageId) -> Vec<Self> {
        let carry =
            |attachment: &Self| Self { carrier: Some(carrier.clone()), ..attachment.clone() };
        attachments.iter().map(carry).collect()
    }
}

/// Somebody named in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The channel's id, if it told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<UserId>,
    /// The name as shown.
    pub name: String,
}

impl Mention {
    /// The id of somebody who is mentioned by it for want of a name.
    pub fn unnamed(&self) -> Option<&UserId> {
        self.id.as_ref().filter(|id| id.as_str() == self.name)
    }
}

/// One message to the engine.
///
/// Serialisable, because the durable inbox holds it; the inbox record carries the version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentMessage {
    /// The channel's id of the message.
    pub id: MessageId,
    /// The text to answer: mentions of the bot removed, other mentions as `@Name`, trimmed.
    pub content: String,
    /// Where it came from.
    pub channel: Channel,
    /// The conversation it belongs to.
    pub session: Session,
    /// Who sent it.
    pub sender: Sender,
    /// The body in order; empty if it is just `content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What was sent along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Who was named, the bot itself left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
    /// The message that this one quotes or replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotes: Option<MessageId>,
    /// The organisation that the bot belongs to, where the channel tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Whether it was said in a private chat of a platform, where nobody adds a bot: people meet it
    /// by their first message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
    /// What only some readers know: the explicit preset, the language, channel details.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// When the sender sent it, by the channel's clock.
    pub timestamp: Timestamp,
    /// Where the answer goes.
    pub reply_fn: ReplyFn,
}

/// The metadata key that names a preset explicitly.
pub(crate) const METADATA_PRESET: &str = "preset";
/// The metadata key of questions that stood on a button.
const METADATA_PRESSED: &str = "pressed";

impl AgentMessage {
    fn new(
        channel: Channel,
        id: MessageId,
        content: impl Into<String>,
        sender: Sender,
        destination: Destination,
    ) -> Self {
        let session = [destination.bot.as_str(), destination.chat.as_str()].join("/");
        Self {
            id,
            content: content.into(),
            channel,
            session: Session { id: SessionKey::new(session), history: Vec::new() },
            sender,
            parts: Vec::new(),
            attachments: Vec::new(),
            mentions: Vec::new(),
            quotes: None,
            tenant: None,
            is_private: false,
            metadata: BTreeMap::new(),
            timestamp: Timestamp::default(),
            reply_fn: ReplyFn::to(destination),
        }
    }

    /// A message from Lark or Feishu. The answer goes to the originating chat, as a reply to this
    /// message.
    pub fn from_lark(
        bot: BotName,
        chat: ChatId,
        id: MessageId,
        sender: Sender,
        content: impl Into<String>,
    ) -> Self {
        let destination = Destination::reply(bot, Channel::Lark, chat, id.clone());
        Self::new(Channel::Lark, id, content, sender, destination)
    }

    /// A question that stood on a button of a card, asked by whoever pressed it. The answer goes
    /// where `destination` says.
    pub fn pressed(
        id: MessageId,
        sender: Sender,
        question: impl Into<String>,
        destination: Destination,
    ) -> Self {
        let mut message = Self::new(destination.channel, id, question, sender, destination);
        message.metadata.insert(METADATA_PRESSED.to_owned(), Value::from(true));
        message
    }

    /// A task of the daemon's own configuration, which speaks as the system: `channel` says
    /// whether a schedule or a webhook. The outcome goes where `destination` says.
    pub fn errand(
        channel: Channel,
        id: MessageId,
        content: impl Into<String>,
        destination: Destination,
    ) -> Self {
        let sender =
            Sender { id: UserId::new("larkspur"), kind: SenderKind::System, display_name: None };
        Self::new(channel, id, content, sender, destination)
    }

    /// A message over the HTTP API, in the conversation the caller names.
    pub fn from_http(
        bot: BotName,
        conversation: ChatId,
        id: MessageId,
        sender: Sender,
        content: impl Into<String>,
    ) -> Self {
        let destination = Destination::reply(bot, Channel::Http, conversation, id.clone());
        Self::new(Channel::Http, id, content, sender, destination)
    }

    /// A line typed in a terminal.
    pub fn from_cli(bot: BotName, id: MessageId, content: impl Into<String>) -> Self {
        let sender =
            Sender { id: UserId::new("terminal"), kind: SenderKind::User, display_name: None };
        let chat = ChatId::new("terminal");
        let destination = Destination::reply(bot, Channel::Cli, chat, id.clone());
        Self::new(Channel::Cli, id, content, sender, destination)
    }

    /// A question of an MCP client; `conversation` is the client's session.
    pub fn from_mcp(
        bot: BotName,
        conversation: ChatId,
        id: MessageId,
        content: impl Into<String>,
    ) -> Self {
        let sender = Sender { id: UserId::new("mcp"), kind: SenderKind::Agent, display_name: None };
        let destination = Destination::reply(bot, Channel::Mcp, conversation, id.clone());
        Self::new(Channel::Mcp, id, content, sender, destination)
    }

    /// A message the daemon sends itself on behalf of `parent`: a stage, a worker, a job. It
    /// speaks as the system, in the parent's session, and its answer goes where the parent's goes.
    pub fn internal(parent: &Self, id: MessageId, content: impl Into<String>) -> Self {
        Self {
            id,
            content: content.into(),
            channel: Channel::Internal,
            session: Session { id: parent.session.id.clone(), history: Vec::new() },
            sender: Sender {
                id: UserId::new("larkspur"),
                kind: SenderKind::System,
                display_name: None,
            },
            parts: Vec::new(),
            attachments: Vec::new(),
            mentions: Vec::new(),
            quotes: None,
            tenant: parent.tenant.clone(),
            is_private: parent.is_private,
            metadata: parent.metadata.clone(),
            timestamp: parent.timestamp,
            reply_fn: parent.reply_fn.clone(),
        }
    }

    /// The preset the sender named, if any.
    pub fn explicit_preset(&self) -> Option<&str> {
        self.metadata.get(METADATA_PRESET).and_then(Value::as_str)
    }

    /// Whether it consists of attachments alone: a file without a word about it.
    pub fn is_only_attachments(&self) -> bool {
        let is_attachment = |part: &Part| matches!(part, Part::Attachment { .. });
        !self.parts.is_empty() && self.parts.iter().all(is_attachment)
    }

    /// Names a preset explicitly.
    #[must_use]
    pub fn with_preset(mut self, preset: &str) -> Self {
        self.metadata.insert(METADATA_PRESET.to_owned(), Value::from(preset));
        self
    }

    /// Whether it stood on a button: then nobody in the chat has read it.
    pub fn was_pressed(&self) -> bool {
        self.metadata.contains_key(METADATA_PRESSED)
    }

    /// Says that it was said in a private chat of a platform.
    #[must_use]
    pub fn in_private(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// Sets the time of sending.
    #[must_use]
    pub fn sent_at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }
}
