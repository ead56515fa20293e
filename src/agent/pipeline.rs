//! What happens to a tool call between the model's wish and its result.
//!
//! `coerce and validate -> allow list -> safety -> [record] -> execute -> observation`. A stage in
//! front of the execution may answer instead of it. Every call gets exactly one decision, which
//! is durable before anything runs.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::policy::{ALLOW_LIST, Action, Decision, Facts, PolicyVerdict, decide};
use super::ports::{JournalEntryV1, Record};
use super::run::{RunSpec, ToolResult};
use crate::base::limit;
use crate::llm::{ToolCall, ToolSpec};
use crate::telemetry::Event;
use crate::tools::{
    Tier, Tool, ToolContext, ToolError, ToolErrorCode, ToolOutput, ToolRegistry, canonical_json,
    coerce, near_names,
};

/// The stages, with what they need to know about the bot.
#[derive(Clone, Debug)]
pub struct Pipeline {
    registry: ToolRegistry,
    tier_max: Tier,
    workspace: Option<PathBuf>,
}

/// A call in front of its execution.
pub(super) struct Prepared {
    call: ToolCall,
    ready: Result<(Arc<dyn Tool>, Value), ToolError>,
    decision: Decision,
}

impl Pipeline {
    /// A pipeline over the tools of the daemon. No call above `tier_max` is allowed, and no path
    /// outside of `workspace`.
    pub fn new(registry: ToolRegistry, tier_max: Tier, workspace: Option<PathBuf>) -> Self {
        Self { registry, tier_max, workspace }
    }

    /// The specifications of the named tools, in the order of the names. A name without a tool
    /// is left out.
    pub fn specs(&self, names: &[&str]) -> Vec<ToolSpec> {
        let tools = names.iter().filter_map(|name| self.registry.get(name));
        tools
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                parameters: tool.parameters(),
            })
            .collect()
    }

    /// The stages in front of the execution, for one round.
    pub(super) fn prepare(
        &self,
        spec: &RunSpec,
        iteration: u32,
        calls: Vec<ToolCall>,
    ) -> Vec<Prepared> {
        let allowed: Vec<String> = spec.tools.iter().map(|tool| tool.name.clone()).collect();
        let indexed = (0u32..).zip(calls);
        indexed
            .map(|(index, call)| {
                let place = Place { allowed: &allowed, iteration, index };
                self.prepare_one(&place, call)
            })
            .collect()
    }

    fn prepare_one(&self, place: &Place<'_>, call: ToolCall) -> Prepared {
        let Some(tool) = self.registry.get(&call.name).map(Arc::clone) else {
            let decision = place.denied(&call, "registry", "no such tool");
            let ready = Err(place.unknown_tool(&call.name));
            return Prepared { call, ready, decision };
        };
        let arguments = match coerce(tool.as_ref(), &call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let decision = place.denied(&call, "arguments", &error.text);
                return Prepared { call, ready: Err(error), decision };
            }
        };
        let paths: Vec<String> = tool
            .path_arguments()
            .iter()
            .filter_map(|name| arguments.get(name).and_then(Value::as_str))
            .map(str::to_owned)
            .collect();
        let facts = Facts {
            allowed: place.allowed,
            tier: tool.tier(),
            tier_max: self.tier_max,
            workspace: self.workspace.as_deref(),
            paths: &paths,
        };
        let decision = decide(place.action(tool.name(), &arguments), &facts);
        let ready = match decision.verdict {
            PolicyVerdict::Allow => Ok((tool, arguments)),
            // To the model, a tool that is not on its list does not exist.
            PolicyVerdict::Deny if decision.source == ALLOW_LIST => {
                Err(place.unknown_tool(&call.name))
            }
            PolicyVerdict::Deny => {
                let text = decision.reason.clone();
                Err(ToolError { code: ToolErrorCode::BlockedByPolicy, text })
            }
        };
        Prepared { call, ready, decision }
    }
}

/// Where in the run a call stands.
struct Place<'a> {
    allowed: &'a [String],
    iteration: u32,
    index: u32,
}

impl Place<'_> {
    fn unknown_tool(&self, name: &str) -> ToolError {
        let near = near_names(name, self.allowed.iter().map(String::as_str));
        let hint = match near.as_slice() {
            [] => String::new(),
            near => format!("; did you mean {}?", near.join(", ")),
        };
        let text = format!("there is no tool `{name}` in this run{hint}");
        ToolError { code: ToolErrorCode::UnknownTool, text }
    }

    fn action(&self, tool: &str, arguments: &Value) -> Action {
        Action {
            tool: tool.to_owned(),
            fingerprint: fingerprint(arguments),
            iteration: self.iteration,
            index: self.index,
        }
    }

    fn denied(&self, call: &ToolCall, source: &'static str, reason: &str) -> Decision {
        Decision {
            action: self.action(&call.name, &call.arguments),
            verdict: PolicyVerdict::Deny,
            source,
            reason: reason.to_owned(),
        }
    }
}

fn fingerprint(arguments: &Value) -> String {
    hex::encode(Sha256::digest(canonical_json(arguments).as_bytes()))
}

impl Prepared {
    /// What has to be durable before the round runs.
    pub(super) fn records(&self) -> Vec<Record> {
        let mut records = vec![Record::Decision(self.decision.clone())];
        if let Ok((tool, _arguments)) = &self.ready
            && !tool.is_idempotent()
        {
            let call_id = self.call.id.clone();
            records.push(Record::Entry(JournalEntryV1::ToolStarted { call_id }));
        }
        records
    }

    /// The provider's id of the call.
    pub(super) fn call_id(&self) -> &str {
        &self.call.id
    }

    /// Whether the call may run beside others.
    pub(super) fn is_parallel(&self) -> bool {
        self.ready.as_ref().map_or(true, |(tool, _arguments)| tool.tier() == Tier::Read)
    }

    /// Runs the call, or gives the answer that stands instead of it.
    ///
    /// `was_begun`: the machine failed while this call was running.
    pub(super) async fn execute(self, context: &ToolContext, was_begun: bool) -> ToolResult {
        let outcome = match self.ready {
            Err(error) => {
                Event::ToolDenied { tool: &self.call.name, reason: error.code.word() }.emit();
                Err(error)
            }
            Ok((tool, _arguments)) if was_begun && !tool.is_idempotent() => Err(ToolError {
                code: ToolErrorCode::OutcomeUnknown,
                text: "the machine failed while this call was running; whether it took effect is \
                       not known. Check before you repeat it"
                    .to_owned(),
            }),
            Ok((tool, arguments)) => run_tool(tool.as_ref(), &arguments, context).await,
        };
        observation(self.call, outcome, context.output_chars_max)
    }
}

async fn run_tool(
    tool: &dyn Tool,
    arguments: &Value,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    // A panicking tool fails its call, not the run.
    let call = AssertUnwindSafe(tool.execute(arguments, context)).catch_unwind();
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => {
            Err(ToolError { code: ToolErrorCode::Cancelled, text: "the run was stopped".to_owned() })
        }
        done = tokio::time::timeout(tool.timeout(), call) => match done {
            Ok(Ok(result)) => result,
            Ok(Err(_panic)) => {
                Event::TaskPanicked { owner: "tool", name: tool.name() }.emit();
                let text = "the tool broke down; do not call it again in this run".to_owned();
                Err(ToolError { code: ToolErrorCode::Failed, text })
            }
            Err(_elapsed) => {
                let text = format!("no result within {} s", tool.timeout().as_secs());
                Err(ToolError { code: ToolErrorCode::Timeout, text })
            }
        },
    }
}

/// What the model gets to read.
fn observation(
    call: ToolCall,
    outcome: Result<ToolOutput, ToolError>,
    chars_max: usize,
) -> ToolResult {
    let (text, succeeded, is_news, sources) = match outcome {
        Ok(output) => (cut(output.text, chars_max), true, output.is_news, output.sources),
        Err(error) => {
            let error = json!({"error": {"code": error.code.word(), "message": error.text}});
            (error.to_string(), false, false, Vec::new())
        }
    };
    ToolResult { call_id: call.id, name: call.name, text, succeeded, is_news, sources }
}

fn cut(text: String, chars_max: usize) -> String {
    let kept = limit::prefix_chars(&text, chars_max);
    if kept.len() == text.len() {
        return text;
    }
    format!("{kept}\n[cut: the whole has {} characters]", text.chars().count())
}
