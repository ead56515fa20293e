//! What is known of a message.

use super::{Subject, done, sample};
use crate::base::{MessageId, Timestamp, TurnId, Verdict};
use crate::store::{Found, NoteV1};

/// A message is known as the start of an open or closed turn, or as an answer of a closed one.
pub async fn a_message_is_found_by_its_trigger_and_by_its_answer(subject: &impl Subject) {
    let store = done(subject.open());
    let (open, early, late) = (sample::turn(3), sample::turn(1), sample::turn(2));
    done(store.commit(vec![sample::inbox(open)]).await);
    done(store.commit(vec![sample::close(early, &["om_a"])]).await);
    done(store.commit(vec![sample::close(late, &["om_b", "om_a"])]).await);
    let find = async |id: &MessageId| match done(store.find(id).await) {
        Some(Found::Open(turn, row)) => Some(("open", turn, row.message.id)),
        Some(Found::Closed(turn, receipt)) => Some(("closed", turn, receipt.message)),
        Some(Found::Noted(_)) | None => None,
    };
    let trigger = sample::trigger;
    let answer = MessageId::new;
    assert_eq!(find(&trigger(open)).await, Some(("open", open, trigger(open))));
    assert_eq!(find(&trigger(early)).await, Some(("closed", early, trigger(early))));
    assert_eq!(find(&answer("om_b")).await, Some(("closed", late, trigger(late))));
    // Both turns name it: the newest counts.
    assert_eq!(find(&answer("om_a")).await, Some(("closed", late, trigger(late))));
    assert_eq!(find(&answer("om_nobody")).await, None);
    store.close().await;
}

/// `om_1` is neither found in `om_12` nor in a text that mentions it.
pub async fn an_id_is_not_found_in_a_longer_one(subject: &impl Subject) {
    let store = done(subject.open());
    done(store.commit(vec![sample::close(sample::turn(1), &["om_12"])]).await);
    store.note(sample::note("om_1234", "\"om_1\" was quoted", 1));
    done(store.commit(Vec::new()).await);
    for id in ["om_1", "om_123", "12"] {
        let found = done(store.find(&MessageId::new(id)).await);
        assert!(found.is_none(), "{id}: {found:?}");
    }
    assert!(done(store.find(&MessageId::new("om_12")).await).is_some());
    store.close().await;
}

/// Notes answer where no turn does, and of two notes the later.
pub async fn notes_are_found_the_newest_first(subject: &impl Subject) {
    let store = done(subject.open());
    for (at, reason) in [(1, "early"), (2, "late")] {
        store.note(sample::note("om_1", reason, at));
        store.note(sample::note("om_other", reason, at));
    }
    // A commit that returns was handed in behind the notes.
    done(store.commit(vec![sample::journal(sample::turn(1), 0, b"")]).await);
    let found = done(store.find(&MessageId::new("om_1")).await);
    assert!(
        matches!(&found, Some(Found::Noted(note)) if **note == sample::note("om_1", "late", 2)),
        "{found:?}"
    );
    done(store.commit(vec![sample::close(sample::turn(1), &["om_1"])]).await);
    let found = done(store.find(&MessageId::new("om_1")).await);
    assert!(matches!(found, Some(Found::Closed(..))), "{found:?}");
    // The notes are there beside the turn; that it came again is not the news.
    let again = NoteV1 { verdict: Verdict::Duplicate, ..sample::note("om_1", "again", 3) };
    store.note(again);
    done(store.commit(vec![sample::journal(sample::turn(1), 0, b"")]).await);
    let noted = done(store.noted(&MessageId::new("om_1")).await);
    assert_eq!(noted, Some(sample::note("om_1", "late", 2)));
    assert_eq!(done(store.noted(&MessageId::new("om_a")).await), None);
    store.close().await;
}

/// What the bots said is told from the newest turn on, of late turns alone, and not without end.
pub async fn what_was_sent_since_is_told_the_newest_first(subject: &impl Subject) {
    let store = done(subject.open());
    let at = |millis: u64, number: u8| {
        let [_, _, time @ ..] = millis.to_be_bytes();
        let mut bytes = [number; 16];
        bytes.iter_mut().zip(time).for_each(|(byte, of_time)| *byte = of_time);
        TurnId::from_bytes(bytes)
    };
    for (turn, sent) in [
        (at(999, 9), &["om_old"][..]),
        (at(1000, 0), &["om_a", "om_b"]),
        (at(1001, 1), &[]),
        (at(2000, 2), &["om_c"]),
    ] {
        done(store.commit(vec![sample::close(turn, sent)]).await);
    }
    // An open turn has no receipt yet.
    done(store.commit(vec![sample::inbox(at(3000, 3))]).await);
    let sent = async |limit: usize| -> Vec<String> {
        let sent = done(store.sent_since(Timestamp::from_millis(1000), limit).await);
        assert!(sent.iter().all(|(bot, _)| bot.as_str() == "assistant"));
        sent.into_iter().map(|(_, message)| message.to_string()).collect()
    };
    assert_eq!(sent(100).await, ["om_c", "om_a", "om_b"]);
    assert_eq!(sent(2).await, ["om_c"], "a turn counts, and so does its message");
    assert_eq!(sent(4).await, ["om_c", "om_a", "om_b"], "a turn is not told in parts");
    store.close().await;
}
