//! What every engine behind [`Store`] must do, one function a sentence.
//!
//! An engine's tests write `larkspur::store_conformance!(Setup)`, where `Setup: Subject`. The suite
//! reports by panicking. It only sees the port, so it holds for any implementation.

mod copies;
mod expiry;
mod finding;
mod model;
pub(super) mod sample;
mod turns;

use std::sync::Arc;

use super::{Acceptance, Change, Found, Shelf, Store, StoreError};
use crate::base::{MessageId, Timestamp, TurnId};
use crate::envelope::DedupKey;

pub use copies::{
    a_copy_holds_everything_as_it_was_when_it_began, a_second_copy_at_the_same_time_is_refused,
};
pub use expiry::{
    a_conversation_expires_when_nobody_continues_it,
    a_dedup_key_of_an_unknown_acceptance_is_kept_from_when_it_is_met,
    a_dedup_key_outlives_its_acceptance_whatever_time_its_event_claims,
    many_old_keys_go_in_small_steps, notes_and_shelves_expire_by_their_own_time,
    receipts_and_the_ledger_expire_and_open_turns_do_not,
};
pub use finding::{
    a_message_is_found_by_its_trigger_and_by_its_answer, an_id_is_not_found_in_a_longer_one,
    notes_are_found_the_newest_first, what_was_sent_since_is_told_the_newest_first,
};
pub use model::random_operations_agree_with_a_model;
pub use turns::{
    a_journal_is_in_order_and_an_entry_can_be_replaced,
    a_ledger_row_is_replaced_by_the_same_decision,
    closing_in_the_batch_that_fills_the_turn_leaves_nothing,
    closing_removes_the_turn_and_leaves_the_receipt, large_values_come_back_grow_and_shrink,
    sends_are_in_order_and_can_be_replaced,
};

/// An engine under test: one place for data.
pub trait Subject: Default {
    /// Whether what was written is there after closing and opening again.
    const DURABLE: bool;

    /// Opens the data. The suite closes the store before it opens the same subject again.
    ///
    /// # Errors
    /// Whatever opening says.
    fn open(&self) -> Result<Arc<dyn Store>, StoreError>;
}

/// One test for each sentence of the suite, for a [`Subject`].
#[macro_export]
macro_rules! store_conformance {
    ($subject:ty) => {
        $crate::store_conformance!(@each $subject:
            many_acceptances_of_one_key_give_one_new,
            any_known_key_makes_a_duplicate_that_changes_nothing,
            an_acceptance_takes_its_changes_with_it,
            open_turns_stand_in_order_of_acceptance,
            a_journal_is_in_order_and_an_entry_can_be_replaced,
            sends_are_in_order_and_can_be_replaced,
            closing_removes_the_turn_and_leaves_the_receipt,
            closing_in_the_batch_that_fills_the_turn_leaves_nothing,
            a_message_is_found_by_its_trigger_and_by_its_answer,
            an_id_is_not_found_in_a_longer_one,
            what_was_sent_since_is_told_the_newest_first,
            a_ledger_row_is_replaced_by_the_same_decision,
            a_session_comes_back_as_it_was,
            large_values_come_back_grow_and_shrink,
            a_shelf_gives_back_what_was_put_there_and_nothing_of_another,
            a_shelf_is_gone_through_page_by_page,
            notes_are_found_the_newest_first,
            a_dedup_key_outlives_its_acceptance_whatever_time_its_event_claims,
            a_dedup_key_of_an_unknown_acceptance_is_kept_from_when_it_is_met,
            many_old_keys_go_in_small_steps,
            receipts_and_the_ledger_expire_and_open_turns_do_not,
            a_conversation_expires_when_nobody_continues_it,
            notes_and_shelves_expire_by_their_own_time,
            a_copy_holds_everything_as_it_was_when_it_began,
            a_second_copy_at_the_same_time_is_refused,
            a_closed_store_answers_closed,
            everything_is_there_after_opening_again,
        );

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn random_operations_agree_with_a_model() {
            use std::hash::{BuildHasher, Hasher};
            let seed = std::hash::RandomState::new().build_hasher().finish();
            println!("seed {seed}");
            let subject = <$subject>::default();
            $crate::store::conformance::random_operations_agree_with_a_model(&subject, seed).await;
        }
    };
    (@each $subject:ty: $($sentence:ident,)+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $sentence() {
            let subject = <$subject>::default();
            $crate::store::conformance::$sentence(&subject).await;
        }
    )+};
}

/// The value of a call that must work.
#[expect(clippy::panic, reason = "the suite reports by panicking")]
#[track_caller]
fn done<T>(result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("the store failed: {error}"))
}

fn key(number: u64) -> DedupKey {
    DedupKey::new(Timestamp::from_millis(number), &["assistant"])
}

async fn open_turns(store: &dyn Store) -> Vec<TurnId> {
    let open = done(store.open_turns().await);
    assert!(open.unreadable.is_empty(), "{open:?}");
    open.rows.into_iter().map(|(turn, _row)| turn).collect()
}

/// Two hundred tasks bring the same event: one of them is told that it is new.
pub async fn many_acceptances_of_one_key_give_one_new(subject: &impl Subject) {
    let store = done(subject.open());
    let tasks = (0..200_u64).map(|number| {
        let store = Arc::clone(&store);
        async move {
            let turn = sample::turn(number);
            done(store.accept(&[key(1)], vec![sample::inbox(turn)]).await)
        }
    });
    let answers = futures_util::future::join_all(tasks).await;
    let new = answers.iter().filter(|a| **a == Acceptance::New).count();
    assert_eq!((answers.len(), new), (200, 1));
    assert_eq!(open_turns(&*store).await.len(), 1);
    store.close().await;
}

/// One known key of several is enough, and then neither keys nor changes are kept.
pub async fn any_known_key_makes_a_duplicate_that_changes_nothing(subject: &impl Subject) {
    let store = done(subject.open());
    let (first, second) = (sample::turn(1), sample::turn(2));
    let changes = |turn| vec![sample::inbox(turn)];
    let answer = done(store.accept(&[key(1), key(2)], changes(first)).await);
    assert_eq!(answer, Acceptance::New);
    let answer = done(store.accept(&[key(3), key(2)], changes(second)).await);
    assert_eq!(answer, Acceptance::Duplicate);
    assert_eq!(open_turns(&*store).await, [first]);
    // Key 3 came with a duplicate and is still unknown.
    let answer = done(store.accept(&[key(3)], changes(second)).await);
    assert_eq!(answer, Acceptance::New);
    store.close().await;
}

/// Every change of an acceptance is there when it returns.
pub async fn an_acceptance_takes_its_changes_with_it(subject: &impl Subject) {
    let store = done(subject.open());
    let turn = sample::turn(1);
    let changes = vec![
        sample::inbox(turn),
        sample::send(turn, 0, "hello"),
        sample::journal(turn, 0, b"begun"),
    ];
    done(store.accept(&[key(1)], changes).await);
    assert_eq!(open_turns(&*store).await, [turn]);
    let sends = done(store.sends(turn).await);
    assert_eq!(sends, [(0, sample::send_record("hello"))]);
    assert_eq!(done(store.journal(turn).await), [b"begun".to_vec()]);
    store.close().await;
}

/// The order of turn ids, whatever the order of writing.
pub async fn open_turns_stand_in_order_of_acceptance(subject: &impl Subject) {
    let store = done(subject.open());
    let numbers = [300_u64, 2, 256, 1, 255];
    for number in numbers {
        let changes = vec![sample::inbox(sample::turn(number))];
        done(store.accept(&[key(number)], changes).await);
    }
    let expected = [1, 2, 255, 256, 300].map(sample::turn);
    assert_eq!(open_turns(&*store).await, expected);
    store.close().await;
}

/// Any text is a session key, and the last write counts.
pub async fn a_session_comes_back_as_it_was(subject: &impl Subject) {
    let store = done(subject.open());
    let keys = ["", "bot/oc_1", "bot/oc_10", "机器人/群"].map(sample::session_key);
    for (epoch, key) in (1_u64..).zip(&keys) {
        assert_eq!(done(store.session(key).await), None);
        done(store.commit(vec![sample::session(key, 99)]).await);
        done(store.commit(vec![sample::session(key, epoch)]).await);
    }
    for (epoch, key) in (1_u64..).zip(&keys) {
        let session = done(store.session(key).await);
        assert_eq!(session, Some(sample::session_record(epoch)));
    }
    store.close().await;
}

/// Records of shelves are found by key and by prefix, in order, and go when they are dropped.
pub async fn a_shelf_gives_back_what_was_put_there_and_nothing_of_another(subject: &impl Subject) {
    let store = done(subject.open());
    let put = |shelf, key: &str, value: &[u8]| Change::PutKept {
        shelf,
        key: key.to_owned(),
        value: value.to_vec(),
    };
    let changes = ["b/2", "b/1", "a/1", "b"]
        .map(|key| put(Shelf::Usage, key, key.as_bytes()))
        .into_iter()
        .chain([put(Shelf::Failed, "b/3", b"other")])
        .collect();
    done(store.commit(changes).await);
    assert_eq!(done(store.kept(Shelf::Usage, "b/1").await).as_deref(), Some(&b"b/1"[..]));
    assert_eq!(done(store.kept(Shelf::Usage, "b/3").await), None, "another shelf's");
    let keys = async |prefix: &str, limit| {
        let rows = done(store.kept_under(Shelf::Usage, prefix, limit).await);
        rows.into_iter().map(|(key, _value)| key).collect::<Vec<_>>()
    };
    assert_eq!(keys("b/", 9).await, ["b/1", "b/2"]);
    assert_eq!(keys("", 3).await, ["a/1", "b", "b/1"]);
    assert_eq!(keys("", 0).await, [""; 0]);
    let drop = Change::DropKept { shelf: Shelf::Usage, key: "b/1".to_owned() };
    done(store.commit(vec![drop, put(Shelf::Usage, "b/2", b"new")]).await);
    assert_eq!(keys("b/", 9).await, ["b/2"]);
    assert_eq!(done(store.kept(Shelf::Usage, "b/2").await).as_deref(), Some(&b"new"[..]));
    store.close().await;
}

/// Page by page, each behind the last key of the one before.
pub async fn a_shelf_is_gone_through_page_by_page(subject: &impl Subject) {
    let store = done(subject.open());
    let keys = ["b/2", "b/1", "a/1", "b"];
    let put = |key: &str| Change::PutKept {
        shelf: Shelf::Usage,
        key: key.to_owned(),
        value: key.as_bytes().to_vec(),
    };
    done(store.commit(keys.map(put).into()).await);
    let behind = async |after: &str| {
        let rows = done(store.kept_after(Shelf::Usage, after, 2).await);
        rows.into_iter().map(|(key, _value)| key).collect::<Vec<_>>()
    };
    assert_eq!(behind("").await, ["a/1", "b"]);
    assert_eq!(behind("b").await, ["b/1", "b/2"]);
    assert_eq!(behind("b/2").await, [""; 0]);
    store.close().await;
}

/// After `close`, and after a second one, every call says so.
pub async fn a_closed_store_answers_closed(subject: &impl Subject) {
    let store = done(subject.open());
    store.close().await;
    store.close().await;
    store.note(sample::note("om_1", "", 1));
    let turn = sample::turn(1);
    let closed = |error: Option<StoreError>| matches!(error, Some(StoreError::Closed));
    assert!(closed(store.accept(&[key(1)], Vec::new()).await.err()));
    assert!(closed(store.commit(vec![sample::inbox(turn)]).await.err()));
    assert!(closed(store.open_turns().await.err()));
    assert!(closed(store.journal(turn).await.err()));
    assert!(closed(store.sends(turn).await.err()));
    assert!(closed(store.ledger(turn).await.err()));
    assert!(closed(store.session(&sample::session_key("s")).await.err()));
    assert!(closed(store.find(&MessageId::new("om_1")).await.err()));
}

/// Records of every kind survive closing and opening, dedup keys and notes among them.
pub async fn everything_is_there_after_opening_again<S: Subject>(subject: &S) {
    let store = done(subject.open());
    let (open, closed) = (sample::turn(2), sample::turn(1));
    let session = sample::session_key("bot/oc_1");
    let changes = vec![
        sample::inbox(open),
        sample::journal(open, 0, b"step"),
        sample::send(open, 0, "text"),
        sample::session(&session, 3),
        sample::ledger(open, "allow"),
        sample::close(closed, &["om_answer"]),
    ];
    done(store.accept(&[key(1)], changes).await);
    store.note(sample::note("om_noted", "kept", 1));
    store.close().await;
    drop(store);

    if !S::DURABLE {
        return;
    }
    let store = done(subject.open());
    let again = done(store.accept(&[key(1)], Vec::new()).await);
    assert_eq!(again, Acceptance::Duplicate);
    assert_eq!(open_turns(&*store).await, [open]);
    assert_eq!(done(store.journal(open).await), [b"step".to_vec()]);
    assert_eq!(done(store.sends(open).await).len(), 1);
    assert_eq!(done(store.ledger(open).await).len(), 1);
    let kept = done(store.session(&session).await);
    assert_eq!(kept, Some(sample::session_record(3)));
    for id in ["om_answer", "om_noted"] {
        let found = done(store.find(&MessageId::new(id)).await);
        assert!(found.is_some(), "{id}");
    }
    ring_goes_on(store).await;
}

/// The ring goes on behind its newest note.
async fn ring_goes_on(store: Arc<dyn Store>) {
    store.note(sample::note("om_noted", "newer", 2));
    done(store.commit(vec![sample::inbox(sample::turn(3))]).await);
    let found = done(store.find(&MessageId::new("om_noted")).await);
    assert!(matches!(found, Some(Found::Noted(note)) if note.reason == "newer"));
    store.close().await;
}
