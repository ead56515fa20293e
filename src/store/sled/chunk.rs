//! Values in pieces, so that no page of sled grows over 128 KiB.
//!
//! sled moves a larger page into a file of its own and never syncs that file: after a power cut
//! the log would point to nothing. A page holds at most about twenty values, so pieces of 4 KiB keep
//! it well below. The head stays under the value's key; the pieces stand behind all records.

use std::sync::{PoisonError, RwLock};

use sled::IVec;

use super::Batch;
use super::witness::COMMIT_KEY;

/// The longest value that is stored in one piece.
const PIECE_BYTES_MAX: usize = 4096;

/// The first byte of a head; no record's version.
const HEAD_MARK: u8 = 0xFF;

/// The kind byte of pieces: behind all kinds of records.
const PIECE_KIND: u8 = b'~';

/// `~`, the key's length u16, the key, the piece's place u32.
fn piece_key(key: &[u8], place: u32) -> Vec<u8> {
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    let mut bytes = vec![PIECE_KIND];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&place.to_be_bytes());
    bytes
}

/// How many pieces a stored value has besides its head; 0 if it is whole.
fn pieces_of(stored: &[u8]) -> Result<u32, sled::Error> {
    match stored.split_first() {
        Some((&HEAD_MARK, count)) => count
            .try_into()
            .map(u32::from_be_bytes)
            .map_err(|_length| sled::Error::ReportableBug("a head has a wrong length".to_owned())),
        _ => Ok(0),
    }
}

/// The value whose stored form was `stored`; `None` if it is gone by now. A value in pieces is read
/// anew under the lock that keeps writers out, or head and pieces could be of two values.
pub(super) fn whole(
    db: &sled::Db,
    pieces: &RwLock<()>,
    key: &[u8],
    stored: &[u8],
) -> Result<Option<Vec<u8>>, sled::Error> {
    if pieces_of(stored)? == 0 {
        return Ok(Some(stored.to_vec()));
    }
    let _no_writer = pieces.read().unwrap_or_else(PoisonError::into_inner);
    let Some(stored) = db.get(key)? else { return Ok(None) };
    let count = pieces_of(&stored)?;
    if count == 0 {
        return Ok(Some(stored.to_vec()));
    }
    let mut value = Vec::new();
    for place in 0..count {
        let piece = db.get(piece_key(key, place))?.ok_or_else(|| {
            sled::Error::ReportableBug(format!("piece {place} of {count} of a value is missing"))
        })?;
        value.extend_from_slice(&piece);
    }
    Ok(Some(value))
}

/// What takes a batch back: the keys it writes with what they held before.
#[derive(Clone, Default)]
pub(super) struct Undo(Vec<(IVec, Option<IVec>)>);

impl Undo {
    /// As sled gets it.
    pub(super) fn batch(&self) -> sled::Batch {
        let mut batch = sled::Batch::default();
        for (key, before) in &self.0 {
            match before {
                Some(stored) => batch.insert(key, stored),
                None => batch.remove(key),
            }
        }
        batch
    }
}

/// `batch` as sled gets it, with its number if it has one, and what takes it back.
pub(super) fn expand(
    db: &sled::Db,
    batch: &Batch,
    commit: Option<u64>,
) -> Result<(sled::Batch, Undo), sled::Error> {
    let mut out = Expanded { db, writes: sled::Batch::default(), undo: Undo::default() };
    for (key, value) in batch.iter() {
        let before = if batch.is_new(key) { None } else { db.get(key)? };
        let key = &IVec::from(key);
        let mut stale = match &before {
            Some(stored) => pieces_of(stored)?,
            None => 0,
        };
        let mut fresh = 0;
        match value {
            Some(value) if value.len() > PIECE_BYTES_MAX => {
                for piece in value.chunks(PIECE_BYTES_MAX) {
                    out.set(piece_key(key, fresh), Some(piece))?;
                    fresh += 1;
                }
                let [a, b, c, d] = fresh.to_be_bytes();
                out.writes.insert(key, &[HEAD_MARK, a, b, c, d]);
            }
            Some(value) => out.writes.insert(key, value),
            None => out.writes.remove(key),
        }
        out.remember(key, before);
        while stale > fresh {
            stale -= 1;
            out.set(piece_key(key, stale), None)?;
        }
    }
    if let Some(commit) = commit {
        out.set(COMMIT_KEY.to_vec(), Some(&commit.to_be_bytes()))?;
    }
    Ok((out.writes, out.undo))
}

struct Expanded<'a> {
    db: &'a sled::Db,
    writes: sled::Batch,
    undo: Undo,
}

impl Expanded<'_> {
    fn set(&mut self, key: Vec<u8>, value: Option<&[u8]>) -> Result<(), sled::Error> {
        let before = self.db.get(&key)?;
        let key = IVec::from(key);
        self.remember(&key, before);
        match value {
            Some(value) => self.writes.insert(key, value),
            None => self.writes.remove(key),
        }
        Ok(())
    }

    fn remember(&mut self, key: &IVec, before: Option<IVec>) {
        self.undo.0.push((key.clone(), before));
    }
}
