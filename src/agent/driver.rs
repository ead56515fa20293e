//! Performs what a run asks for. The file to read first: every effect of the engine is here.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::pipeline::{Pipeline, Prepared};
use super::ports::{Journal, JournalEntryV1, JournalError, Progress, Record};
use super::run::{AgentRunV1, IllegalInput, Input, Outcome, RunSpec, Step, ToolResult};
use super::window::Compaction;
use crate::base::{Clock, Faults, Timestamp};
use crate::llm::{LlmError, LlmErrorKind, Model, ModelRequest, StreamSink, ToolCall};
use crate::telemetry::Event;
use crate::tools::ToolContext;

/// The two ways to interrupt a run from outside.
#[derive(Clone, Debug, Default)]
pub struct Halt {
    /// A person stopped it: it ends at once, down to the socket.
    pub stop: CancellationToken,
    /// The daemon drains: it pauses at its next step and goes on after the restart.
    pub drain: CancellationToken,
}

/// A run that did not come to an outcome. It can be taken up again from its journal.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal failed; nothing was done that it does not hold.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal holds something this engine does not understand.
    #[error(transparent)]
    Illegal(#[from] IllegalInput),
    /// The daemon drains.
    #[error("the daemon is draining")]
    Drained,
    /// The run asked for something that this version does not offer.
    #[error("the run asked to {0}, which this version does not offer")]
    NotOffered(&'static str),
}

/// Everything a run needs of the world.
#[derive(Clone)]
pub struct Driver {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The way of a tool call.
    pub pipeline: Pipeline,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Points at which tests stop the process.
    pub faults: Faults,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Driver").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl Driver {
    /// Begins a run: its specification is the first line of its journal.
    pub async fn begin(
        &self,
        spec: RunSpec,
        journal: &dyn Journal,
    ) -> Result<AgentRunV1, DriveError> {
        let mut run = AgentRunV1::default();
        let input = Input::Started { at: self.clock.now(), spec: Box::new(spec) };
        self.take(&mut run, input, journal).await?;
        self.faults.at("turn.started");
        Ok(run)
    }

    /// Takes a run up again from its journal, the time of the pause left out.
    pub async fn resume(
        &self,
        mut run: AgentRunV1,
        journal: &dyn Journal,
    ) -> Result<AgentRunV1, DriveError> {
        let at = self.clock.now();
        journal.record(vec![Record::Entry(JournalEntryV1::Resumed { at })]).await?;
        run.resume(at);
        Ok(run)
    }

    /// Drives a run to its outcome. `begun` are the calls that its journal says were running when
    /// the machine failed.
    pub async fn drive(
        &self,
        mut run: AgentRunV1,
        mut begun: &[String],
        journal: &dyn Journal,
        progress: &dyn Progress,
        halt: &Halt,
    ) -> Result<Outcome, DriveError> {
        loop {
            let unbegun = DriveError::NotOffered("start without a beginning");
            let step = run.next_step().ok_or(unbegun)?;
            if halt.drain.is_cancelled() && !matches!(step, Step::Done(_)) {
                return Err(DriveError::Drained);
            }
            let input = match step {
                Step::Done(outcome) => return Ok(outcome),
                Step::CallModel(request) => {
                    self.call_model(&request, run.deadline(), progress, halt).await
                }
                Step::CallTools { iteration, output_chars_max, calls } => {
                    let spec = run.spec().ok_or(DriveError::NotOffered("act before it began"))?;
                    let deadline = run.deadline();
                    let round = Round { spec, iteration, output_chars_max, deadline, begun };
                    progress.tools(&calls);
                    let input = self.call_tools(&round, calls, journal, halt).await?;
                    begun = &[];
                    input
                }
                Step::Wait { until } => self.wait(until, halt).await?,
                Step::Ask(_) => return Err(DriveError::NotOffered("ask a person")),
                Step::Spawn { .. } => return Err(DriveError::NotOffered("spawn a worker")),
            };
            self.take(&mut run, input, journal).await?;
        }
    }

    /// Journals an input, then applies it.
    async fn take(
        &self,
        run: &mut AgentRunV1,
        input: Input,
        journal: &dyn Journal,
    ) -> Result<(), DriveError> {
        let point = match input {
            Input::ModelReplied { .. } => Some("turn.model_replied"),
            Input::ToolsFinished { .. } => Some("turn.tools_finished"),
            _ => None,
        };
        let entry = JournalEntryV1::Input { input: Box::new(input.clone()) };
        journal.record(vec![Record::Entry(entry)]).await?;
        if let Some(point) = point {
            self.faults.at(point);
        }
        let known = run.compactions().len();
        run.apply(input)?;
        for compaction in run.compactions().iter().skip(known) {
            let Compaction { level, before, after, .. } = *compaction;
            Event::Compacted { how: level.word(), before, after }.emit();
        }
        Ok(())
    }

    async fn call_model(
        &self,
        request: &ModelRequest,
        deadline: Option<Timestamp>,
        progress: &dyn Progress,
        halt: &Halt,
    ) -> Input {
        // Whatever was said before was no answer.
        progress.restart();
        let mut sink = Follow { progress, said: String::new(), void: String::new() };
        // Dropping the call closes its connection.
        let result = tokio::select! {
            biased;
            () = halt.stop.cancelled() => return Input::Cancelled { at: self.clock.now() },
            () = self.reach(deadline) => Err(None),
            result = self.model.complete(request, &mut sink) => result.map_err(Some),
        };
        let at = self.clock.now();
        let error = match result {
            Ok(reply) => return Input::ModelReplied { at, reply },
            Err(Some(error)) => {
                Event::ModelFailed { model: self.model.name(), error: &error }.emit();
                error
            }
            Err(None) if sink.has_said_nothing() => return Input::Tick { at },
            Err(None) => LlmError {
                kind: LlmErrorKind::Timeout,
                retry_after: None,
                text: "the time of the run is over".to_owned(),
            },
        };
        let LlmError { kind, retry_after, text } = error;
        Input::ModelFailed { at, kind, text, retry_after, said: sink.give_up() }
    }

    async fn call_tools(
        &self,
        round: &Round<'_>,
        calls: Vec<ToolCall>,
        journal: &dyn Journal,
        halt: &Halt,
    ) -> Result<Input, DriveError> {
        let prepared = self.pipeline.prepare(round.spec, round.iteration, calls);
        journal.record(prepared.iter().flat_map(Prepared::records).collect()).await?;
        self.faults.at("turn.tools_recorded");

        let context = ToolContext {
            session: round.spec.session.clone(),
            sender: round.spec.sender.clone(),
            cancel: halt.stop.child_token(),
            output_chars_max: round.output_chars_max,
        };
        let cancel = context.cancel.clone();
        let work = execute_round(prepared, &context, round.begun);
        tokio::pin!(work);
        let results = tokio::select! {
            biased;
            results = &mut work => results,
            () = self.reach(round.deadline) => {
                // Out of time: the calls end as cancelled and the run sums up.
                cancel.cancel();
                work.await
            }
        };
        if halt.stop.is_cancelled() {
            return Ok(Input::Cancelled { at: self.clock.now() });
        }
        Ok(Input::ToolsFinished { at: self.clock.now(), results })
    }

    async fn wait(&self, until: Timestamp, halt: &Halt) -> Result<Input, DriveError> {
        tokio::select! {
            biased;
            () = halt.stop.cancelled() => Ok(Input::Cancelled { at: self.clock.now() }),
            () = halt.drain.cancelled() => Err(DriveError::Drained),
            () = self.reach(Some(until)) => Ok(Input::Tick { at: self.clock.now() }),
        }
    }

    /// Returns when the clock reaches `time`; never for `None`.
    async fn reach(&self, time: Option<Timestamp>) {
        match time {
            Some(time) => tokio::time::sleep(time.since(self.clock.now())).await,
            None => std::future::pending().await,
        }
    }
}

/// What the calls of a round have in common.
struct Round<'a> {
    spec: &'a RunSpec,
    iteration: u32,
    output_chars_max: usize,
    deadline: Option<Timestamp>,
    begun: &'a [String],
}

/// Runs the calls: neighbours that only read in parallel, all others alone. Results keep the
/// order of the calls.
async fn execute_round(
    prepared: Vec<Prepared>,
    context: &ToolContext,
    begun: &[String],
) -> Vec<ToolResult> {
    let mut results = Vec::with_capacity(prepared.len());
    let mut together = Vec::new();
    for call in prepared {
        let was_begun = begun.iter().any(|id| id == call.call_id());
        if call.is_parallel() {
            together.push(call.execute(context, was_begun));
        } else {
            results.extend(join_all(together.drain(..)).await);
            results.push(call.execute(context, was_begun).await);
        }
    }
    results.extend(join_all(together).await);
    results
}

/// Passes a reply on as it streams in, and keeps it for the case that its end never comes.
struct Follow<'a> {
    progress: &'a dyn Progress,
    said: String,
    /// The last beginning before the present one.
    void: String,
}

impl Follow<'_> {
    fn has_said_nothing(&self) -> bool {
        self.said.is_empty() && self.void.is_empty()
    }

    /// The reply stays unfinished: what there is of it.
    fn give_up(mut self) -> String {
        self.restart();
        self.void
    }
}

impl StreamSink for Follow<'_> {
    fn text(&mut self, delta: &str) {
        self.said.push_str(delta);
        self.progress.text(delta);
    }

    fn restart(&mut self) {
        if !self.said.is_empty() {
            self.void = std::mem::take(&mut self.said);
            self.progress.restart();
        }
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
