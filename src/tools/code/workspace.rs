//! The folder that the code tools may look into.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{WalkBuilder, overrides::OverrideBuilder};
use rustix::fs::{Mode, OFlags};

use super::{Halted, failed, invalid, secrets};
use crate::tools::port::{ToolError, ToolErrorCode};

/// The longest path that is repeated to the model, in characters.
const PATH_CHARS_MAX: usize = 200;

/// A folder, and what in it is never shown. Clones share it.
#[derive(Clone, Debug)]
pub struct Workspace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Without links in it.
    root: PathBuf,
    /// Folders and files within it that are the daemon's own.
    closed: Vec<PathBuf>,
}

/// A path that may be looked at.
#[derive(Debug)]
pub(super) struct Place {
    /// Without links in it.
    full: PathBuf,
    /// Below the workspace.
    pub(super) relative: PathBuf,
}

impl Workspace {
    /// The workspace at `root`. What is in `closed` is never shown; of what does not exist nothing
    /// has to be closed.
    ///
    /// # Errors
    /// If `root` is no folder that can be read.
    pub fn open(root: &Path, closed: &[PathBuf]) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let closed = closed.iter().filter_map(|path| path.canonicalize().ok()).collect();
        Ok(Self(Arc::new(Inner { root, closed })))
    }

    /// Finds a path that a model wrote. Links are followed, and where they lead has to be inside.
    pub(super) fn find(&self, written: &str) -> Result<Place, ToolError> {
        let told = crate::base::limit::one_line(written, PATH_CHARS_MAX);
        if written.contains('\0') {
            return Err(invalid(format!("`{told}` is no path")));
        }
        let root = &self.0.root;
        // An absolute path below the workspace is understood as well.
        let full = match root.join(written.trim()).canonicalize() {
            Ok(full) => full,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(failed(format!(
                    "there is no `{told}`; list_files shows what there is"
                )));
            }
            Err(error) => return Err(failed(format!("`{told}` cannot be read: {error}"))),
        };
        let Ok(relative) = full.strip_prefix(root).map(Path::to_owned) else {
            let text = format!("`{told}` is outside of the workspace");
            return Err(ToolError { code: ToolErrorCode::BlockedByPolicy, text });
        };
        if let Some(reason) = self.closed(&relative) {
            let text = format!("`{told}` is never shown: it may hold {reason}");
            return Err(ToolError { code: ToolErrorCode::BlockedByPolicy, text });
        }
        Ok(Place { full, relative })
    }

    /// Why a path below the workspace is never shown.
    fn closed(&self, relative: &Path) -> Option<&'static str> {
        let full = self.0.root.join(relative);
        let is_own = self.0.closed.iter().any(|closed| full.starts_with(closed));
        if is_own { Some("the daemon's own settings and data") } else { secrets::reason(relative) }
    }

    /// Calls `each` for what is below `place`, in the order of the names, until it says stop.
    /// Ignore files are respected, links not followed, and what is never shown is left out.
    pub(super) fn walk(
        &self,
        place: &Place,
        (glob, depth): (Option<&str>, Option<usize>),
        halted: &Halted,
        mut each: impl FnMut(Place, bool) -> Result<bool, ToolError>,
    ) -> Result<(), ToolError> {
        let mut builder = WalkBuilder::new(&place.full);
        builder.hidden(false).require_git(false).follow_links(false).max_depth(depth);
        builder.sort_by_file_name(Ord::cmp);
        if let Some(glob) = glob {
            let mut overrides = OverrideBuilder::new(&place.full);
            let added = overrides.add(glob).and_then(|builder| builder.build());
            let wrong = |error| invalid(format!("glob: {error}"));
            builder.overrides(added.map_err(wrong)?);
        }
        let workspace = self.clone();
        builder.filter_entry(move |entry| {
            let relative = entry.path().strip_prefix(&workspace.0.root).unwrap_or(entry.path());
            workspace.closed(relative).is_none()
        });
        // What went away or cannot be read meanwhile is not there.
        for entry in builder.build().filter_map(Result::ok) {
            halted.check()?;
            let kind = entry.file_type();
            let is_folder = kind.is_some_and(|kind| kind.is_dir());
            if entry.depth() == 0 || !(is_folder || kind.is_some_and(|kind| kind.is_file())) {
                continue;
            }
            let full = entry.into_path();
            let Ok(relative) = full.strip_prefix(&self.0.root).map(Path::to_owned) else {
                continue;
            };
            if !each(Place { full, relative }, is_folder)? {
                break;
            }
        }
        Ok(())
    }
}

impl Place {
    /// Opens a file. What is none (a device, a pipe that would never end) is refused; a link that
    /// took the file's place meanwhile, too.
    pub(super) fn open(&self) -> Result<File, ToolError> {
        let told = super::shown(&self.relative);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.full, flags, Mode::empty());
        let file = opened.map(File::from).map_err(|error| {
            failed(format!("`{told}` cannot be opened: {}", io::Error::from(error)))
        })?;
        match file.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(file),
            Ok(metadata) if metadata.is_dir() => {
                Err(invalid(format!("`{told}` is a folder; list_files shows what is in it")))
            }
            _ => Err(invalid(format!("`{told}` is no file"))),
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        self.full.is_dir()
    }
}
