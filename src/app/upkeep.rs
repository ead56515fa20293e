//! Looking after a store that no daemon has open: copies, and a repair that says what it did.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::unfinished::{self, OpenTurns};
use crate::base::{Clock, Faults, SystemClock};
use crate::config::Settings;
use crate::store::{
    self, Compacted, CopyError, Exporter, Remains, Row, Store, StoreError, check_row,
};
use crate::task::TaskSet;

/// Records that cannot be read are listed up to this many.
const UNREADABLE_LISTED_MAX: usize = 20;

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// The records by kind.
    pub records: BTreeMap<&'static str, u64>,
    /// How many of them cannot be read.
    pub unreadable: u64,
    /// Some of those: what and why.
    pub examples: Vec<String>,
}

/// Opens the store in the data folder, which must hold one. Blocking.
fn open(settings: &Settings) -> Result<Arc<dyn Store>, CopyError> {
    check_holds_data(settings)?;
    let tasks = TaskSet::new("store", CancellationToken::new());
    Ok(store::open_sled(&settings.data_dir, tasks, Faults::default())?)
}

fn check_holds_data(settings: &Settings) -> Result<(), CopyError> {
    if store::holds_data(&settings.data_dir) {
        return Ok(());
    }
    Err(CopyError::NoData { folder: settings.data_dir.display().to_string() })
}

/// Writes a copy of the store to `out`. Returns how many records it has.
///
/// # Errors
/// [`StoreError::InUse`] while a daemon runs: it is then asked for the copy.
pub async fn export_stopped(settings: &Settings, out: &mut dyn Write) -> Result<(), CopyError> {
    let store = tokio::task::block_in_place(|| open(settings))?;
    let written = write_copy(&store, out).await;
    store.close().await;
    written
}

async fn write_copy(store: &Arc<dyn Store>, out: &mut dyn Write) -> Result<(), CopyError> {
    let mut exporter = Exporter::begin(store, SystemClock::default().now()).await?;
    while let Some(lines) = exporter.next().await? {
        let written = out.write_all(&lines);
        written.map_err(|cause| CopyError::File { file: "the copy".to_owned(), cause })?;
    }
    Ok(())
}

/// Reads a copy to its end. Returns how many records it has.
///
/// # Errors
/// [`CopyError::NotACopy`] if it is not whole.
pub fn verify_copy(file: &Path) -> Result<u64, CopyError> {
    store::read_copy(&mut open_copy(file)?, &mut |_row| Ok(()))
}

/// What a copy held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its records.
    pub records: u64,
    /// The turns that were open in it.
    pub open_turns: usize,
}

/// Puts a copy into the empty data folder. Blocking, within the runtime.
///
/// # Errors
/// The folder is not empty, the file is no whole copy, or the disk refuses; then nothing is there.
pub fn restore(
    settings: &Settings,
    file: &Path,
    open_turns: OpenTurns,
) -> Result<Restored, CopyError> {
    // The whole of it is read before anything is made.
    verify_copy(file)?;
    let mut source = open_copy(file)?;
    let copy = |take: &mut dyn FnMut(Row) -> _| store::read_copy(&mut source, take);
    let finish = |draft: &Path| unfinished::settle(draft, open_turns);
    let (records, open_turns) = store::restore_sled(&settings.data_dir, copy, finish)?;
    Ok(Restored { records, open_turns })
}

fn open_copy(file: &Path) -> Result<BufReader<File>, CopyError> {
    let opened = File::open(file);
    let opened =
        opened.map_err(|cause| CopyError::File { file: file.display().to_string(), cause })?;
    Ok(BufReader::new(opened))
}

/// Opens the store, which repairs it where that can be done, and reads every record.
///
/// # Errors
/// It cannot be opened, and nothing of it is changed; the error says what to do.
pub async fn repair(settings: &Settings) -> Result<StoreReport, CopyError> {
    tokio::task::block_in_place(|| rehearse(settings))?;
    let store = tokio::task::block_in_place(|| open(settings))?;
    let report = report(&store).await;
    store.close().await;
    report
}

/// What cannot be opened is not even tried, because trying changes it.
fn rehearse(settings: &Settings) -> Result<(), CopyError> {
    check_holds_data(settings)?;
    match store::rehearse_sled(&settings.data_dir) {
        // On a full disk there is no copy, and opening may still help.
        Ok(()) | Err(StoreError::Disk(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What can still be read of a store that does not open, which stays as it is. Blocking.
///
/// # Errors
/// Nothing can be read.
pub fn remains(settings: &Settings) -> Result<Remains, StoreError> {
    store::remains_of_sled(&settings.data_dir)
}

/// Makes a store of what can still be read of one that does not open. Blocking. Returns what that
/// is and where the old files are.
///
/// # Errors
/// Nothing can be read, or the disk refuses; the store is then as it was.
pub fn accept_loss(settings: &Settings) -> Result<(Remains, PathBuf), StoreError> {
    let now = SystemClock::default().now().to_string().replace([':', '-'], "");
    let aside = settings.data_dir.join(format!("store.lossy-{now}"));
    Ok((store::salvage_sled(&settings.data_dir, &aside)?, aside))
}

/// Writes the data anew, so that they take no more room than they need. Blocking.
///
/// # Errors
/// The store cannot be opened or read whole, or the disk refuses; the store is then as it was.
pub fn compact(settings: &Settings) -> Result<Compacted, CopyError> {
    check_holds_data(settings)?;
    Ok(store::compact_sled(&settings.data_dir)?)
}

async fn report(store: &Arc<dyn Store>) -> Result<StoreReport, CopyError> {
    let mut report = StoreReport::default();
    let mut snapshot = store.snapshot().await?;
    loop {
        let rows = snapshot.next().await?;
        if rows.is_empty() {
            return Ok(report);
        }
        for row in rows {
            *report.records.entry(store::kind_of(&row.key)).or_default() += 1;
            if let Err(error) = check_row(&row) {
                report.unreadable += 1;
                if report.examples.len() < UNREADABLE_LISTED_MAX {
                    report.examples.push(format!("{}: {error}", store::name_of(&row.key)));
                }
            }
        }
    }
}
