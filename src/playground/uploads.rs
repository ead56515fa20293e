//! What apps upload and download again (feishu-protocol.md 5.1, 5.4, 10).
//!
//! As on the platform, the part of a file needs no file name of its own and `duration` may be
//! empty, because clients in the wild send both.

mod picture;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::multipart::{Field, MultipartRejection};
use axum::extract::{DefaultBodyLimit, Multipart, Path, State as Extracted};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;

use super::limits::{FILE_BYTES, IMAGE_BYTES};
use super::refusal::{Refusal, success};
use super::resources;
use super::send::gateway_rate;
use super::state::Shared;
use super::tokens::caller;
use super::world::Upload;

/// A little more than the largest file, so that the refusal can say what is too large.
const BODY_BYTES_MAX: u64 = FILE_BYTES.most + (64 << 10);
const FILE_TYPES: [&str; 7] = ["opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"];

type Sim = Extracted<Arc<Shared>>;
type Answer = Result<Response, Refusal>;

pub(crate) fn router() -> Router<Arc<Shared>> {
    let most = usize::try_from(BODY_BYTES_MAX).unwrap_or(usize::MAX);
    Router::new()
        .route("/open-apis/im/v1/images", post(image).layer(DefaultBodyLimit::max(most)))
        .route("/open-apis/im/v1/files", post(file).layer(DefaultBodyLimit::max(most)))
        .route("/open-apis/im/v1/images/{key}", get(download))
        .route("/open-apis/im/v1/files/{key}", get(download))
}

fn invalid(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(234_001, format!("Invalid request param: {why}"))
}

/// The parts of a form: texts by their names, and the file.
#[derive(Default)]
struct Form {
    texts: BTreeMap<String, String>,
    file: Option<Bytes>,
}

impl Form {
    async fn read(
        multipart: Result<Multipart, MultipartRejection>,
        file: &str,
    ) -> Result<Self, Refusal> {
        let broken =
            |error: &dyn std::fmt::Display| Refusal::new(9_499, format!("Bad Request: {error}"));
        let mut multipart = multipart.map_err(|rejection| broken(&rejection))?;
        let mut form = Self::default();
        while let Some(part) = multipart.next_field().await.map_err(|error| broken(&error))? {
            named_in_utf_8(&part)?;
            let name = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(|error| match error.status().as_u16() {
                413 => Refusal::new(FILE_BYTES.code, "The file is too large."),
                _ => broken(&error),
            })?;
            if name == file {
                form.file = Some(bytes);
            } else {
                let text = String::from_utf8(bytes.to_vec());
                let text = text.map_err(|_bytes| invalid(format!("{name} is not UTF-8")))?;
                form.texts.insert(name, text);
            }
        }
        Ok(form)
    }

    fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    fn file(self) -> Result<Bytes, Refusal> {
        let file = self.file.ok_or_else(|| invalid("there is no file"))?;
        if file.is_empty() {
            return Err(Refusal::new(234_010, "The file's size can't be 0."));
        }
        Ok(file)
    }
}

/// The name of a file in the head of its part must be UTF-8, whatever letters it has.
fn named_in_utf_8(part: &Field<'_>) -> Result<(), Refusal> {
    let head = part.headers().get(header::CONTENT_DISPOSITION);
    let head = head.map_or(&b""[..], |head| head.as_bytes());
    std::str::from_utf8(head).map_err(|_bytes| invalid("the file name is not UTF-8"))?;
    Ok(())
}

/// `POST /open-apis/im/v1/images`
async fn image(
    Extracted(shared): Sim,
    headers: HeaderMap,
    multipart: Result<Multipart, MultipartRejection>,
) -> Answer {
    let app_id = counted(&shared, &headers, "upload image")?;
    let form = Form::read(multipart, "image").await?;
    let is_avatar = match form.text("image_type") {
        "message" => false,
        "avatar" => true,
        _ => return Err(invalid("image_type is neither message nor avatar")),
    };
    let bytes = form.file()?;
    if IMAGE_BYTES.refuses(bytes.len()) {
        return Err(Refusal::new(IMAGE_BYTES.code, "The file is larger than 10 MB."));
    }
    picture::check(&bytes, is_avatar)?;
    let upload = Upload {
        app_id: Some(app_id),
        kind: String::new(),
        file_name: String::new(),
        bytes: bytes.to_vec(),
    };
    Ok(success(&json!({"image_key": resources::keep(&shared, true, upload)})))
}

/// `POST /open-apis/im/v1/files`
async fn file(
    Extracted(shared): Sim,
    headers: HeaderMap,
    multipart: Result<Multipart, MultipartRejection>,
) -> Answer {
    let app_id = counted(&shared, &headers, "upload file")?;
    let form = Form::read(multipart, "file").await?;
    let kind = form.text("file_type").to_owned();
    if !FILE_TYPES.contains(&kind.as_str()) {
        return Err(invalid("file_type is unknown"));
    }
    let file_name = form.text("file_name").to_owned();
    if file_name.is_empty() {
        return Err(invalid("file_name is empty"));
    }
    let duration = form.text("duration");
    if !duration.is_empty() && duration.parse::<u64>().is_err() {
        return Err(invalid("duration is no number"));
    }
    let bytes = form.file()?;
    if FILE_BYTES.refuses(bytes.len()) {
        return Err(Refusal::new(FILE_BYTES.code, "The file is larger than 30 MB."));
    }
    let upload = Upload { app_id: Some(app_id), kind, file_name, bytes: bytes.to_vec() };
    Ok(success(&json!({"file_key": resources::keep(&shared, false, upload)})))
}

/// `GET /open-apis/im/v1/images/:key` and `…/files/:key`: only what the same app uploaded.
async fn download(Extracted(shared): Sim, Path(key): Path<String>, headers: HeaderMap) -> Answer {
    let app_id = counted(&shared, &headers, "get upload")?;
    let state = shared.lock();
    let upload = state.world.uploads.get(&key).ok_or_else(|| invalid("there is no such key"))?;
    if upload.app_id.as_ref() != Some(&app_id) {
        return Err(Refusal::new(234_008, "The app is not the resource sender."));
    }
    Ok(resources::file(upload))
}

/// Who calls, the call counted.
fn counted(shared: &Shared, headers: &HeaderMap, api: &str) -> Result<String, Refusal> {
    let mut state = shared.lock();
    let app_id = caller(&state, headers, shared.now())?;
    gateway_rate(&mut state, api, &app_id, shared.now_ms())?;
    Ok(app_id)
}
