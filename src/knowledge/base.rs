//! The knowledge base: the port's implementation over catalogue and index.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::catalog::{Card, Catalog};
use super::excerpt::excerpt;
use super::index::{SearchIndex, Snapshot};
use super::query::{Unit, units};
use super::scan::Key;
use crate::base::{Clock, Timestamp};
use crate::envelope::{Hit, Knowledge, KnowledgeError, Recipe, RecipeMark};
use crate::task::TaskSet;
use crate::telemetry::Event;

/// How many hits one search gives at most.
const HITS_MAX: usize = 50;
/// How many changed recipes are told at most, the newest.
const CHANGES_MAX: usize = 200;

/// The recipes of some folders. Clones share everything.
///
/// The first search loads the segmenter's dictionary (about 150 ms, 32 MB) and builds the index;
/// later ones take a few milliseconds. Files are looked at again at most once a second, when
/// somebody asks.
#[derive(Clone)]
pub struct KnowledgeBase {
    inner: Arc<Inner>,
    tasks: TaskSet,
}

struct Inner {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

struct State {
    catalog: Catalog,
    index: Option<SearchIndex>,
}

impl KnowledgeBase {
    /// A knowledge base over `folders`, earlier ones first where two recipes have one id. Reads
    /// nothing yet. A folder that does not exist counts as empty.
    pub fn new(folders: Vec<PathBuf>, tasks: TaskSet, clock: Arc<dyn Clock>) -> Self {
        let state = State { catalog: Catalog::new(folders), index: None };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), clock }), tasks }
    }

    /// Runs work that reads files on a thread meant for it.
    async fn run<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Inner) -> Result<T, KnowledgeError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let inner = Arc::clone(&self.inner);
        let done = self.tasks.blocking(name, move || work(&inner)).await;
        let outcome = done.unwrap_or_else(|| Err(KnowledgeError::Index("it panicked".to_owned())));
        if let Err(error) = &outcome {
            Event::SideEffectFailed { what: name, error }.emit();
        }
        outcome
    }
}

impl fmt::Debug for KnowledgeBase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KnowledgeBase")
    }
}

#[async_trait]
impl Knowledge for KnowledgeBase {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, KnowledgeError> {
        let query = query.to_owned();
        let limit = limit.min(HITS_MAX);
        self.run("knowledge_search", move |inner| inner.search(&query, limit)).await
    }

    async fn get(&self, id: &str) -> Result<Option<Recipe>, KnowledgeError> {
        let id = id.trim().to_owned();
        self.run("knowledge_get", move |inner| {
            let cards = inner.cards()?;
            let found = cards.iter().find(|(_, card)| card.id == id);
            Ok(found.and_then(|(key, card)| card.recipe(key)))
        })
        .await
    }

    async fn catalogue(&self) -> Result<Vec<RecipeMark>, KnowledgeError> {
        self.run("knowledge_catalogue", move |inner| {
            let cards = inner.cards()?;
            let mark = |card: &Arc<Card>| RecipeMark {
                id: card.id.clone(),
                content: card.content,
                is_waiting: card.is_waiting,
                updated_at: card.updated_at,
            };
            Ok(cards.values().map(mark).collect())
        })
        .await
    }

    /// As the port says; at most the 200 newest.
    async fn changes(&self, since: Timestamp) -> Result<Vec<Recipe>, KnowledgeError> {
        self.run("knowledge_changes", move |inner| {
            let cards = inner.cards()?;
            let mut changed: Vec<(&Key, &Arc<Card>)> =
                cards.iter().filter(|(_, card)| card.updated_at >= since).collect();
            changed.sort_by_key(|(_, card)| std::cmp::Reverse(card.updated_at));
            let recipes = changed.into_iter().take(CHANGES_MAX);
            Ok(recipes.filter_map(|(key, card)| card.recipe(key)).collect())
        })
        .await
    }
}

type Cards = Arc<BTreeMap<Key, Arc<Card>>>;

impl Inner {
    fn cards(&self) -> Result<Cards, KnowledgeError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catalog.check(self.clock.as_ref())?;
        Ok(Arc::clone(state.catalog.cards()))
    }

    fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, KnowledgeError> {
        let asked = units(query);
        if asked.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let (cards, snapshot) = self.current()?;
        // Without the lock: searches do not wait for one another.
        let (matches, weights) = snapshot
            .search(&asked, limit)
            .map_err(|error| KnowledgeError::Index(error.to_string()))?;
        let surfaces: Vec<(String, f32)> = asked.into_iter().map(surface).zip(weights).collect();
        let hits = matches.into_iter().filter_map(|found| {
            let page = cards.get(&found.key)?.page()?;
            Some(Hit {
                id: page.id,
                excerpt: excerpt(&page.body, &page.title, &surfaces),
                title: page.title,
                source: found.key.1,
                score: found.score,
            })
        });
        Ok(hits.collect())
    }

    fn current(&self) -> Result<(Cards, Snapshot), KnowledgeError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catalog.check(self.clock.as_ref())?;
        let cards = Arc::clone(state.catalog.cards());
        // The index is derived: one that fails is thrown away and built anew, once.
        let kept = state.index.take();
        let index = kept
            .map_or_else(SearchIndex::new, Ok)
            .and_then(|index| index.following(&cards))
            .or_else(|_broken| SearchIndex::new().and_then(|index| index.following(&cards)))
            .map_err(|error| KnowledgeError::Index(error.to_string()))?;
        let snapshot = index.snapshot();
        state.index = Some(index);
        Ok((cards, snapshot))
    }
}

fn surface(unit: Unit) -> String {
    // A stem is contained in every form of its word.
    match unit.term {
        Some(term) if unit.surface.starts_with(&term) => term,
        _ => unit.surface,
    }
}

#[cfg(test)]
#[path = "base_tests.rs"]
mod tests;
