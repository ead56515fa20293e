//! What became of an event: the one word that `/why` and `larkspur why` answer with.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The fate of one event. The words are a contract: people and scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The answer was delivered.
    Answered,
    /// A control command was carried out.
    Command,
    /// Accepted, waiting for its turn in the session.
    Queued,
    /// The engine is at work on it.
    Running,
    /// The run is parked until a person decides.
    WaitingApproval,
    /// Its text was answered together with another message.
    Merged,
    /// Handed to the turn that was running.
    Steered,
    /// Stopped by a person.
    Stopped,
    /// The session's queue was full.
    Busy,
    /// The platform delivered it again.
    Duplicate,
    /// In a group, and nobody addressed the bot.
    NotMentioned,
    /// The sender or the chat is not on the bot's lists.
    NotAllowed,
    /// Too old to act on.
    Stale,
    /// Of a kind that starts no work (receipts, reactions, own messages).
    Filtered,
    /// Taken back by its sender before the answer.
    Recalled,
    /// Refused by policy or budget.
    Refused,
    /// Sent, but whether it arrived could not be found out.
    InDoubt,
    /// The platform kept failing until the last retry.
    Undeliverable,
    /// Ended with an error; the reason says which.
    Failed,
    /// No such event is known here.
    NeverReceived,
}

impl Verdict {
    /// The contract word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Command => "command",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::Merged => "merged",
            Self::Steered => "steered",
            Self::Stopped => "stopped",
            Self::Busy => "busy",
            Self::Duplicate => "duplicate",
            Self::NotMentioned => "not_mentioned",
            Self::NotAllowed => "not_allowed",
            Self::Stale => "stale",
            Self::Filtered => "filtered",
            Self::Recalled => "recalled",
            Self::Refused => "refused",
            Self::InDoubt => "in_doubt",
            Self::Undeliverable => "undeliverable",
            Self::Failed => "failed",
            Self::NeverReceived => "never_received",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
