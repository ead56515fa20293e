//! What expires, and what does not.

use std::sync::Arc;
use std::time::Duration;

use super::{Subject, done, open_turns, sample};
use crate::base::{MessageId, Timestamp, TurnId};
use crate::envelope::DedupKey;
use crate::store::{Acceptance, Change, Cursor, Expiring, ExpiryStep, Shelf, Store};

const HOUR_MS: u64 = 3_600_000;
const KEPT: Duration = Duration::from_secs(28 * 3600);
const KEPT_MS: u64 = 28 * HOUR_MS;
/// A moment with room before it.
const NOON: u64 = 1_760_000_000_000;

/// Goes through all records of a kind. Returns how many went, and in how many steps.
async fn expire(store: &dyn Store, what: Expiring, now: u64) -> (usize, usize) {
    let (mut deleted, mut steps) = (0, 0);
    let mut from = Cursor::default();
    loop {
        let now = Timestamp::from_millis(now);
        let expired = done(store.expire(ExpiryStep { what, now, kept: KEPT, from }).await);
        deleted += expired.deleted;
        steps += 1;
        let Some(next) = expired.next else { return (deleted, steps) };
        from = next;
    }
}

fn key_at(millis: u64) -> DedupKey {
    DedupKey::new(Timestamp::from_millis(millis), &["assistant"])
}

/// A turn that was accepted at a time.
fn turn_at(millis: u64) -> TurnId {
    TurnId::from_bytes((u128::from(millis) << 80).to_be_bytes())
}

fn accepted_at(millis: u64) -> Vec<Change> {
    let turn = turn_at(millis);
    let mut row = sample::inbox_record(turn);
    row.accepted_at = Timestamp::from_millis(millis);
    vec![Change::PutInbox { turn, row: Box::new(row) }]
}

/// Events of last year, of now and of the next century: their keys stay for the whole time after
/// the acceptance, and not longer.
pub async fn a_dedup_key_outlives_its_acceptance_whatever_time_its_event_claims(
    subject: &impl Subject,
) {
    let store = done(subject.open());
    let claimed = [0, NOON - 400 * 24 * HOUR_MS, NOON, NOON + HOUR_MS, u64::MAX / 2, u64::MAX];
    for time in claimed {
        done(store.accept(&[key_at(time)], accepted_at(NOON)).await);
    }
    for now in [NOON, NOON + HOUR_MS, NOON + KEPT_MS] {
        assert_eq!(expire(&*store, Expiring::DedupKeys, now).await.0, 0, "{now}");
    }
    for time in claimed {
        let again = done(store.accept(&[key_at(time)], accepted_at(NOON)).await);
        assert_eq!(again, Acceptance::Duplicate, "{time}");
    }
    assert_eq!(expire(&*store, Expiring::DedupKeys, NOON + KEPT_MS + 1).await.0, 5);
    // That of an event that claims to be later stays until its time is over, too.
    let again = done(store.accept(&[key_at(NOON + HOUR_MS)], accepted_at(NOON)).await);
    assert_eq!(again, Acceptance::Duplicate);
    assert_eq!(expire(&*store, Expiring::DedupKeys, NOON + 2 * KEPT_MS).await.0, 1);
    for time in claimed {
        let again = done(store.accept(&[key_at(time)], accepted_at(NOON)).await);
        assert_eq!(again, Acceptance::New, "{time}");
    }
    store.close().await;
}

/// A key whose acceptance is not known is kept for the whole time after it was first met.
pub async fn a_dedup_key_of_an_unknown_acceptance_is_kept_from_when_it_is_met(
    subject: &impl Subject,
) {
    let store = done(subject.open());
    let key = key_at(NOON - 400 * 24 * HOUR_MS);
    done(store.accept(&[key], Vec::new()).await);
    for now in [NOON, NOON + HOUR_MS, NOON + KEPT_MS] {
        assert_eq!(expire(&*store, Expiring::DedupKeys, now).await.0, 0);
        let again = done(store.accept(&[key], Vec::new()).await);
        assert_eq!(again, Acceptance::Duplicate, "{now}");
    }
    assert_eq!(expire(&*store, Expiring::DedupKeys, NOON + KEPT_MS + 1).await.0, 1);
    store.close().await;
}

/// However many there are, a step takes only some, and all go in the end.
pub async fn many_old_keys_go_in_small_steps(subject: &impl Subject) {
    let store = done(subject.open());
    let accepts = (0..1200_u64).map(|number| {
        let store = Arc::clone(&store);
        async move { done(store.accept(&[key_at(NOON + number)], accepted_at(NOON)).await) }
    });
    futures_util::future::join_all(accepts).await;
    let (deleted, steps) = expire(&*store, Expiring::DedupKeys, NOON + KEPT_MS + HOUR_MS).await;
    assert_eq!(deleted, 1200);
    assert!(steps >= 3, "{steps} steps");
    assert_eq!(expire(&*store, Expiring::DedupKeys, NOON + KEPT_MS + HOUR_MS).await.0, 0);
    store.close().await;
}

/// What stays of a turn goes by its acceptance; an open turn stays however old it is.
pub async fn receipts_and_the_ledger_expire_and_open_turns_do_not(subject: &impl Subject) {
    let store = done(subject.open());
    let (old, fresh, open) = (turn_at(NOON), turn_at(NOON + HOUR_MS), turn_at(NOON - HOUR_MS));
    let mut changes = vec![sample::inbox(open), sample::journal(open, 0, b"step")];
    for turn in [old, fresh] {
        changes.extend([sample::close(turn, &[]), sample::ledger(turn, "allow")]);
    }
    done(store.commit(changes).await);
    let now = NOON + KEPT_MS + 1;
    assert_eq!(expire(&*store, Expiring::Receipts, now).await.0, 1);
    assert_eq!(expire(&*store, Expiring::Ledger, now).await.0, 1);
    assert!(done(store.find(&sample::trigger(old)).await).is_none());
    assert!(done(store.find(&sample::trigger(fresh)).await).is_some());
    let ledger = (done(store.ledger(old).await).len(), done(store.ledger(fresh).await).len());
    assert_eq!(ledger, (0, 1));
    assert_eq!(open_turns(&*store).await, [open]);
    assert_eq!(done(store.journal(open).await).len(), 1);
    store.close().await;
}

/// A conversation goes by its last change, with all of its pieces.
pub async fn a_conversation_expires_when_nobody_continues_it(subject: &impl Subject) {
    let store = done(subject.open());
    let (left, continued) = (sample::session_key("left"), sample::session_key("continued"));
    let long = "long ".repeat(4000);
    for (key, updated_at) in [(&left, NOON), (&continued, NOON), (&continued, NOON + HOUR_MS)] {
        let mut session = sample::session_record(updated_at);
        session.history.extend(session.history.clone().into_iter().map(|mut line| {
            line.content.clone_from(&long);
            line
        }));
        let change = Change::PutSession { key: key.clone(), session: Box::new(session) };
        done(store.commit(vec![change]).await);
    }
    assert_eq!(expire(&*store, Expiring::Sessions, NOON + KEPT_MS).await.0, 0);
    assert_eq!(expire(&*store, Expiring::Sessions, NOON + KEPT_MS + 1).await.0, 1);
    assert_eq!(done(store.session(&left).await), None);
    assert!(done(store.session(&continued).await).is_some());
    store.close().await;
}

/// Notes and records of shelves go by their own time; what tells none stays, and so does another
/// shelf.
pub async fn notes_and_shelves_expire_by_their_own_time(subject: &impl Subject) {
    let store = done(subject.open());
    let put = |shelf, key: &str, json: &str| Change::PutKept {
        shelf,
        key: key.to_owned(),
        value: [&[1], json.as_bytes()].concat(),
    };
    let at = |millis: u64| format!("{{\"at\":{millis},\"text\":\"t\"}}");
    store.note(sample::note("om_old", "", NOON));
    store.note(sample::note("om_fresh", "", NOON + HOUR_MS));
    let changes = vec![
        put(Shelf::Overheard, "b/old", &at(NOON)),
        put(Shelf::Overheard, "a/fresh", &at(NOON + HOUR_MS)),
        put(Shelf::Overheard, "c/dateless", "{}"),
        put(Shelf::Overheard, "d/broken", "{"),
        put(Shelf::Recent, "old", &at(NOON)),
    ];
    done(store.commit(changes).await);
    let now = NOON + KEPT_MS + 1;
    assert_eq!(expire(&*store, Expiring::Shelf(Shelf::Overheard), now).await.0, 1);
    assert_eq!(expire(&*store, Expiring::Notes, now).await.0, 1);
    let left = done(store.kept_under(Shelf::Overheard, "", 9).await);
    let left: Vec<_> = left.iter().map(|(key, _value)| key.as_str()).collect();
    assert_eq!(left, ["a/fresh", "c/dateless", "d/broken"]);
    assert!(done(store.kept(Shelf::Recent, "old").await).is_some());
    let found = async |id| done(store.find(&MessageId::new(id)).await).is_some();
    assert_eq!((found("om_old").await, found("om_fresh").await), (false, true));
    store.close().await;
}
