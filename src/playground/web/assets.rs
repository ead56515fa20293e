//! Files: those compiled in, and those that people sent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State as Extracted};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::playground::resources::carries;
use crate::playground::state::Shared;

const ASSETS: [(&str, &str, &str); 6] = [
    ("htmx.min.js", "text/javascript; charset=utf-8", include_str!("assets/htmx.min.js")),
    ("sse.min.js", "text/javascript; charset=utf-8", include_str!("assets/sse.min.js")),
    ("chat.js", "text/javascript; charset=utf-8", include_str!("assets/chat.js")),
    ("chat.css", "text/css; charset=utf-8", include_str!("assets/chat.css")),
    ("favicon.svg", "image/svg+xml", include_str!("assets/favicon.svg")),
    ("LICENSE.txt", "text/plain; charset=utf-8", include_str!("assets/LICENSE.txt")),
];

pub(super) fn missing() -> Response {
    let mut response = Response::new(Body::from("there is no such file\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn file_of(kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let found = ASSETS.iter().find(|(known, _, _)| *known == name);
    found.map_or_else(missing, |(_, kind, text)| file_of(kind, Body::from(*text)))
}

pub(super) async fn favicon() -> Response {
    asset(Path("favicon.svg".to_owned())).await
}

/// The kind of an image by its first bytes; nothing else is shown inside the page.
pub(super) fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if bytes.starts_with(b"\xff\xd8\xff") => Some("image/jpeg"),
        _ if bytes.starts_with(b"GIF8") => Some("image/gif"),
        _ if is_webp => Some("image/webp"),
        _ => None,
    }
}

/// `GET /web/file/{message}/{key}`: what a message that was not taken back carries.
pub(super) async fn file(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path((message_id, key)): Path<(String, String)>,
) -> Response {
    let state = shared.lock();
    let message = state.world.messages.get(&message_id);
    let message = message.filter(|message| !message.recalled && carries(&state, message, &key));
    let Some(upload) = message.and_then(|_| state.world.uploads.get(&key)) else {
        return missing();
    };
    let kind = image_kind(&upload.bytes).unwrap_or("application/octet-stream");
    let mut response = file_of(kind, Body::from(upload.bytes.clone()));
    let headers = response.headers_mut();
    let lasting = HeaderValue::from_static("private, max-age=3600, immutable");
    headers.insert(header::CACHE_CONTROL, lasting);
    if kind == "application/octet-stream" {
        let name: String =
            url::form_urlencoded::byte_serialize(upload.file_name.as_bytes()).collect();
        let name = format!("attachment; filename*=UTF-8''{}", name.replace('+', "%20"));
        if let Ok(name) = HeaderValue::from_str(&name) {
            headers.insert(header::CONTENT_DISPOSITION, name);
        }
    }
    response
}
