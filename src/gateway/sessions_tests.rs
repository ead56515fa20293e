use super::*;
use crate::base::id::TurnIds;
use crate::base::{BotName, MessageId, Timestamp, Verdict};
use crate::envelope::AgentMessage;
use crate::store::{AdmittedV1, ClosingV1, Lane};

const NOW: Timestamp = Timestamp::from_millis(1);

fn job(ids: &TurnIds) -> Job {
    let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new("m"), "hi").sent_at(NOW);
    Job {
        turn: ids.next(Timestamp::from_millis(1)),
        row: InboxV1 {
            bot: BotName::new("b"),
            message,
            lane: Lane::Session,
            accepted_at: Timestamp::from_millis(1),
            closing: None,
            admitted: AdmittedV1::default(),
            merged: Vec::new(),
            in_place: None,
        },
        stop: Stop::default(),
        recovered: false,
    }
}

#[test]
fn a_line_keeps_its_order_and_is_served_by_one_worker() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    let jobs: Vec<Job> = (0..3).map(|_| job(&ids)).collect();
    let turns: Vec<TurnId> = jobs.iter().map(|job| job.turn).collect();
    let started: Vec<bool> = jobs
        .into_iter()
        .map(|job| sessions.take(sessions.reserve(&key, 8).unwrap(), job))
        .collect();
    assert_eq!(started, [true, false, false]);
    for turn in turns {
        assert_eq!(sessions.next(&key).unwrap().turn, turn);
        assert!(sessions.is_serving(&key, turn));
    }
    assert!(sessions.next(&key).is_none());
    assert!(sessions.lock().is_empty(), "an empty line is gone");
}

#[test]
fn a_full_line_has_no_seat_until_one_is_dropped_or_served() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    let first = sessions.reserve(&key, 2).unwrap();
    let second = sessions.reserve(&key, 2).unwrap();
    assert!(sessions.reserve(&key, 2).is_none());
    drop(second);
    assert!(sessions.take(first, job(&ids)));
    let third = sessions.reserve(&key, 2).unwrap();
    assert!(!sessions.take(third, job(&ids)));
    assert!(sessions.reserve(&key, 2).is_none());
    assert!(sessions.next(&key).is_some());
    assert!(sessions.reserve(&key, 2).is_some());
}

#[test]
fn a_dropped_seat_leaves_no_line_behind() {
    let (sessions, key) = (Sessions::default(), SessionKey::new("s"));
    drop(sessions.reserve(&key, 1));
    assert!(sessions.reserve(&key, 0).is_none());
    assert!(sessions.lock().is_empty());
}

#[test]
fn stopping_ends_who_is_served_and_empties_the_line_but_for_planned_answers() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    let mut planned = job(&ids);
    planned.row.closing = Some(ClosingV1 { verdict: Verdict::Answered, reason: String::new() });
    let (planned_turn, waiting) = (planned.turn, job(&ids));
    let waiting_turn = waiting.turn;
    for job in [job(&ids), waiting, planned] {
        sessions.restore(&key, job);
    }
    let served = sessions.next(&key).unwrap();
    assert_eq!(sessions.counts(&key), (1, 2));
    let (was_served, taken) = sessions.stop(&key, NOW);
    assert!(was_served && served.stop.is_ended());
    assert_eq!(taken.iter().map(|job| job.turn).collect::<Vec<_>>(), [waiting_turn]);
    assert_eq!(sessions.counts(&key), (1, 1));
    assert!(!sessions.put_back(&key, taken), "the worker is still there");
    assert_eq!(sessions.next(&key).unwrap().turn, waiting_turn);
    let planned = sessions.next(&key).unwrap();
    assert_eq!(planned.turn, planned_turn);
    assert!(planned.stop.is_ended(), "its answer is given up");
    let (was_served, taken) = sessions.stop(&SessionKey::new("other"), NOW);
    assert!(!was_served && taken.is_empty());
}

#[test]
fn what_was_sent_after_a_stop_is_not_stopped() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    sessions.restore(&key, job(&ids));
    let later = job(&ids);
    let later_turn = later.turn;
    sessions.restore(&key, later);
    let served = sessions.next(&key).unwrap();
    let (was_served, taken) = sessions.stop(&key, Timestamp::from_millis(0));
    assert!(!was_served && taken.is_empty() && !served.stop.is_ended());
    assert_eq!(sessions.next(&key).unwrap().turn, later_turn);
}

#[test]
fn arrivals_of_one_commit_stand_in_the_order_of_their_turns() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    let (first, second) = (job(&ids), job(&ids));
    let turns = [first.turn, second.turn];
    assert!(sessions.take(sessions.reserve(&key, 8).unwrap(), second));
    assert!(!sessions.take(sessions.reserve(&key, 8).unwrap(), first));
    assert_eq!([sessions.next(&key).unwrap().turn, sessions.next(&key).unwrap().turn], turns);
}

#[test]
fn who_is_served_together_is_ended_together_and_nobody_joins_who_was_ended() {
    let (sessions, ids, key) = (Sessions::default(), TurnIds::default(), SessionKey::new("s"));
    for id in ["m1", "m2", "m3"] {
        let mut job = job(&ids);
        job.row.message.id = MessageId::new(id);
        sessions.restore(&key, job);
    }
    let first = sessions.next(&key).unwrap();
    let (m1, m2) = (MessageId::new("m1"), MessageId::new("m2"));
    let others = sessions.take_along(&key, |row| row.message.id == m2);
    assert_eq!(others.len(), 1);
    let closing = ClosingV1 { verdict: Verdict::Recalled, reason: String::new() };
    let end = |meant: &[&MessageId]| {
        sessions.end_everywhere(&closing, |about| about.messages == meant);
        first.stop.is_ended()
    };
    assert!(!end(&[&m1]), "it is served for both");
    sessions.part(&key, others);
    assert!(!end(&[&m1, &m2]), "it is served for itself again");
    assert_eq!(sessions.counts(&key), (1, 2));
    assert!(end(&[&m1]));
    assert!(sessions.take_along(&key, |_| true).is_empty(), "they would end with it");
    assert_eq!(sessions.next(&key).unwrap().row.message.id, m2, "in its old place");
}
