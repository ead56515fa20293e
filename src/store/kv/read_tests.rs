use super::*;
use crate::base::{BotName, Verdict};
use crate::store::conformance::sample;
use crate::store::kv::Batch;
use crate::store::memory::MemoryEngine;

fn ring(notes: &[(u32, u64)]) -> MemoryEngine {
    let engine = MemoryEngine::default();
    let mut batch = Batch::default();
    for (slot, at) in notes {
        let note = NoteV1 {
            bot: BotName::new("b"),
            subject: "om_1".to_owned(),
            verdict: Verdict::Filtered,
            reason: String::new(),
            at: Timestamp::from_millis(*at),
        };
        batch.put(key::note(*slot), value::encode("note", &note).unwrap());
    }
    engine.apply(&batch).unwrap();
    engine
}

#[test]
fn the_ring_goes_on_behind_its_newest_note() {
    let last = NOTES_MAX - 1;
    let next = |notes: &[(u32, u64)]| next_note_slot(&ring(notes)).unwrap();
    assert_eq!(next(&[]), 0);
    assert_eq!(next(&[(0, 5)]), 1);
    assert_eq!(next(&[(0, 9), (1, 3), (2, 4)]), 1);
    assert_eq!(next(&[(0, 1), (last, 2)]), 0);
    // Four notes of one instant over the end of the ring.
    assert_eq!(next(&[(0, 7), (1, 7), (2, 3), (last - 1, 7), (last, 7)]), 2);
    assert_eq!(next(&[(0, 0)]), 1);
}

#[test]
fn the_newest_note_of_a_ring_that_went_round_stands_before_the_next_slot() {
    let last = NOTES_MAX - 1;
    let engine = ring(&[(0, 12), (1, 13), (2, 3), (last, 11)]);
    let find = |next| match find(&engine, &MessageId::new("om_1"), next).unwrap() {
        Some(Found::Noted(note)) => note.at.as_millis(),
        other => panic!("{other:?}"),
    };
    assert_eq!(find(2), 13);
    assert_eq!(find(1), 12);
    assert_eq!(find(0), 11);
}

#[test]
fn a_row_that_cannot_be_read_does_not_keep_the_others_from_being_found() {
    let engine = ring(&[]);
    let turn = |number| TurnId::from_bytes([number; 16]);
    let mut batch = Batch::default();
    for (number, row) in [(1, &b"\x01{\"bot\":"[..]), (3, b"\x02{}"), (4, b"")] {
        batch.put(key::of_turn(key::INBOX, turn(number)), row.to_vec());
    }
    let row = sample::inbox_record(turn(2));
    batch.put(key::of_turn(key::INBOX, turn(2)), value::encode("inbox", &row).unwrap());
    engine.apply(&batch).unwrap();
    let open = open_turns(&engine).unwrap();
    let found: Vec<_> = open.rows.into_iter().map(|(turn, _)| turn).collect();
    assert_eq!(found, [turn(2)]);
    assert_eq!(open.unreadable, [1, 3, 4].map(|number| turn(number).to_string()));
    for number in [1, 3, 4] {
        let key = key::of_turn(key::INBOX, turn(number));
        assert!(engine.get(&key).unwrap().is_some(), "row {number} stays");
    }
}

#[test]
fn a_ring_with_a_note_that_cannot_be_read_goes_on() {
    let engine = ring(&[(0, 1), (1, 2)]);
    let mut batch = Batch::default();
    batch.put(key::note(7), b"\x01{\"at\":".to_vec());
    engine.apply(&batch).unwrap();
    assert_eq!(next_note_slot(&engine).unwrap(), 2);
}
