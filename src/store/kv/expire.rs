//! Which rows are too old.
//!
//! A step first looks, on a thread for reading, and then has the commit thread delete what it
//! found. In between a row may have been written afresh, so the commit thread decides again by the
//! same rule ([`Rule::fate`]).
//!
//! A dedup key must outlive every repetition of its event, which the time in the key cannot promise:
//! it is the event's own and may lie far from the acceptance. So a key expires by the acceptance
//! that its value tells. A key whose value tells none (of an acceptance without a turn, or of an
//! earlier version) is marked with the present moment when it is first met, which is later.

use std::ops::ControlFlow;

use serde::Deserialize;

use super::engine::{Direction, Engine, KeyRange};
use super::{key, value};
use crate::base::Timestamp;
use crate::store::expiry::{Cursor, Expiring, ExpiryStep};
use crate::store::port::StoreError;

/// Rows that one step looks at, at most.
const ROWS_MAX: usize = 5000;
/// Rows that one step deletes, at most: others wait for the commit meanwhile.
const DELETED_MAX: usize = 500;
/// The values that one step deletes, in bytes: the engine holds them until the commit is done.
const DELETED_BYTES_MAX: usize = 512 << 10;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    Delete,
    /// It is kept from now on for its time.
    Mark,
}

/// The rule, as the commit thread applies it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) what: Expiring,
    pub(super) now: Timestamp,
    pub(super) before: Timestamp,
}

/// What a step found.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) deleted: usize,
    pub(super) bytes: usize,
    pub(super) next: Option<Cursor>,
}

impl Rule {
    pub(super) fn of(step: &ExpiryStep) -> Self {
        Self { what: step.what, now: step.now, before: step.before() }
    }

    /// What becomes of a row with this value that stands in [`ranges`].
    pub(super) fn fate(&self, bytes: &[u8]) -> Fate {
        #[derive(Deserialize)]
        struct Changed {
            updated_at: Timestamp,
        }
        let at = match self.what {
            // Their range holds nothing but what is too old.
            Expiring::Receipts | Expiring::Ledger => return Fate::Delete,
            Expiring::DedupKeys => match value::accepted_at(bytes) {
                Some(at) => at,
                None => return Fate::Mark,
            },
            Expiring::Sessions => match value::decode::<Changed>("session", bytes) {
                Ok(Changed { updated_at }) => updated_at,
                Err(_unreadable) => return Fate::Keep,
            },
            Expiring::Notes | Expiring::Shelf(_) => match value::dated("dated", bytes) {
                Ok(at) => at,
                Err(_unreadable) => return Fate::Keep,
            },
        };
        if at < self.before { Fate::Delete } else { Fate::Keep }
    }
}

/// Where rows may be too old.
fn ranges(step: &ExpiryStep) -> Vec<KeyRange> {
    let before = step.before();
    match step.what {
        Expiring::DedupKeys => {
            let keys = key::all(key::DEDUP);
            let early = KeyRange { start: keys.start, end: key::at_time(key::DEDUP, before) };
            // A time so far ahead is a mistake of whoever made the event; its key must not stay
            // until then.
            let ahead = key::at_time(key::DEDUP, step.now.after(step.kept));
            vec![early, KeyRange { start: ahead, end: keys.end }]
        }
        Expiring::Receipts => vec![key::turns_before(key::RECEIPT, before)],
        Expiring::Ledger => vec![key::turns_before(key::LEDGER, before)],
        Expiring::Sessions => vec![key::all(key::SESSION)],
        Expiring::Notes => vec![key::all(key::NOTE)],
        Expiring::Shelf(shelf) => vec![key::under(&key::kept(shelf, ""))],
    }
}

/// Looks at the next rows.
pub(super) fn look(engine: &impl Engine, step: &ExpiryStep) -> Result<Candidates, StoreError> {
    let rule = Rule::of(step);
    let mut found = Candidates { keys: Vec::new(), deleted: 0, bytes: 0, next: None };
    let mut rows = 0;
    for mut range in ranges(step) {
        if range.end <= step.from.0 {
            continue;
        }
        if range.start < step.from.0 {
            range.start.clone_from(&step.from.0);
        }
        engine.scan(&range, Direction::Forward, &mut |key, bytes| {
            let fate = rule.fate(bytes);
            rows += 1;
            if fate != Fate::Keep {
                found.keys.push(key.to_vec());
                found.deleted += usize::from(fate == Fate::Delete);
                found.bytes += bytes.len();
            }
            let is_full = rows >= ROWS_MAX
                || found.keys.len() >= DELETED_MAX
                || found.bytes >= DELETED_BYTES_MAX;
            if is_full {
                // The first key behind this one.
                found.next = Some(Cursor([key, &[0]].concat()));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if found.next.is_some() {
            break;
        }
    }
    Ok(found)
}
