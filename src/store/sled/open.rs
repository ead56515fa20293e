//! Opening the database: the repair of what kills leave behind, and the refusal of the rest.

use std::any::Any;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use super::folder::{Folder, Snapshots, refused};
use super::repair;
use super::witness::{self, Witness};
use crate::store::kv::FORMAT_KEY;
use crate::store::port::StoreError;
use crate::telemetry::Event;

/// sled's page cache. Not a limit of its memory (it takes several times as much under load), so
/// it is kept small; what is hot here, the newest rows of each kind, needs far less.
const CACHE_BYTES: u64 = 32 << 20;

/// How often and how long to wait for the threads of a database that was just dropped: they may
/// hold its file a little longer. Our own lock keeps other processes out, so it is only they.
const RELEASE_TRIES: u32 = 100;
const RELEASE_WAIT: Duration = Duration::from_millis(20);

/// An open database and an own descriptor of its log, for syncing.
pub(super) struct Opened {
    pub(super) db: sled::Db,
    pub(super) log: File,
    pub(super) witness: Witness,
}

impl Opened {
    /// Puts everything that was applied on the disk. `flush` alone does not tell the device.
    pub(super) fn sync(&self) -> Result<(), sled::Error> {
        self.db.flush()?;
        Ok(self.log.sync_data()?)
    }
}

/// Why sled did not open.
pub(super) enum Failure {
    /// The disk is full.
    Full(String),
    /// The files make no sense to it.
    Corrupt(String),
    /// Threads of a dropped database still hold the file.
    Held(String),
    /// Anything else of the disk.
    Disk(String),
}

impl Failure {
    pub(super) fn into_error(self, folder: &Folder) -> StoreError {
        match self {
            Self::Corrupt(cause) => broken(folder, cause),
            Self::Full(cause) | Self::Held(cause) | Self::Disk(cause) => StoreError::Disk(cause),
        }
    }
}

/// Opens the database in a locked folder. `created`: it was created completely before, so an
/// empty one is not taken for new.
pub(super) fn open(folder: &Folder, created: bool) -> Result<Opened, StoreError> {
    for half in folder.snapshots(Snapshots::Half)? {
        fs::remove_file(half).map_err(refused)?;
        Event::StoreRepaired { action: "removed a half-written snapshot" }.emit();
    }
    let empty = fs::metadata(folder.log()).map_or(0, |log| log.len()) == 0;
    if created && empty {
        return Err(broken(folder, "its log is missing or empty".to_owned()));
    }
    if empty && let Ok(db) = attempt(&folder.store()) {
        // The second opening writes a snapshot. Without one sled believes any file, and cuts off
        // what it does not understand.
        drop(db);
    }
    let first = if created && folder.snapshots(Snapshots::Whole)?.is_empty() {
        Err(Failure::Corrupt("its snapshot is missing".to_owned()))
    } else {
        attempt_with_reserve(folder)
    };
    let db = match first {
        Ok(db) => db,
        Err(Failure::Corrupt(cause)) => {
            repair::replay_in_a_copy(folder, &cause)?;
            attempt(&folder.store()).map_err(|failure| failure.into_error(folder))?
        }
        Err(failure) => return Err(failure.into_error(folder)),
    };
    let log = File::open(folder.log()).map_err(refused)?;
    let witness = Witness::open(&folder.acknowledged()).map_err(refused)?;
    let opened = Opened { db, log, witness };
    if created && let Err(cause) = holds_everything(folder, &opened.db) {
        let_go(opened);
        return Err(broken(folder, cause));
    }
    Ok(opened)
}

/// Whether the format is there, and the commit that was acknowledged last.
pub(super) fn holds_everything(folder: &Folder, db: &sled::Db) -> Result<(), String> {
    holds_format(db)?;
    let stored = match catch_unwind(AssertUnwindSafe(|| witness::stored(db))) {
        Ok(stored) => stored.map_err(|error| error.to_string())?,
        Err(panic) => return Err(panic_text(&*panic)),
    };
    let lost = witness::acknowledged(&folder.acknowledged()).saturating_sub(stored);
    if lost > 0 {
        return Err(format!(
            "the last {lost} of its acknowledged commits are missing, because it was cut or is an \
             older copy (to do without them: `larkspur store repair --accept-loss`)"
        ));
    }
    Ok(())
}

fn attempt_with_reserve(folder: &Folder) -> Result<sled::Db, Failure> {
    match attempt(&folder.store()) {
        Err(Failure::Full(_)) if folder.release_reserve() => {
            Event::StoreRepaired { action: "gave up the reserve because the disk is full" }.emit();
            attempt(&folder.store())
        }
        other => other,
    }
}

/// Drops the database: blocking, and sled may panic where the disk fails.
pub(super) fn let_go(opened: Opened) {
    if catch_unwind(AssertUnwindSafe(|| drop(opened))).is_err() {
        tracing::debug!("the database did not close cleanly");
    }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a message"))
}

pub(super) fn broken(folder: &Folder, cause: String) -> StoreError {
    StoreError::Broken { folder: folder.name(), cause }
}

pub(super) fn attempt(store: &Path) -> Result<sled::Db, Failure> {
    let mut tries = 0;
    loop {
        match attempt_once(store) {
            Err(Failure::Held(_cause)) if tries < RELEASE_TRIES => {
                tries += 1;
                std::thread::sleep(RELEASE_WAIT);
            }
            other => return other,
        }
    }
}

fn attempt_once(store: &Path) -> Result<sled::Db, Failure> {
    let config = sled::Config::new().path(store).cache_capacity(CACHE_BYTES);
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(Ok(db)) => Ok(db),
        Ok(Err(error)) => Err(classify(&error)),
        // The text is all there is to tell a full disk from a damaged file.
        Err(panic) => {
            let cause = panic_text(&*panic);
            if cause.contains("StorageFull") || cause.contains("No space left") {
                Err(Failure::Full(cause))
            } else {
                Err(Failure::Corrupt(cause))
            }
        }
    }
}

fn classify(error: &sled::Error) -> Failure {
    let cause = error.to_string();
    match error {
        sled::Error::Io(io) => match io.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::Full(cause),
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData => Failure::Corrupt(cause),
            _other if cause.contains("could not acquire lock") => Failure::Held(cause),
            _other => Failure::Disk(cause),
        },
        _not_the_disk => Failure::Corrupt(cause),
    }
}

/// Whether the record is there that every store has from its first commit on.
fn holds_format(db: &sled::Db) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| db.contains_key(FORMAT_KEY))) {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err("its log holds no data although it was in use".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(panic_text(&*panic)),
    }
}
