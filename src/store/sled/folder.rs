//! The data folder: its files besides sled's own, and the order in which they become durable.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::store::kv::FORMAT;
use crate::store::port::StoreError;
use crate::telemetry::Event;

/// Given up when the disk is too full to open the store: sled writes while it opens.
const RESERVE_BYTES: u64 = 4 << 20;

/// The reserve is only made when this much is free, or it would fill the disk itself.
const RESERVE_ROOM_BYTES: u64 = 4 * RESERVE_BYTES;

/// A data folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// The disk refused `error`'s operation.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn refused(error: io::Error) -> StoreError {
    StoreError::Disk(error.to_string())
}

impl Folder {
    /// Makes the folder unless it exists, takes it for this process and leaves it ready for sled.
    /// The folder is this process's as long as the file is open.
    pub(super) fn take(root: &Path) -> Result<(Self, File), StoreError> {
        let folder = Self { root: root.to_owned() };
        make_private(&folder.root)?;
        let lock = folder.lock()?;
        folder.end_interrupted_repair()?;
        make_private(&folder.store())?;
        Ok((folder, lock))
    }

    /// The folder itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where sled's files are.
    pub(super) fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// sled's log, which holds all data.
    pub(super) fn log(&self) -> PathBuf {
        self.store().join("db")
    }

    /// Where a copy is repaired.
    pub(super) fn repair(&self) -> PathBuf {
        self.root.join("store.repair")
    }

    /// Where the original is while a repaired copy takes its place.
    pub(super) fn replaced(&self) -> PathBuf {
        self.root.join("store.replaced")
    }

    /// Where a new store is made of what is left of a cut one.
    pub(super) fn salvage(&self) -> PathBuf {
        self.root.join("store.salvage")
    }

    /// Makes the names in the folder durable.
    pub(super) fn sync_root(&self) -> io::Result<()> {
        File::open(&self.root)?.sync_all()
    }

    /// The number of the commit acknowledged last. Beside the log, so that whoever moves or
    /// restores the one moves the other.
    pub(super) fn acknowledged(&self) -> PathBuf {
        self.store().join("acknowledged")
    }

    pub(super) fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    /// There while the store is created.
    fn creating(&self) -> PathBuf {
        self.root.join("creating")
    }

    fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// The folder for messages to people.
    pub(super) fn name(&self) -> String {
        self.root.display().to_string()
    }

    fn lock(&self) -> Result<File, StoreError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.root.join("lock"))
            .map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { folder: self.name() }),
            Err(TryLockError::Error(error)) => Err(refused(error)),
        }
    }

    /// Whether the store was created completely once; refuses a newer format before sled sees it.
    pub(super) fn created_format(&self) -> Result<bool, StoreError> {
        match fs::read_to_string(self.format()) {
            Ok(text) => match text.trim().parse() {
                Ok(found) if found > FORMAT => Err(StoreError::Newer { found, known: FORMAT }),
                _known_or_half_written => Ok(true),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(refused(error)),
        }
    }

    /// Before anything is created: says durably that a creation has begun. One that was
    /// interrupted before is begun anew, for sled may not understand what is left of it, and
    /// nothing is acknowledged before the creation is finished. Data without either mark is left
    /// alone.
    pub(super) fn begin_creation(&self) -> Result<(), StoreError> {
        let begin = || {
            if self.creating().exists() {
                fs::remove_dir_all(self.store())?;
                Event::StoreRepaired { action: "began an interrupted creation anew" }.emit();
            } else if fs::read_dir(self.store())?.next().is_some() {
                return Ok(());
            }
            File::create(self.creating())?.sync_all()?;
            self.sync_root()
        };
        begin().map_err(refused)?;
        make_private(&self.store())
    }

    /// Makes sled's new files and their names durable, and after them the file that says so.
    pub(super) fn finish_creation(&self) -> Result<(), StoreError> {
        let sync = |path: PathBuf| File::open(path)?.sync_all();
        let finish = || {
            sync(self.store().join("conf"))?;
            sync(self.log())?;
            sync(self.store())?;
            let mut file = File::create(self.format())?;
            file.write_all(format!("{FORMAT}\n").as_bytes())?;
            file.sync_all()?;
            self.sync_root()?;
            match self.root.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => sync(parent.to_owned()),
                _the_root_or_relative => Ok(()),
            }
        };
        finish().map_err(refused)?;
        self.forget_creation();
        Ok(())
    }

    /// The creation is finished. Its mark means nothing beside the format, but would if somebody
    /// lost the format.
    pub(super) fn forget_creation(&self) {
        match fs::remove_file(self.creating()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::debug!(%error, "the mark of the creation stays");
            }
            _gone => {}
        }
    }

    /// sled's snapshots of one sort, the newest last.
    pub(super) fn snapshots(&self, which: Snapshots) -> Result<Vec<PathBuf>, StoreError> {
        snapshots_in(&self.store(), which)
    }

    /// Gives the reserve up. Returns whether there was one.
    pub(super) fn release_reserve(&self) -> bool {
        fs::remove_file(self.reserve()).is_ok()
    }

    /// Makes the reserve if it is missing and the disk has room. A disk without it works too.
    pub(super) fn keep_reserve(&self) {
        let path = self.reserve();
        if path.exists() {
            return;
        }
        let made = || -> io::Result<bool> {
            let space = rustix::fs::statvfs(&self.root)?;
            if space.f_bavail.saturating_mul(space.f_frsize) < RESERVE_ROOM_BYTES {
                return Ok(false);
            }
            let file = File::create(&path)?;
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, RESERVE_BYTES)?;
            Ok(true)
        };
        if let Err(error) = made() {
            tracing::debug!(%error, "there is no reserve for a full disk");
            self.release_reserve();
        }
    }
}

/// Which snapshots are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshots {
    /// Those that were finished.
    Whole,
    /// Those that were being written when the process ended.
    Half,
}

/// sled's snapshots of one sort in `store`, the newest last.
pub(super) fn snapshots_in(store: &Path, which: Snapshots) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(store).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let half = name.ends_with(".generating");
        if name.starts_with("snap.") && half == (which == Snapshots::Half) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn make_private(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(refused)
}
