//! Which recipes there are: follows the files, without their texts and without the index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::front_matter::{self, Page};
use super::scan::{self, Key, Scan, Stamp};
use crate::base::mark::mark;
use crate::base::{Clock, Timestamp};
use crate::envelope::{KnowledgeError, Recipe};
use crate::telemetry::Event;

/// Files are looked at again after this time at the earliest.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// A look at the files takes at most one part of this many of the daemon's time.
const CHECK_SHARE: u32 = 50;

/// What is known of one recipe without reading its file again.
#[derive(Debug)]
pub(super) struct Card {
    /// The recipe's id.
    pub(super) id: String,
    /// Whether searches find it.
    pub(super) is_searched: bool,
    /// When it was changed, by the recipe's own word or else the file's.
    pub(super) updated_at: Timestamp,
    /// A mark of everything in the file.
    pub(super) content: u64,
    /// Whether it waits for review.
    pub(super) is_waiting: bool,
    /// The file's state when it was read.
    pub(super) stamp: Stamp,
    path: PathBuf,
}

/// A read file: a recipe, or the reason why it is none.
#[derive(Clone, Debug)]
struct Entry {
    stamp: Stamp,
    card: Result<Arc<Card>, String>,
}

/// The recipes of all folders. Every id is there once: the first file by path has it.
#[derive(Debug)]
pub(super) struct Catalog {
    folders: Vec<PathBuf>,
    entries: BTreeMap<Key, Entry>,
    cards: Arc<BTreeMap<Key, Arc<Card>>>,
    skipped: BTreeMap<Key, String>,
    next_check: Option<(Timestamp, Timestamp)>,
}

impl Catalog {
    /// An empty catalogue that will follow `folders`.
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            entries: BTreeMap::new(),
            cards: Arc::default(),
            skipped: BTreeMap::new(),
            next_check: None,
        }
    }

    /// The recipes as of the last check.
    pub(super) fn cards(&self) -> &Arc<BTreeMap<Key, Arc<Card>>> {
        &self.cards
    }

    /// Looks at the files, if the last look is long enough ago. Reads what is new or changed.
    ///
    /// # Errors
    /// [`KnowledgeError::Unreadable`]: a folder exists and cannot be listed. The recipes stay as
    /// they were.
    pub(super) fn check(&mut self, clock: &dyn Clock) -> Result<(), KnowledgeError> {
        let start = clock.now();
        // A clock that was set back must not put off the next check for long.
        let is_fresh = |(from, until)| start >= from && start < until;
        if self.next_check.is_some_and(is_fresh) {
            return Ok(());
        }
        let mut scan = Scan::default();
        for (number, folder) in self.folders.iter().enumerate() {
            scan.add_folder(number, folder).map_err(|error| {
                KnowledgeError::Unreadable(format!("{}: {error}", folder.display()))
            })?;
        }
        self.take(scan);
        let end = clock.now();
        let pause = CHECK_EVERY.max(end.since(start).saturating_mul(CHECK_SHARE));
        self.next_check = Some((end, end.after(pause)));
        Ok(())
    }

    fn take(&mut self, scan: Scan) {
        let mut entries = BTreeMap::new();
        let mut skipped = scan.refused;
        let mut cards = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (key, candidate) in scan.candidates {
            let known = self.entries.get(&key);
            let entry = match known {
                Some(entry) if entry.stamp == candidate.stamp => entry.clone(),
                _ => Entry {
                    stamp: candidate.stamp,
                    card: read_card(&candidate.path, candidate.stamp).map(Arc::new),
                },
            };
            match &entry.card {
                Ok(card) if ids.insert(card.id.clone()) => {
                    cards.insert(key.clone(), Arc::clone(card));
                }
                Ok(card) => {
                    let reason = format!("another file has the id `{}` already", card.id);
                    skipped.insert(key.clone(), reason);
                }
                Err(reason) => {
                    skipped.insert(key.clone(), reason.clone());
                }
            }
            entries.insert(key, entry);
        }
        for (key, reason) in &skipped {
            if self.skipped.get(key) != Some(reason) {
                let file = self.display(key);
                Event::RecipeSkipped { file: &file, reason }.emit();
            }
        }
        self.entries = entries;
        self.cards = Arc::new(cards);
        self.skipped = skipped;
    }

    fn display(&self, (number, file): &Key) -> String {
        let folder = self.folders.get(*number);
        let folder = folder.map(|folder| folder.join(file));
        folder.map_or_else(|| file.clone(), |path| path.display().to_string())
    }
}

fn read_page(path: &Path) -> Result<Page, String> {
    page_of(path, &scan::read_text(path)?)
}

fn page_of(path: &Path, text: &str) -> Result<Page, String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    front_matter::parse(text, &stem).map_err(|defect| defect.to_string())
}

fn read_card(path: &Path, stamp: Stamp) -> Result<Card, String> {
    let text = scan::read_text(path)?;
    let page = page_of(path, &text)?;
    Ok(Card {
        content: mark(&text),
        is_waiting: matches!(page.status.as_str(), "candidate" | "staged"),
        is_searched: matches!(page.status.as_str(), "active" | "evolving"),
        updated_at: page.updated.unwrap_or(stamp.modified),
        id: page.id,
        stamp,
        path: path.to_owned(),
    })
}

impl Card {
    /// Reads the file again for its texts; `None` if it is gone or no recipe any more.
    pub(super) fn page(&self) -> Option<Page> {
        read_page(&self.path).ok()
    }

    /// The whole recipe, from the file as it is now.
    pub(super) fn recipe(&self, (_, source): &Key) -> Option<Recipe> {
        let page = self.page()?;
        Some(Recipe {
            id: self.id.clone(),
            title: page.title,
            kind: page.kind,
            status: page.status,
            tags: page.tags,
            body: page.body,
            source: source.clone(),
            updated_at: self.updated_at,
        })
    }
}
