//! What the model is shown of a run: its conversation, kept within a budget.
//!
//! ```text
//! history | pinned | digest | since
//! ```
//!
//! What is said of early history that went stands before the history that is left.
//!
//! `history` are earlier exchanges, `pinned` is the present question with what it refers to, `since`
//! is what came of it so far, and `digest` stands for what had to go. The pinned part is known by its
//! place in the structure, not by a number, so nothing can push it out. A call and its results stay
//! and go together.

mod compact;
mod digest;
mod estimate;

use serde::{Deserialize, Serialize};

use self::digest::Digest;
pub(super) use self::estimate::{history_budget, specs_tokens, text_tokens};
use self::estimate::{message_tokens, messages_tokens};
use crate::llm::{ChatMessage, ModelRequest};

/// What the estimate is multiplied with, in thousandths, until a provider says how many it were.
const CORRECTION_NONE: u64 = 1000;
/// A provider's count is not trusted to be further off than this.
const CORRECTION_LEAST: u64 = 500;
const CORRECTION_MOST: u64 = 4000;

/// How much had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionLevel {
    /// Long results of earlier rounds were cut.
    Results,
    /// All but the last two rounds became a digest.
    Rounds,
    /// All but the last round became a digest, and early history went.
    Most,
    /// What may never go was too large on its own, and was cut.
    Protected,
}

impl CompactionLevel {
    /// The word in the log and in the record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Rounds => "rounds",
            Self::Most => "most",
            Self::Protected => "protected",
        }
    }
}

/// One compaction, as the record of a run has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// In which round.
    pub iteration: u32,
    /// How much had to go.
    pub level: CompactionLevel,
    /// The estimate in tokens before it.
    pub before: u64,
    /// And after it.
    pub after: u64,
    /// How many messages went.
    pub removed: usize,
}

/// The conversation of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Window {
    /// In tokens, for all of it; system prompt and tools are not counted.
    budget: u64,
    /// In thousandths.
    correction: u64,
    history: Vec<ChatMessage>,
    pinned: Vec<ChatMessage>,
    digest: Digest,
    since: Vec<ChatMessage>,
    log: Vec<Compaction>,
}

impl Window {
    pub(super) fn new(budget: u64, history: Vec<ChatMessage>, pinned: Vec<ChatMessage>) -> Self {
        Self {
            budget,
            correction: CORRECTION_NONE,
            history,
            pinned,
            digest: Digest::default(),
            since: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Adds what came last.
    pub(super) fn push(&mut self, message: ChatMessage) {
        self.since.push(message);
    }

    /// All of it, oldest first.
    pub(super) fn messages(&self) -> Vec<ChatMessage> {
        let said = |text: String| ChatMessage::User { text };
        let before = self.history.iter().chain(&self.pinned).cloned();
        let before = self.digest.of_history().map(said).into_iter().chain(before);
        before.chain(self.digest.text().map(said)).chain(self.since.iter().cloned()).collect()
    }

    /// What was done to keep it within its budget.
    pub(super) fn log(&self) -> &[Compaction] {
        &self.log
    }

    /// The estimate of all of it, in tokens.
    pub(super) fn tokens(&self) -> u64 {
        self.raw_tokens().saturating_mul(self.correction) / 1000
    }

    fn raw_tokens(&self) -> u64 {
        let digests = [self.digest.of_history(), self.digest.text()];
        let digest: u64 = digests.into_iter().flatten().map(|text| text_tokens(&text)).sum();
        let parts = [&self.history, &self.pinned, &self.since];
        parts.into_iter().map(|part| messages_tokens(part)).sum::<u64>().saturating_add(digest)
    }

    /// How much of the budget is used, in thousandths.
    pub(super) fn usage(&self) -> u64 {
        self.tokens().saturating_mul(1000) / self.budget.max(1)
    }

    /// Learns from what a provider counted for a request. A count of zero says nothing.
    pub(super) fn learn(&mut self, request: &ModelRequest, counted: u64) {
        let ModelRequest { system, messages, tools, .. } = request;
        let estimated = text_tokens(system) + specs_tokens(tools) + messages_tokens(messages);
        if counted > 0 && estimated > 0 {
            let seen = counted.saturating_mul(1000) / estimated;
            self.correction = seen.clamp(CORRECTION_LEAST, CORRECTION_MOST);
        }
    }

    /// How long each of `calls` results may be, in characters, with what is used already. A round
    /// of several calls shares its room.
    pub(super) fn result_chars_max(&self, calls: usize) -> usize {
        let alone = match self.usage() {
            ..400 => 6000,
            400..600 => 3000,
            600..800 => 1500,
            _ => 800,
        };
        let calls = calls.max(1);
        alone * calls.div_ceil(2) / calls
    }

    /// Whether the two know the same of a conversation.
    #[cfg(test)]
    fn parts(&self) -> (&[ChatMessage], &[ChatMessage], &[ChatMessage]) {
        (&self.history, &self.pinned, &self.since)
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
