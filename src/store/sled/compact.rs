//! Writing the store anew, so that it takes no more room than it needs.
//!
//! sled writes changed pages elsewhere and leaves holes. Conversations that change at random leave
//! a log of twice its content in which every write also moves an old page, one that has to be read
//! first. A store written in the order of its keys has neither.

use std::fs;

use super::folder::refused;
use super::open::{broken, let_go};
use super::restore::{clear, fill};
use super::salvage::each_row;
use super::{SledEngine, State};
use crate::store::port::StoreError;

/// What writing anew came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The records, all of them.
    pub records: u64,
    /// How long the log was, in bytes.
    pub bytes_before: u64,
    /// How long it is.
    pub bytes_after: u64,
}

/// Writes the store in `data_dir` anew; it must not be in use. The new one takes the place of the
/// old when it is whole and synced. Blocking, about half a minute a million records.
///
/// # Errors
/// As for opening the store; [`StoreError::Broken`] if a record lacks a part; [`StoreError::Disk`]
/// if there is no room for both. The store is then as it was.
pub fn compact_sled(data_dir: &std::path::Path) -> Result<Compacted, StoreError> {
    let engine = SledEngine::open(data_dir)?;
    let folder = &engine.folder;
    let draft = folder.salvage();
    let length = || fs::metadata(folder.log()).map(|log| log.len()).map_err(refused);
    let bytes_before = length()?;
    let mut records = 0;
    let damaged = fill(&draft, |take| {
        each_row(&engine, &mut |row| {
            records += 1;
            take(row)
        })
    });
    let moved = damaged.and_then(|damaged| match damaged {
        0 => fs::rename(draft.join("store"), folder.repair()).map_err(refused),
        damaged => Err(broken(folder, format!("{damaged} of its records lack a part"))),
    });
    clear(&draft)?;
    moved?;
    // The lock is held until the new store is in its place.
    let state = std::mem::replace(&mut *engine.state_mut(), State::Closed);
    if let State::Open { opened, lock } = state {
        let_go(opened);
        folder.swap_in_repair()?;
        drop(lock);
    }
    Ok(Compacted { records, bytes_before, bytes_after: length()? })
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
