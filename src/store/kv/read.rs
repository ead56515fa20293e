//! The questions: decoding scans over an engine. Blocking; called off the async threads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;

use super::check::name_of;
use super::engine::{Direction, Engine, KeyRange};
use super::{NOTES_MAX, key, value};
use crate::base::{BotName, MessageId, SessionKey, Timestamp, TurnId, Verdict};
use crate::store::kept::Shelf;
use crate::store::port::{Found, OpenTurns, StoreError};
use crate::store::record::{InboxV1, LedgerV1, NoteV1, ReceiptV1, SendV1, SessionV1};
use crate::telemetry::Event;

pub(super) fn open_turns(engine: &impl Engine) -> Result<OpenTurns, StoreError> {
    let mut open = OpenTurns::default();
    engine.scan(&key::all(key::INBOX), Direction::Forward, &mut |key, bytes| {
        let turn = key::turn_in("inbox", key);
        match turn.and_then(|turn| Ok((turn, value::decode("inbox", bytes)?))) {
            Ok(turn) => open.rows.push(turn),
            Err(error) => {
                let turn = name_of(key);
                Event::RecordUnreadable { kind: "inbox", key: &turn, error: &error }.emit();
                open.unreadable.push(turn);
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(open)
}

pub(super) fn journal(engine: &impl Engine, turn: TurnId) -> Result<Vec<Vec<u8>>, StoreError> {
    let range = key::under(&key::of_turn(key::JOURNAL, turn));
    collect(engine, &range, |_key, bytes| Ok(value::body("journal", bytes)?.to_vec()))
}

pub(super) fn sends(engine: &impl Engine, turn: TurnId) -> Result<Vec<(u16, SendV1)>, StoreError> {
    let range = key::under(&key::of_turn(key::SEND, turn));
    collect(engine, &range, |key, bytes| Ok((key::part_in(key)?, value::decode("send", bytes)?)))
}

pub(super) fn ledger(engine: &impl Engine, turn: TurnId) -> Result<Vec<LedgerV1>, StoreError> {
    let range = key::under(&key::of_turn(key::LEDGER, turn));
    collect(engine, &range, |_key, bytes| value::decode("ledger", bytes))
}

pub(super) fn session(
    engine: &impl Engine,
    key: &SessionKey,
) -> Result<Option<SessionV1>, StoreError> {
    engine.get(&key::session(key))?.map(|bytes| value::decode("session", &bytes)).transpose()
}

/// Records of a shelf, encoded, and their keys.
type KeptRows = Vec<(String, Vec<u8>)>;

pub(super) fn kept(
    engine: &impl Engine,
    shelf: Shelf,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    engine.get(&key::kept(shelf, key))
}

pub(super) fn kept_under(
    engine: &impl Engine,
    shelf: Shelf,
    prefix: &str,
    limit: usize,
) -> Result<KeptRows, StoreError> {
    kept_in(engine, &key::under(&key::kept(shelf, prefix)), limit)
}

pub(super) fn kept_after(
    engine: &impl Engine,
    shelf: Shelf,
    after: &str,
    limit: usize,
) -> Result<KeptRows, StoreError> {
    let end = key::under(&key::kept(shelf, "")).end;
    // The first key behind `after` is `after` and a zero.
    let mut start = key::kept(shelf, after);
    start.push(0);
    kept_in(engine, &KeyRange { start, end }, limit)
}

fn kept_in(engine: &impl Engine, range: &KeyRange, limit: usize) -> Result<KeptRows, StoreError> {
    let mut rows = Vec::new();
    if limit == 0 {
        return Ok(rows);
    }
    engine.scan(range, Direction::Forward, &mut |key, bytes| {
        let key = key.get(1..).unwrap_or_default();
        rows.push((String::from_utf8_lossy(key).into_owned(), bytes.to_vec()));
        if rows.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(rows)
}

/// What is known of `message`: open turns, then receipts, then notes, each the newest first.
/// `next_note` is the slot that the next note would take.
pub(super) fn find(
    engine: &impl Engine,
    message: &MessageId,
    next_note: u32,
) -> Result<Option<Found>, StoreError> {
    // A failed turn names itself to people, so they ask for it by that.
    if let Some(turn) = TurnId::read(message.as_str())
        && let Some(found) = find_turn(engine, turn)?
    {
        return Ok(Some(found));
    }
    let rows = Rows::with(engine, message)?;
    let open =
        rows.newest("inbox", &key::all(key::INBOX), |row: &InboxV1| row.message.id == *message)?;
    if let Some((key, row)) = open {
        let turn = key::turn_in("inbox", &key)?;
        return Ok(Some(Found::Open(turn, Box::new(row))));
    }
    let closed = rows.newest("receipt", &key::all(key::RECEIPT), |row: &ReceiptV1| {
        row.message == *message || row.sent.contains(message)
    })?;
    if let Some((key, row)) = closed {
        let turn = key::turn_in("receipt", &key)?;
        return Ok(Some(Found::Closed(turn, Box::new(row))));
    }
    let note = rows.newest_note(next_note, |row| row.subject == message.as_str())?;
    Ok(note.map(|note| Found::Noted(Box::new(note))))
}

fn find_turn(engine: &impl Engine, turn: TurnId) -> Result<Option<Found>, StoreError> {
    if let Some(bytes) = engine.get(&key::of_turn(key::INBOX, turn))? {
        let row: InboxV1 = value::decode("inbox", &bytes)?;
        return Ok(Some(Found::Open(turn, Box::new(row))));
    }
    let Some(bytes) = engine.get(&key::of_turn(key::RECEIPT, turn))? else { return Ok(None) };
    let receipt: ReceiptV1 = value::decode("receipt", &bytes)?;
    Ok(Some(Found::Closed(turn, Box::new(receipt))))
}

/// The newest note of `message` but that it came again.
pub(super) fn noted(
    engine: &impl Engine,
    message: &MessageId,
    next_note: u32,
) -> Result<Option<NoteV1>, StoreError> {
    Rows::with(engine, message)?.newest_note(next_note, |row| {
        row.subject == message.as_str() && row.verdict != Verdict::Duplicate
    })
}

/// What the newest turns were answered with; see [`Store::sent_since`](crate::store::Store).
pub(super) fn sent_since(
    engine: &impl Engine,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<(BotName, MessageId)>, StoreError> {
    let mut sent = Vec::new();
    let mut turns = 0_usize;
    let range = key::turns_since(key::RECEIPT, since);
    engine.scan(&range, Direction::Backward, &mut |_key, bytes| {
        turns += 1;
        // One that cannot be read says nothing, and must not keep the daemon from starting.
        if let Ok(ReceiptV1 { bot, sent: of_turn, .. }) = value::decode("receipt", bytes) {
            sent.extend(of_turn.into_iter().map(|message| (bot.clone(), message)));
        }
        let is_enough = turns + sent.len() >= limit;
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(sent)
}

/// The slot behind the newest note; 0 without notes.
pub(super) fn next_note_slot(engine: &impl Engine) -> Result<u32, StoreError> {
    let mut newest = Timestamp::default();
    let mut slots = BTreeSet::new();
    let dated = |key: &[u8], bytes: &[u8]| {
        // A note that cannot be read answers nothing, but it must not keep the store from opening.
        let Ok(at) = value::dated("note", bytes) else { return Ok(()) };
        if at > newest {
            newest = at;
            slots.clear();
        }
        if at == newest {
            slots.insert(key::slot_in(key)?);
        }
        Ok(())
    };
    collect(engine, &key::all(key::NOTE), dated)?;
    let Some(last) = slots.last() else {
        return Ok(0);
    };
    // Notes of the same instant may reach over the end of the ring; the newest is the one that
    // has no other of them behind it.
    let mut next = (last + 1) % NOTES_MAX;
    while slots.remove(&next) {
        next = (next + 1) % NOTES_MAX;
    }
    Ok(next)
}

/// Decodes everything in `range`, in order.
fn collect<T>(
    engine: &impl Engine,
    range: &KeyRange,
    mut decode: impl FnMut(&[u8], &[u8]) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Ok(Vec::new());
    engine.scan(
        range,
        Direction::Forward,
        &mut |key, bytes| match (decode(key, bytes), &mut rows) {
            (Ok(row), Ok(rows)) => {
                rows.push(row);
                ControlFlow::Continue(())
            }
            (Err(error), _) => {
                rows = Err(error);
                ControlFlow::Break(())
            }
            (Ok(_row), Err(_earlier)) => ControlFlow::Break(()),
        },
    )?;
    rows
}

/// A record and its key.
type Keyed<T> = (Vec<u8>, T);

/// Records that hold `needle` somewhere in their bytes.
struct Rows<'a, E> {
    engine: &'a E,
    needle: Vec<u8>,
}

impl<'a, E: Engine> Rows<'a, E> {
    /// Those that name a message: in its JSON form with the quotes, so that `om_1` is not found in
    /// `om_12`.
    fn with(engine: &'a E, message: &MessageId) -> Result<Self, StoreError> {
        let needle = serde_json::to_vec(message)
            .map_err(|error| StoreError::Record { kind: "message id", cause: error.to_string() })?;
        Ok(Self { engine, needle })
    }

    /// The newest note that is `wanted`.
    fn newest_note(
        &self,
        next_note: u32,
        wanted: impl Fn(&NoteV1) -> bool,
    ) -> Result<Option<NoteV1>, StoreError> {
        // The ring's newest note stands before the next slot, its oldest behind it.
        let ring = key::all(key::NOTE);
        let split = key::note(next_note);
        let newer = KeyRange { start: ring.start, end: split.clone() };
        let older = KeyRange { start: split, end: ring.end };
        for half in [newer, older] {
            if let Some((_key, note)) = self.newest("note", &half, &wanted)? {
                return Ok(Some(note));
            }
        }
        Ok(None)
    }

    /// The last record of `range` that is `wanted`, with its key. Only records that hold the
    /// needle are decoded.
    fn newest<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        range: &KeyRange,
        wanted: impl Fn(&T) -> bool,
    ) -> Result<Option<Keyed<T>>, StoreError> {
        let mut found = Ok(None);
        self.engine.scan(range, Direction::Backward, &mut |key, bytes| {
            if !contains(bytes, &self.needle) {
                return ControlFlow::Continue(());
            }
            match value::decode(kind, bytes) {
                Ok(row) if wanted(&row) => found = Ok(Some((key.to_vec(), row))),
                Ok(_other) => return ControlFlow::Continue(()),
                Err(error) => found = Err(error),
            }
            ControlFlow::Break(())
        })?;
        found
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
