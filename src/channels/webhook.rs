//! Webhooks: `POST /hooks/{name}`.
//!
//! Another program calls, its signature or password proves who it is, and what it says is posted in a chat.
//! A call is acknowledged when it is stored. Nothing here waits for the network.

mod alerts;
mod hook;
mod refusal;
mod text;
mod verify;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use futures_util::StreamExt;
use serde_json::json;

use self::hook::Call;
pub use self::hook::{Hook, LastBodies, Preset};
use self::refusal::Refusal;
pub use self::verify::{Encoding, Hmac, Verify};
use crate::base::Clock;
use crate::base::limit::ellipsis;
use crate::envelope::{Arrival, Inlet, InletError, Submitted};
use crate::telemetry::Event;

/// The longest part of a URL's hook name that is logged, in characters.
const LOGGED_NAME_CHARS_MAX: usize = 64;

/// What the hooks work with.
#[derive(Clone)]
pub struct Hooks {
    /// The hooks by name.
    pub hooks: Arc<HashMap<String, Hook>>,
    /// Who takes calls over.
    pub inlet: Arc<dyn Inlet>,
    /// The time, for the window in which a signed call is fresh.
    pub clock: Arc<dyn Clock>,
    /// The longest request body, in bytes; a longer one is answered 413.
    pub body_bytes_max: usize,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hooks").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// The route of the hooks.
pub fn router(hooks: Hooks) -> Router {
    let methods = post(receive).fallback(wrong_method);
    Router::new().route("/hooks/{name}", methods).with_state(hooks)
}

async fn wrong_method() -> Response {
    Refusal::WrongMethod.into_response()
}

async fn receive(
    State(hooks): State<Hooks>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let name = path.map(|Path(name)| name).unwrap_or_default();
    let Some(hook) = hooks.hooks.get(&name) else {
        // What strangers write into a URL is logged, and counted under no name of its own.
        Event::HookUnknown { name: &ellipsis(&name, LOGGED_NAME_CHARS_MAX) }.emit();
        return Refusal::UnknownHook.into_response();
    };
    match hooks.handle(hook, request).await {
        Ok(response) => response,
        Err(refusal) => {
            let status = refusal.status().as_u16();
            Event::HookRefused { hook: &hook.name, status, code: refusal.code() }.emit();
            refusal.into_response()
        }
    }
}

impl Hooks {
    async fn handle(&self, hook: &Hook, request: Request) -> Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        require_plain(&parts.headers)?;
        let body = read_body(body, self.body_bytes_max).await?;
        let now = self.clock.now();
        let signed_at = hook.verify.check(&parts.headers, &body, now)?;
        let call = Call { headers: &parts.headers, body: &body, signed_at, now };
        let (id, errand) = hook.errand(&call);
        let submitted = self.inlet.submit(Arrival::Errand(Box::new(errand))).await;
        let duplicate = match submitted {
            Ok(submitted) => submitted == Submitted::Duplicate,
            Err(InletError::Unavailable(_)) => return Err(Refusal::Unavailable),
            Err(InletError::Draining) => return Err(Refusal::Draining),
            Err(InletError::UnknownBot(_)) => return Err(Refusal::BotNotRunning),
        };
        Event::HookCalled { hook: &hook.name, id: &id, duplicate }.emit();
        let answer = json!({ "id": id.as_str(), "duplicate": duplicate });
        Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
    }
}

async fn read_body(body: Body, bytes_max: usize) -> Result<Vec<u8>, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_broken| Refusal::BodyBroken)?;
        if chunk.len() > bytes_max.saturating_sub(read.len()) {
            return Err(Refusal::TooLarge);
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read)
}

/// A body is never unpacked: a small packed body can be a huge one.
fn require_plain(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let is_plain = encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_plain { Ok(()) } else { Err(Refusal::Encoded) }
}
