//! The transitions: which input leads from where to where.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::words::{IllegalInput, Input, Outcome, RunSpec, Step, ToolResult};
use super::work::{Phase, Work};
use crate::agent::ports::JournalEntryV1;
use crate::agent::window::Compaction;
use crate::base::Timestamp;
use crate::llm::{ToolCall, Usage};

/// The forced summary may take this long beyond the wall time.
const SUMMARY_TIME_MAX: Duration = Duration::from_secs(30);

/// One run of the engine, at any point of its life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRunV1 {
    phase: Phase,
    work: Option<Work>,
}

impl Default for AgentRunV1 {
    fn default() -> Self {
        Self { phase: Phase::Created, work: None }
    }
}

/// The run that the journal describes, and the ids of calls that were begun.
///
/// # Errors
/// [`IllegalInput`] if the journal is not one of this engine.
pub fn replay(entries: &[JournalEntryV1]) -> Result<(AgentRunV1, Vec<String>), IllegalInput> {
    let mut run = AgentRunV1::default();
    let mut begun = Vec::new();
    for entry in entries {
        match entry {
            JournalEntryV1::Input { input } => {
                if matches!(**input, Input::Started { .. }) {
                    // Begun anew before anything came of it: what it was made of has changed.
                    run = AgentRunV1::default();
                }
                if matches!(**input, Input::ToolsFinished { .. }) {
                    // Ids are told apart within one round only.
                    begun.clear();
                }
                run.apply(input.as_ref().clone())?;
            }
            JournalEntryV1::Resumed { at } => run.resume(*at),
            JournalEntryV1::ToolStarted { call_id } => begun.push(call_id.clone()),
        }
    }
    Ok((run, begun))
}

impl AgentRunV1 {
    /// What the run needs now; `None` before it is started.
    pub fn next_step(&self) -> Option<Step> {
        let work = self.work.as_ref()?;
        Some(match &self.phase {
            Phase::Created => return None,
            Phase::Thinking => Step::CallModel(Box::new(work.request())),
            Phase::Acting { calls } => {
                let output_chars_max = work.window.result_chars_max(calls.len());
                Step::CallTools {
                    iteration: work.iteration,
                    output_chars_max,
                    calls: calls.clone(),
                }
            }
            Phase::Waiting { until } => Step::Wait { until: *until },
            Phase::Summarising { .. } => Step::CallModel(Box::new(work.summary_request())),
            Phase::Finished { outcome } => Step::Done(outcome.clone()),
        })
    }

    /// When the present step must be over: past it the driver gives up on the step and ticks.
    pub fn deadline(&self) -> Option<Timestamp> {
        let work = self.work.as_ref()?;
        match self.phase {
            Phase::Created | Phase::Finished { .. } => None,
            Phase::Thinking | Phase::Acting { .. } | Phase::Waiting { .. } => {
                Some(work.started_at.after(work.spec.wall_time))
            }
            Phase::Summarising { since } => Some(since.after(SUMMARY_TIME_MAX)),
        }
    }

    /// What the run was started with.
    pub fn spec(&self) -> Option<&RunSpec> {
        self.work.as_ref().map(|work| &work.spec)
    }

    /// Rounds so far.
    pub fn iteration(&self) -> u32 {
        self.work.as_ref().map_or(0, |work| work.iteration)
    }

    /// Replies the model gave so far, the forced summary's included; failures are not counted.
    pub fn model_calls(&self) -> u32 {
        self.work.as_ref().map_or(0, |work| work.model_calls)
    }

    /// What was done to keep the conversation within its budget.
    pub fn compactions(&self) -> &[Compaction] {
        self.work.as_ref().map_or(&[], |work| work.window.log())
    }

    /// Tokens so far.
    pub fn usage(&self) -> Usage {
        self.work.as_ref().map_or_else(Usage::default, |work| work.usage)
    }

    /// Takes the run up again at `at`. Its clock stood while the machine was down.
    pub fn resume(&mut self, at: Timestamp) {
        let Some(work) = self.work.as_mut() else { return };
        let pause = at.since(work.heard_at);
        work.heard_at = at;
        work.started_at = work.started_at.after(pause);
        match &mut self.phase {
            Phase::Waiting { until: moment } | Phase::Summarising { since: moment } => {
                *moment = moment.after(pause);
            }
            Phase::Created | Phase::Thinking | Phase::Acting { .. } | Phase::Finished { .. } => {}
        }
    }

    /// Tells the run what happened.
    ///
    /// # Errors
    /// [`IllegalInput`] if the run is in no state for it; the run is then unchanged.
    pub fn apply(&mut self, input: Input) -> Result<(), IllegalInput> {
        let illegal = IllegalInput { state: self.phase.name(), input: input.name() };
        if let Input::Started { at, spec } = input {
            if self.work.is_some() {
                return Err(illegal);
            }
            let mut work = Work::new(*spec, at);
            self.phase = work.begin_round(at);
            self.work = Some(work);
            return Ok(());
        }
        let Some(work) = self.work.as_mut() else {
            return Err(illegal);
        };
        let heard_at = input.at();
        let next = match (&self.phase, input) {
            (Phase::Finished { .. } | Phase::Created, _) => return Err(illegal),
            (_, Input::Cancelled { .. }) => Phase::Finished { outcome: Outcome::Cancelled },
            (_, Input::LeaseLost { .. }) => Phase::Finished { outcome: Outcome::LeaseLost },
            (_, Input::UserSaid { text, .. }) => {
                work.heard.push(text);
                work.heard_at = work.heard_at.max(heard_at);
                return Ok(());
            }
            (Phase::Thinking, Input::ModelReplied { at, reply }) => work.replied(reply, at),
            (Phase::Thinking, Input::ModelFailed { at, kind, text, retry_after, said }) => {
                work.broke_off(&text, said);
                work.failed(kind, retry_after, at)
            }
            (Phase::Thinking, Input::Tick { at }) => work.time_is_over(at),
            (Phase::Acting { calls }, Input::ToolsFinished { at, results }) => {
                if !results_match(calls, &results) {
                    return Err(illegal);
                }
                let calls = calls.clone();
                work.acted(&calls, results);
                work.begin_round(at)
            }
            (Phase::Waiting { .. }, Input::Tick { at }) => work.begin_round(at),
            (Phase::Summarising { .. }, Input::ModelReplied { reply, .. }) => {
                work.summarised(&reply)
            }
            (Phase::Summarising { .. }, Input::ModelFailed { said, .. }) => {
                work.summary_failed(&said)
            }
            (Phase::Summarising { .. }, Input::Tick { .. }) => work.finish_synthetic(),
            (
                _,
                Input::Started { .. }
                | Input::ModelReplied { .. }
                | Input::ModelFailed { .. }
                | Input::ToolsFinished { .. }
                | Input::Answered { .. }
                | Input::WorkerReported { .. }
                | Input::Escalated { .. }
                | Input::Tick { .. },
            ) => return Err(illegal),
        };
        work.heard_at = work.heard_at.max(heard_at);
        self.phase = next;
        Ok(())
    }
}

fn results_match(calls: &[ToolCall], results: &[ToolResult]) -> bool {
    calls.len() == results.len()
        && calls.iter().zip(results).all(|(call, result)| call.id == result.call_id)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
