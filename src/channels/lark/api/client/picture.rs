//! Pictures of an answer: fetched from where the operator allows, handed to the platform.

use std::time::Duration;

use reqwest::Method;

use super::{Endpoint, LarkApi, answers, undecodable};
use crate::channels::lark::api::ApiError;
use crate::channels::lark::api::error::Failure;
use crate::channels::lark::api::pace::Key;
use crate::channels::lark::api::transport::Call;
use crate::net::{NetError, read_capped};

/// The largest picture that the platform takes, in bytes (protocol page, section 5.1).
const PICTURE_BYTES_MAX: usize = 10 * 1024 * 1024;
/// The longest wait for one.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Between the parts of an upload; no picture has it in a line of its own.
const BOUNDARY: &str = "larkspur-a7c1f04e9b2d4c55b0f6";

/// A picture that stays a link.
#[derive(Debug, thiserror::Error)]
pub(in crate::channels::lark) enum PictureError {
    /// It cannot be fetched.
    #[error("it cannot be fetched: {0}")]
    Fetch(#[from] NetError),
    /// What is there is no picture.
    #[error("status {0} and no picture")]
    NoPicture(u16),
    /// The platform does not take it.
    #[error(transparent)]
    Upload(#[from] ApiError),
}

impl LarkApi {
    /// Fetches a picture, following no redirect, and uploads it. Returns its key.
    pub(in crate::channels::lark) async fn bring_picture(
        &self,
        url: &str,
    ) -> Result<String, PictureError> {
        let request = self.transport.client().get(url).timeout(FETCH_TIMEOUT);
        let response = request.send().await.map_err(NetError::from)?;
        let status = response.status();
        let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
        let is_picture = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"image/"));
        if !status.is_success() || !is_picture {
            return Err(PictureError::NoPicture(status.as_u16()));
        }
        let bytes = read_capped(response, PICTURE_BYTES_MAX).await?;
        Ok(self.upload_picture(&bytes).await?)
    }

    async fn upload_picture(&self, bytes: &[u8]) -> Result<String, ApiError> {
        let endpoint = Endpoint::UploadImage;
        let path = &["im", "v1", "images"];
        let call = Call { endpoint, method: Method::POST, path, query: &[], body: None };
        let keys = vec![Key::Method(self.app.app_id.clone(), endpoint)];
        self.limiter.pass(keys).await.map_err(|wait| ApiError {
            endpoint,
            status: None,
            failure: Failure::TooFast,
            retry_after: Some(wait),
        })?;
        let token = self.token().await?;
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let body = (content_type.as_str(), parts(bytes));
        let answer = self.transport.upload(&call, &token, body).await?;
        answers::data_text(&answer, "image_key").ok_or(undecodable(endpoint))
    }
}

/// The form of an upload (RFC 7578).
fn parts(bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"image_type\"\r\n\r\nmessage\r\n\
         --{BOUNDARY}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"picture\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    let mut body = head.into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    body
}
