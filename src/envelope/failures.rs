//! Failed turns as operators see them, and doing one of them again.

use async_trait::async_trait;
use serde::Serialize;

use super::ports::InletError;
use crate::base::{BotName, ChatId, MessageId, Timestamp, TurnId, UserId, Verdict};

/// A turn that ended without doing what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedTurn {
    /// The turn; what a replay is asked for by.
    pub id: TurnId,
    /// The bot it was for.
    pub bot: BotName,
    /// The message that started it.
    pub message: MessageId,
    /// Where it was said.
    pub chat: ChatId,
    /// Who said it.
    pub sender: UserId,
    /// What was said, shortened.
    pub content: String,
    /// `failed` or `undeliverable`.
    pub verdict: Verdict,
    /// What went wrong.
    pub reason: String,
    /// When it was closed.
    pub at: Timestamp,
    /// The turn that did it again, if an operator asked for that.
    pub replayed: Option<TurnId>,
}

/// Some of the failed turns, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedPage {
    /// The turns.
    pub events: Vec<FailedTurn>,
    /// Behind which the next page begins; `None`: there is none.
    pub next: Option<TurnId>,
}

/// The answer to a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The turn that does the work again.
    pub turn: TurnId,
    /// Whether this request began it; else an earlier one did.
    pub new: bool,
}

/// Nothing was begun.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No failed turn of that id is kept.
    #[error("no failed turn of that id is kept")]
    Unknown,
    /// Its conversation's line is full.
    #[error("the line of its conversation is full")]
    Busy,
    /// The daemon cannot take it.
    #[error(transparent)]
    NotTaken(#[from] InletError),
}

/// The failed turns, implemented by the gateway.
#[async_trait]
pub trait Failures: Send + Sync {
    /// Failed turns, oldest first, at most `limit`, those behind `after`.
    async fn failed(&self, after: Option<TurnId>, limit: usize) -> Result<FailedPage, InletError>;

    /// Does a failed turn again: once, however often it is asked for. `Ok` means durable.
    async fn replay(&self, failed: TurnId) -> Result<Replayed, ReplayError>;
}
