//! Downloads: an answer that is a file and no JSON.
//!
//! Only the beginning of a file is read, and it is handed on as JSON (the bytes in base64), so
//! that a download takes the same way as every other call: its token, its rate, its errors.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::net::NetError;

/// Of a file at most so many bytes are read.
pub(super) const RESOURCE_BYTES_MAX: usize = 1024 * 1024;

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// At most 1 MiB.
    pub bytes: Vec<u8>,
    /// How long the whole file is, in bytes, where that is known.
    pub length: Option<u64>,
}

/// Whether an answer is a file. A refusal may come with the status of a success; it is JSON without
/// a file's name.
pub(super) fn is_file(response: &reqwest::Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_words =
        kind.starts_with("application/json") && !headers.contains_key(CONTENT_DISPOSITION);
    response.status().is_success() && !is_words
}

/// Reads the beginning of a file.
pub(super) async fn answer(mut response: reqwest::Response) -> Result<Value, NetError> {
    let announced = response.content_length();
    let mut bytes: Vec<u8> = Vec::new();
    let mut is_whole = true;
    while let Some(chunk) = response.chunk().await? {
        let space = RESOURCE_BYTES_MAX.saturating_sub(bytes.len());
        is_whole = chunk.len() <= space;
        bytes.extend(chunk.into_iter().take(space));
        if !is_whole {
            break;
        }
    }
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let length = announced.or(Some(read).filter(|_| is_whole));
    Ok(json!({ "bytes": STANDARD.encode(bytes), "length": length }))
}

/// What [`answer`] made of a file.
pub(super) fn download(answer: &Value) -> Option<Download> {
    Some(Download {
        bytes: STANDARD.decode(answer.get("bytes")?.as_str()?).ok()?,
        length: answer.get("length").and_then(Value::as_u64),
    })
}
