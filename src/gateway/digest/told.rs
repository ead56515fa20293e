//! What a digest has told already: a mark of every recipe, so that the next one tells the rest.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::base::BotName;
use crate::base::mark::mark;
use crate::envelope::RecipeMark;
use crate::store::{Change, Kept, Shelf, Store, StoreError};

/// The records of a digest. A day's news changes few of them, however many recipes there are.
const SHARDS: usize = 16;
/// The bytes of a recipe's id and its content, each as a mark.
const PAIR_BYTES: usize = 16;

/// A part of the marks, under `<bot>/<schedule>/<part>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToldV1 {
    /// Pairs of marks, in the order of the ids', in base 64.
    marks: String,
}

impl Kept for ToldV1 {
    const SHELF: Shelf = Shelf::Digest;
}

/// The marks of all recipes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told(HashMap<u64, u64>);

impl Told {
    pub(super) fn of(recipes: &[RecipeMark]) -> Self {
        Self(recipes.iter().map(|recipe| (mark(&recipe.id), recipe.content)).collect())
    }

    /// The same with what was told before of recipes that are not there now: a folder that is away
    /// for a day makes no news when it comes back.
    #[must_use]
    pub(super) fn besides(mut self, before: Option<&Self>) -> Self {
        for (id, content) in before.iter().flat_map(|before| &before.0) {
            self.0.entry(*id).or_insert(*content);
        }
        self
    }

    /// The mark that was told of a recipe; `None`: nobody was told of it.
    pub(super) fn content_of(&self, id: &str) -> Option<u64> {
        self.0.get(&mark(id)).copied()
    }

    /// What a digest has told; `None`: it is not there yet.
    pub(super) async fn load(
        store: &dyn Store,
        bot: &BotName,
        schedule: &str,
    ) -> Result<Option<Self>, StoreError> {
        let rows = ToldV1::load_all(store, &format!("{bot}/{schedule}/"), SHARDS).await?;
        if rows.len() < SHARDS {
            return Ok(None);
        }
        let mut told = HashMap::new();
        for (_key, row) in rows {
            let bytes = STANDARD
                .decode(&row.marks)
                .map_err(|error| StoreError::Record { kind: "digest", cause: error.to_string() })?;
            for pair in bytes.chunks_exact(PAIR_BYTES) {
                if let Some((id, content)) = pair.split_first_chunk::<8>()
                    && let Some(content) = content.first_chunk::<8>()
                {
                    told.insert(u64::from_be_bytes(*id), u64::from_be_bytes(*content));
                }
            }
        }
        Ok(Some(Self(told)))
    }

    /// What makes the store say this where it says `before`.
    pub(super) fn changes(
        &self,
        before: Option<&Self>,
        bot: &BotName,
        schedule: &str,
    ) -> Result<Vec<Change>, StoreError> {
        let before = before.map(Self::records);
        let mut changes = Vec::new();
        for (place, record) in self.records().into_iter().enumerate() {
            let stands = before.as_ref().and_then(|before| before.get(place));
            if stands != Some(&record) {
                changes.push(record.change(&format!("{bot}/{schedule}/{place:02}"))?);
            }
        }
        Ok(changes)
    }

    fn records(&self) -> Vec<ToldV1> {
        let mut shards: Vec<Vec<(u64, u64)>> = vec![Vec::new(); SHARDS];
        for (id, content) in &self.0 {
            let place = usize::try_from(*id).unwrap_or(usize::MAX) % SHARDS;
            if let Some(shard) = shards.get_mut(place) {
                shard.push((*id, *content));
            }
        }
        let record = |mut shard: Vec<(u64, u64)>| {
            shard.sort_unstable();
            let pair = |(id, content): (u64, u64)| [id.to_be_bytes(), content.to_be_bytes()];
            let bytes: Vec<u8> = shard.into_iter().flat_map(pair).flatten().collect();
            ToldV1 { marks: STANDARD.encode(bytes) }
        };
        shards.into_iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::base::{Faults, Timestamp};
    use crate::task::TaskSet;

    fn recipe(number: u64) -> RecipeMark {
        RecipeMark {
            id: format!("recipe-{number}"),
            content: number,
            is_waiting: false,
            updated_at: Timestamp::default(),
        }
    }

    #[tokio::test]
    async fn what_was_told_is_read_back_and_a_small_change_writes_little() {
        let tasks = TaskSet::new("test", CancellationToken::new());
        let engine = crate::store::MemoryEngine::default();
        let store = crate::store::KvStore::open(engine, tasks, Faults::default()).unwrap();
        let bot = BotName::new("b");
        assert_eq!(Told::load(&store, &bot, "s").await.unwrap(), None);
        let mut recipes: Vec<RecipeMark> = (0..1000).map(recipe).collect();
        let before = Told::of(&recipes);
        let changes = before.changes(None, &bot, "s").unwrap();
        assert_eq!(changes.len(), SHARDS);
        store.commit(changes).await.unwrap();
        assert_eq!(Told::load(&store, &bot, "s").await.unwrap(), Some(before.clone()));
        assert_eq!(Told::load(&store, &bot, "other").await.unwrap(), None);

        recipes[7].content = 0;
        let after = Told::of(&recipes);
        let changes = after.changes(Some(&before), &bot, "s").unwrap();
        assert_eq!(changes.len(), 1);
        store.commit(changes).await.unwrap();
        let read = Told::load(&store, &bot, "s").await.unwrap().unwrap();
        assert_eq!((read.content_of("recipe-7"), read.content_of("recipe-8")), (Some(0), Some(8)));
        assert_eq!(read.content_of("recipe-1000"), None);
    }

    #[tokio::test]
    async fn a_digest_of_nothing_was_told_all_the_same() {
        let tasks = TaskSet::new("test", CancellationToken::new());
        let engine = crate::store::MemoryEngine::default();
        let store = crate::store::KvStore::open(engine, tasks, Faults::default()).unwrap();
        let (bot, empty) = (BotName::new("b"), Told::default());
        store.commit(empty.changes(None, &bot, "s").unwrap()).await.unwrap();
        assert_eq!(Told::load(&store, &bot, "s").await.unwrap(), Some(empty));
    }
}
