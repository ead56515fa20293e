//! The demo's folder.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be made: {error}", path.display()))
        })?;
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
