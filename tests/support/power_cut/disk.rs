//! A disk of which some is certain and some is on its way.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Dice, Op, inode};

/// What a device writes whole or not at all.
const SECTOR: usize = 512;

/// A file or folder, whatever its name; the place in [`Disk::nodes`].
type Node = usize;

#[derive(Clone, Debug)]
enum Content {
    File { certain: Vec<u8>, later: Vec<Change> },
    Folder { certain: BTreeMap<OsString, Node>, later: Vec<Naming>, now: BTreeMap<OsString, Node> },
}

/// What was done to a file since its last sync.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

/// What was done to a folder since its last sync: a name means this node, or nothing.
#[derive(Clone, Debug)]
struct Naming {
    name: OsString,
    node: Option<Node>,
    /// Both sides of a renaming have the same moment.
    moment: usize,
}

/// The files below one folder.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    nodes: Vec<Content>,
    by_inode: HashMap<u64, Node>,
    moment: usize,
}

/// What is left of the changes that are not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    Everything,
    /// The first ones, the last of them torn.
    Beginning,
    /// Any sectors.
    Scattered,
    /// The lengths, and zeros where the bytes should be.
    Lengths,
}

impl Left {
    fn drawn(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2..4 => Self::Beginning,
            4 => Self::Lengths,
            _ => Self::Scattered,
        }
    }
}

impl Disk {
    /// A real folder, all of it certain.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut disk = Self {
            folder: folder.to_owned(),
            nodes: Vec::new(),
            by_inode: HashMap::new(),
            moment: 0,
        };
        disk.read_folder(folder);
        disk
    }

    fn read_folder(&mut self, path: &Path) -> Node {
        let node = self.add(path, Content::folder(BTreeMap::new()));
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let child = if entry.file_type().unwrap().is_dir() {
                self.read_folder(&entry.path())
            } else {
                let bytes = fs::read(entry.path()).unwrap();
                self.add(&entry.path(), Content::file(bytes))
            };
            names.insert(entry.file_name(), child);
        }
        self.nodes[node] = Content::folder(names);
        node
    }

    fn add(&mut self, path: &Path, content: Content) -> Node {
        self.nodes.push(content);
        let node = self.nodes.len() - 1;
        self.by_inode.insert(inode(path), node);
        node
    }

    /// The process did this.
    pub(crate) fn play(&mut self, op: &Op) {
        self.moment += 1;
        match op {
            Op::Make { path, inode, is_folder } => {
                self.nodes.push(if *is_folder {
                    Content::folder(BTreeMap::new())
                } else {
                    Content::file(Vec::new())
                });
                let node = self.nodes.len() - 1;
                self.by_inode.insert(*inode, node);
                self.name(path, Some(node));
            }
            Op::Write { inode, offset, bytes } => {
                let change = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.change(*inode, change);
            }
            Op::Truncate { inode, length } => self.change(*inode, Change::Truncate(*length)),
            Op::Sync { inode } => {
                let node = self.by_inode[inode];
                self.nodes[node].sync();
            }
            Op::Rename { from, to } => {
                let node = self.find(from);
                self.name(from, None);
                self.name(to, Some(node));
            }
            Op::Remove { path } => self.name(path, None),
        }
    }

    fn change(&mut self, inode: u64, change: Change) {
        match &mut self.nodes[self.by_inode[&inode]] {
            Content::File { later, .. } => later.push(change),
            Content::Folder { .. } => panic!("a folder was written to"),
        }
    }

    fn name(&mut self, path: &Path, node: Option<Node>) {
        let (parent, name) = (path.parent().unwrap(), path.file_name().unwrap().to_owned());
        let (folder, moment) = (self.find(parent), self.moment);
        let Content::Folder { later, now, .. } = &mut self.nodes[folder] else {
            panic!("{} is no folder", parent.display());
        };
        match node {
            Some(node) => now.insert(name.clone(), node),
            None => now.remove(&name),
        };
        later.push(Naming { name, node, moment });
    }

    fn find(&self, path: &Path) -> Node {
        let mut node = 0;
        for name in path.strip_prefix(&self.folder).unwrap() {
            let Content::Folder { now, .. } = &self.nodes[node] else {
                panic!("{} is below a file", path.display());
            };
            node = now[name];
        }
        node
    }

    /// The power is cut: writes what may be left into an empty folder, and says how it was drawn.
    pub(crate) fn leave(&self, into: &Path, dice: &mut Dice) -> String {
        // Names go through one journal: those that are not certain are kept in their order.
        let (mut first, mut last) = (self.moment, 0);
        for content in &self.nodes {
            if let Content::Folder { later, .. } = content {
                for naming in later {
                    first = first.min(naming.moment);
                    last = last.max(naming.moment);
                }
            }
        }
        let named_until = match dice.below(3) {
            0 => 0,
            1 => self.moment,
            _ if first < last => first + dice.size_below(last - first + 1),
            _ => first,
        };
        let left = Left::drawn(dice);
        self.write_folder(0, into, named_until, &mut |certain, later| {
            cut(certain, later, left, dice)
        });
        format!("names until {named_until} of {}, of bytes {left:?}", self.moment)
    }

    /// Writes everything, as if there were no cut.
    pub(crate) fn leave_all(&self, into: &Path) {
        let whole = &mut |certain: &[u8], later: &[Change]| all_of(certain, later);
        self.write_folder(0, into, self.moment, whole);
    }

    fn write_folder(
        &self,
        node: Node,
        into: &Path,
        named_until: usize,
        bytes: &mut impl FnMut(&[u8], &[Change]) -> Vec<u8>,
    ) {
        let Content::Folder { certain, later, .. } = &self.nodes[node] else {
            panic!("{} is no folder", into.display());
        };
        let mut names = certain.clone();
        for naming in later.iter().filter(|naming| naming.moment <= named_until) {
            naming.apply(&mut names);
        }
        for (name, node) in names {
            let path = into.join(name);
            match &self.nodes[node] {
                Content::File { certain, later } => {
                    fs::write(path, bytes(certain, later)).unwrap();
                }
                Content::Folder { .. } => {
                    fs::create_dir(&path).unwrap();
                    self.write_folder(node, &path, named_until, bytes);
                }
            }
        }
    }
}

impl Content {
    fn file(bytes: Vec<u8>) -> Self {
        Self::File { certain: bytes, later: Vec::new() }
    }

    fn folder(names: BTreeMap<OsString, Node>) -> Self {
        Self::Folder { certain: names.clone(), later: Vec::new(), now: names }
    }

    fn sync(&mut self) {
        match self {
            Self::File { certain, later } => {
                if !later.is_empty() {
                    *certain = all_of(certain, later);
                    later.clear();
                }
            }
            Self::Folder { certain, later, .. } => {
                for naming in later.drain(..) {
                    naming.apply(certain);
                }
            }
        }
    }
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<OsString, Node>) {
        match self.node {
            Some(node) => names.insert(self.name.clone(), node),
            None => names.remove(&self.name),
        };
    }
}

fn all_of(certain: &[u8], later: &[Change]) -> Vec<u8> {
    let mut bytes = certain.to_vec();
    for change in later {
        change.apply(&mut bytes);
    }
    bytes
}

/// What is left of a file.
fn cut(certain: &[u8], later: &[Change], left: Left, dice: &mut Dice) -> Vec<u8> {
    match left {
        Left::Nothing => certain.to_vec(),
        Left::Everything => all_of(certain, later),
        Left::Beginning if later.is_empty() => certain.to_vec(),
        Left::Beginning => {
            let (whole, rest) = later.split_at(dice.size_below(later.len()));
            let mut bytes = all_of(certain, whole);
            if let Some(Change::Write { offset, bytes: written }) = rest.first() {
                let torn = torn_at(*offset, written.len(), dice);
                put(&mut bytes, *offset, &written[..torn]);
            }
            bytes
        }
        Left::Lengths => {
            let mut bytes = certain.to_vec();
            bytes.resize(all_of(certain, later).len().max(certain.len()), 0);
            bytes
        }
        Left::Scattered => {
            let mut bytes = certain.to_vec();
            for change in later {
                change.apply_in_part(&mut bytes, dice);
            }
            bytes
        }
    }
}

/// How much of a write is there if it is torn at the border of a sector.
fn torn_at(offset: usize, length: usize, dice: &mut Dice) -> usize {
    let end = offset + length;
    let sectors = end / SECTOR - offset / SECTOR;
    let border = (offset / SECTOR + dice.size_below(sectors + 1)) * SECTOR;
    border.clamp(offset, end) - offset
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes: written } => put(bytes, *offset, written),
            Self::Truncate(length) => bytes.resize(*length, 0),
        }
    }

    /// Each sector is there or not.
    fn apply_in_part(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        match self {
            Self::Write { offset, bytes: written } => {
                let mut at = 0;
                while at < written.len() {
                    let next = (((offset + at) / SECTOR + 1) * SECTOR - offset).min(written.len());
                    if dice.below(2) == 0 {
                        put(bytes, offset + at, &written[at..next]);
                    }
                    at = next;
                }
            }
            Self::Truncate(length) => {
                if dice.below(2) == 0 {
                    bytes.resize(*length, 0);
                }
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    let end = offset + written.len();
    if written.is_empty() {
        return;
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(written);
}
