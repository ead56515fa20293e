//! The repair of a database that does not open: replaying its log without snapshots.
//!
//! Snapshots only spare sled the replay, but a damaged one stops it. Replaying is done in a copy,
//! because sled cuts off what it does not understand; the copy takes the place of the original
//! only if it reaches at least as far as the snapshots had and holds every acknowledged commit.
//! Otherwise nothing is changed.

use std::fs;
use std::path::Path;

use super::folder::{Folder, Snapshots, refused, snapshots_in};
use super::open::{attempt, broken, holds_everything};
use crate::store::port::StoreError;
use crate::telemetry::Event;

/// Repairs the store, or says [`StoreError::Broken`]. `cause` is why it did not open.
pub(super) fn replay_in_a_copy(folder: &Folder, cause: &str) -> Result<(), StoreError> {
    let reached = newest_position(folder)?;
    folder.copy_for_repair()?;
    let replayed = replay(folder, reached);
    if let Err(failed) = replayed {
        folder.drop_repair()?;
        return Err(match failed {
            StoreError::Broken { cause: second, .. } => {
                broken(folder, format!("{cause}; without snapshots: {second}"))
            }
            other => other,
        });
    }
    folder.swap_in_repair()?;
    Event::StoreRepaired { action: "replayed the log because the snapshot was damaged" }.emit();
    Ok(())
}

fn replay(folder: &Folder, reached: u64) -> Result<(), StoreError> {
    let db = attempt(&folder.repair()).map_err(|failure| failure.into_error(folder))?;
    // Asked of the copy: what is missing there may still be in the original.
    holds_everything(folder, &db).map_err(|cause| broken(folder, cause))?;
    drop(db);
    let position = position_in(&snapshots_in(&folder.repair(), Snapshots::Whole)?);
    if position < reached {
        return Err(broken(folder, "its log is cut short".to_owned()));
    }
    Ok(())
}

fn newest_position(folder: &Folder) -> Result<u64, StoreError> {
    Ok(position_in(&folder.snapshots(Snapshots::Whole)?))
}

/// The place in the log that the newest snapshot had reached: the names are `snap.<hexadecimal>`.
fn position_in(snapshots: &[impl AsRef<Path>]) -> u64 {
    snapshots
        .iter()
        .filter_map(|path| path.as_ref().extension())
        .filter_map(|digits| u64::from_str_radix(&digits.to_string_lossy(), 16).ok())
        .max()
        .unwrap_or(0)
}

impl Folder {
    /// Copies sled's files, snapshots left out, to where they are repaired.
    fn copy_for_repair(&self) -> Result<(), StoreError> {
        let copied = copy(&self.store(), &self.repair());
        if copied.is_err() {
            self.drop_repair()?;
        }
        copied.map_err(refused)
    }

    fn drop_repair(&self) -> Result<(), StoreError> {
        fs::remove_dir_all(self.repair()).map_err(refused)
    }

    /// Puts the repaired copy in the place of the original.
    pub(super) fn swap_in_repair(&self) -> Result<(), StoreError> {
        let swap = || {
            sync_all(&self.repair())?;
            fs::rename(self.store(), self.replaced())?;
            fs::rename(self.repair(), self.store())?;
            self.sync_root()?;
            fs::remove_dir_all(self.replaced())
        };
        swap().map_err(refused)
    }

    /// Ends a repair that the process did not survive: the original stands until it is replaced.
    pub(super) fn end_interrupted_repair(&self) -> Result<(), StoreError> {
        let end = || {
            let (store, replaced, repair) = (self.store(), self.replaced(), self.repair());
            if replaced.exists() && !store.exists() {
                fs::rename(&replaced, &store)?;
            }
            for rest in [replaced, repair, self.salvage()] {
                if rest.exists() {
                    fs::remove_dir_all(rest)?;
                }
            }
            Ok(())
        };
        end().map_err(refused)
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(name))?;
        } else if !name.to_string_lossy().starts_with("snap.") {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

pub(super) fn sync_all(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            fs::File::open(entry.path())?.sync_all()?;
        }
    }
    fs::File::open(folder)?.sync_all()
}
