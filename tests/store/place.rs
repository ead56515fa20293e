//! Where a test works.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with the data in `data`.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        // In memory, if that is possible: nothing of this is to be kept.
        let memory = Path::new("/dev/shm");
        Self(if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }
}
