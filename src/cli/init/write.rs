//! Writing the files: all of them or none.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::plan::File;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// A file is there already.
    #[error("{} exists already; with --force it is kept as {}.bak", .0.display(), .0.display())]
    Exists(PathBuf),
    /// A file cannot be written; what was written before it is taken away again.
    #[error("{} cannot be written: {cause}; nothing was left behind", .path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

/// Writes `files` below `folder`. Returns what was written.
pub(super) fn write_all(
    folder: &Path,
    files: &[File],
    force: bool,
) -> Result<Vec<PathBuf>, WriteError> {
    let missing = |file: &&File| !(file.yields && folder.join(&file.path).exists());
    let files: Vec<&File> = files.iter().filter(missing).collect();
    if !force
        && let Some(there) =
            files.iter().map(|file| folder.join(&file.path)).find(|path| path.exists())
    {
        return Err(WriteError::Exists(there));
    }
    let mut written = Vec::new();
    for file in files {
        let path = folder.join(&file.path);
        if let Err(cause) = write(&path, file) {
            take_back(&written);
            return Err(WriteError::Unwritten { path, cause });
        }
        written.push(path);
    }
    Ok(written)
}

fn write(path: &Path, file: &File) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        let mode = if file.is_secret { 0o700 } else { 0o755 };
        DirBuilder::new().recursive(true).mode(mode).create(parent)?;
    }
    if path.exists() {
        fs::rename(path, backup(path))?;
    }
    let mode = if file.is_secret { 0o600 } else { 0o644 };
    let mut open = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = open.write_all(file.text.as_bytes()).and_then(|()| open.sync_all());
    if written.is_err() {
        take_back(&[path.to_owned()]);
    }
    written
}

fn backup(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".bak");
    PathBuf::from(name)
}

/// Removes what was written, and puts back what was there before.
fn take_back(written: &[PathBuf]) {
    for path in written {
        let backup = backup(path);
        // What cannot be put back stays under its other name: nothing is lost.
        if backup.exists() {
            fs::rename(backup, path).unwrap_or_default();
        } else {
            fs::remove_file(path).unwrap_or_default();
        }
    }
}
