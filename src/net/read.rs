//! Reads a response body up to a limit.

use hyper::body::Bytes;

use super::error::NetError;

/// The whole body of `response`, if it has at most `bytes_max` bytes after decompression.
///
/// The status is not looked at: error bodies are read the same way.
///
/// # Errors
/// [`NetError::TooLarge`] as soon as the limit is passed, [`NetError::TimedOut`] or
/// [`NetError::Broken`] if the body does not come to its end.
pub async fn read_capped(
    mut response: reqwest::Response,
    bytes_max: usize,
) -> Result<Bytes, NetError> {
    let too_large = || NetError::TooLarge { bytes_max };
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |announced| announced > bytes_max) {
        return Err(too_large());
    }
    let mut body: Vec<u8> = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > bytes_max.saturating_sub(body.len()) {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Bytes::from(body))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
