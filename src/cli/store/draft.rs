//! The file of a copy: built under a name of its own beside its place, and put there when it is
//! whole. It replaces nothing, whatever stands there and however many make it at the same time.
//!
//! A draft is held by a lock while it is written; one that nobody holds is left of a process that
//! was killed. It is named and not deleted: it may stand in a folder that others write into.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// So many drafts may stand in one folder, given up or not.
const DRAFTS_MAX: u32 = 100;

/// A copy that is being made.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    file: File,
}

/// A draft, and those that were given up and stand in the same folder.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) draft: Draft,
    pub(super) left_over: Vec<PathBuf>,
}

/// Whether anything has this name, be it a link to nothing.
pub(super) fn is_taken(target: &Path) -> bool {
    fs::symlink_metadata(target).is_ok()
}

impl Draft {
    /// Begins a draft in the folder of `target`. Only its owner may read it.
    pub(super) fn begin(target: &Path) -> io::Result<Begun> {
        let mut left_over = Vec::new();
        for number in 1..=DRAFTS_MAX {
            let path = folder_of(target).join(format!("larkspur-copy-{number}.part"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    // Where nothing can be locked, others may name it too early, and no more.
                    file.lock().unwrap_or_default();
                    return Ok(Begun { draft: Self { path, file }, left_over });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if is_given_up(&path) {
                        left_over.push(path);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let text = format!("there are {DRAFTS_MAX} drafts of copies in its folder (*.part)");
        Err(io::Error::new(ErrorKind::AlreadyExists, text))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, durably; if that cannot be done, takes it away.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`]: something else has that name.
    pub(super) fn publish(self, target: &Path) -> io::Result<()> {
        let moved = self.file.sync_all().and_then(|()| move_to(&self.path, target));
        if moved.is_err() {
            self.discard();
        }
        moved?;
        File::open(folder_of(target))?.sync_all()
    }

    /// Takes it away.
    pub(super) fn discard(self) {
        fs::remove_file(&self.path).unwrap_or_default();
    }
}

fn move_to(draft: &Path, target: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    match rustix::fs::renameat_with(here, draft, here, target, RenameFlags::NOREPLACE) {
        // Network file systems that cannot do this can do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(draft, target)?;
            fs::remove_file(draft)
        }
        moved => Ok(moved?),
    }
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Whether it is a file whose writer is gone. What stands under such a name may be anything, and
/// opening it must neither wait nor lead elsewhere.
fn is_given_up(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    let file = File::from(opened);
    file.metadata().is_ok_and(|metadata| metadata.is_file()) && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn begin(target: &Path) -> (Draft, Vec<PathBuf>) {
        let Begun { draft, left_over } = Draft::begin(target).unwrap();
        (draft, left_over)
    }

    fn write(draft: &Draft, text: &str) {
        io::Write::write_all(&mut draft.file(), text.as_bytes()).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn of_two_copies_under_one_name_the_first_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy");
        let (one, _) = begin(&target);
        let (other, left_over) = begin(&target);
        assert_eq!(left_over, Vec::<PathBuf>::new(), "the first is held");
        write(&one, "one");
        write(&other, "other");
        one.publish(&target).unwrap();
        let refused = other.publish(&target).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        assert_eq!(names(folder.path()), ["copy"]);
    }

    #[test]
    fn what_a_killed_process_left_is_named_and_what_others_put_there_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (target, victim) = (folder.path().join("copy"), folder.path().join("victim"));
        let (killed, _) = begin(&target);
        let left = killed.path().to_owned();
        drop(killed);
        fs::write(&victim, "theirs").unwrap();
        symlink(&victim, folder.path().join("larkspur-copy-2.part")).unwrap();
        fs::create_dir(folder.path().join("larkspur-copy-3.part")).unwrap();
        let fifo = folder.path().join("larkspur-copy-4.part");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let (draft, left_over) = begin(&target);
        assert_eq!(left_over, [left]);
        let mode = draft.file().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        write(&draft, "ours");
        draft.publish(&target).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(&target).unwrap(), "ours");
    }

    #[test]
    fn a_copy_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (draft, _) = begin(&folder.path().join("copy"));
        draft.discard();
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
