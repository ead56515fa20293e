//! The store from outside: what kills, power cuts and damage leave of it still opens, or says
//! clearly why not. And its conformance suite over redb: the engine can be replaced.

#[cfg(test)]
mod cuts;
#[cfg(test)]
#[expect(dead_code, reason = "the kill tests need moments, these do not")]
#[path = "../support/dice.rs"]
mod dice;
#[cfg(test)]
mod place;
#[cfg(test)]
mod power;
#[cfg(test)]
#[path = "../support/power_cut.rs"]
mod power_cut;
#[cfg(test)]
mod work;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use larkspur::base::Faults;
use larkspur::store::conformance::Subject;
use larkspur::store::{Batch, Direction, Engine, KeyRange, KvStore, Store, StoreError, Visit};
use larkspur::task::TaskSet;
use redb::{Database, ReadableDatabase, TableDefinition};
use tokio_util::sync::CancellationToken;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("larkspur");

/// A redb database; `None` once closed.
struct Redb(RwLock<Option<Database>>);

impl std::fmt::Debug for Redb {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Redb")
    }
}

fn disk(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Disk(error.into().to_string())
}

impl Redb {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let database = Database::create(path).map_err(disk)?;
        let write = database.begin_write().map_err(disk)?;
        write.open_table(TABLE).map_err(disk)?;
        write.commit().map_err(disk)?;
        Ok(Self(RwLock::new(Some(database))))
    }
}

impl Engine for Redb {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let database = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let database = database.as_ref().ok_or(StoreError::Closed)?;
        let read = database.begin_read().map_err(disk)?;
        let table = read.open_table(TABLE).map_err(disk)?;
        let value = table.get(key).map_err(disk)?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let database = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let database = database.as_ref().ok_or(StoreError::Closed)?;
        let read = database.begin_read().map_err(disk)?;
        let table = read.open_table(TABLE).map_err(disk)?;
        let mut rows = table.range(range.start.as_slice()..range.end.as_slice()).map_err(disk)?;
        while let Some(row) = match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        } {
            let (key, value) = row.map_err(disk)?;
            if visit(key.value(), value.value()) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn apply(&self, batch: &Batch) -> Result<(), StoreError> {
        let database = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let database = database.as_ref().ok_or(StoreError::Closed)?;
        let write = database.begin_write().map_err(disk)?;
        {
            let mut table = write.open_table(TABLE).map_err(disk)?;
            for (key, value) in batch.iter() {
                match value {
                    Some(value) => table.insert(key, value).map_err(disk)?,
                    None => table.remove(key).map_err(disk)?,
                };
            }
        }
        write.commit().map_err(disk)
    }

    fn close(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

struct OnRedb(tempfile::TempDir);

#[expect(clippy::expect_used, reason = "without a folder there is no test")]
fn temporary_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

impl Default for OnRedb {
    fn default() -> Self {
        Self(temporary_folder())
    }
}

impl Subject for OnRedb {
    const DURABLE: bool = true;

    fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let engine = Redb::open(&self.0.path().join("data.redb"))?;
        let tasks = TaskSet::new("test", CancellationToken::new());
        Ok(Arc::new(KvStore::open(engine, tasks, Faults::default())?))
    }
}

larkspur::store_conformance!(OnRedb);
