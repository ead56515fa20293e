//! The way of a message, put together from its records: what the journal and the sends say while a
//! turn is open, and what its receipt keeps of them.

use super::flow::Gateway;
use crate::agent::{Input, JournalEntryV1};
use crate::base::limit::ellipsis;
use crate::base::{MessageId, Timestamp, TurnId};
use crate::envelope::{MessagePath, Operation, PathKind, PathStep};
use crate::store::{Found, InboxV1, LedgerV1, NoteV1, ReceiptV1, SendState, SendV1, StoreError};

/// A receipt keeps at most so many steps, the first ones.
const STEPS_MAX: usize = 64;
/// The longest detail of a step, in characters.
const DETAIL_CHARS_MAX: usize = 160;

impl Gateway {
    /// The way of a message as far as it is known.
    pub(super) async fn path_of(&self, message: &MessageId) -> Result<MessagePath, StoreError> {
        let found = self.find(message).await?;
        let steps = match &found {
            Some(Found::Open(turn, row)) => {
                let mut steps = vec![accepted(row.accepted_at)];
                steps.extend(self.steps_so_far(*turn, row).await?);
                steps.extend(self.decisions(*turn).await?);
                steps
            }
            Some(Found::Closed(turn, receipt)) => {
                let mut steps = vec![accepted(receipt.accepted_at)];
                steps.extend(receipt.path.iter().cloned());
                steps.extend(self.decisions(*turn).await?);
                in_order(&mut steps);
                steps.push(closed(receipt));
                steps
            }
            Some(Found::Noted(note)) => vec![noted(note)],
            None => Vec::new(),
        };
        let mut steps = steps;
        in_order(&mut steps);
        let began_with = match &found {
            Some(Found::Open(_, row)) => Some(row.message.id.clone()),
            Some(Found::Closed(_, receipt)) => Some(receipt.message.clone()),
            Some(Found::Noted(_)) | None => None,
        };
        let why = self.why_of(found);
        Ok(MessagePath { message: message.clone(), began_with, why, steps })
    }

    /// What a turn's records say of its way; a receipt keeps it.
    pub(super) async fn steps_so_far(
        &self,
        turn: TurnId,
        row: &InboxV1,
    ) -> Result<Vec<PathStep>, StoreError> {
        let entries = self.shared.store.journal(turn).await?;
        // What cannot be read is no reason to say nothing of the rest.
        let entries = entries.iter().filter_map(|bytes| serde_json::from_slice(bytes).ok());
        let sends = self.shared.store.sends(turn).await?;
        let mut steps = of_run(entries, row.accepted_at);
        steps.extend(sends.iter().filter_map(|(part, send)| of_send(*part, send)));
        in_order(&mut steps);
        steps.truncate(STEPS_MAX);
        Ok(steps)
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<PathStep>, StoreError> {
        Ok(self.shared.store.ledger(turn).await?.iter().map(decision).collect())
    }
}

fn in_order(steps: &mut [PathStep]) {
    steps.sort_by_key(|step| step.at);
}

fn step(at: Timestamp, kind: PathKind, title: impl Into<String>, detail: &str) -> PathStep {
    let detail = ellipsis(detail, DETAIL_CHARS_MAX);
    PathStep { at, took_ms: None, kind, title: title.into(), detail }
}

fn since(at: Timestamp, from: Timestamp) -> Option<u64> {
    u64::try_from(at.since(from).as_millis()).ok()
}

fn accepted(at: Timestamp) -> PathStep {
    step(at, PathKind::Accepted, "accepted", "stored and synced, then acknowledged")
}

fn closed(receipt: &ReceiptV1) -> PathStep {
    let closed = step(receipt.closed_at, PathKind::Closed, receipt.verdict.word(), &receipt.reason);
    PathStep { took_ms: since(receipt.closed_at, receipt.accepted_at), ..closed }
}

fn noted(note: &NoteV1) -> PathStep {
    step(note.at, PathKind::Note, note.verdict.word(), &note.reason)
}

fn decision(row: &LedgerV1) -> PathStep {
    let title = format!("{} {}", row.verdict, row.tool);
    let detail = match row.reason.as_str() {
        "" => format!("by {}", row.source),
        reason => format!("by {}: {reason}", row.source),
    };
    step(row.at, PathKind::Decision, title, &detail)
}

/// The steps of a run, each with the time since the one before it.
fn of_run(entries: impl Iterator<Item = JournalEntryV1>, accepted_at: Timestamp) -> Vec<PathStep> {
    let mut steps: Vec<PathStep> = Vec::new();
    let mut before = accepted_at;
    for entry in entries {
        let told = match &entry {
            JournalEntryV1::Input { input } => of_input(input),
            JournalEntryV1::Resumed { at } => {
                Some(step(*at, PathKind::Resumed, "resumed", "after a restart"))
            }
            JournalEntryV1::ToolStarted { .. } => None,
        };
        if let Some(told) = told {
            let took_ms = since(told.at, before);
            before = told.at;
            steps.push(PathStep { took_ms, ..told });
        }
    }
    steps
}

fn of_input(input: &Input) -> Option<PathStep> {
    let at = input.at();
    Some(match input {
        Input::Started { spec, .. } => {
            let detail =
                format!("{} tools, at most {} rounds", spec.tools.len(), spec.iterations_max);
            step(at, PathKind::Begun, "run begun", &detail)
        }
        Input::ModelReplied { reply, .. } => {
            let tools: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
            let asked = match tools.as_slice() {
                [] => "an answer".to_owned(),
                tools => format!("asks for {}", tools.join(", ")),
            };
            let (input, output) = (reply.usage.input, reply.usage.output);
            let detail = format!("{asked}; {input} tokens in, {output} out");
            step(at, PathKind::Model, "model replied", &detail)
        }
        Input::ModelFailed { kind, .. } => {
            step(at, PathKind::Model, "model failed", &format!("{kind:?}"))
        }
        Input::ToolsFinished { results, .. } => {
            let told = |succeeded: bool| if succeeded { "" } else { " (failed)" };
            let names = results.iter().map(|one| format!("{}{}", one.name, told(one.succeeded)));
            let names: Vec<String> = names.collect();
            step(at, PathKind::Tool, "tools finished", &names.join(", "))
        }
        Input::Tick { .. } => return None,
        Input::Answered { .. }
        | Input::UserSaid { .. }
        | Input::WorkerReported { .. }
        | Input::Escalated { .. }
        | Input::LeaseLost { .. }
        | Input::Cancelled { .. } => step(at, PathKind::Begun, input.name().replace('_', " "), ""),
    })
}

/// A send that was tried.
fn of_send(part: u16, send: &SendV1) -> Option<PathStep> {
    let tried_at = send.first_try_at?;
    let title = match (&send.state, &send.operation) {
        (SendState::Planned | SendState::InFlight, _) => "being sent",
        (SendState::InDoubt, _) => "in doubt",
        (SendState::Abandoned, _) => "not sent",
        (_, Operation::Create { card: Some(_), .. } | Operation::Reply { card: Some(_), .. }) => {
            "card sent"
        }
        (_, Operation::Show { .. }) => "shown, growing",
        (_, Operation::Finalise { .. }) => "completed",
        (SendState::Confirmed, Operation::ChangeText { .. }) => "changed in place",
        (SendState::Confirmed, _) => "sent",
    };
    let delivered = send.delivered_id.as_deref().unwrap_or_default();
    let detail = [format!("part {}", part + 1), delivered.to_owned(), send.reason.clone()];
    let detail: Vec<String> = detail.into_iter().filter(|words| !words.is_empty()).collect();
    let at = send.settled_at.unwrap_or(tried_at);
    let took_ms = send.settled_at.and_then(|at| since(at, tried_at));
    Some(PathStep { took_ms, ..step(at, PathKind::Send, title, &detail.join("; ")) })
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
