//! Keeps the counts of platform calls over restarts: read at start, written every minute and at
//! the end. A crash may lose the last minute's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::base::Timestamp;
use crate::store::{Change, Kept, Shelf, Store, StoreError};
use crate::telemetry::{CallMeter, Event, MonthOfCalls, month_of};

/// How often the counts are written.
const FLUSH_EVERY: Duration = Duration::from_secs(60);
/// At most so many apps have counts in a month.
const APPS_MAX: usize = 1000;

/// The calls of one app in one month, under `<month>/<app>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UsageV1 {
    /// How often each method was called.
    calls: BTreeMap<String, u64>,
}

impl Kept for UsageV1 {
    const SHELF: Shelf = Shelf::Usage;
}

/// The meter and the store that keeps it.
#[derive(Clone)]
pub(super) struct Usage {
    store: Arc<dyn Store>,
    meter: CallMeter,
}

impl Usage {
    pub(super) fn new(store: &Arc<dyn Store>, meter: &CallMeter) -> Self {
        Self { store: Arc::clone(store), meter: meter.clone() }
    }

    /// Takes up the counts of this month. Without them counting begins afresh: that is no reason
    /// not to start.
    pub(super) async fn restore(&self, now: Timestamp) {
        let month = month_of(now);
        match UsageV1::load_all(self.store.as_ref(), &format!("{month}/"), APPS_MAX).await {
            Ok(rows) => {
                for (key, UsageV1 { calls }) in rows {
                    let app = key.split_once('/').map_or("", |(_, app)| app).to_owned();
                    self.meter.restore(MonthOfCalls { month: month.clone(), app, calls });
                }
            }
            Err(error) => Event::UsageNotKept { error: &error }.emit(),
        }
    }

    /// Writes the counts now and then until the end.
    pub(super) async fn keep(self, end: CancellationToken) {
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                () = tokio::time::sleep(FLUSH_EVERY) => self.flush().await,
            }
        }
    }

    /// Writes what has changed.
    pub(super) async fn flush(&self) {
        let fresh = self.meter.take_fresh();
        if fresh.is_empty() {
            return;
        }
        if let Err(error) = self.write(&fresh).await {
            Event::UsageNotKept { error: &error }.emit();
            self.meter.put_back(fresh);
        }
    }

    async fn write(&self, months: &[MonthOfCalls]) -> Result<(), StoreError> {
        let change = |month: &MonthOfCalls| {
            let key = format!("{}/{}", month.month, month.app);
            UsageV1 { calls: month.calls.clone() }.change(&key)
        };
        let changes: Vec<Change> = months.iter().map(change).collect::<Result<_, _>>()?;
        self.store.commit(changes).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Faults;
    use crate::store::{KvStore, MemoryEngine};
    use crate::task::TaskSet;

    const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    fn store() -> Arc<dyn Store> {
        let tasks = TaskSet::new("test", CancellationToken::new());
        Arc::new(KvStore::open(MemoryEngine::default(), tasks, Faults::default()).unwrap())
    }

    #[tokio::test]
    async fn the_counts_of_a_month_go_on_after_a_restart() {
        let store = store();
        for round in 1..=3 {
            let meter = CallMeter::default();
            let usage = Usage::new(&store, &meter);
            usage.restore(NOW).await;
            meter.count("cli_1", "bot_info", NOW);
            meter.count("cli_2", "create_message", NOW);
            usage.flush().await;
            assert_eq!(meter.in_month_of(NOW), 2 * round);
        }
        let meter = CallMeter::default();
        Usage::new(&store, &meter).restore(NOW.after(Duration::from_secs(40 * 86_400))).await;
        assert_eq!(meter.render().lines().count(), 1, "another month begins with nothing");
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_written_later() {
        let closed = store();
        closed.close().await;
        let meter = CallMeter::default();
        meter.count("cli_1", "bot_info", NOW);
        Usage::new(&closed, &meter).flush().await;
        let store = store();
        Usage::new(&store, &meter).flush().await;
        let restored = CallMeter::default();
        Usage::new(&store, &restored).restore(NOW).await;
        assert_eq!(restored.in_month_of(NOW), 1);
    }
}
