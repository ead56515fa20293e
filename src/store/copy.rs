//! Copies of everything that is stored: rows out of a running store, lines of a file, and back.
//!
//! A copy is JSON Lines: a head, one line a record, and an end that counts them, without which it
//! is not whole. A record is its key in hexadecimal and its value as JSON where it is JSON. It
//! holds what people wrote, so it is as confidential as the data folder; secrets are in neither.

use std::io::{BufRead, Read};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::kv::{FORMAT, kind_of};
use super::port::{Store, StoreError};
use crate::base::Timestamp;

/// What the head of a copy calls itself.
const NAME: &str = "larkspur-export";
/// The version of the lines.
const LINES_VERSION: u32 = 1;
/// The longest line of a copy, in bytes.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// One record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

/// All records as they were at one moment, while the store goes on.
#[async_trait]
pub trait Snapshot: Send {
    /// The next records in the order of their keys; none: that was all.
    async fn next(&mut self) -> Result<Vec<Row>, StoreError>;
}

/// Why a copy could not be read or put into its place.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is no copy, or not a whole one.
    #[error("this is not a whole copy of a store: line {line}: {cause}")]
    NotACopy {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// The copy was written by a newer version of Larkspur.
    #[error(
        "this is a copy of version {found}, this Larkspur reads up to {known}; use a newer one"
    )]
    Newer {
        /// The version of its lines.
        found: u32,
        /// The newest version of lines this Larkspur knows.
        known: u32,
    },
    /// A copy is only put into an empty place.
    #[error("the data folder {folder} holds data already; move it aside first")]
    NotEmpty {
        /// The folder.
        folder: String,
    },
    /// There is nothing to copy or to repair.
    #[error("there are no data in {folder}")]
    NoData {
        /// The folder.
        folder: String,
    },
    /// The file of the copy.
    #[error("{file}: {cause}")]
    File {
        /// Its name.
        file: String,
        /// What the machine said.
        cause: std::io::Error,
    },
}

/// What the head of every version has.
#[derive(Deserialize)]
struct AnyHead {
    copy: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    copy: String,
    version: u32,
    format: u32,
    at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    kind: String,
    key: String,
    version: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    rows: u64,
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| StoreError::Record { kind: "copy", cause: error.to_string() })?;
    line.push(b'\n');
    Ok(line)
}

impl Line {
    fn of(row: &Row) -> Self {
        let (version, body) = row.value.split_first().unwrap_or((&0, &[]));
        // As it stands, so that it comes back byte for byte; unless it would break the line.
        let text = std::str::from_utf8(body).ok().filter(|text| !text.contains('\n'));
        let record = text.and_then(|text| RawValue::from_string(text.to_owned()).ok());
        let bytes = record.is_none().then(|| hex::encode(body));
        Self {
            kind: kind_of(&row.key).to_owned(),
            key: hex::encode(&row.key),
            version: *version,
            record,
            bytes,
        }
    }

    fn into_row(self) -> Result<Row, String> {
        let key = hex::decode(&self.key).map_err(|error| format!("its key: {error}"))?;
        let mut value = vec![self.version];
        match (self.record, self.bytes) {
            (Some(record), None) => value.extend_from_slice(record.get().as_bytes()),
            (None, Some(bytes)) => {
                value.extend(hex::decode(bytes).map_err(|error| format!("its bytes: {error}"))?);
            }
            _both_or_none => return Err("it has no value".to_owned()),
        }
        if key.is_empty() {
            return Err("its key is empty".to_owned());
        }
        Ok(Row { key, value })
    }
}

enum Stage {
    Head(Timestamp),
    Rows,
    Over,
}

/// Writes the lines of a copy, piece by piece.
pub struct Exporter {
    snapshot: Box<dyn Snapshot>,
    stage: Stage,
    rows: u64,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Exporter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Exporter {
    /// A copy of everything as it is now.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub async fn begin(store: &Arc<dyn Store>, now: Timestamp) -> Result<Self, StoreError> {
        Ok(Self { snapshot: store.snapshot().await?, stage: Stage::Head(now), rows: 0 })
    }

    /// The next lines; `None` behind the last.
    ///
    /// # Errors
    /// The store failed: what was written so far is no whole copy.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.stage {
            Stage::Head(at) => {
                self.stage = Stage::Rows;
                let copy = NAME.to_owned();
                line(&Head { copy, version: LINES_VERSION, format: FORMAT, at }).map(Some)
            }
            Stage::Rows => {
                let rows = self.snapshot.next().await?;
                if rows.is_empty() {
                    self.stage = Stage::Over;
                    return line(&End { rows: self.rows }).map(Some);
                }
                let mut lines = Vec::new();
                for row in &rows {
                    lines.extend(line(&Line::of(row))?);
                    self.rows += 1;
                }
                Ok(Some(lines))
            }
            Stage::Over => Ok(None),
        }
    }
}

/// Reads the lines of a copy and hands its records to `take`. Returns how many there were.
///
/// # Errors
/// [`CopyError::NotACopy`] at the first line that does not belong there, [`CopyError::Newer`] and
/// [`StoreError::Newer`] for lines and data of a later version; whatever `take` says.
pub fn read_copy(
    source: &mut dyn BufRead,
    take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<u64, CopyError> {
    let mut number = 1;
    check_head(&next_line(source, number)?.unwrap_or_default())?;
    let mut rows = 0;
    loop {
        number += 1;
        let Some(text) = next_line(source, number)? else {
            return Err(not_a_copy(number, "it ends before its end"));
        };
        if let Ok(end) = serde_json::from_str::<End>(&text) {
            if end.rows != rows {
                let cause = format!("it counts {} records, there are {rows}", end.rows);
                return Err(not_a_copy(number, &cause));
            }
            check_nothing_follows(source, number + 1)?;
            return Ok(rows);
        }
        let record: Line = parse(&text, number, "this is no record")?;
        take(record.into_row().map_err(|cause| not_a_copy(number, &cause))?)?;
        rows += 1;
    }
}

fn check_head(text: &str) -> Result<(), CopyError> {
    let missing = "the head of a copy is missing";
    let AnyHead { copy, version } = parse(text, 1, missing)?;
    if copy != NAME {
        return Err(not_a_copy(1, "it is the head of something else"));
    }
    if version > LINES_VERSION {
        return Err(CopyError::Newer { found: version, known: LINES_VERSION });
    }
    let head: Head = parse(text, 1, missing)?;
    if head.format > FORMAT {
        return Err(StoreError::Newer { found: head.format, known: FORMAT }.into());
    }
    Ok(())
}

/// Files that were put together by mistake: of which of them would this be the copy?
fn check_nothing_follows(source: &mut dyn BufRead, number: u64) -> Result<(), CopyError> {
    match next_line(source, number) {
        Ok(None) => Ok(()),
        Ok(Some(text)) if serde_json::from_str::<AnyHead>(&text).is_ok() => {
            Err(not_a_copy(number, "a second copy stands behind its end"))
        }
        Ok(Some(_)) | Err(_) => Err(not_a_copy(number, "something stands behind its end")),
    }
}

fn not_a_copy(line: u64, cause: &str) -> CopyError {
    CopyError::NotACopy { line, cause: cause.to_owned() }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str, line: u64, what: &str) -> Result<T, CopyError> {
    serde_json::from_str(text).map_err(|error| not_a_copy(line, &format!("{what}: {error}")))
}

/// The next line; `None` at the end. One without its line break was cut off.
fn next_line(source: &mut dyn BufRead, number: u64) -> Result<Option<String>, CopyError> {
    let mut text = String::new();
    let read = source.take(LINE_BYTES_MAX).read_line(&mut text);
    match read {
        Ok(0) => Ok(None),
        Ok(_) if text.ends_with('\n') => Ok(Some(text)),
        Ok(_) => Err(not_a_copy(number, "the line is cut off")),
        Err(error) => Err(not_a_copy(number, &error.to_string())),
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
