//! Several models in a row: the next is asked when one does not answer.
//!
//! When all of them rest, the offline answerer may begin a run, and then ends it, too. It never
//! steps into a run that a model has begun: such a run has findings of its own to end with.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::offline::OfflineModel;
use super::port::{
    ChatMessage, LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink, ToolChoice,
    Usage,
};
use crate::base::Disposition;
use crate::base::limit::is_blank;
use crate::telemetry::Event;

/// The row. Its name and window are those of the first.
pub struct FallbackModel {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    stand_in: OfflineModel,
}

impl FallbackModel {
    /// `first`, then `others` in their order.
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others, stand_in: OfflineModel::standing_in() }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn Model>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    async fn ask_in_order(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let mut outcome = Outcome::default();
        let mut failed: Option<&str> = None;
        for model in self.all() {
            if let Some(failed) = failed {
                Event::ModelReplaced { model: failed, by: model.name() }.emit();
                sink.restart();
            }
            match model.complete(request, sink).await {
                Ok(reply) if is_empty(&reply) && outcome.empty.is_none() => {
                    outcome.empty = Some(reply);
                }
                Ok(reply) => return Ok(outcome.paid(reply)),
                // One retry on the next model is what an empty reply is worth.
                Err(_) if outcome.empty.is_some() => break,
                Err(error) => outcome.note(error),
            }
            failed = Some(model.name());
        }
        outcome.into_result()
    }
}

/// What came of the models that did not answer.
#[derive(Default)]
struct Outcome {
    empty: Option<ModelReply>,
    error: Option<LlmError>,
}

impl Outcome {
    /// Of several failures the one that gives most hope is told; that a model rests, only if all do.
    fn note(&mut self, error: LlmError) {
        if self.error.as_ref().is_none_or(|known| hope(known) < hope(&error)) {
            self.error = Some(error);
        }
    }

    /// The reply, with what an empty one before it has cost.
    fn paid(self, mut reply: ModelReply) -> ModelReply {
        let before = self.empty.map_or_else(Usage::default, |empty| empty.usage);
        reply.usage.input += before.input;
        reply.usage.output += before.output;
        reply.usage.cached += before.cached;
        reply
    }

    fn into_result(self) -> Result<ModelReply, LlmError> {
        match (self.empty, self.error) {
            (Some(empty), _) => Ok(empty),
            (None, Some(error)) => Err(error),
            // There is always a first model.
            (None, None) => Err(super::failure::malformed("no model was asked")),
        }
    }
}

fn hope(error: &LlmError) -> u8 {
    match (error.disposition(), error.kind) {
        (Disposition::Retry { .. }, _) => 2,
        (_, LlmErrorKind::CircuitOpen) => 0,
        (Disposition::Reject | Disposition::Fatal, _) => 1,
    }
}

fn is_empty(reply: &ModelReply) -> bool {
    is_blank(&reply.text) && reply.calls.is_empty()
}

/// Whether no model has done anything for the question yet, and tools may be called: the forced
/// summary at the end of a run offers none.
fn begins_a_run(request: &ModelRequest) -> bool {
    let has_round = request.messages.iter().any(|message| match message {
        ChatMessage::Assistant { calls, .. } => !calls.is_empty(),
        ChatMessage::Tool { .. } => true,
        ChatMessage::User { .. } => false,
    });
    !has_round && !request.tools.is_empty() && request.tool_choice != ToolChoice::None
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.all().map(|model| model.name()).collect();
        formatter.debug_struct("FallbackModel").field("names", &names).finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for FallbackModel {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn context_window(&self) -> u64 {
        self.first.context_window()
    }

    fn resting(&self) -> Vec<String> {
        self.all().flat_map(|model| model.resting()).collect()
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        if OfflineModel::has_begun(request) {
            return self.stand_in.complete(request, sink).await;
        }
        match self.ask_in_order(request, sink).await {
            Err(error) if error.kind == LlmErrorKind::CircuitOpen && begins_a_run(request) => {
                let by = self.stand_in.name();
                Event::ModelReplaced { model: self.name(), by }.emit();
                self.stand_in.complete(request, sink).await
            }
            outcome => outcome,
        }
    }
}

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod tests;
