//! The way of a message through the daemon, step by step. It holds names, numbers and times, never
//! what was said: it is kept longer than the words.

use serde::{Deserialize, Serialize};

use super::ports::Why;
use crate::base::{MessageId, Timestamp};

/// What kind of step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// The event is stored.
    Accepted,
    /// A run of the engine begins.
    Begun,
    /// It goes on after a restart.
    Resumed,
    /// A model was asked.
    Model,
    /// Tools were called.
    Tool,
    /// It was decided whether a tool may run.
    Decision,
    /// Something was sent to the platform.
    Send,
    /// The turn is closed.
    Closed,
    /// It started no work.
    Note,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathStep {
    /// When it was over.
    pub at: Timestamp,
    /// How long it took, in milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// What kind of step it is.
    pub kind: PathKind,
    /// What happened, in a few words.
    pub title: String,
    /// Names and numbers; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The way of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessagePath {
    /// The message that was asked about.
    pub message: MessageId,
    /// What its turn began with: a message, or an event that people did otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_with: Option<MessageId>,
    /// What became of it.
    #[serde(flatten)]
    pub why: Why,
    /// Its steps, in the order of their times.
    pub steps: Vec<PathStep>,
}
