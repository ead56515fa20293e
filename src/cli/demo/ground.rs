//! The demo's folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use uuid::Uuid;

/// A folder; one that was made for the demo alone goes with it.
pub(super) struct Ground {
    path: PathBuf,
    is_kept: bool,
}

impl Ground {
    /// `dir`, made if need be, or a new folder below `temporary`.
    pub(super) fn make(dir: Option<&Path>, temporary: &Path) -> io::Result<Self> {
        let is_kept = dir.is_some();
        let path = dir.map_or_else(
            || temporary.join(format!("larkspur-demo-{}", Uuid::now_v7().simple())),
            Path::to_owned,
        );
        fs::create_dir_all(&path)?;
        Ok(Self { path: path.canonicalize()?, is_kept })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is left to whoever clears the temporary folder.
            fs::remove_dir_all(&self.path).unwrap_or_default();
        }
    }
}
