use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::{Faults, ManualClock, Timestamp};
use crate::envelope::DedupKey;
use crate::store::conformance::sample;
use crate::store::{Acceptance, Change, memory, open_sled};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const RETENTION: Retention = Retention { messages: DAY, overheard: HOUR, ledger: DAY };

/// The load of the test of the store's size: messages of a round, rounds of an hour, and the
/// length of a conversation.
const MESSAGES: u64 = 75;
const ROUNDS: u32 = 2;
const CONVERSATION_BYTES: u64 = 12_000;

fn tasks() -> TaskSet {
    TaskSet::new("test", CancellationToken::new())
}

fn noon() -> Timestamp {
    Timestamp::from_millis(1_760_000_000_000)
}

/// The changes of an acceptance at this moment.
fn accepted(now: Timestamp, number: u64) -> (DedupKey, crate::base::TurnId, Vec<Change>) {
    let turn = u128::from(now.as_millis()) << 80 | u128::from(number);
    let turn = crate::base::TurnId::from_bytes(turn.to_be_bytes());
    let mut row = sample::inbox_record(turn);
    row.accepted_at = now;
    let change = Change::PutInbox { turn, row: Box::new(row) };
    (DedupKey::new(now, &[&number.to_string()]), turn, vec![change])
}

#[tokio::test(start_paused = true)]
async fn the_job_sweeps_some_minutes_after_the_start_and_every_hour() {
    let tasks = tasks();
    let store = memory(tasks.clone()).unwrap();
    let clock = ManualClock::at(noon());
    let sweeper =
        Sweeper::new(Arc::clone(&store), Arc::new(clock.clone()), RETENTION, tasks.clone());
    let session = sample::session_key("s");
    let put = || Change::PutSession {
        key: session.clone(),
        session: Box::new(sample::session_record(noon().as_millis())),
    };
    store.commit(vec![put()]).await.unwrap();
    clock.advance(DAY + HOUR);
    sweeper.start();
    let gone = async || {
        while store.session(&session).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(FIRST_SWEEP_AFTER * 2, gone()).await.expect("the first sweep");
    store.commit(vec![put()]).await.unwrap();
    tokio::time::timeout(SWEEP_EVERY * 2, gone()).await.expect("a later sweep");
    tasks.cancellation().cancel();
    assert_eq!(tasks.join(HOUR).await, 0, "a drain ends the job");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_known_for_26_hours_and_a_sweep_reports_what_went() {
    let store = memory(tasks()).unwrap();
    let clock = ManualClock::at(noon());
    let sweeper = Sweeper::new(Arc::clone(&store), Arc::new(clock.clone()), RETENTION, tasks());
    let (key, _turn, changes) = accepted(noon(), 1);
    store.accept(&[key], changes).await.unwrap();
    clock.advance(26 * HOUR);
    let swept = sweeper.sweep_now(HOUR).await.unwrap().unwrap();
    assert_eq!(swept.0["dedup_keys"], 0);
    let (_, _, again) = accepted(noon(), 1);
    assert_eq!(store.accept(&[key], again).await.unwrap(), Acceptance::Duplicate);
    clock.advance(3 * HOUR);
    let swept = sweeper.sweep_now(HOUR).await.unwrap().unwrap();
    assert_eq!(swept.0["dedup_keys"], 1);
    assert_eq!(swept.0.len(), RETENTION.rules().len());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_goes_on_until_all_that_is_old_is_gone() {
    let store = memory(tasks()).unwrap();
    let clock = ManualClock::at(noon());
    let sweeper = Sweeper::new(Arc::clone(&store), Arc::new(clock.clone()), RETENTION, tasks());
    let accepts = (0..1200).map(|number| {
        let store = Arc::clone(&store);
        async move {
            let (key, _turn, changes) = accepted(noon(), number);
            store.accept(&[key], changes).await.unwrap();
        }
    });
    futures_util::future::join_all(accepts).await;
    clock.advance(29 * HOUR);
    let swept = sweeper.sweep_now(HOUR).await.unwrap().unwrap();
    assert_eq!(swept.0["dedup_keys"], 1200, "more than one step takes");
    store.close().await;
}

#[test]
fn the_more_a_step_deleted_the_longer_is_the_pause_behind_it() {
    for (bytes, millis) in [(0, 10), (8_500, 10), (85_000, 100), (850_000, 1000)] {
        assert_eq!(pause_after(bytes), Duration::from_millis(millis), "{bytes}");
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.metadata().unwrap() {
            data if data.is_dir() => bytes_in(&entry.path()),
            data => data.len(),
        })
        .sum()
}

/// An hour of a steady load on the disk: acceptances, conversations with pieces, receipts, and a
/// sweep at its end.
async fn hour_of_load(store: &Arc<dyn Store>, retention: &Retention, clock: &ManualClock) {
    for round in 0..ROUNDS {
        let now = clock.now();
        let messages = (0..MESSAGES).map(|number| {
            let store = Arc::clone(store);
            async move {
                let (key, turn, changes) = accepted(now, number);
                store.accept(&[key], changes).await.unwrap();
                let mut session = sample::session_record(now.as_millis());
                for line in &mut session.history {
                    line.content = "word ".repeat(2400);
                }
                let key = sample::session_key(&match number % 2 {
                    0 => format!("once/{}/{number}", now.as_millis()),
                    _ => format!("again/{number}"),
                });
                let session = Change::PutSession { key, session: Box::new(session) };
                let closing =
                    vec![session, sample::ledger(turn, "allow"), sample::close(turn, &[])];
                store.commit(closing).await.unwrap();
            }
        });
        futures_util::future::join_all(messages).await;
        clock.advance(HOUR / ROUNDS);
        store.note(sample::note("om_1", "", now.as_millis() + u64::from(round)));
    }
    sweep_without_pauses(&**store, retention, clock.now()).await;
}

/// What a sweep does to the store. Its pauses are for other users and for power cuts; here they
/// would only add minutes.
async fn sweep_without_pauses(store: &dyn Store, retention: &Retention, now: Timestamp) {
    for (what, kept) in retention.rules() {
        let mut from = Some(Cursor::default());
        while let Some(cursor) = from {
            let step = ExpiryStep { what, now, kept, from: cursor };
            from = store.expire(step).await.unwrap().next;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_does_not_grow_under_a_steady_load_that_expires() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_sled(folder.path(), tasks(), Faults::default()).unwrap();
    let clock = ManualClock::at(noon());
    let retention = Retention { messages: 4 * HOUR, overheard: HOUR, ledger: 4 * HOUR };
    // Until as much goes as comes: dedup keys stay for 28 hours.
    for _hour in 0..32 {
        hour_of_load(&store, &retention, &clock).await;
    }
    let settled = bytes_in(&folder.path().join("store"));
    for _hour in 0..64 {
        hour_of_load(&store, &retention, &clock).await;
    }
    let later = bytes_in(&folder.path().join("store"));
    let written = 64 * u64::from(ROUNDS) * MESSAGES * CONVERSATION_BYTES;
    println!("{settled} bytes when settled, {later} after {written} more were written");
    // Half of the conversations are new each time; without expiry they alone would stay.
    assert!(later.saturating_sub(settled) < written / 4, "it grows: {settled} bytes, then {later}");
    store.close().await;
}
