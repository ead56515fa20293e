//! Finds the recipe files of a folder and reads them, within limits.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::base::Timestamp;

/// The longest recipe file, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;
/// About how many files of one folder are looked at.
const FILES_MAX: usize = 200_000;
/// How many folders deep files are looked for.
const DEPTH_MAX: usize = 16;

/// The place of a file: the number of its folder, then its path inside. Their order decides which
/// of two recipes with one id counts.
pub(super) type Key = (usize, String);

/// Tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// When it was last written.
    pub(super) modified: Timestamp,
    nanos: u128,
    bytes: u64,
}

/// A file that may be a recipe.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Where it really is.
    pub(super) path: PathBuf,
    /// Its state when it was found.
    pub(super) stamp: Stamp,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files to read.
    pub(super) candidates: BTreeMap<Key, Candidate>,
    /// Files that are not to be read, with the reason.
    pub(super) refused: BTreeMap<Key, String>,
}

impl Scan {
    /// Adds the recipe files of `folder`, which has the given number. A folder that does not
    /// exist is noted and counts as empty.
    ///
    /// # Errors
    /// The folder exists and cannot be listed.
    pub(super) fn add_folder(&mut self, number: usize, folder: &Path) -> io::Result<()> {
        let root = match fs::canonicalize(folder) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = (number, String::new());
                self.refused.insert(key, "the folder does not exist".to_owned());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut open = vec![Level { path: root.clone(), prefix: String::new(), depth: 0 }];
        let mut files = 0;
        while let Some(level) = open.pop() {
            let listed = fs::read_dir(&level.path);
            let entries = match listed {
                Ok(entries) => entries,
                Err(error) if level.depth == 0 => return Err(error),
                Err(error) => {
                    self.refused.insert((number, level.prefix), error.to_string());
                    continue;
                }
            };
            for entry in entries.flatten().filter(is_visible) {
                let key = (number, level.join(&entry));
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.extend(level.below(&entry));
                } else if is_markdown(&entry.path()) {
                    files += 1;
                    self.add_file(key, &entry.path(), &root);
                }
            }
            if files > FILES_MAX {
                let reason = format!("the folder has more than {FILES_MAX} files");
                self.refused.insert((number, String::new()), reason);
                break;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, key: Key, path: &Path, root: &Path) {
        match candidate(path, root) {
            Ok(candidate) => {
                self.candidates.insert(key, candidate);
            }
            Err(reason) => {
                self.refused.insert(key, reason);
            }
        }
    }
}

/// A folder on the way down.
struct Level {
    path: PathBuf,
    prefix: String,
    depth: usize,
}

impl Level {
    fn join(&self, entry: &DirEntry) -> String {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if self.prefix.is_empty() { name.into_owned() } else { format!("{}/{name}", self.prefix) }
    }

    fn below(&self, entry: &DirEntry) -> Option<Self> {
        (self.depth < DEPTH_MAX).then(|| Self {
            path: entry.path(),
            prefix: self.join(entry),
            depth: self.depth + 1,
        })
    }
}

fn is_visible(entry: &DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}

fn candidate(path: &Path, root: &Path) -> Result<Candidate, String> {
    let is_link = fs::symlink_metadata(path).map_err(|error| error.to_string())?.is_symlink();
    let path = if is_link {
        fs::canonicalize(path).map_err(|error| error.to_string())?
    } else {
        path.to_owned()
    };
    if !path.starts_with(root) {
        return Err("the link leads out of the knowledge folder".to_owned());
    }
    let metadata = fs::metadata(&path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("longer than {FILE_BYTES_MAX} bytes"));
    }
    let stamp = stamp(&metadata);
    Ok(Candidate { path, stamp })
}

fn stamp(metadata: &Metadata) -> Stamp {
    let nanos = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |span| span.as_nanos());
    Stamp {
        modified: Timestamp::from_millis(u64::try_from(nanos / 1_000_000).unwrap_or(0)),
        nanos,
        bytes: metadata.len(),
    }
}

/// The text of a recipe file.
///
/// # Errors
/// It cannot be read, is longer than the limit, or is not UTF-8; in words.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).map_or(true, |length| length > FILE_BYTES_MAX) {
        return Err(format!("longer than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_not_utf8| "not UTF-8".to_owned())
}
