//! What a turn leaves while it is open, and what goes when it closes.

use super::{Subject, done, open_turns, sample};
use crate::store::{Change, Found};

/// Entries stand in order of their sequence, and the same sequence replaces.
pub async fn a_journal_is_in_order_and_an_entry_can_be_replaced(subject: &impl Subject) {
    let store = done(subject.open());
    let (turn, other) = (sample::turn(1), sample::turn(2));
    for sequence in [2_u32, 0, 1, 256] {
        let entry = sequence.to_string();
        done(store.commit(vec![sample::journal(turn, sequence, entry.as_bytes())]).await);
    }
    done(store.commit(vec![sample::journal(turn, 1, b"again")]).await);
    done(store.commit(vec![sample::journal(other, 0, b"other")]).await);
    let expected = [&b"0"[..], b"again", b"2", b"256"].map(<[u8]>::to_vec);
    assert_eq!(done(store.journal(turn).await), expected);
    store.close().await;
}

/// Sends stand in order of their part, and the same part replaces.
pub async fn sends_are_in_order_and_can_be_replaced(subject: &impl Subject) {
    let store = done(subject.open());
    let turn = sample::turn(1);
    for part in [256_u16, 0, 1] {
        done(store.commit(vec![sample::send(turn, part, "first")]).await);
    }
    done(store.commit(vec![sample::send(turn, 1, "second")]).await);
    let expected = [(0, "first"), (1, "second"), (256, "first")]
        .map(|(part, text)| (part, sample::send_record(text)));
    assert_eq!(done(store.sends(turn).await), expected);
    store.close().await;
}

/// Inbox, journal and outbox of the turn go; other turns, its ledger and the receipt stay.
pub async fn closing_removes_the_turn_and_leaves_the_receipt(subject: &impl Subject) {
    let store = done(subject.open());
    let (turn, other) = (sample::turn(1), sample::turn(2));
    for turn in [turn, other] {
        let mut changes = vec![sample::inbox(turn), sample::ledger(turn, "allow")];
        changes.extend((0..20).map(|sequence| sample::journal(turn, sequence, b"step")));
        changes.extend((0..5).map(|part| sample::send(turn, part, "text")));
        done(store.commit(changes).await);
    }
    done(store.commit(vec![sample::close(turn, &[])]).await);
    assert_eq!(open_turns(&*store).await, [other]);
    let rest = (done(store.journal(turn).await).len(), done(store.sends(turn).await).len());
    assert_eq!(rest, (0, 0));
    assert_eq!(done(store.ledger(turn).await).len(), 1);
    let kept = (done(store.journal(other).await).len(), done(store.sends(other).await).len());
    assert_eq!(kept, (20, 5));
    let found = done(store.find(&sample::trigger(turn)).await);
    assert!(
        matches!(&found, Some(Found::Closed(closed, receipt))
            if *closed == turn && **receipt == sample::receipt(turn, &[])),
        "{found:?}"
    );
    store.close().await;
}

/// Rows that the closing batch itself or one beside it wrote go too.
pub async fn closing_in_the_batch_that_fills_the_turn_leaves_nothing(subject: &impl Subject) {
    let store = done(subject.open());
    let turn = sample::turn(1);
    let changes = vec![
        sample::inbox(turn),
        sample::journal(turn, 0, b"step"),
        sample::send(turn, 0, "text"),
        sample::close(turn, &[]),
    ];
    done(store.commit(changes).await);
    assert!(open_turns(&*store).await.is_empty());
    assert!(done(store.journal(turn).await).is_empty());
    assert!(done(store.sends(turn).await).is_empty());
    store.close().await;
}

/// Rows stand by iteration and index; the same place is replaced.
pub async fn a_ledger_row_is_replaced_by_the_same_decision(subject: &impl Subject) {
    let store = done(subject.open());
    let turn = sample::turn(1);
    let place = |iteration, index, verdict| {
        let mut row = sample::ledger_record(turn, verdict);
        (row.iteration, row.index) = (iteration, index);
        row
    };
    for row in [place(1, 0, "allow"), place(0, 300, "deny"), place(0, 2, "defer")] {
        done(store.commit(vec![Change::PutLedger(Box::new(row))]).await);
    }
    let again = place(0, 2, "allow");
    done(store.commit(vec![Change::PutLedger(Box::new(again))]).await);
    let expected = [place(0, 2, "allow"), place(0, 300, "deny"), place(1, 0, "allow")];
    assert_eq!(done(store.ledger(turn).await), expected);
    store.close().await;
}

/// Sizes around every limit an engine may have, in both directions.
pub async fn large_values_come_back_grow_and_shrink(subject: &impl Subject) {
    let store = done(subject.open());
    let turn = sample::turn(1);
    let sizes = [0_usize, 1, 4094, 4095, 4096, 4097, 300_000, 8192, 2_000_000, 12_288, 5];
    for size in sizes {
        let entry: Vec<u8> = (0_u8..251).cycle().take(size).collect();
        done(store.commit(vec![sample::journal(turn, 0, &entry)]).await);
        assert!(done(store.journal(turn).await) == [entry], "{size} bytes");
    }
    done(store.commit(vec![sample::close(turn, &[])]).await);
    assert!(done(store.journal(turn).await).is_empty());
    store.close().await;
}
