//! Big stores, filled through the store's own port.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use larkspur::base::{Clock, Faults, SessionKey, SystemClock, Timestamp};
use larkspur::envelope::{DedupKey, Exchange, Speaker};
use larkspur::store::{Change, SessionV1, Store, StoreError, open_sled};
use larkspur::task::TaskSet;
use tokio_util::sync::CancellationToken;

use crate::events::{Dice, chat};

/// Records in one call of the store.
const CALL_RECORDS: usize = 2000;
/// Calls that wait for the commit thread together.
const CALLS: usize = 4;
/// The dedup keys' events are spread over this time before now.
const DEDUP_SPAN: Duration = Duration::from_secs(20 * 3600);

/// Fills a new store in `data`.
pub(crate) fn fill(data: &Path, sessions: usize, dedup_keys: usize) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let tasks = TaskSet::new("fill", CancellationToken::new());
        let store = open_sled(data, tasks, Faults::default())?;
        let now = SystemClock::default().now();
        let mut at = 0;
        while at < sessions {
            let end = (at + CALLS * CALL_RECORDS).min(sessions);
            let calls = calls_of(at, end).map(|(from, to)| {
                let changes = (from..to).map(|number| session(number, now)).collect();
                store.commit(changes)
            });
            try_join_all(calls).await?;
            progress("sessions", end, sessions);
            at = end;
        }
        fill_dedup(&*store, dedup_keys, now).await?;
        store.close().await;
        Ok(())
    })
}

async fn fill_dedup(store: &dyn Store, count: usize, now: Timestamp) -> Result<(), StoreError> {
    let span_ms = u64::try_from(DEDUP_SPAN.as_millis()).unwrap_or(u64::MAX);
    let mut dice = Dice(99);
    let mut at = 0;
    while at < count {
        let end = (at + CALLS * CALL_RECORDS).min(count);
        let groups: Vec<Vec<DedupKey>> = calls_of(at, end)
            .map(|(from, to)| {
                let key = |number: usize| {
                    let part = span_ms * u64::try_from(number).unwrap_or(0)
                        / u64::try_from(count).unwrap_or(1);
                    let age = Duration::from_millis(span_ms - part + dice.roll() % 1000);
                    DedupKey::new(now.before(age), &["message", &format!("om_{}", dice.roll())])
                };
                (from..to).map(key).collect()
            })
            .collect();
        try_join_all(groups.iter().map(|keys| store.accept(keys, Vec::new()))).await?;
        progress("dedup keys", end, count);
        at = end;
    }
    Ok(())
}

fn calls_of(from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
    (from..to).step_by(CALL_RECORDS).map(move |at| (at, (at + CALL_RECORDS).min(to)))
}

fn progress(what: &str, done: usize, of: usize) {
    if done.is_multiple_of(CALLS * CALL_RECORDS * 50) || done == of {
        eprintln!("{done} of {of} {what}");
    }
}

/// A conversation of one question and one answer.
fn session(number: usize, now: Timestamp) -> Change {
    let line = |speaker, content: &str| Exchange { speaker, content: content.to_owned() };
    let history = vec![
        line(Speaker::User, "How do I roll back the deployment of the billing service?"),
        line(
            Speaker::Assistant,
            "Certainly: it is in the runbook of your team, in the chapter on releases. In short: `make rollback TO=` and the version, then watch the error rate for ten minutes.",
        ),
    ];
    Change::PutSession {
        key: SessionKey::new(format!("assistant/{}", chat(number))),
        session: Box::new(SessionV1 { history, epoch: 0, updated_at: now }),
    }
}
