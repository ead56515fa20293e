//! A small disk of its own for a test: one that can be full, and one that can fail.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted disk.
pub(crate) struct SmallDisk {
    at: PathBuf,
    is_mounted: bool,
}

impl SmallDisk {
    /// A disk in memory with so many MiB. `None`, and a line that says so, where this process may
    /// not mount.
    pub(crate) fn in_memory(at: &Path, mebibytes: u32) -> Option<Self> {
        let size = format!("size={mebibytes}m");
        Self::mounted(at, &["-t", "tmpfs", "-o", &size, "tmpfs"])
    }

    /// An ext4 file system in the file `image`, which is made unless it is there.
    pub(crate) fn ext4(at: &Path, image: &Path, mebibytes: u64) -> Option<Self> {
        if !image.exists() {
            fs::File::create(image).unwrap().set_len(mebibytes << 20).unwrap();
            // No blocks that are kept back for root.
            if !done("mkfs.ext4", &["-q", "-m", "0", &image.display().to_string()]) {
                return None;
            }
        }
        Self::mounted(at, &["-t", "ext4", "-o", "loop", &image.display().to_string()])
    }

    fn mounted(at: &Path, what: &[&str]) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let place = at.display().to_string();
        let words = [what, &[place.as_str()]].concat();
        done("mount", &words).then(|| Self { at: at.to_owned(), is_mounted: true })
    }

    /// Writes until nothing more fits.
    pub(crate) fn fill(&self) {
        let mut options = fs::OpenOptions::new();
        let mut filler = options.create(true).append(true).open(self.filler()).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
    }

    pub(crate) fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }

    /// Mounts it again with other options: `ro`, `rw`, or `abort`, after which an ext4 refuses
    /// writes as if the device had failed.
    pub(crate) fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        assert!(done("mount", &["-o", &option, &self.at.display().to_string()]));
    }

    /// Takes it away. Files on it must be closed.
    pub(crate) fn unmount(mut self) {
        assert!(done("umount", &[&self.at.display().to_string()]));
        self.is_mounted = false;
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The daemon may still be there; it goes with its stage.
        if self.is_mounted {
            done("umount", &["-l", &self.at.display().to_string()]);
        }
    }
}

/// Repairs a file system that failed.
pub(crate) fn check(image: &Path) {
    // 1: it was not in order and now is.
    let status = Command::new("e2fsck").args(["-f", "-y"]).arg(image).output().unwrap().status;
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
}

fn done(program: &str, words: &[&str]) -> bool {
    match Command::new(program).args(words).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!("SKIPPED: {program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            println!("SKIPPED: {program}: {error}");
            false
        }
    }
}
