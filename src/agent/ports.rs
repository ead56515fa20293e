//! What the engine needs of the world, implemented above it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::policy::Decision;
use super::run::Input;
use crate::base::Timestamp;
use crate::llm::ToolCall;

/// One line of a run's journal, as it is persisted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum JournalEntryV1 {
    /// An input, about to be applied.
    Input {
        /// The input.
        input: Box<Input>,
    },
    /// The run goes on after a restart: the time the machine was down is nobody's.
    Resumed {
        /// When.
        at: Timestamp,
    },
    /// A call whose repetition is not harmless is about to run.
    ToolStarted {
        /// The call's id.
        call_id: String,
    },
}

/// The tools that a run called so far, in order.
pub fn called(entries: &[JournalEntryV1]) -> impl Iterator<Item = &ToolCall> {
    entries.iter().flat_map(|entry| match entry {
        JournalEntryV1::Input { input } => match &**input {
            Input::ModelReplied { reply, .. } => reply.calls.as_slice(),
            _ => &[],
        },
        JournalEntryV1::Resumed { .. } | JournalEntryV1::ToolStarted { .. } => &[],
    })
}

/// One thing to be made durable.
#[derive(Clone, Debug)]
pub enum Record {
    /// A line of the journal.
    Entry(JournalEntryV1),
    /// A decision about a tool call, for the ledger.
    Decision(Decision),
}

/// The journal could not be written: the run must not go on.
#[derive(Debug, thiserror::Error)]
#[error("the journal cannot be written: {0}")]
pub struct JournalError(pub String);

/// Where a run's inputs and decisions are made durable.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes the records as one atomic unit. Returned means durable.
    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError>;
}

/// Follows a run while it works. Never slows it down.
pub trait Progress: Send + Sync {
    /// More text of the reply in progress.
    fn text(&self, delta: &str);

    /// The text of the reply in progress is void: it begins again.
    fn restart(&self);

    /// A round of tools begins; what was said before it is no answer.
    fn tools(&self, calls: &[ToolCall]);
}

/// Nobody follows.
impl Progress for () {
    fn text(&self, _delta: &str) {}

    fn restart(&self) {}

    fn tools(&self, _calls: &[ToolCall]) {}
}
