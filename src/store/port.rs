//! The store's port.

use async_trait::async_trait;

use super::copy::Snapshot;
use super::expiry::{Expired, ExpiryStep};
use super::kept::Shelf;
use super::record::{InboxV1, LedgerV1, NoteV1, ReceiptV1, SendV1, SessionV1};
use crate::base::{BotName, Disposition, MessageId, SessionKey, Timestamp, TurnId};
use crate::envelope::DedupKey;

/// One change. Changes of one call take effect together or not at all.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds or replaces the inbox row of a turn.
    PutInbox {
        /// The turn.
        turn: TurnId,
        /// Its row.
        row: Box<InboxV1>,
    },
    /// Appends to a turn's journal. The sequence number is the caller's, rising from 0; writing
    /// the same number again replaces the entry.
    PutJournal {
        /// The turn.
        turn: TurnId,
        /// The entry's place.
        sequence: u32,
        /// The entry, opaque to the store.
        entry: Vec<u8>,
    },
    /// Adds or replaces one send of a turn.
    PutSend {
        /// The turn.
        turn: TurnId,
        /// The send's place in the turn.
        part: u16,
        /// The send.
        send: Box<SendV1>,
    },
    /// Adds or replaces a conversation.
    PutSession {
        /// Its key.
        key: SessionKey,
        /// The conversation.
        session: Box<SessionV1>,
    },
    /// Adds a ledger row. The same turn, iteration and index replaces the row (a decision that
    /// is taken again after a crash).
    PutLedger(Box<LedgerV1>),
    /// Puts a record on its shelf, in the place of one with the same key.
    PutKept {
        /// The shelf.
        shelf: Shelf,
        /// Its key there, unique within the shelf.
        key: String,
        /// The record as [`Kept::change`](super::kept::Kept::change) encodes it.
        value: Vec<u8>,
    },
    /// Takes a record from its shelf; nothing happens if there is none.
    DropKept {
        /// The shelf.
        shelf: Shelf,
        /// Its key there.
        key: String,
    },
    /// Closes a turn: its inbox, journal and outbox rows go, the receipt stays.
    CloseTurn {
        /// The turn.
        turn: TurnId,
        /// What stays of it.
        receipt: Box<ReceiptV1>,
    },
}

/// The answer of [`Store::accept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// None of the keys was known: the keys and the changes are durable now.
    New,
    /// A key was known: nothing was changed. The first acceptance is durable.
    Duplicate,
}

/// The answer of [`Store::open_turns`].
#[derive(Clone, Debug, Default)]
pub struct OpenTurns {
    /// Those that can be read, in the order of acceptance.
    pub rows: Vec<(TurnId, InboxV1)>,
    /// The ids of the others.
    pub unreadable: Vec<String>,
}

/// What the store knows of a message.
#[derive(Clone, Debug)]
pub enum Found {
    /// An open turn that it started.
    Open(TurnId, Box<InboxV1>),
    /// A closed turn that it started or that answered with it.
    Closed(TurnId, Box<ReceiptV1>),
    /// An event that started no work.
    Noted(Box<NoteV1>),
}

/// The store failed. Nothing of the call took effect.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the data folder open.
    #[error("another process uses the data folder {folder}; only one may")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// The data was written by a newer version of Larkspur.
    #[error("the data has format {found}, this version reads up to {known}; use a newer Larkspur")]
    Newer {
        /// The format found.
        found: u32,
        /// The newest format this version knows.
        known: u32,
    },
    /// The data cannot be opened even after the start-up repair.
    #[error(
        "the data folder {folder} cannot be opened: {cause}. Nothing was repaired or replaced. `larkspur store repair` tries again and says more; else move the folder aside and put a copy in its place with `larkspur store restore FILE`"
    )]
    Broken {
        /// The folder.
        folder: String,
        /// What the engine said.
        cause: String,
    },
    /// A record does not decode.
    #[error("a stored {kind} record does not decode: {cause}")]
    Record {
        /// Which kind of record.
        kind: &'static str,
        /// What the decoder said.
        cause: String,
    },
    /// A copy of the data is being made already.
    #[error("a copy of the data is being made already; try again when it is done")]
    Copying,
    /// The disk refused: full, read-only, failing.
    #[error("the disk refused the store: {0}")]
    Disk(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What the caller should do.
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::InUse { .. } | Self::Copying | Self::Disk(_) => {
                Disposition::Retry { after: None }
            }
            Self::Record { .. } => Disposition::Reject,
            Self::Newer { .. } | Self::Broken { .. } | Self::Closed => Disposition::Fatal,
        }
    }
}

/// The durable state of the daemon.
///
/// `accept` and `commit` return after the batch is on the disk. Calls may be made from any task;
/// the engine groups them.
#[async_trait]
pub trait Store: Send + Sync {
    /// Takes an event over once: if none of `keys` is known, writes the keys and `changes`.
    ///
    /// A duplicate is only reported once the first acceptance is durable.
    async fn accept(
        &self,
        keys: &[DedupKey],
        changes: Vec<Change>,
    ) -> Result<Acceptance, StoreError>;

    /// Writes `changes` atomically.
    async fn commit(&self, changes: Vec<Change>) -> Result<(), StoreError>;

    /// Keeps a note in the ring. Not durable on return, and lost if the store is overloaded.
    fn note(&self, note: NoteV1);

    /// All open turns. One whose row cannot be read is reported and left where it is.
    async fn open_turns(&self) -> Result<OpenTurns, StoreError>;

    /// A turn's journal in order.
    async fn journal(&self, turn: TurnId) -> Result<Vec<Vec<u8>>, StoreError>;

    /// A turn's sends in order.
    async fn sends(&self, turn: TurnId) -> Result<Vec<(u16, SendV1)>, StoreError>;

    /// A conversation.
    async fn session(&self, key: &SessionKey) -> Result<Option<SessionV1>, StoreError>;

    /// A turn's ledger rows in order.
    async fn ledger(&self, turn: TurnId) -> Result<Vec<LedgerV1>, StoreError>;

    /// One record of a shelf, encoded; callers use [`Kept::load`](super::kept::Kept::load).
    async fn kept(&self, shelf: Shelf, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// The records of a shelf whose keys begin with `prefix`, in the order of their keys, at most
    /// `limit`; callers use [`Kept::load_all`](super::kept::Kept::load_all).
    async fn kept_under(
        &self,
        shelf: Shelf,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// The records of a shelf behind the key `after`, in the order of their keys, at most `limit`,
    /// for going through a shelf page by page.
    async fn kept_after(
        &self,
        shelf: Shelf,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// Looks at some records of a kind and takes away those that are too old. Dedup keys stay for
    /// at least `kept` after their acceptance, whatever time their event claims.
    async fn expire(&self, step: ExpiryStep) -> Result<Expired, StoreError>;

    /// Begins to copy everything as it is at this moment. Writing goes on meanwhile; one copy at
    /// a time.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// What is known of a message, the newest first: by the id of the message that started a
    /// turn, or of an answer to it, or by the id of the turn. Walks the records, so it is for questions, not for the path
    /// of a message.
    async fn find(&self, message: &MessageId) -> Result<Option<Found>, StoreError>;

    /// The newest note of a message, whatever turns there are of it; that it came again is none.
    /// Walks the notes, so it is for questions, too.
    async fn noted(&self, message: &MessageId) -> Result<Option<NoteV1>, StoreError>;

    /// The messages that closed turns were answered with, and by which bot, the newest turn first:
    /// of turns that were accepted at `since` or later. Turns and messages together are at most
    /// `limit` (and the messages of one turn more).
    async fn sent_since(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<(BotName, MessageId)>, StoreError>;

    /// Whether the last write worked; `true` before the first.
    fn is_accepting(&self) -> bool;

    /// Waits for what was handed in and lets go of the data. Later calls fail with
    /// [`StoreError::Closed`].
    async fn close(&self);
}
