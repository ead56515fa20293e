//! What [`super::KvStore`] needs of an embedded key-value store, and nothing more.
//!
//! Synchronous on purpose: writes come from one commit thread, reads from threads meant for
//! blocking. An engine knows nothing of records; keys are ordered by their bytes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};

use crate::store::port::StoreError;

/// The keys from `start` (included) up to `end` (left out), in byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key that may be in it.
    pub start: Vec<u8>,
    /// The first key behind it.
    pub end: Vec<u8>,
}

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key up.
    Forward,
    /// From the largest key down.
    Backward,
}

/// Writes that take effect together. The last write of a key wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    writes: BTreeMap<Vec<u8>, Entry>,
}

/// What a batch does to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `None` removes the key.
    value: Option<Vec<u8>>,
    /// The engine was asked and does not have the key.
    is_new: bool,
}

impl Batch {
    /// Sets `key` to `value`.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.writes.insert(key, Entry { value: Some(value), is_new: false });
    }

    /// Sets `key`, which the engine does not have, to `value`: it need not be looked up again.
    pub fn put_new(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.writes.insert(key, Entry { value: Some(value), is_new: true });
    }

    /// Removes `key`; nothing happens if it is not there.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.writes.insert(key, Entry { value: None, is_new: false });
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// How long the keys and values are together.
    pub fn bytes(&self) -> u64 {
        let of_one =
            |(key, value): (&[u8], Option<&[u8]>)| key.len() + value.map_or(0, <[u8]>::len);
        u64::try_from(self.iter().map(of_one).sum::<usize>()).unwrap_or(u64::MAX)
    }

    /// The writes in the order of their keys; `None` removes the key.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(|(key, entry)| (key.as_slice(), entry.value.as_deref()))
    }

    /// Whether the last write of `key` said that the engine does not have it.
    pub fn is_new(&self, key: &[u8]) -> bool {
        self.writes.get(key).is_some_and(|entry| entry.is_new)
    }

    /// Whether the batch sets `key`.
    pub(super) fn sets(&self, key: &[u8]) -> bool {
        self.writes.get(key).is_some_and(|entry| entry.value.is_some())
    }

    /// Whether the batch sets or removes `key`.
    pub(super) fn touches(&self, key: &[u8]) -> bool {
        self.writes.contains_key(key)
    }

    /// Appends `later`, whose writes win.
    pub(super) fn append(&mut self, later: Self) {
        // Not `BTreeMap::append`, which walks both maps whole.
        self.writes.extend(later.writes);
    }

    /// The keys within `range` that the batch sets.
    pub(super) fn keys_set_in(&self, range: &KeyRange) -> Vec<Vec<u8>> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&range.start), Bound::Excluded(&range.end));
        self.writes
            .range::<[u8], _>(bounds)
            .filter(|(_key, entry)| entry.value.is_some())
            .map(|(key, _entry)| key.clone())
            .collect()
    }
}

/// What a scan does with each key and value; `Break` ends the scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// An ordered, durable map from bytes to bytes.
///
/// Keys are not empty and shorter than 64 KiB. The first byte of a value is its version and never
/// 0xFF, which an engine may use for a mark of its own. Reads may see a batch that is being applied
/// before it is durable; what must not be told early waits for the answer of `apply`.
pub trait Engine: Send + Sync + Debug + 'static {
    /// The value of a key.
    ///
    /// # Errors
    /// [`StoreError::Disk`] if it cannot be read, [`StoreError::Closed`] after `close`.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Shows the keys of `range` and their values to `visit` until it breaks.
    ///
    /// # Errors
    /// As [`Engine::get`].
    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;

    /// Applies a batch atomically and returns once it is on the disk. Called by one thread.
    ///
    /// # Errors
    /// [`StoreError::Disk`]: nothing of the batch took effect, and the next call tries afresh.
    /// [`StoreError::Closed`] after `close`.
    fn apply(&self, batch: &Batch) -> Result<(), StoreError>;

    /// Applies a batch atomically; it becomes durable with a later [`Engine::apply`] at the latest.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    fn apply_unsynced(&self, batch: &Batch) -> Result<(), StoreError> {
        self.apply(batch)
    }

    /// Makes everything durable and lets go of the data; when it returns, the same data can be
    /// opened again. May be called twice.
    fn close(&self);
}
