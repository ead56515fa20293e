//! The whole alphabet of a run: what it can ask for, and what it can be told.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{Locale, SessionKey, Timestamp, TurnId, UserId};
use crate::envelope::Context;
use crate::llm::{ChatMessage, LlmErrorKind, ModelReply, ModelRequest, ToolCall, ToolSpec};

/// For whom a run works. People want an answer soon, the system wants it complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person asked.
    User,
    /// The daemon asked: a schedule, a stage, a worker.
    System,
}

/// Everything a run is started with. Journalled whole, so that a later change of a bot's
/// definition does not change a run that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The turn it answers; also the reference in an apology.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionKey,
    /// Who asked.
    pub sender: UserId,
    /// For whom it works.
    pub source: Source,
    /// The language of the engine's own sentences.
    pub locale: Locale,
    /// The system prompt.
    pub system: String,
    /// The conversation so far, oldest first.
    pub history: Vec<ChatMessage>,
    /// What to answer.
    pub question: String,
    /// What the question refers to.
    #[serde(default)]
    pub context: Vec<Context>,
    /// What the person is told behind the answer; empty: nothing.
    #[serde(default)]
    pub notice: String,
    /// The tools it may use.
    pub tools: Vec<ToolSpec>,
    /// At most this many rounds with the model.
    pub iterations_max: u32,
    /// At most this long.
    pub wall_time: Duration,
    /// The longest reply of the model, in tokens.
    pub max_tokens: u32,
    /// 0 is sober.
    pub temperature: f64,
    /// How many tokens fit the model; 0: unknown.
    #[serde(default)]
    pub context_window: u64,
    /// Whether an empty reply can be tried on another model.
    pub has_fallback: bool,
    /// Which conversation of the session it belongs to; a fresh one has a new number.
    #[serde(default)]
    pub epoch: u64,
}

/// What came of one tool call, in the words the model gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The observation or the error.
    pub text: String,
    /// Whether it worked.
    pub succeeded: bool,
    /// Whether it told anything new.
    pub is_news: bool,
    /// What an answer may cite of it.
    pub sources: Vec<String>,
}

/// A question to people that a run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "asked", rename_all = "snake_case")]
pub enum Asked {
    /// Something only a person knows.
    Question {
        /// The words.
        text: String,
    },
    /// Whether a call may run.
    Approval {
        /// The call.
        call: ToolCall,
        /// Why it needs one.
        reason: String,
    },
}

/// What a run needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A reply of the model.
    CallModel(Box<ModelRequest>),
    /// The results of these calls, in this order.
    CallTools {
        /// The round they belong to.
        iteration: u32,
        /// The longest result of each, in characters.
        output_chars_max: usize,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// An answer of a person; the run is parked until then.
    Ask(Asked),
    /// A worker with a task of its own.
    Spawn {
        /// The self-contained task.
        task: String,
    },
    /// Nothing before this time.
    Wait {
        /// When to tick.
        until: Timestamp,
    },
    /// Nothing more: this is what came of it.
    Done(Outcome),
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// An answer for people.
    Answered {
        /// The text, marked if it is partial.
        text: String,
        /// Whether the run was cut short.
        partial: bool,
    },
    /// No answer; the text is an honest apology.
    Apologised {
        /// The text.
        text: String,
        /// Why there is none, for operators.
        reason: String,
    },
    /// A person stopped it.
    Cancelled,
    /// Another node owns the session now.
    LeaseLost,
}

/// What a run is told. The journal holds these in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// The run begins.
    Started {
        /// When.
        at: Timestamp,
        /// With what.
        spec: Box<RunSpec>,
    },
    /// The model replied.
    ModelReplied {
        /// When.
        at: Timestamp,
        /// What.
        reply: ModelReply,
    },
    /// The model did not reply.
    ModelFailed {
        /// When.
        at: Timestamp,
        /// Which kind of failure.
        kind: LlmErrorKind,
        /// Details for the record.
        text: String,
        /// How long the provider asked to wait.
        #[serde(default)]
        retry_after: Option<Duration>,
        /// The beginning of a reply that was streamed before.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
    },
    /// The calls of the round have results, in their order.
    ToolsFinished {
        /// When.
        at: Timestamp,
        /// One a call.
        results: Vec<ToolResult>,
    },
    /// A person answered what the run asked.
    Answered {
        /// When.
        at: Timestamp,
        /// The answer.
        text: String,
    },
    /// The person said more while the run works; heard at its next round.
    UserSaid {
        /// When.
        at: Timestamp,
        /// What.
        text: String,
    },
    /// A worker is done.
    WorkerReported {
        /// When.
        at: Timestamp,
        /// Its report.
        report: String,
    },
    /// A question went to somebody else.
    Escalated {
        /// When.
        at: Timestamp,
        /// To whom.
        to: String,
    },
    /// Another node owns the session now.
    LeaseLost {
        /// When.
        at: Timestamp,
    },
    /// A person stopped the run.
    Cancelled {
        /// When.
        at: Timestamp,
    },
    /// Time passed: a wait is over, or the wall time.
    Tick {
        /// When.
        at: Timestamp,
    },
}

impl Input {
    /// When it happened.
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Started { at, .. }
            | Self::ModelReplied { at, .. }
            | Self::ModelFailed { at, .. }
            | Self::ToolsFinished { at, .. }
            | Self::Answered { at, .. }
            | Self::UserSaid { at, .. }
            | Self::WorkerReported { at, .. }
            | Self::Escalated { at, .. }
            | Self::LeaseLost { at }
            | Self::Cancelled { at }
            | Self::Tick { at } => *at,
        }
    }

    /// The name in error texts and reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::ModelReplied { .. } => "model_replied",
            Self::ModelFailed { .. } => "model_failed",
            Self::ToolsFinished { .. } => "tools_finished",
            Self::Answered { .. } => "answered",
            Self::UserSaid { .. } => "user_said",
            Self::WorkerReported { .. } => "worker_reported",
            Self::Escalated { .. } => "escalated",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Cancelled { .. } => "cancelled",
            Self::Tick { .. } => "tick",
        }
    }
}

/// An input that the run's state has no place for. The run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {state} cannot take the input `{input}`")]
pub struct IllegalInput {
    /// The state's name.
    pub state: &'static str,
    /// The input's name.
    pub input: &'static str,
}
