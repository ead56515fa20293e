//! Putting a copy into an empty data folder.
//!
//! The store is built beside its place and moved there when it is whole and synced: a restore that
//! is cut off leaves the folder as empty as it was.

use std::fs;
use std::path::Path;

use super::SledEngine;
use super::folder::{Folder, refused};
use crate::store::copy::{CopyError, Row};
use crate::store::kv::{Batch, Engine};
use crate::store::port::StoreError;

/// Rows of one write, and their size in bytes from which on it is made.
const BATCH_ROWS_MAX: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// Whether a store was ever made in `data_dir`.
pub fn holds_data(data_dir: &Path) -> bool {
    let has_log = fs::metadata(data_dir.join("store/db")).is_ok_and(|log| log.len() > 0);
    has_log || data_dir.join("format").exists() || data_dir.join("store.replaced").exists()
}

/// Fills the empty folder `data_dir` with what `copy` hands over. Before that takes effect,
/// `finish` may open the new store in the folder that it is given, and change it. Blocking.
///
/// # Errors
/// [`CopyError::NotEmpty`]; whatever `copy`, `finish` and the store say. The folder is then as it
/// was.
pub fn restore_sled<T>(
    data_dir: &Path,
    copy: impl FnOnce(&mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<u64, CopyError>,
    finish: impl FnOnce(&Path) -> Result<T, StoreError>,
) -> Result<(u64, T), CopyError> {
    if holds_data(data_dir) {
        return Err(CopyError::NotEmpty { folder: data_dir.display().to_string() });
    }
    let (folder, lock) = Folder::take(data_dir)?;
    let draft = data_dir.join("store.restored");
    clear(&draft)?;
    let filled = fill(&draft, copy).and_then(|rows| {
        let finished = finish(&draft)?;
        move_in(&folder, &draft, data_dir).map_err(refused)?;
        Ok((rows, finished))
    });
    clear(&draft)?;
    drop(lock);
    filled
}

pub(super) fn clear(draft: &Path) -> Result<(), StoreError> {
    if draft.exists() { fs::remove_dir_all(draft).map_err(refused) } else { Ok(()) }
}

/// Makes a store of what `copy` hands over.
pub(super) fn fill<E: From<StoreError>>(
    draft: &Path,
    copy: impl FnOnce(&mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<u64, E>,
) -> Result<u64, E> {
    let engine = SledEngine::open(draft)?;
    let mut batch = Batch::default();
    let (mut rows_held, mut bytes_held) = (0, 0);
    let rows = copy(&mut |row| {
        rows_held += 1;
        bytes_held += row.key.len() + row.value.len();
        batch.put(row.key, row.value);
        if rows_held >= BATCH_ROWS_MAX || bytes_held >= BATCH_BYTES {
            (rows_held, bytes_held) = (0, 0);
            return engine.apply(&std::mem::take(&mut batch));
        }
        Ok(())
    })?;
    engine.apply(&batch)?;
    engine.close();
    Ok(rows)
}

/// The file `format` goes last: it says that the store is complete.
fn move_in(folder: &Folder, draft: &Path, data_dir: &Path) -> std::io::Result<()> {
    // Whatever is left there of a store without its log, above all its witness: that would miss
    // commits of which the copy knows nothing.
    fs::remove_dir_all(folder.store())?;
    fs::rename(draft.join("store"), folder.store())?;
    folder.sync_root()?;
    fs::rename(draft.join("format"), data_dir.join("format"))?;
    folder.sync_root()
}
