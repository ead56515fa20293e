//! Copies of a store that goes on meanwhile.

use super::{Subject, done, key, sample};
use crate::base::TurnId;
use crate::store::{Change, Row, Snapshot, Store, StoreError};

/// Turns of the suite: more rows than one piece of a copy has.
const TURNS: u64 = 400;

async fn rest_of(snapshot: &mut dyn Snapshot) -> Vec<Row> {
    let mut rows = Vec::new();
    loop {
        let piece = done(snapshot.next().await);
        if piece.is_empty() {
            return rows;
        }
        rows.extend(piece);
    }
}

async fn all_of(store: &dyn Store) -> Vec<Row> {
    let mut snapshot = done(store.snapshot().await);
    rest_of(&mut *snapshot).await
}

fn turns() -> impl Iterator<Item = TurnId> {
    (0..TURNS).map(sample::turn)
}

/// Rows that are replaced, removed and added while the copy is made are in it as they were.
pub async fn a_copy_holds_everything_as_it_was_when_it_began(subject: &impl Subject) {
    let store = done(subject.open());
    let session = |turn: TurnId| sample::session_key(&turn.to_string());
    for (number, turn) in (0..).zip(turns()) {
        let changes = vec![
            sample::inbox(turn),
            sample::journal(turn, 0, &[b'"'; 5000]),
            sample::session(&session(turn), 1),
        ];
        done(store.accept(&[key(number)], changes).await);
    }
    let before = all_of(&*store).await;

    let mut snapshot = done(store.snapshot().await);
    let mut copied = done(snapshot.next().await);
    assert!(copied.len() < before.len(), "a copy is made in pieces");
    for (number, turn) in (TURNS..).zip(turns()) {
        let changes = vec![sample::close(turn, &[]), sample::session(&session(turn), 2)];
        done(store.accept(&[key(number)], changes).await);
        if number % 100 == 0 {
            copied.extend(done(snapshot.next().await));
        }
    }
    store.note(sample::note("om_1", "", 1));
    done(store.commit(vec![sample::inbox(sample::turn(TURNS))]).await);
    copied.extend(rest_of(&mut *snapshot).await);
    assert!(copied == before, "{} rows were copied, {} were there", copied.len(), before.len());
    drop(snapshot);
    assert!(all_of(&*store).await != before, "a later copy has what was written since");
    store.close().await;
}

/// One at a time; who drops a copy makes room for the next.
pub async fn a_second_copy_at_the_same_time_is_refused(subject: &impl Subject) {
    let store = done(subject.open());
    done(store.commit(vec![sample::inbox(sample::turn(1))]).await);
    let first = done(store.snapshot().await);
    assert!(matches!(store.snapshot().await.err(), Some(StoreError::Copying)));
    drop(first);
    assert_eq!(all_of(&*store).await.len(), 2, "the format and the turn");
    let drop = Change::DropKept { shelf: crate::store::Shelf::Usage, key: "none".to_owned() };
    done(store.commit(vec![drop]).await);
    store.close().await;
}
