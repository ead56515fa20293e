//! The tool port and the registry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::base::{SessionKey, UserId};

/// How far the effects of a tool reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Looks, changes nothing.
    Read,
    /// Puts something up for people to review.
    Propose,
    /// Changes files or records.
    Write,
    /// Runs programs.
    Exec,
    /// Reaches out of the machine.
    External,
}

/// What a tool knows of the run that calls it.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The session of the run.
    pub session: SessionKey,
    /// Who asked.
    pub sender: UserId,
    /// Fires when the run is stopped: the tool ends at once, child processes included.
    pub cancel: CancellationToken,
    /// The longest output, in characters; the pipeline cuts what is longer.
    pub output_chars_max: usize,
}

/// What a tool found or did.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub text: String,
    /// What the answer may cite: recipe ids, files.
    pub sources: Vec<String>,
    /// Whether it told anything new (a hit, not an empty list).
    pub is_news: bool,
}

/// The machine codes of tool failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorCode {
    /// No such tool in this run.
    UnknownTool,
    /// Policy said no.
    BlockedByPolicy,
    /// The same was submitted before.
    Duplicate,
    /// The arguments do not fit the schema.
    InvalidArguments,
    /// It took too long.
    Timeout,
    /// The run was stopped.
    Cancelled,
    /// It was tried and did not work.
    Failed,
    /// It was running when the machine failed: whether it took effect is not known.
    OutcomeUnknown,
}

impl ToolErrorCode {
    /// The code as the model reads it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::BlockedByPolicy => "blocked_by_policy",
            Self::Duplicate => "duplicate",
            Self::InvalidArguments => "invalid_arguments",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}

/// A tool did not do what it was asked; the text is for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ToolError {
    /// Which kind of failure.
    pub code: ToolErrorCode,
    /// What the model can do about it; bounded, without internals.
    pub text: String,
}

/// Something a run can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name models call it by.
    fn name(&self) -> &'static str;

    /// Other names that models use for it.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it does and when to use it, for models.
    fn description(&self) -> &'static str;

    /// JSON Schema of the arguments, an object with `properties` and `required`.
    fn parameters(&self) -> Value;

    /// How far its effects reach.
    fn tier(&self) -> Tier;

    /// Whether running it twice is the same as running it once.
    fn is_idempotent(&self) -> bool {
        self.tier() == Tier::Read
    }

    /// Other names that models use for arguments, each with the schema's name behind it.
    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The names of arguments that are paths and must stay inside the workspace.
    fn path_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    /// The longest time one call may take.
    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Does it. `arguments` fit the schema.
    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError>;
}

/// The tools of a daemon by name and alias.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
    aliases: BTreeMap<&'static str, &'static str>,
}

impl ToolRegistry {
    /// Adds a tool. A later tool of the same name replaces the earlier one.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        for alias in tool.aliases() {
            self.aliases.insert(alias, tool.name());
        }
        self.tools.insert(tool.name(), tool);
    }

    /// The tool of that name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = self.aliases.get(name).copied().unwrap_or(name);
        self.tools.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.keys().copied()
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.tools.keys()).finish()
    }
}
