//! The keys: a kind byte, then what orders the records of the kind.

use super::engine::KeyRange;
use crate::base::{SessionKey, Timestamp, TurnId};
use crate::envelope::DedupKey;
use crate::store::kept::Shelf;
use crate::store::port::StoreError;

pub(super) const DEDUP: u8 = b'd';
pub(super) const INBOX: u8 = b'i';
pub(super) const JOURNAL: u8 = b'j';
pub(super) const LEDGER: u8 = b'l';
pub(super) const META: u8 = b'm';
pub(super) const NOTE: u8 = b'v';
pub(super) const RECEIPT: u8 = b'r';
pub(super) const SEND: u8 = b'o';
pub(super) const SESSION: u8 = b's';

/// The key of the format record. It is in every store from its first commit on.
pub(in crate::store) const FORMAT_KEY: &[u8] = b"mformat";

fn join(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![kind];
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

pub(super) fn dedup(key: DedupKey) -> Vec<u8> {
    join(DEDUP, &[&key.to_bytes()])
}

pub(super) fn of_turn(kind: u8, turn: TurnId) -> Vec<u8> {
    join(kind, &[turn.as_bytes()])
}

pub(super) fn journal(turn: TurnId, sequence: u32) -> Vec<u8> {
    join(JOURNAL, &[turn.as_bytes(), &sequence.to_be_bytes()])
}

pub(super) fn send(turn: TurnId, part: u16) -> Vec<u8> {
    join(SEND, &[turn.as_bytes(), &part.to_be_bytes()])
}

pub(super) fn session(key: &SessionKey) -> Vec<u8> {
    join(SESSION, &[key.as_str().as_bytes()])
}

pub(super) fn ledger(turn: TurnId, iteration: u32, index: u32) -> Vec<u8> {
    join(LEDGER, &[turn.as_bytes(), &iteration.to_be_bytes(), &index.to_be_bytes()])
}

pub(super) fn note(slot: u32) -> Vec<u8> {
    join(NOTE, &[&slot.to_be_bytes()])
}

pub(super) fn kept(shelf: Shelf, key: &str) -> Vec<u8> {
    join(shelf.byte(), &[key.as_bytes()])
}

/// The first key of a kind whose keys begin with a time, from `at` on.
pub(super) fn at_time(kind: u8, at: Timestamp) -> Vec<u8> {
    join(kind, &[&at.as_millis().to_be_bytes()])
}

/// The keys of a kind whose turns were accepted before `at`: the id of a turn begins with that
/// time, in 48 bits.
pub(super) fn turns_before(kind: u8, at: Timestamp) -> KeyRange {
    KeyRange { start: vec![kind], end: first_turn(kind, at) }
}

/// The keys of a kind whose turns were accepted at `at` or later.
pub(super) fn turns_since(kind: u8, at: Timestamp) -> KeyRange {
    KeyRange { start: first_turn(kind, at), end: all(kind).end }
}

fn first_turn(kind: u8, at: Timestamp) -> Vec<u8> {
    let [_, _, time @ ..] = at.as_millis().to_be_bytes();
    join(kind, &[&time])
}

/// All keys of a kind.
pub(super) fn all(kind: u8) -> KeyRange {
    under(&[kind])
}

/// All keys that begin with `prefix`.
pub(super) fn under(prefix: &[u8]) -> KeyRange {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            break;
        }
    }
    KeyRange { start: prefix.to_vec(), end }
}

fn misshapen(kind: &'static str) -> StoreError {
    StoreError::Record { kind, cause: "its key has an unknown shape".to_owned() }
}

/// The turn of a key of [`of_turn`] and of what begins with it.
pub(super) fn turn_in(kind: &'static str, key: &[u8]) -> Result<TurnId, StoreError> {
    key.get(1..)
        .and_then(<[u8]>::first_chunk)
        .map(|bytes| TurnId::from_bytes(*bytes))
        .ok_or_else(|| misshapen(kind))
}

/// The part number of a key of [`send`].
pub(super) fn part_in(key: &[u8]) -> Result<u16, StoreError> {
    key.get(1 + TurnId::BYTES..)
        .and_then(|rest| rest.try_into().ok())
        .map(u16::from_be_bytes)
        .ok_or_else(|| misshapen("send"))
}

/// The slot of a key of [`note`].
pub(super) fn slot_in(key: &[u8]) -> Result<u32, StoreError> {
    key.get(1..)
        .and_then(|rest| rest.try_into().ok())
        .map(u32::from_be_bytes)
        .ok_or_else(|| misshapen("note"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_exactly_what_begins_with_it() {
        let turn = TurnId::from_bytes([0xFF; 16]);
        let range = under(&of_turn(JOURNAL, turn));
        assert!(range.start < journal(turn, 0) && journal(turn, u32::MAX) < range.end);
        assert_eq!(range.end, [JOURNAL + 1]);
        let other = TurnId::from_bytes([0xFE; 16]);
        assert!(journal(other, u32::MAX) < range.start);
    }

    #[test]
    fn numbers_in_keys_stand_in_their_order_and_come_back() {
        let turn = TurnId::from_bytes([7; 16]);
        assert!(send(turn, 255) < send(turn, 256));
        assert!(ledger(turn, 1, 300) < ledger(turn, 2, 0));
        assert_eq!(part_in(&send(turn, 300)).unwrap(), 300);
        assert_eq!(slot_in(&note(70_000)).unwrap(), 70_000);
        assert_eq!(turn_in("send", &send(turn, 1)).unwrap(), turn);
        assert!(part_in(&note(1)).is_err());
    }
}
