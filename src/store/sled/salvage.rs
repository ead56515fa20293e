//! Going on with what a log that was cut still holds.
//!
//! Everything is read from a copy, because sled changes what it opens, and written into a new
//! store, which takes the place of the old one when it is whole and synced. The old files stay
//! beside it. Until then nothing is changed, and a process that ends on the way leaves the old.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::folder::{Folder, Snapshots, refused, snapshots_in};
use super::open::broken;
use super::repair::sync_all;
use super::restore::{clear, fill};
use super::{SledEngine, chunk, witness};
use crate::store::copy::Row;
use crate::store::kv::{Engine, FORMAT_KEY, KeyRange, kind_of, records};
use crate::store::port::StoreError;
use crate::telemetry::Event;

/// What can still be read of a store that does not open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// How many acknowledged commits are missing at the end; 0 if nobody knows.
    pub missing: u64,
    /// How many records lack a part.
    pub damaged: u64,
    /// The others by kind.
    pub records: BTreeMap<&'static str, u64>,
}

/// Opens a copy of the store in `data_dir` as a start would open the store itself, which stays as
/// it is, and reads all of it. Blocking.
///
/// # Errors
/// What a start would say; [`StoreError::Broken`] also if not all of it can be read, and
/// [`StoreError::Disk`] if there is no room for a copy.
pub fn rehearse_sled(data_dir: &Path) -> Result<(), StoreError> {
    in_a_copy(data_dir, |folder, copy| {
        match fs::copy(folder.format(), copy.format()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refused(error)),
            _copied_or_none => {}
        }
        let engine = SledEngine::open(copy.root()).map_err(|error| match error {
            StoreError::Broken { cause, .. } => broken(folder, cause),
            other => other,
        })?;
        let read = each_row(&engine, &mut |_row| Ok(()));
        engine.close();
        match read {
            Ok(0) => Ok(()),
            Ok(damaged) => Err(broken(folder, format!("{damaged} of its records lack a part"))),
            Err(error) => Err(broken(folder, format!("not all of it can be read: {error}"))),
        }
    })
}

/// Looks at what can still be read of the store in `data_dir`, which stays as it is. Blocking.
///
/// # Errors
/// [`StoreError::Broken`] if nothing can be read; [`StoreError::InUse`], [`StoreError::Disk`].
pub fn remains_of_sled(data_dir: &Path) -> Result<Remains, StoreError> {
    in_a_copy(data_dir, |folder, copy| with_what_is_left(folder, copy, |_engine| Ok(())))
}

/// Puts a new store with what can still be read in the place of the one in `data_dir`. The files
/// of that one are then in `aside`, a folder on the same disk that does not exist yet. Blocking.
///
/// # Errors
/// As [`remains_of_sled`]. The store is then as it was.
pub fn salvage_sled(data_dir: &Path, aside: &Path) -> Result<Remains, StoreError> {
    let remains = in_a_copy(data_dir, |folder, copy| {
        let draft = folder.salvage().join("new");
        let remains = with_what_is_left(folder, copy, |engine| {
            fill(&draft, |take| each_row(engine, take)).map(drop)
        })?;
        let moved = || {
            keep(&folder.store(), aside)?;
            sync_all(aside)?;
            fs::rename(draft.join("store"), folder.repair())
        };
        moved().map_err(refused)?;
        folder.swap_in_repair()?;
        Ok(remains)
    })?;
    Event::StoreRepaired { action: "accepted the loss of commits and goes on without" }.emit();
    Ok(remains)
}

/// Does `work` with the folder and with another that has a copy of its store.
fn in_a_copy<T>(
    data_dir: &Path,
    work: impl FnOnce(&Folder, &Folder) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let (folder, lock) = Folder::take(data_dir)?;
    let done = Folder::take(&folder.salvage().join("old")).and_then(|(copy, copy_lock)| {
        copy_all(&folder.store(), &copy.store()).map_err(refused)?;
        // The engine takes it anew.
        drop(copy_lock);
        work(&folder, &copy)
    });
    clear(&folder.salvage())?;
    drop(lock);
    done
}

/// Opens the copy, whatever it lacks, and counts what can be read.
fn with_what_is_left(
    folder: &Folder,
    copy: &Folder,
    work: impl FnOnce(&SledEngine) -> Result<(), StoreError>,
) -> Result<Remains, StoreError> {
    let unreadable = |cause: &str| {
        broken(
            folder,
            format!("nothing can be taken from it, not even a copy can be read: {cause}"),
        )
    };
    // They may reach further than the log, which sled does not forgive.
    for snapshot in snapshots_in(&copy.store(), Snapshots::Whole)? {
        fs::remove_file(snapshot).map_err(refused)?;
    }
    let engine = SledEngine::open(copy.root()).map_err(|error| match error {
        StoreError::Broken { cause, .. } => unreadable(&cause),
        other => other,
    })?;
    let acknowledged = witness::acknowledged(&folder.acknowledged());
    let looked = match look(&engine, acknowledged) {
        Ok(Some(remains)) => work(&engine).map(|()| remains),
        Ok(None) => Err(unreadable("its log holds no data")),
        Err(error) => Err(unreadable(&error.to_string())),
    };
    engine.close();
    looked
}

/// `None` if this is no store of ours, or nothing of one.
fn look(engine: &SledEngine, acknowledged: u64) -> Result<Option<Remains>, StoreError> {
    let mut records = BTreeMap::new();
    let damaged = each_row(engine, &mut |row| {
        *records.entry(kind_of(&row.key)).or_default() += 1;
        Ok(())
    })?;
    let stored = engine.with(|opened| witness::stored(&opened.db))?;
    let missing = acknowledged.saturating_sub(stored);
    Ok(engine.get(FORMAT_KEY)?.map(|_format| Remains { missing, damaged, records }))
}

/// Hands all records to `take`, but for those that lack a part. Returns how many those are.
pub(super) fn each_row(
    engine: &SledEngine,
    take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let KeyRange { start, end } = records();
    let mut damaged = 0;
    let mut rows = engine.with(|opened| Ok(opened.db.range(start..end)))?;
    loop {
        let row = engine.with(|opened| {
            let Some(row) = rows.next() else { return Ok(None) };
            let (key, value) = row?;
            Ok(Some(match chunk::whole(&opened.db, &engine.pieces, &key, &value) {
                Err(sled::Error::ReportableBug(_lacks_a_part)) => None,
                value => value?.map(|value| Row { key: key.to_vec(), value }),
            }))
        })?;
        match row {
            Some(Some(row)) => take(row)?,
            Some(None) => damaged += 1,
            None => return Ok(damaged),
        }
    }
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    each_file(from, to, &|file, copy| fs::copy(file, copy).map(drop))
}

/// Gives the files of `from` a second name in the new folder `to`: that needs no room, and holds
/// whenever the process ends. Not every file system has second names.
fn keep(from: &Path, to: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    each_file(from, to, &|file, kept| {
        fs::hard_link(file, kept).or_else(|_unsupported| fs::copy(file, kept).map(drop))
    })
}

fn each_file(
    from: &Path,
    to: &Path,
    bring: &dyn Fn(&Path, &Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            each_file(&entry.path(), &target, bring)?;
        } else {
            bring(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
pub(super) mod tests;
