//! An engine in memory: for tests, and for trying the daemon out without a data folder.
//!
//! Nothing outlives the process; "durable" means here that it is in the map.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kv::{Batch, Direction, Engine, KeyRange, KvStore, Visit};
use super::port::{Store, StoreError};
use crate::base::Faults;
use crate::task::TaskSet;

/// A store that forgets everything when it is closed.
///
/// # Errors
/// [`StoreError::Disk`] if the system gives no thread for commits.
pub fn memory(tasks: TaskSet) -> Result<Arc<dyn Store>, StoreError> {
    let store = KvStore::open(MemoryEngine::default(), tasks, Faults::default())?;
    Ok(Arc::new(store))
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A map behind a lock; `None` once closed.
#[derive(Debug)]
pub struct MemoryEngine {
    map: Mutex<Option<Map>>,
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self { map: Mutex::new(Some(Map::new())) }
    }
}

impl MemoryEngine {
    fn lock(&self) -> MutexGuard<'_, Option<Map>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for MemoryEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let map = self.lock();
        let map = map.as_ref().ok_or(StoreError::Closed)?;
        Ok(map.get(key).cloned())
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let map = self.lock();
        let map = map.as_ref().ok_or(StoreError::Closed)?;
        if range.start >= range.end {
            return Ok(());
        }
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&range.start), Bound::Excluded(&range.end));
        let rows = map.range::<[u8], _>(bounds);
        let mut show = |(key, value): (&Vec<u8>, &Vec<u8>)| visit(key, value);
        let _ended: ControlFlow<()> = match direction {
            Direction::Forward => rows.into_iter().try_for_each(&mut show),
            Direction::Backward => rows.rev().try_for_each(&mut show),
        };
        Ok(())
    }

    fn apply(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut map = self.lock();
        let map = map.as_mut().ok_or(StoreError::Closed)?;
        for (key, value) in batch.iter() {
            match value {
                Some(value) => map.insert(key.to_vec(), value.to_vec()),
                None => map.remove(key),
            };
        }
        Ok(())
    }

    fn close(&self) {
        *self.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::store::conformance::Subject;

    #[derive(Default)]
    struct InMemory;

    impl Subject for InMemory {
        const DURABLE: bool = false;

        fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
            memory(TaskSet::new("test", CancellationToken::new()))
        }
    }

    crate::store_conformance!(InMemory);
}
