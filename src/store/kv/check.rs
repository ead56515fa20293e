//! Whether a stored row can be read by this version.

use serde::de::IgnoredAny;

use super::{MetaV1, key, value};
use crate::store::copy::Row;
use crate::store::kept::Shelf;
use crate::store::port::StoreError;
use crate::store::record::{InboxV1, LedgerV1, NoteV1, ReceiptV1, SendV1, SessionV1};

/// The kind of a key, in a word.
pub fn kind_of(key: &[u8]) -> &'static str {
    match key.first() {
        Some(&key::DEDUP) => "dedup",
        Some(&key::INBOX) => "inbox",
        Some(&key::JOURNAL) => "journal",
        Some(&key::LEDGER) => "ledger",
        Some(&key::META) => "meta",
        Some(&key::NOTE) => "note",
        Some(&key::RECEIPT) => "receipt",
        Some(&key::SEND) => "send",
        Some(&key::SESSION) => "session",
        Some(byte) => {
            let shelf = Shelf::ALL.into_iter().find(|shelf| shelf.byte() == *byte);
            shelf.map_or("unknown", Shelf::word)
        }
        None => "unknown",
    }
}

/// The turn a key is about, else the key in hexadecimal, without its kind.
pub fn name_of(key: &[u8]) -> String {
    let rest = key.get(1..).unwrap_or_default();
    match key.first() {
        Some(&(key::INBOX | key::JOURNAL | key::LEDGER | key::RECEIPT | key::SEND)) => {
            let turn = key::turn_in("turn", key);
            turn.map_or_else(|_misshapen| hex::encode(rest), |turn| turn.to_string())
        }
        _others => hex::encode(rest),
    }
}

/// Reads a row as whoever needs it would.
///
/// # Errors
/// [`StoreError::Record`].
pub fn check_row(row: &Row) -> Result<(), StoreError> {
    let bytes = row.value.as_slice();
    match row.key.first() {
        Some(&key::INBOX) => value::decode::<InboxV1>("inbox", bytes).map(drop),
        Some(&key::LEDGER) => value::decode::<LedgerV1>("ledger", bytes).map(drop),
        Some(&key::META) => value::decode::<MetaV1>("meta", bytes).map(drop),
        Some(&key::NOTE) => value::decode::<NoteV1>("note", bytes).map(drop),
        Some(&key::RECEIPT) => value::decode::<ReceiptV1>("receipt", bytes).map(drop),
        Some(&key::SEND) => value::decode::<SendV1>("send", bytes).map(drop),
        Some(&key::SESSION) => value::decode::<SessionV1>("session", bytes).map(drop),
        Some(&key::DEDUP) => value::body("dedup", bytes).map(drop),
        Some(&key::JOURNAL) => value::decode::<IgnoredAny>("journal", bytes).map(drop),
        _shelf => value::decode::<IgnoredAny>("kept", bytes).map(drop),
    }
}
