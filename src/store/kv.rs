//! [`KvStore`]: the store's port over any ordered key-value [`Engine`].
//!
//! One thread writes (`commit`), everybody reads (`read`); the engine decides where bytes lie.
//!
//! | kind | key behind the kind byte | value behind the version byte |
//! |---|---|---|
//! | `d` dedup | event time u64, digest 16 bytes | time of acceptance u64, or nothing |
//! | `i` inbox | turn 16 | `InboxV1` |
//! | `j` journal | turn 16, sequence u32 | the caller's bytes |
//! | `o` send | turn 16, part u16 | `SendV1` |
//! | `s` session | the session key's text | `SessionV1` |
//! | `r` receipt | turn 16 | `ReceiptV1` |
//! | `l` ledger | turn 16, iteration u32, index u32 | `LedgerV1` |
//! | `v` note | slot u32 of a ring | `NoteV1` |
//! | of a [`Shelf`] | the feature's key, text | the feature's record |
//! | `m` meta | `format` | `{"format":1}` |
//!
//! Numbers are big-endian, so byte order is their order; turns and event times rise, so fresh
//! records stand together. Records are JSON behind a version byte. What is too old (`expire`) goes
//! when [`Store::expire`] is called.

mod check;
mod commit;
mod engine;
mod expire;
mod key;
mod read;
mod snapshot;
mod value;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use self::commit::{Committer, Request, Step, Write};
use self::expire::Rule;
use self::snapshot::{Copies, KvSnapshot};
use super::copy::Snapshot;
use super::expiry::{Expired, ExpiryStep};
use super::kept::Shelf;
use super::port::{Acceptance, Change, Found, OpenTurns, Store, StoreError};
use super::record::{LedgerV1, NoteV1, SendV1, SessionV1};
use crate::base::{BotName, Faults, MessageId, SessionKey, Timestamp, TurnId};
use crate::envelope::DedupKey;
use crate::task::TaskSet;
use crate::telemetry::Event;

pub use self::check::{check_row, kind_of, name_of};
pub use self::engine::{Batch, Direction, Engine, KeyRange, Visit};
pub(super) use self::key::FORMAT_KEY;
pub(super) use self::snapshot::records;

/// The format of the data this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;

/// Notes that are kept; the oldest gives way to the newest.
pub const NOTES_MAX: u32 = 100_000;

/// Requests that wait for the commit thread at most; further callers wait for a place.
const QUEUE_REQUESTS_MAX: usize = 4096;

/// The store over an engine.
#[derive(Debug)]
pub struct KvStore<E: Engine> {
    engine: Arc<E>,
    queue: mpsc::Sender<Request>,
    ended: watch::Receiver<bool>,
    next_note: Arc<AtomicU32>,
    is_accepting: Arc<AtomicBool>,
    copies: Arc<Copies>,
    tasks: TaskSet,
}

#[derive(Serialize, Deserialize)]
struct MetaV1 {
    format: u32,
}

impl<E: Engine> KvStore<E> {
    /// Checks the format of the data (or writes it into an empty engine) and starts the commit
    /// thread. Blocking. Reads run on `tasks`.
    ///
    /// # Errors
    /// [`StoreError::Newer`] for data of a later version, [`StoreError::Record`] for data that is
    /// not Larkspur's, [`StoreError::Disk`] if the engine or the thread fails.
    pub fn open(engine: E, tasks: TaskSet, faults: Faults) -> Result<Self, StoreError> {
        check_format(&engine)?;
        let next_note = Arc::new(AtomicU32::new(read::next_note_slot(&engine)?));
        let engine = Arc::new(engine);
        let (queue, requests) = mpsc::channel(QUEUE_REQUESTS_MAX);
        let is_accepting = Arc::new(AtomicBool::new(true));
        let copies = Arc::new(Copies::default());
        let (ended_sender, ended) = watch::channel(false);
        let committer = Committer {
            engine: Arc::clone(&engine),
            queue: requests,
            next_note: Arc::clone(&next_note),
            faults,
            runtime: Handle::try_current().ok(),
            tasks: tasks.clone(),
            is_accepting: Arc::clone(&is_accepting),
            copies: Arc::clone(&copies),
            ended: ended_sender,
        };
        std::thread::Builder::new()
            .name("store-commit".to_owned())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
                    Event::TaskPanicked { owner: "store", name: "commit" }.emit();
                }
            })
            .map_err(|error| StoreError::Disk(format!("no thread for commits: {error}")))?;
        Ok(Self { engine, queue, ended, next_note, is_accepting, copies, tasks })
    }

    async fn write(
        &self,
        keys: &[DedupKey],
        changes: Vec<Change>,
    ) -> Result<Acceptance, StoreError> {
        let keys = keys.iter().map(|key| key::dedup(*key)).collect();
        let accepted = value::accepted(commit::accepted_at(&changes));
        self.write_steps(keys, accepted, commit::steps_of(changes)?).await
    }

    async fn write_steps(
        &self,
        keys: Vec<Vec<u8>>,
        accepted: Vec<u8>,
        steps: Vec<Step>,
    ) -> Result<Acceptance, StoreError> {
        let (answer, answered) = oneshot::channel();
        let write = Write { keys, accepted, steps, answer };
        self.queue.send(Request::Write(write)).await.map_err(|_closed| StoreError::Closed)?;
        // No answer: the commit thread ended with the request in its hands.
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    async fn read<T: Send + 'static>(
        &self,
        name: &'static str,
        question: impl FnOnce(&E) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = Arc::clone(&self.engine);
        self.tasks
            .blocking(name, move || question(&engine))
            .await
            .unwrap_or_else(|| Err(StoreError::Disk("reading panicked".to_owned())))
    }
}

fn check_format(engine: &impl Engine) -> Result<(), StoreError> {
    if let Some(bytes) = engine.get(FORMAT_KEY)? {
        let newer = |found| StoreError::Newer { found, known: FORMAT };
        if let Some(version) = bytes.first().filter(|version| **version > value::VERSION) {
            return Err(newer(u32::from(*version)));
        }
        let meta: MetaV1 = value::decode("meta", &bytes)?;
        return if meta.format > FORMAT { Err(newer(meta.format)) } else { Ok(()) };
    }
    let mut empty = true;
    for kind in [key::DEDUP, key::INBOX, key::RECEIPT, key::SESSION, key::META] {
        engine.scan(&key::all(kind), Direction::Forward, &mut |_key, _value| {
            empty = false;
            ControlFlow::Break(())
        })?;
    }
    if !empty {
        return Err(StoreError::Record {
            kind: "meta",
            cause: "it is missing beside other data".to_owned(),
        });
    }
    let mut batch = Batch::default();
    let meta = value::encode("meta", &MetaV1 { format: FORMAT })?;
    batch.put(FORMAT_KEY.to_vec(), meta);
    engine.apply(&batch)
}

#[async_trait]
impl<E: Engine> Store for KvStore<E> {
    async fn accept(
        &self,
        keys: &[DedupKey],
        changes: Vec<Change>,
    ) -> Result<Acceptance, StoreError> {
        self.write(keys, changes).await
    }

    async fn commit(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.write(&[], changes).await.map(|_new| ())
    }

    fn note(&self, note: NoteV1) {
        let handed_in = value::encode("note", &note)
            .ok()
            .is_some_and(|note| self.queue.try_send(Request::Note(note)).is_ok());
        if !handed_in {
            tracing::debug!("a note is lost: the store is overloaded or closed");
        }
    }

    async fn open_turns(&self) -> Result<OpenTurns, StoreError> {
        self.read("open_turns", read::open_turns).await
    }

    async fn journal(&self, turn: TurnId) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read("journal", move |engine| read::journal(engine, turn)).await
    }

    async fn sends(&self, turn: TurnId) -> Result<Vec<(u16, SendV1)>, StoreError> {
        self.read("sends", move |engine| read::sends(engine, turn)).await
    }

    async fn session(&self, key: &SessionKey) -> Result<Option<SessionV1>, StoreError> {
        let key = key.clone();
        self.read("session", move |engine| read::session(engine, &key)).await
    }

    async fn ledger(&self, turn: TurnId) -> Result<Vec<LedgerV1>, StoreError> {
        self.read("ledger", move |engine| read::ledger(engine, turn)).await
    }

    async fn kept(&self, shelf: Shelf, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key.to_owned();
        self.read("kept", move |engine| read::kept(engine, shelf, &key)).await
    }

    async fn kept_under(
        &self,
        shelf: Shelf,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let prefix = prefix.to_owned();
        self.read("kept_under", move |engine| read::kept_under(engine, shelf, &prefix, limit)).await
    }

    async fn kept_after(
        &self,
        shelf: Shelf,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let after = after.to_owned();
        self.read("kept_after", move |engine| read::kept_after(engine, shelf, &after, limit)).await
    }

    async fn expire(&self, step: ExpiryStep) -> Result<Expired, StoreError> {
        let rule = Rule::of(&step);
        let found = self.read("expire", move |engine| expire::look(engine, &step)).await?;
        if !found.keys.is_empty() {
            let steps = vec![Step::Expire(rule, found.keys)];
            self.write_steps(Vec::new(), Vec::new(), steps).await?;
        }
        Ok(Expired { deleted: found.deleted, bytes: found.bytes, next: found.next })
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let (engine, copies) = (Arc::clone(&self.engine), Arc::clone(&self.copies));
        Ok(Box::new(KvSnapshot::begin(engine, copies, self.tasks.clone())?))
    }

    async fn find(&self, message: &MessageId) -> Result<Option<Found>, StoreError> {
        let message = message.clone();
        let next_note = self.next_note.load(Ordering::Relaxed);
        self.read("find", move |engine| read::find(engine, &message, next_note)).await
    }

    async fn noted(&self, message: &MessageId) -> Result<Option<NoteV1>, StoreError> {
        let message = message.clone();
        let next_note = self.next_note.load(Ordering::Relaxed);
        self.read("noted", move |engine| read::noted(engine, &message, next_note)).await
    }

    async fn sent_since(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<(BotName, MessageId)>, StoreError> {
        self.read("sent_since", move |engine| read::sent_since(engine, since, limit)).await
    }

    fn is_accepting(&self) -> bool {
        self.is_accepting.load(Ordering::Relaxed) && !self.queue.is_closed()
    }

    async fn close(&self) {
        if self.queue.send(Request::Close).await.is_err() {
            tracing::trace!("the store was closed before");
        }
        let mut ended = self.ended.clone();
        // An error means that the thread is gone, which is an end too.
        if ended.wait_for(|ended| *ended).await.is_err() {
            let engine = Arc::clone(&self.engine);
            self.tasks.blocking("close", move || engine.close()).await;
        }
    }
}
