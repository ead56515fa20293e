//! The values: a version byte, then JSON (a journal entry: the bytes as the caller gave them).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::store::port::StoreError;

/// The version byte of every record this version writes.
pub(super) const VERSION: u8 = 1;

/// `record` as it is stored.
pub(super) fn encode(kind: &'static str, record: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![VERSION];
    serde_json::to_writer(&mut bytes, record)
        .map_err(|error| StoreError::Record { kind, cause: error.to_string() })?;
    Ok(bytes)
}

/// `entry` as it is stored.
pub(super) fn encode_opaque(entry: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entry.len() + 1);
    bytes.push(VERSION);
    bytes.extend_from_slice(entry);
    bytes
}

/// The value of a dedup key: when its event was accepted, as far as the acceptance told.
pub(super) fn accepted(at: Option<Timestamp>) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    if let Some(at) = at {
        bytes.extend_from_slice(&at.as_millis().to_be_bytes());
    }
    bytes
}

/// What [`accepted`] wrote.
pub(super) fn accepted_at(bytes: &[u8]) -> Option<Timestamp> {
    let time = body("dedup", bytes).ok()?.try_into().ok()?;
    Some(Timestamp::from_millis(u64::from_be_bytes(time)))
}

/// What stands behind the version byte, if this version can read it.
pub(super) fn body<'a>(kind: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
    let cause = match bytes.split_first() {
        Some((&VERSION, body)) => return Ok(body),
        Some((version, _body)) => {
            format!("it has version {version}, this Larkspur reads up to {VERSION}")
        }
        None => "it is empty".to_owned(),
    };
    Err(StoreError::Record { kind, cause })
}

/// Reads what [`encode`] wrote.
pub(super) fn decode<T: DeserializeOwned>(
    kind: &'static str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    serde_json::from_slice(body(kind, bytes)?)
        .map_err(|error| StoreError::Record { kind, cause: error.to_string() })
}

/// When a record says that what it tells of happened.
pub(super) fn dated(kind: &'static str, bytes: &[u8]) -> Result<Timestamp, StoreError> {
    #[derive(Deserialize)]
    struct Dated {
        at: Timestamp,
    }
    decode(kind, bytes).map(|Dated { at }| at)
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
