//! A copy of everything as it was at one moment, while writing goes on.
//!
//! The copy walks the keys in pieces. The commit thread, before it changes a key that the walk has
//! not reached, keeps the value the key had. Each waits for the other only for one piece or one
//! batch. Without a copy under way a batch costs one lock that nobody else wants.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::engine::{Batch, Direction, Engine, KeyRange};
use crate::store::copy::{Row, Snapshot};
use crate::store::port::StoreError;
use crate::task::TaskSet;

/// Rows of one piece at most, and their size in bytes from which on it is full.
const PIECE_ROWS_MAX: usize = 500;
const PIECE_BYTES: usize = 1 << 20;
/// Old values that are kept for a copy, in bytes. A copy that needs more is given up.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Behind the keys of all records; engines keep their own things from here on.
const END: u8 = b'~';

/// The keys of all records.
pub(in crate::store) fn records() -> KeyRange {
    KeyRange { start: Vec::new(), end: vec![END] }
}

/// The copy under way, if there is one.
#[derive(Debug, Default)]
pub(super) struct Copies {
    under_way: Mutex<Option<Copying>>,
    begun: AtomicU64,
}

#[derive(Debug, Default)]
struct Copying {
    /// Which copy this is. A piece of an earlier one may still be read after its end, for a
    /// reading thread cannot be called back; it must not take rows from this one.
    number: u64,
    /// The first key that is not copied yet.
    reached: Vec<u8>,
    /// What keys from there on held when the copy began, as far as they were changed since.
    before: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
    /// Why it cannot go on.
    broken: Option<String>,
}

impl Copies {
    fn lock(&self) -> MutexGuard<'_, Option<Copying>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a batch by `apply`, and keeps for the copy what that changes.
    pub(super) fn around(
        &self,
        engine: &impl Engine,
        batch: &Batch,
        apply: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut under_way = self.lock();
        if let Some(copying) = under_way.as_mut() {
            copying.keep(engine, batch);
        }
        apply()
    }

    /// Returns the number of the copy that begins.
    fn begin(&self) -> Result<u64, StoreError> {
        let mut under_way = self.lock();
        if under_way.is_some() {
            return Err(StoreError::Copying);
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        *under_way = Some(Copying { number, ..Copying::default() });
        Ok(number)
    }

    fn next(&self, engine: &impl Engine, number: u64) -> Result<Vec<Row>, StoreError> {
        match self.lock().as_mut() {
            Some(copying) if copying.number == number => copying.next(engine),
            // Not an empty piece, which would say that the copy is whole.
            _another_or_none => Err(StoreError::Disk("this copy has ended".to_owned())),
        }
    }

    fn end(&self, number: u64) {
        self.lock().take_if(|copying| copying.number == number);
    }
}

impl Copying {
    fn keep(&mut self, engine: &impl Engine, batch: &Batch) {
        for (key, _value) in batch.iter() {
            let is_copied = key < self.reached.as_slice();
            if is_copied || self.broken.is_some() || self.before.contains_key(key) {
                continue;
            }
            match engine.get(key) {
                Ok(value) => {
                    self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
                    self.before.insert(key.to_vec(), value);
                }
                Err(error) => self.broken = Some(error.to_string()),
            }
            if self.bytes > KEPT_BYTES_MAX {
                self.broken = Some("too much was written meanwhile".to_owned());
            }
        }
        if self.broken.is_some() {
            self.before.clear();
        }
    }

    /// The next piece. Rows that are all gone since do not end the copy.
    fn next(&mut self, engine: &impl Engine) -> Result<Vec<Row>, StoreError> {
        loop {
            if let Some(cause) = &self.broken {
                return Err(StoreError::Disk(format!("the copy is given up: {cause}")));
            }
            let start = self.reached.clone();
            if start == [END] {
                return Ok(Vec::new());
            }
            let (mut rows, behind) = piece(engine, &start)?;
            let later = self.before.split_off(&behind);
            for (key, value) in std::mem::replace(&mut self.before, later) {
                match value {
                    Some(value) => rows.insert(key, value),
                    None => rows.remove(&key),
                };
            }
            self.reached = behind;
            if !rows.is_empty() {
                return Ok(rows.into_iter().map(|(key, value)| Row { key, value }).collect());
            }
        }
    }
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Some rows from `start` on, and the first key behind them.
fn piece(engine: &impl Engine, start: &[u8]) -> Result<(Rows, Vec<u8>), StoreError> {
    let mut rows = Rows::new();
    let mut behind = vec![END];
    let mut bytes_held = 0;
    let range = KeyRange { start: start.to_vec(), end: vec![END] };
    engine.scan(&range, Direction::Forward, &mut |key, value| {
        rows.insert(key.to_vec(), value.to_vec());
        bytes_held += key.len() + value.len();
        if rows.len() < PIECE_ROWS_MAX && bytes_held < PIECE_BYTES {
            return ControlFlow::Continue(());
        }
        behind = [key, &[0]].concat();
        ControlFlow::Break(())
    })?;
    Ok((rows, behind))
}

/// The copy in the hands of whoever makes it; it ends with this.
pub(super) struct KvSnapshot<E: Engine> {
    engine: Arc<E>,
    copies: Arc<Copies>,
    number: u64,
    tasks: TaskSet,
}

impl<E: Engine> KvSnapshot<E> {
    pub(super) fn begin(
        engine: Arc<E>,
        copies: Arc<Copies>,
        tasks: TaskSet,
    ) -> Result<Self, StoreError> {
        let number = copies.begin()?;
        Ok(Self { engine, copies, number, tasks })
    }
}

#[async_trait]
impl<E: Engine> Snapshot for KvSnapshot<E> {
    async fn next(&mut self) -> Result<Vec<Row>, StoreError> {
        let (engine, copies) = (Arc::clone(&self.engine), Arc::clone(&self.copies));
        let number = self.number;
        let piece = self.tasks.blocking("snapshot", move || copies.next(&*engine, number)).await;
        piece.unwrap_or_else(|| Err(StoreError::Disk("reading panicked".to_owned())))
    }
}

impl<E: Engine> Drop for KvSnapshot<E> {
    fn drop(&mut self) {
        self.copies.end(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryEngine;

    #[test]
    fn a_copy_that_was_given_up_takes_no_rows_from_the_next() {
        let engine = MemoryEngine::default();
        let mut batch = Batch::default();
        (0..900_u32).for_each(|row| batch.put(row.to_be_bytes().to_vec(), vec![1]));
        engine.apply(&batch).unwrap();
        let copies = Copies::default();
        let given_up = copies.begin().unwrap();
        copies.end(given_up);
        assert!(copies.next(&engine, given_up).is_err(), "nothing is under way");

        let second = copies.begin().unwrap();
        // The thread of the first comes late, and its end is told late.
        assert!(copies.next(&engine, given_up).is_err());
        copies.end(given_up);
        let mut rows = 0;
        loop {
            let piece = copies.next(&engine, second).unwrap();
            if piece.is_empty() {
                break;
            }
            rows += piece.len();
        }
        assert_eq!(rows, 900);
        copies.end(second);
        assert!(copies.begin().is_ok());
    }
}
