//! What must survive: inbox, dedup keys, journal, outbox, sessions, receipts, ledger, notes.
//!
//! The port is [`Store`]: typed changes go in as one atomic batch, and a returned call is
//! durable. Everything an event changes is in one batch, so that no crash can keep a dedup key
//! and lose the message. Records are versioned; nothing here knows what a turn does.

mod port;
mod record;

pub use port::{Acceptance, Change, Found, Store, StoreError};
pub use record::{InboxV1, Lane, LedgerV1, NoteV1, ReceiptV1, SendState, SendV1, SessionV1};
