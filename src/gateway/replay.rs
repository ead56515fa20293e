//! Doing a failed turn again, because an operator asks for it: once, however often they ask.
//!
//! The new turn, the mark on the failed one and a dedup key made of its id are one acceptance.
//! Whoever asks again finds the mark; who asks at the same moment is stopped by the key.

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::failed::{FailedV1, failed_key};
use super::flow::Gateway;
use super::sessions::Job;
use super::stop::Stop;
use crate::base::TurnId;
use crate::envelope::{DedupKey, FailedPage, Failures, InletError, ReplayError, Replayed};
use crate::store::{Acceptance, AdmittedV1, Change, InboxV1, Kept, Lane, Shelf, StoreError};
use crate::telemetry::Event;

#[async_trait]
impl Failures for Gateway {
    async fn failed(&self, after: Option<TurnId>, limit: usize) -> Result<FailedPage, InletError> {
        let after = after.map(failed_key).unwrap_or_default();
        let rows = self.shared.store.kept_after(Shelf::Failed, &after, limit).await;
        let rows = rows.map_err(|error| unavailable(&error))?;
        let is_full = rows.len() == limit;
        let last = rows.last().filter(|_| is_full);
        Ok(FailedPage {
            next: last.and_then(|(key, _value)| TurnId::parse(key)),
            events: rows.iter().filter_map(|(key, value)| FailedV1::listed(key, value)).collect(),
        })
    }

    async fn replay(&self, failed: TurnId) -> Result<Replayed, ReplayError> {
        // In a task of its own, as every acceptance: whoever asks may go away in the middle.
        let (done, replayed) = oneshot::channel();
        let gateway = self.clone();
        self.shared.tasks.spawn("replay", async move {
            if done.send(gateway.do_again(failed).await).is_err() {
                tracing::debug!("whoever asked for a replay went away");
            }
        });
        let broken =
            |_gone| Err(InletError::Unavailable("the replay broke down".to_owned()).into());
        replayed.await.unwrap_or_else(broken)
    }
}

impl Gateway {
    async fn do_again(&self, failed: TurnId) -> Result<Replayed, ReplayError> {
        if self.drain().is_cancelled() {
            return Err(InletError::Draining.into());
        }
        let mut kept = self.kept_failure(failed).await?;
        if let Some(turn) = kept.replayed {
            return Ok(Replayed { turn, new: false });
        }
        let message = kept.message.clone();
        let name = &message.reply_fn.destination().bot;
        let Some(bot) = self.shared.bots.get(name) else {
            return Err(InletError::UnknownBot(name.clone()).into());
        };
        let lane = self.lane_of(&message);
        let session = message.session.id.clone();
        let seat = match lane {
            Lane::Session => {
                let seat = self.shared.sessions.reserve(&session, bot.queue_max);
                Some(seat.ok_or(ReplayError::Busy)?)
            }
            Lane::Control | Lane::Delivery => None,
        };
        let turn = self.next_turn();
        // Whoever was not cleared then is not let in by being answered again.
        let admitted = AdmittedV1 { again: true, ..kept.admitted };
        let row = InboxV1 { admitted, ..self.row(message, lane) };
        kept.replayed = Some(turn);
        if !self.accept_again(failed, &kept, turn, &row).await? {
            // Another request was faster; its mark is durable.
            let other = self.kept_failure(failed).await?.replayed;
            return other.map(|turn| Replayed { turn, new: false }).ok_or(ReplayError::Unknown);
        }
        Event::Replayed { failed: &failed, turn: &turn }.emit();
        match seat {
            Some(seat) => {
                let job = Job { turn, row, stop: Stop::default(), recovered: false };
                if self.shared.sessions.take(seat, job) {
                    self.start_worker(session);
                }
            }
            None => self.start_aside(turn, row, false),
        }
        Ok(Replayed { turn, new: true })
    }

    async fn kept_failure(&self, failed: TurnId) -> Result<FailedV1, ReplayError> {
        let kept = FailedV1::load(&*self.shared.store, &failed_key(failed)).await;
        kept.map_err(|error| unavailable(&error))?.ok_or(ReplayError::Unknown)
    }

    /// Stores the new turn and the mark; `false` if that was done before.
    async fn accept_again(
        &self,
        failed: TurnId,
        marked: &FailedV1,
        turn: TurnId,
        row: &InboxV1,
    ) -> Result<bool, ReplayError> {
        let key = DedupKey::new(marked.at, &["replay", &failed.to_string()]);
        let accept = async {
            let mark = marked.change(&failed_key(failed))?;
            let changes = vec![Change::PutInbox { turn, row: Box::new(row.clone()) }, mark];
            self.shared.store.accept(&[key], changes).await
        };
        let accepted = accept.await.map_err(|error| unavailable(&error))?;
        Ok(accepted == Acceptance::New)
    }
}

fn unavailable(error: &StoreError) -> InletError {
    InletError::Unavailable(error.to_string())
}
