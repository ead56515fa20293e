//! Shelves: small records that one feature alone reads, found by a key of its own.
//!
//! A feature defines a record, names its [`Shelf`], and puts it into the same commit as
//! everything else that must be true with it. What has to be ordered by time begins its keys with
//! [`time_key`].

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::port::{Change, Store, StoreError};
use crate::base::Timestamp;

/// The version byte of every kept record this version writes.
const VERSION: u8 = 1;

/// A place for the records of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shelf {
    /// Who was welcomed.
    Welcome,
    /// Strangers who may be let in, and who was.
    Pairing,
    /// Calls to platforms, counted by month.
    Usage,
    /// Turns that failed, with what they were to do.
    Failed,
    /// Attachments that wait for their question.
    Recent,
    /// What was said in groups beside the bot.
    Overheard,
    /// Messages that were taken back.
    Recalled,
    /// How far schedules are.
    Schedule,
    /// What digests have told already.
    Digest,
    /// Cards whose buttons can be pressed.
    Cards,
    /// Messages that show the state of something.
    InPlace,
}

impl Shelf {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Welcome,
        Self::Pairing,
        Self::Usage,
        Self::Failed,
        Self::Recent,
        Self::Overheard,
        Self::Recalled,
        Self::Schedule,
        Self::Digest,
        Self::Cards,
        Self::InPlace,
    ];

    /// The byte that its keys begin with in the store.
    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::Welcome => b'w',
            Self::Pairing => b'p',
            Self::Usage => b'u',
            Self::Failed => b'f',
            Self::Recent => b'a',
            Self::Overheard => b'h',
            Self::Recalled => b't',
            Self::Schedule => b'c',
            Self::Digest => b'g',
            Self::Cards => b'k',
            Self::InPlace => b'n',
        }
    }

    /// Its name as one word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Recent => "recent",
            Self::Welcome
            | Self::Pairing
            | Self::Usage
            | Self::Overheard
            | Self::Recalled
            | Self::Schedule
            | Self::Digest => self.name(),
            Self::Cards => "cards",
            Self::InPlace => "in_place",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Welcome => "welcome",
            Self::Pairing => "pairing",
            Self::Usage => "usage",
            Self::Failed => "failed turn",
            Self::Recent => "recent attachment",
            Self::Overheard => "overheard",
            Self::Recalled => "recalled",
            Self::Schedule => "schedule",
            Self::Digest => "digest",
            Self::Cards => "card",
            Self::InPlace => "message that is changed in place",
        }
    }
}

/// A time as the beginning of a key: byte order is the order of time.
pub fn time_key(at: Timestamp) -> String {
    format!("{:016x}", at.as_millis())
}

/// A record of a shelf.
pub trait Kept: Serialize + DeserializeOwned + Sized {
    /// Where records of this kind are.
    const SHELF: Shelf;

    /// The change that puts the record under `key`.
    ///
    /// # Errors
    /// [`StoreError::Record`] if it cannot be written as JSON.
    fn change(&self, key: &str) -> Result<Change, StoreError> {
        let mut value = vec![VERSION];
        serde_json::to_writer(&mut value, self).map_err(|error| broken::<Self>(&error))?;
        Ok(Change::PutKept { shelf: Self::SHELF, key: key.to_owned(), value })
    }

    /// The change that takes away what is under `key`.
    fn removal(key: &str) -> Change {
        Change::DropKept { shelf: Self::SHELF, key: key.to_owned() }
    }

    /// Reads an encoded record.
    ///
    /// # Errors
    /// [`StoreError::Record`] if it is not of this kind, or of a later version.
    fn decode(value: &[u8]) -> Result<Self, StoreError> {
        match value.split_first() {
            Some((&VERSION, body)) => {
                serde_json::from_slice(body).map_err(|error| broken::<Self>(&error))
            }
            Some((version, _body)) => Err(broken::<Self>(&format_args!(
                "it has version {version}, this Larkspur reads up to {VERSION}"
            ))),
            None => Err(broken::<Self>(&"it is empty")),
        }
    }

    /// The record under `key`.
    fn load(
        store: &dyn Store,
        key: &str,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send {
        async move {
            let value = store.kept(Self::SHELF, key).await?;
            value.as_deref().map(Self::decode).transpose()
        }
    }

    /// The records whose keys begin with `prefix`, in the order of their keys, at most `limit`.
    fn load_all(
        store: &dyn Store,
        prefix: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(String, Self)>, StoreError>> + Send {
        async move {
            let rows = store.kept_under(Self::SHELF, prefix, limit).await?;
            rows.into_iter().map(|(key, value)| Ok((key, Self::decode(&value)?))).collect()
        }
    }
}

fn broken<T: Kept>(cause: &dyn std::fmt::Display) -> StoreError {
    StoreError::Record { kind: T::SHELF.name(), cause: cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shelf_has_a_byte_of_its_own() {
        let mut bytes: Vec<u8> = Shelf::ALL.iter().map(|shelf| shelf.byte()).collect();
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(bytes.len(), Shelf::ALL.len());
        assert!(!bytes.iter().any(|byte| b"dijlmorsv~".contains(byte)), "taken by other records");
    }

    #[test]
    fn keys_of_times_stand_in_the_order_of_time() {
        let key = |millis| time_key(Timestamp::from_millis(millis));
        assert!(key(9) < key(10) && key(10) < key(u64::MAX));
    }
}
