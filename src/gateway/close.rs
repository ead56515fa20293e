//! The end of turns, however they come to it: one commit, and one line of the log for each.
//!
//! Their rows go, the receipts stay, and what failed is kept so that it can be done again.

use super::failed::{FailedV1, failed_key};
use super::flow::Gateway;
use super::sessions::Job;
use crate::base::{MessageId, Timestamp, TurnId, Verdict};
use crate::envelope::PathStep;
use crate::store::{Change, ClosingV1, InboxV1, Kept, ReceiptV1, StoreError};
use crate::telemetry::Event;

/// A turn at its end.
struct Closed<'a> {
    turn: TurnId,
    row: &'a InboxV1,
    closing: &'a ClosingV1,
    /// The messages that it was answered with.
    sent: Vec<MessageId>,
    /// The steps that led here.
    path: Vec<PathStep>,
}

impl Closed<'_> {
    fn changes(&self, now: Timestamp) -> Result<Vec<Change>, StoreError> {
        let Self { turn, row, closing, sent, path } = self;
        let mut changes = Vec::with_capacity(2);
        if let Some(failed) = FailedV1::of(row, closing, now) {
            changes.push(failed.change(&failed_key(*turn))?);
        }
        let receipt = ReceiptV1 {
            bot: row.bot.clone(),
            session: row.message.session.id.clone(),
            message: row.message.id.clone(),
            verdict: closing.verdict,
            reason: closing.reason.clone(),
            accepted_at: row.accepted_at,
            closed_at: now,
            sent: sent.clone(),
            path: path.clone(),
        };
        changes.push(Change::CloseTurn { turn: *turn, receipt: Box::new(receipt) });
        Ok(changes)
    }
}

/// What ends a turn that nobody works on, as failed: it is kept, so that it can be done again.
/// `sent`: the messages of its answer that are known to be there.
///
/// # Errors
/// A record cannot be written as bytes.
pub fn end_as_failed(
    turn: TurnId,
    row: &InboxV1,
    reason: &str,
    sent: Vec<MessageId>,
    now: Timestamp,
) -> Result<Vec<Change>, StoreError> {
    let closing = ClosingV1 { verdict: Verdict::Failed, reason: reason.to_owned() };
    Closed { turn, row, closing: &closing, sent, path: Vec::new() }.changes(now)
}

impl Gateway {
    /// Closes a turn that was worked on.
    pub(super) async fn close(
        &self,
        turn: TurnId,
        row: &InboxV1,
        closing: ClosingV1,
        sent: Vec<MessageId>,
    ) -> Result<(), StoreError> {
        // The records go with the turn. One that cannot be read must not keep it open.
        let path = self.steps_so_far(turn, row).await.unwrap_or_default();
        let closed = Closed { turn, row, closing: &closing, sent, path };
        self.commit_closed(&[closed], Vec::new()).await
    }

    /// Closes turns that were still waiting, and makes `changes` with it. If it fails, they are
    /// open as before.
    pub(super) async fn close_unworked(
        &self,
        jobs: &[Job],
        closing: &ClosingV1,
        changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        let closed = jobs.iter().map(|job| {
            let (turn, row) = (job.turn, &job.row);
            Closed { turn, row, closing, sent: Vec::new(), path: Vec::new() }
        });
        let closed: Vec<Closed<'_>> = closed.collect();
        self.commit_closed(&closed, changes).await
    }

    async fn commit_closed(
        &self,
        closed: &[Closed<'_>],
        mut changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        let now = self.shared.clock.now();
        for end in closed {
            changes.extend(end.changes(now)?);
        }
        self.shared.faults.at("close.before");
        self.shared.store.commit(changes).await?;
        self.shared.faults.at("close.after");
        for Closed { turn, row, closing, .. } in closed {
            let elapsed = self.shared.clock.now().since(row.accepted_at);
            let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            Event::TurnClosed { turn, verdict: closing.verdict.word(), elapsed_ms }.emit();
        }
        Ok(())
    }
}
