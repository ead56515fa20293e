//! The embedded engine: sled 0.34 in the one pattern that keeps its promises.
//!
//! What the rest of this module guards against, each seen in practice:
//! - `flush_async` from many tasks deadlocks: one thread writes, and it calls the blocking `flush`.
//! - `flush` writes without a barrier to the device, so a power cut loses it: the log file is
//!   synced through an own descriptor before a batch is answered.
//! - It believes of its own later words that earlier ones are on the disk: what need not be synced is
//!   synced before it is much.
//! - Pages over 128 KiB go to side files that nobody syncs: values are cut into pieces that keep
//!   every page below that (`chunk`).
//! - After a failed write the handle is useless, and whether the batch took effect is open: the
//!   database is opened again before its next use, and what the batch overwrote is put back.
//! - A kill during start leaves a half snapshot that stops every later start (`open`).
//! - It repairs damaged files by cutting them: repairs happen in a copy (`repair`).
//! - It takes a log that was cut for one that was never longer: a witness tells (`witness`), and
//!   only who accepts the loss goes on with the rest (`salvage`).
//!
//! The folder: `store/` is sled's (but for `acknowledged`, the witness), `lock` keeps a second
//! process out, `creating` is there until `format` says that the store was created and with which
//! format, `reserve` is space for a start on a full disk (`folder`).

mod chunk;
mod compact;
mod folder;
mod open;
mod repair;
mod restore;
mod salvage;
mod witness;

use std::fs::File;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use self::chunk::Undo;
pub use self::compact::{Compacted, compact_sled};
use self::folder::Folder;
use self::open::Opened;
pub use self::restore::{holds_data, restore_sled};
pub use self::salvage::{Remains, rehearse_sled, remains_of_sled, salvage_sled};
use super::kv::{Batch, Direction, Engine, KeyRange, KvStore, Visit};
use super::port::{Store, StoreError};
use crate::base::Faults;
use crate::task::TaskSet;

/// A start replays what was written since the start before it, about 300 MiB a second. After more
/// than this, closing does it, so that the next start need not.
const REPLAY_BYTES_MAX: u64 = 64 << 20;

/// Opens the store in `data_dir`, or creates it. Blocking, up to about a second with a lot of data.
///
/// The folder belongs to this process until the store is closed or dropped. Reads run on `tasks`.
///
/// # Errors
/// [`StoreError::InUse`], [`StoreError::Newer`], [`StoreError::Broken`], [`StoreError::Record`] as
/// they say; [`StoreError::Disk`] if the folder cannot be made, read or written.
pub fn open_sled(
    data_dir: &Path,
    tasks: TaskSet,
    faults: Faults,
) -> Result<Arc<dyn Store>, StoreError> {
    let engine = SledEngine::open(data_dir)?;
    Ok(Arc::new(KvStore::open(engine, tasks, faults)?))
}

/// How many bytes may be unsynced. sled writes several times as many to its log, and believes the
/// head of a later segment (512 KiB) that everything before is there: after a power cut with more
/// than a segment unsynced, the log may be beyond reading.
const UNSYNCED_BYTES_MAX: usize = 16 << 10;

/// A sled database in a locked folder.
#[derive(Debug)]
pub(super) struct SledEngine {
    folder: Folder,
    state: RwLock<State>,
    /// Keeps readers of values in pieces and the writer apart.
    pieces: RwLock<()>,
    /// Whether the folder's `format` file is written, which ends the creation.
    created: AtomicBool,
    /// Bytes of keys and values written since the opening.
    written_bytes: AtomicU64,
    /// How many bytes were written since the last sync.
    unsynced: AtomicUsize,
    #[cfg(test)]
    fail_next_write: AtomicBool,
}

enum State {
    /// `lock` is held as long as the data is in use, failed or not.
    Open {
        opened: Opened,
        lock: File,
    },
    /// A write failed. `undo` puts back what it may have overwritten.
    Failed {
        undo: Undo,
        lock: File,
    },
    Closed,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Open { .. } => "Open",
            Self::Failed { .. } => "Failed",
            Self::Closed => "Closed",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Now,
    Later,
}

impl SledEngine {
    fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let (folder, lock) = Folder::take(data_dir)?;
        let created = folder.created_format()?;
        if created {
            folder.forget_creation();
        } else {
            folder.begin_creation()?;
        }
        let opened = open::open(&folder, created)?;
        folder.keep_reserve();
        Ok(Self {
            folder,
            state: RwLock::new(State::Open { opened, lock }),
            pieces: RwLock::new(()),
            created: AtomicBool::new(created),
            written_bytes: AtomicU64::new(0),
            unsynced: AtomicUsize::new(0),
            #[cfg(test)]
            fail_next_write: AtomicBool::new(false),
        })
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the open database, with errors and panics of sled in one shape.
    fn with<T>(
        &self,
        work: impl FnOnce(&Opened) -> Result<T, sled::Error>,
    ) -> Result<T, StoreError> {
        // Also before reads: a write is preceded by the look-up of its dedup keys.
        self.revive()?;
        match &*self.state() {
            State::Open { opened, .. } => guarded(|| work(opened)),
            State::Failed { .. } => Err(StoreError::Disk("a write has just failed".to_owned())),
            State::Closed => Err(StoreError::Closed),
        }
    }

    fn write(&self, batch: &Batch, sync: Sync) -> Result<(), StoreError> {
        // Nothing is changed if the reads before the write fail.
        let (commit, (writes, undo)) = self.with(|opened| {
            let commit = match sync {
                Sync::Now => Some(witness::stored(&opened.db)?.saturating_add(1)),
                Sync::Later => None,
            };
            Ok((commit, chunk::expand(&opened.db, batch, commit)?))
        })?;
        let unsynced = self.unsynced.load(Ordering::Relaxed);
        let size: usize =
            batch.iter().map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len)).sum();
        let is_much = unsynced.saturating_add(size) > UNSYNCED_BYTES_MAX;
        let written = self.with(|opened| {
            if unsynced > 0 && is_much {
                opened.sync()?;
            }
            {
                let _no_reader = self.pieces.write().unwrap_or_else(PoisonError::into_inner);
                opened.db.apply_batch(writes)?;
            }
            #[cfg(test)]
            if self.fail_next_write.swap(false, Ordering::SeqCst) {
                opened.sync()?;
                return Err(std::io::Error::other("a failure on purpose").into());
            }
            let left = if sync == Sync::Now || is_much {
                opened.sync()?;
                0
            } else {
                unsynced.saturating_add(size)
            };
            self.unsynced.store(left, Ordering::Relaxed);
            Ok(())
        });
        let written = written.and_then(|()| match sync {
            Sync::Now => self.finish_creation(),
            Sync::Later => Ok(()),
        });
        match (&written, commit) {
            (Ok(()), Some(commit)) => self.acknowledge(commit),
            (Ok(()), None) => {}
            (Err(_failed), _) => self.fail(undo),
        }
        self.written_bytes.fetch_add(batch.bytes(), Ordering::Relaxed);
        written
    }

    fn acknowledge(&self, commit: u64) {
        if let State::Open { opened, .. } = &*self.state() {
            opened.witness.acknowledge(commit);
        }
    }

    /// Opens and closes the database once more: opening replays the log and writes the snapshot
    /// from which the next opening goes on. Should it fail, the next start meets the same.
    fn replay_ahead(&self) {
        match open::open(&self.folder, self.created.load(Ordering::Relaxed)) {
            Ok(opened) => open::let_go(opened),
            Err(error) => tracing::debug!(%error, "the next start will replay the log"),
        }
    }

    /// After the first commit: makes the files themselves durable, then says so in `format`.
    fn finish_creation(&self) -> Result<(), StoreError> {
        if !self.created.load(Ordering::Relaxed) {
            self.folder.finish_creation()?;
            self.created.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn fail(&self, undo: Undo) {
        let mut state = self.state_mut();
        *state = match std::mem::replace(&mut *state, State::Closed) {
            State::Open { opened, lock } => {
                open::let_go(opened);
                State::Failed { undo, lock }
            }
            other => other,
        };
    }

    /// Opens the database again after a failed write and takes that write back.
    fn revive(&self) -> Result<(), StoreError> {
        if !matches!(&*self.state(), State::Failed { .. }) {
            return Ok(());
        }
        let mut state = self.state_mut();
        let State::Failed { undo, lock } = &*state else {
            return Ok(());
        };
        let lock = lock.try_clone().map_err(folder::refused)?;
        let opened = open::open(&self.folder, self.created.load(Ordering::Relaxed))?;
        let undone = guarded(|| {
            opened.db.apply_batch(undo.batch())?;
            opened.sync()
        });
        if let Err(error) = undone {
            open::let_go(opened);
            return Err(error);
        }
        self.folder.keep_reserve();
        *state = State::Open { opened, lock };
        Ok(())
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(|opened| match opened.db.get(key)? {
            Some(value) => chunk::whole(&opened.db, &self.pieces, key, &value),
            None => Ok(None),
        })
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.with(|opened| {
            let mut rows = opened.db.range(range.start.as_slice()..range.end.as_slice());
            while let Some(row) = match direction {
                Direction::Forward => rows.next(),
                Direction::Backward => rows.next_back(),
            } {
                let (key, value) = row?;
                let value = chunk::whole(&opened.db, &self.pieces, &key, &value)?;
                let Some(value) = value else { continue };
                if let ControlFlow::Break(()) = visit(&key, &value) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), StoreError> {
        self.write(batch, Sync::Now)
    }

    fn apply_unsynced(&self, batch: &Batch) -> Result<(), StoreError> {
        self.write(batch, Sync::Later)
    }

    fn close(&self) {
        let state = std::mem::replace(&mut *self.state_mut(), State::Closed);
        if let State::Open { opened, lock } = state {
            // Notes may wait for their sync; nothing else does.
            if let Err(error) = guarded(|| opened.sync()) {
                tracing::debug!(%error, "the last notes may be lost");
            }
            open::let_go(opened);
            if self.written_bytes.load(Ordering::Relaxed) > REPLAY_BYTES_MAX {
                self.replay_ahead();
            }
            drop(lock);
        }
    }
}

impl Drop for SledEngine {
    fn drop(&mut self) {
        self.close();
    }
}

/// Runs `work`; a panic of sled becomes an error like its own.
fn guarded<T>(work: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(StoreError::Disk(error.to_string())),
        Err(panic) => Err(StoreError::Disk(open::panic_text(&*panic))),
    }
}

#[cfg(test)]
#[path = "sled_tests.rs"]
mod tests;
