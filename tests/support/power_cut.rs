//! What a power cut may leave of the files that a process wrote.
//!
//! A [`Recording`] holds everything a process did to a folder, in order (`recorder.c`, preloaded
//! into it, wrote it down). Played back onto a [`Disk`], it tells at each moment what was certain:
//! the bytes of a file up to its last sync, the names of a folder up to the last sync of the
//! folder. Of everything later a power cut leaves what it likes, whole or torn at a sector
//! border; [`Disk::leave`] draws such a state and writes it out.

#[path = "power_cut/disk.rs"]
mod disk;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use disk::Disk;

use crate::dice::Dice;

/// One thing the process did.
#[derive(Debug)]
pub(crate) enum Op {
    /// A new file or folder has this name.
    Make {
        path: PathBuf,
        inode: u64,
        is_folder: bool,
    },
    Write {
        inode: u64,
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        inode: u64,
        length: usize,
    },
    /// A file or folder was synced.
    Sync {
        inode: u64,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
}

/// A process's work on a folder.
pub(crate) struct Recording {
    /// The folder as it was before.
    pub(crate) before: Disk,
    /// What was done.
    pub(crate) ops: Vec<Op>,
}

impl Recording {
    /// Runs `command` to its end and records what it does below `folder`, an absolute path.
    pub(crate) fn of(folder: &Path, command: &mut Command) -> Self {
        let aside = tempfile::tempdir().unwrap();
        let log = aside.path().join("record");
        let before = Disk::read(folder);
        let output = command
            .env("LD_PRELOAD", recorder(aside.path()))
            .env("RECORDER_FOLDER", folder)
            .env("RECORDER_LOG", &log)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let ops = Words(&fs::read(log).unwrap()).ops();
        let recording = Self { before, ops };
        recording.check(folder);
        recording
    }

    /// Played to its end, a complete record gives what stands on the disk.
    fn check(&self, folder: &Path) {
        let mut disk = self.before.clone();
        for op in &self.ops {
            disk.play(op);
        }
        let again = tempfile::tempdir().unwrap();
        disk.leave_all(again.path());
        let (real, played) = (listing(folder), listing(again.path()));
        assert!(real == played, "the recorder missed something: {:?}", differing(&real, &played));
    }
}

/// Compiles the recorder. Where Rust builds, there is a C compiler: it links.
fn recorder(into: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/recorder.c");
    let library = into.join("recorder.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// The files below a folder with their bytes. The reserve holds none of meaning, and its room is
/// taken by a call that cannot be recorded.
pub(crate) fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !name.ends_with("reserve") {
                found.push((name, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn differing(one: &[(PathBuf, Vec<u8>)], other: &[(PathBuf, Vec<u8>)]) -> Vec<PathBuf> {
    let only = |left: &[(PathBuf, Vec<u8>)], right: &[(PathBuf, Vec<u8>)]| -> Vec<PathBuf> {
        left.iter().filter(|file| !right.contains(file)).map(|(name, _)| name.clone()).collect()
    };
    [only(one, other), only(other, one)].concat()
}

/// The bytes of a record that are still to be read.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn ops(mut self) -> Vec<Op> {
        let mut ops = Vec::new();
        while let Some((kind, rest)) = self.0.split_first() {
            self.0 = rest;
            ops.push(self.op(*kind));
        }
        ops
    }

    fn op(&mut self, kind: u8) -> Op {
        match kind {
            b'C' | b'M' => {
                Op::Make { path: self.path(), inode: self.number(), is_folder: kind == b'M' }
            }
            b'W' => {
                let (inode, offset) = (self.number(), self.length());
                let length = self.length();
                Op::Write { inode, offset, bytes: self.take(length).to_vec() }
            }
            b'T' => Op::Truncate { inode: self.number(), length: self.length() },
            b'S' => Op::Sync { inode: self.number() },
            b'R' => Op::Rename { from: self.path(), to: self.path() },
            b'U' => Op::Remove { path: self.path() },
            other => panic!("the record has no kind {other}"),
        }
    }

    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u64 {
        u64::from_ne_bytes(self.take(8).try_into().unwrap())
    }

    fn length(&mut self) -> usize {
        usize::try_from(self.number()).unwrap()
    }

    fn path(&mut self) -> PathBuf {
        let length = self.length();
        PathBuf::from(String::from_utf8(self.take(length).to_vec()).unwrap())
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}
