//! Retention: how long what is kept, and the job that takes away what is older.
//!
//! Rows of open turns never expire: they go when the turn is closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Mutex, oneshot};

use super::expiry::{Cursor, Expiring, ExpiryStep};
use super::kept::Shelf;
use super::port::{Store, StoreError};
use crate::base::Clock;
use crate::task::TaskSet;
use crate::telemetry::Event;

/// A message is told from its repetition for at least 26 hours after its acceptance; two more are
/// for clocks that are put right meanwhile.
const DEDUP_KEPT: Duration = Duration::from_secs((26 + 2) * 3600);
/// Cards whose buttons can be pressed or that are changed in place: for as long as the platforms
/// keep a card alive. The signatures of buttons live no longer.
const CARDS_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// Verdicts of events that started no work.
const NOTES_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The first sweep: when the start is over, and early enough for a daemon that never runs long.
const FIRST_SWEEP_AFTER: Duration = Duration::from_secs(5 * 60);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
/// A pause between two steps, for everybody else.
const STEP_PAUSE: Duration = Duration::from_millis(10);
/// Deleting goes no faster than this: when much goes at once, sled moves what is left without a
/// sync, and a power cut in that moment could cost the store.
const DELETED_BYTES_PER_MS: usize = 850;

/// How long what is kept, as far as operators choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Conversations since their last change, and failed turns.
    pub messages: Duration,
    /// What was said in groups beside the bot, and attachments that wait for their question.
    pub overheard: Duration,
    /// Receipts and the ledger of decisions.
    pub ledger: Duration,
}

impl Retention {
    fn rules(&self) -> [(Expiring, Duration); 10] {
        [
            (Expiring::DedupKeys, DEDUP_KEPT),
            (Expiring::Receipts, self.ledger),
            (Expiring::Ledger, self.ledger),
            (Expiring::Notes, NOTES_KEPT),
            (Expiring::Sessions, self.messages),
            (Expiring::Shelf(Shelf::Failed), self.messages),
            (Expiring::Shelf(Shelf::Recent), self.overheard),
            (Expiring::Shelf(Shelf::Overheard), self.overheard),
            (Expiring::Shelf(Shelf::Cards), CARDS_KEPT),
            (Expiring::Shelf(Shelf::InPlace), CARDS_KEPT),
        ]
    }
}

/// How many records of each kind were too old.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Swept(pub BTreeMap<&'static str, usize>);

/// The job.
pub struct Sweeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    retention: Retention,
    tasks: TaskSet,
    /// One sweep at a time.
    sweeping: Mutex<()>,
}

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Sweeper")
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

impl Sweeper {
    /// A sweeper that does nothing yet. It ends with `tasks`.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        retention: Retention,
        tasks: TaskSet,
    ) -> Arc<Self> {
        Arc::new(Self { store, clock, retention, tasks, sweeping: Mutex::default() })
    }

    /// Sweeps some minutes from now and then every hour, until the tasks are cancelled.
    pub fn start(self: &Arc<Self>) {
        let sweeper = Arc::clone(self);
        self.tasks.spawn("retention", async move {
            let mut wait = FIRST_SWEEP_AFTER;
            while sweeper.pause(wait).await {
                if let Err(error) = sweeper.sweep().await {
                    Event::SideEffectFailed { what: "retention", error: &error }.emit();
                }
                wait = SWEEP_EVERY;
            }
        });
    }

    /// Sweeps now. Returns what went if that is done within `patience`; else `None`, and the
    /// sweep goes on.
    ///
    /// # Errors
    /// What the store said.
    pub async fn sweep_now(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Result<Option<Swept>, StoreError> {
        let (done, swept) = oneshot::channel();
        let sweeper = Arc::clone(self);
        self.tasks.spawn("retention_now", async move {
            if done.send(sweeper.sweep().await).is_err() {
                tracing::debug!("whoever asked for the sweep went away");
            }
        });
        match tokio::time::timeout(patience, swept).await {
            Ok(swept) => swept.unwrap_or(Err(StoreError::Closed)).map(Some),
            Err(_elapsed) => Ok(None),
        }
    }

    /// Goes through everything once. A drain ends it early.
    async fn sweep(&self) -> Result<Swept, StoreError> {
        let _alone = self.sweeping.lock().await;
        let mut swept = Swept::default();
        for (what, kept) in self.retention.rules() {
            let deleted = self.sweep_kind(what, kept).await?;
            if deleted > 0 {
                Event::Expired { what: what.name(), deleted }.emit();
            }
            swept.0.insert(what.name(), deleted);
        }
        Ok(swept)
    }

    async fn sweep_kind(&self, what: Expiring, kept: Duration) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let mut deleted = 0;
        let mut from = Cursor::default();
        loop {
            let expired = self.store.expire(ExpiryStep { what, now, kept, from }).await?;
            deleted += expired.deleted;
            match expired.next {
                Some(next) if self.pause(pause_after(expired.bytes)).await => from = next,
                Some(_) | None => return Ok(deleted),
            }
        }
    }

    /// Waits; `false`: the daemon drains.
    async fn pause(&self, wait: Duration) -> bool {
        tokio::select! {
            () = self.tasks.cancellation().cancelled() => false,
            () = tokio::time::sleep(wait) => true,
        }
    }
}

/// How long to leave the store alone after a step.
fn pause_after(bytes: usize) -> Duration {
    let paced = u64::try_from(bytes / DELETED_BYTES_PER_MS).unwrap_or(u64::MAX);
    STEP_PAUSE.max(Duration::from_millis(paced))
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
