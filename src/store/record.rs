//! The records as they are persisted. A field is only ever added with a default; any other change
//! is a new version beside the old one.

use serde::{Deserialize, Serialize};

use crate::base::{BotName, MessageId, SessionKey, Timestamp, TurnId, Verdict};
use crate::envelope::{AgentMessage, Exchange, InPlace, Operation, PathStep};

/// Which way a turn goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Through the session's queue, one at a time.
    Session,
    /// Past the queue: a control command.
    Control,
    /// Its answer is already in the outbox and only has to be delivered.
    Delivery,
}

/// Accepted work. The row exists from acceptance until the turn is closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxV1 {
    /// The bot it is for.
    pub bot: BotName,
    /// The message.
    pub message: AgentMessage,
    /// Which way it goes.
    pub lane: Lane,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// Set once the answer is in the outbox: what the turn is closed with after the delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<ClosingV1>,
    /// What admission found out.
    #[serde(default)]
    pub admitted: AdmittedV1,
    /// If several messages are answered as one: each of them as it came, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<AgentMessage>,
    /// A post that tells the state of something, in the place of the state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
}

impl InboxV1 {
    /// The messages that are answered, as they came.
    pub fn originals(&self) -> &[AgentMessage] {
        if self.merged.is_empty() { std::slice::from_ref(&self.message) } else { &self.merged }
    }
}

/// What admission found out about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AdmittedV1 {
    /// What its sender may do.
    pub standing: Standing,
    /// It was worked on before, in a turn that failed.
    pub again: bool,
}

/// What a sender may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Ask.
    #[default]
    User,
    /// Ask, and steer the bot.
    Admin,
    /// Perhaps nothing: the platform must be asked for the sender's roles first.
    Unclear {
        /// Whether a refusal may offer a pairing code.
        may_pair: bool,
    },
}

impl Standing {
    /// Whether the platform must be asked first.
    pub const fn is_unclear(self) -> bool {
        matches!(self, Self::Unclear { .. })
    }
}

/// How a turn will be closed when its sends are delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosingV1 {
    /// What became of it, if every send arrives.
    pub verdict: Verdict,
    /// Details; may be empty.
    pub reason: String,
}

/// How far a send has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendState {
    /// Stored, not tried.
    Planned,
    /// Being tried; after a crash it may have arrived.
    InFlight,
    /// The platform confirmed it.
    Confirmed,
    /// It may have arrived, and the platform no longer tells.
    InDoubt,
    /// It did not arrive and will not be tried again.
    Abandoned,
}

/// Why a send is in doubt or abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendCause {
    /// The other side refused it for good.
    Refused,
    /// It failed until the last retry.
    GivenUp,
    /// A person stopped it.
    Stopped,
    /// The bot has no way out to this channel.
    NoWayOut,
    /// Whether it arrived could not be found out.
    Unconfirmed,
}

/// One operation of the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendV1 {
    /// What to do.
    pub operation: Operation,
    /// The platform's idempotency key: the same for every try.
    pub uuid: String,
    /// How far it has come.
    pub state: SendState,
    /// When it was first tried.
    pub first_try_at: Option<Timestamp>,
    /// When it was confirmed, given up or left in doubt; older records do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// Whether some try may have arrived.
    pub doubtful: bool,
    /// The platform's id of what was made.
    pub delivered_id: Option<String>,
    /// Why it is in doubt or abandoned, in words; of a confirmed one, what was special about it.
    pub reason: String,
    /// Why it is in doubt or abandoned; older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SendCause>,
    /// How often it was sent again under another key, after a look-up or a doubt.
    #[serde(default)]
    pub repeats: u8,
    /// Why what it said first was refused for good; then it holds the sentence in that place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionV1 {
    /// Earlier lines, oldest first, bounded by the gateway.
    pub history: Vec<Exchange>,
    /// Counts the times it was started afresh.
    pub epoch: u64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What stays of a closed turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptV1 {
    /// The bot it was for.
    pub bot: BotName,
    /// Its session.
    pub session: SessionKey,
    /// The message that started it.
    pub message: MessageId,
    /// What became of it.
    pub verdict: Verdict,
    /// Details; may be empty.
    pub reason: String,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// When it was closed.
    pub closed_at: Timestamp,
    /// The messages that were sent for it.
    pub sent: Vec<MessageId>,
    /// The steps between; older receipts have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
}

/// The verdict of an event that started no work. Kept in a bounded ring, not synced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteV1 {
    /// The bot it was for.
    pub bot: BotName,
    /// The id people could ask about.
    pub subject: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Details; may be empty.
    pub reason: String,
    /// When it arrived.
    pub at: Timestamp,
}

/// One decision about one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerV1 {
    /// The turn.
    pub turn: TurnId,
    /// The iteration of the run.
    pub iteration: u32,
    /// The place of the call in its round.
    pub index: u32,
    /// The tool's own name; of an unknown tool, what the model wrote.
    pub tool: String,
    /// SHA-256 over the canonical arguments, hexadecimal.
    pub fingerprint: String,
    /// `allow`, `deny` or `defer`.
    pub verdict: String,
    /// The source that decided.
    pub source: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}
