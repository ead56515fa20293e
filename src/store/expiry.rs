//! Expiry as the store offers it: one small step at a time, so that nobody waits long behind it.

use std::time::Duration;

use super::kept::Shelf;
use crate::base::Timestamp;

/// A kind of records that expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiring {
    /// Dedup keys, by the time of their acceptance, whatever time their event claims.
    DedupKeys,
    /// Receipts, by the acceptance of their turn.
    Receipts,
    /// Ledger rows, by the acceptance of their turn.
    Ledger,
    /// Conversations, by their last change.
    Sessions,
    /// Notes, by their own time.
    Notes,
    /// The records of a shelf, by the field `at` of their JSON; those without one stay.
    Shelf(Shelf),
}

impl Expiring {
    /// For logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DedupKeys => "dedup_keys",
            Self::Receipts => "receipts",
            Self::Ledger => "ledger",
            Self::Sessions => "sessions",
            Self::Notes => "notes",
            Self::Shelf(shelf) => shelf.word(),
        }
    }
}

/// Where a step ended and the next one begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor(pub(super) Vec<u8>);

/// One step: a bounded number of records is looked at, and what is too old among them goes.
#[derive(Clone, Debug)]
pub struct ExpiryStep {
    /// Which records.
    pub what: Expiring,
    /// The present moment.
    pub now: Timestamp,
    /// How long such records are kept.
    pub kept: Duration,
    /// Where to begin; by default at the first record.
    pub from: Cursor,
}

impl ExpiryStep {
    /// What is older than this goes.
    pub(super) fn before(&self) -> Timestamp {
        self.now.before(self.kept)
    }
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// How many records were too old.
    pub deleted: usize,
    /// How long their values were together.
    pub bytes: usize,
    /// Where the next step begins; `None`: all records were looked at.
    pub next: Option<Cursor>,
}
