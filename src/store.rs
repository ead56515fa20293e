//! What must survive: inbox, dedup keys, journal, outbox, sessions, receipts, ledger, notes.
//!
//! The port is [`Store`]: typed changes go in as one atomic batch, and a returned call is
//! durable. Everything an event changes is in one batch, so that no crash can keep a dedup key
//! and lose the message. Records are versioned; nothing here knows what a turn does.
//!
//! [`KvStore`] is the one implementation, over an [`Engine`]: [`open_sled`] on disk, [`memory()`] in
//! memory, and whatever passes `conformance`.

#[cfg(any(test, feature = "test-support"))]
pub mod conformance;
mod copy;
mod expiry;
mod kept;
mod kv;
mod memory;
mod port;
mod record;
mod retention;
mod sled;

pub use self::kv::{check_row, kind_of, name_of};
pub use self::sled::{
    Compacted, Remains, compact_sled, holds_data, open_sled, rehearse_sled, remains_of_sled,
    restore_sled, salvage_sled,
};
pub use copy::{CopyError, Exporter, Row, Snapshot, read_copy};
pub use expiry::{Cursor, Expired, Expiring, ExpiryStep};
pub use kept::{Kept, Shelf, time_key};
pub use kv::{Batch, Direction, Engine, FORMAT, KeyRange, KvStore, NOTES_MAX, Visit};
pub use memory::{MemoryEngine, memory};
pub use port::{Acceptance, Change, Found, OpenTurns, Store, StoreError};
pub use record::{
    AdmittedV1, ClosingV1, InboxV1, Lane, LedgerV1, NoteV1, ReceiptV1, SendCause, SendState,
    SendV1, SessionV1, Standing,
};
pub use retention::{Retention, Sweeper, Swept};
