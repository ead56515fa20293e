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
    let paths = files.iter().map(|file| folder.join(&file.path));
    if !force && let Some(there) = paths.into_iter().find(|path| path.exists()) {
        return Err(WriteError::Exists(there));
    }
    let mut written: Vec<Written> = Vec::new();
    for file in files {
        let path = folder.join(&file.path);
        match write(&path, file) {
            Ok(done) => written.push(done),
            Err(cause) => {
                written.into_iter().for_each(Written::take_back);
                return Err(WriteError::Unwritten { path, cause });
            }
        }
    }
    Ok(written.into_iter().map(|written| written.path).collect())
}

/// A file that was written, and where the one is that was there before.
struct Written {
    path: PathBuf,
    before: Option<PathBuf>,
}

impl Written {
    /// Removes it, and puts back what was there. What cannot be put back stays under its other
    /// name: nothing is lost.
    fn take_back(self) {
        fs::remove_file(&self.path).unwrap_or_default();
        if let Some(before) = self.before {
            fs::rename(before, self.path).unwrap_or_default();
        }
    }
}

fn write(path: &Path, file: &File) -> io::Result<Written> {
    if let Some(parent) = path.parent() {
        let mode = if file.is_secret { 0o700 } else { 0o755 };
        DirBuilder::new().recursive(true).mode(mode).create(parent)?;
    }
    let before = if path.exists() { Some(set_aside(path)?) } else { None };
    let written = Written { path: path.to_owned(), before };
    let mode = if file.is_secret { 0o600 } else { 0o644 };
    let open = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let filled = open.and_then(|mut open| {
        open.write_all(file.text.as_bytes())?;
        open.sync_all()
    });
    match filled {
        Ok(()) => Ok(written),
        Err(error) => {
            written.take_back();
            Err(error)
        }
    }
}

/// Renames a file to a name that is free: what was set aside before stays, too.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".bak".to_owned() } else { format!(".bak{number}") });
        PathBuf::from(name)
    };
    let free = (0..=u32::MAX).map(name).find(|name| !name.exists());
    let free = free.ok_or_else(|| io::Error::other("no name is free for the old file"))?;
    fs::rename(path, &free)?;
    Ok(free)
}
