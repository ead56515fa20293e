//! The event webhook: `POST /lark/{bot}/events`.
//!
//! A request is read with a limit, proved genuine, decoded, handed to the [`Inlet`], and only
//! then acknowledged. It fails closed: the one thing answered unsigned is the handshake, whose
//! token must match. An answer tells a stable code and nothing about the inside. Nothing here
//! waits for the network.

mod admission;
mod refusal;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use futures_util::StreamExt;
use serde_json::json;

use self::admission::Admitted;
use self::refusal::Refusal;
use super::bot::{LarkBot, LarkBots};
use super::dispatch::{self, Circumstances, NotTaken};
use super::event::Opened;
use crate::base::limit::ellipsis;
use crate::base::{BotName, Clock};
use crate::envelope::Inlet;
use crate::telemetry::Event;

/// The longest part of a URL's bot name that is logged, in characters.
const LOGGED_NAME_CHARS_MAX: usize = 64;

/// What the webhook works with.
#[derive(Clone)]
pub struct Webhook {
    /// The bots that run.
    pub bots: Arc<LarkBots>,
    /// Who takes events over.
    pub inlet: Arc<dyn Inlet>,
    /// The time, for the window in which a signed request is fresh.
    pub clock: Arc<dyn Clock>,
    /// The longest request body, in bytes; a longer one is answered 413.
    pub body_bytes_max: usize,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Webhook")
            .field("bots", &self.bots)
            .field("body_bytes_max", &self.body_bytes_max)
            .finish_non_exhaustive()
    }
}

/// The route of the webhook.
pub fn router(webhook: Webhook) -> Router {
    let methods = post(receive).fallback(wrong_method);
    Router::new().route("/lark/{bot}/events", methods).with_state(webhook)
}

async fn wrong_method() -> Response {
    Refusal::WrongMethod.into_response()
}

async fn receive(
    State(webhook): State<Webhook>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let name = path.map(|Path(name)| name).unwrap_or_default();
    match webhook.handle(&name, request).await {
        Ok(response) => response,
        Err(refusal) => {
            Event::RequestRefused {
                bot: &ellipsis(&name, LOGGED_NAME_CHARS_MAX),
                status: refusal.status().as_u16(),
                code: refusal.code(),
            }
            .emit();
            refusal.into_response()
        }
    }
}

impl Webhook {
    async fn handle(&self, name: &str, request: Request) -> Result<Response, Refusal> {
        // A bot of a long connection need not have the keys that prove a request genuine.
        let bot = self.bots.get(&BotName::new(name)).filter(|bot| bot.link_cell().is_none());
        let bot = bot.ok_or(Refusal::UnknownBot)?;
        let (parts, body) = request.into_parts();
        let body = read_body(body, self.body_bytes_max).await?;
        require_json(&parts.headers)?;
        let now = self.clock.now();
        let received = admission::receive(&bot, &parts.headers, &body)?;
        match admission::admit(&bot, &received, now)? {
            Admitted::Handshake { challenge } => {
                Ok(Json(json!({ "challenge": challenge })).into_response())
            }
            Admitted::Fresh(opened) => {
                let refresh_token = admission::refresh_token(&parts.headers);
                let circumstances = Circumstances { is_stale: false, refresh_token, now };
                self.dispatch(&bot, opened, circumstances).await
            }
            Admitted::Stale(opened) => {
                let circumstances = Circumstances { is_stale: true, refresh_token: None, now };
                self.dispatch(&bot, opened, circumstances).await
            }
        }
    }

    /// Hands the event over. Only what the inlet took is acknowledged.
    async fn dispatch(
        &self,
        bot: &LarkBot,
        opened: Opened<'_>,
        circumstances: Circumstances<'_>,
    ) -> Result<Response, Refusal> {
        let work = dispatch::decode(bot, opened, circumstances)?;
        let reply = dispatch::carry_out(Arc::clone(&self.inlet), work).await?;
        Ok((StatusCode::OK, Json(reply.unwrap_or_else(|| json!({})))).into_response())
    }
}

impl From<NotTaken> for Refusal {
    fn from(reason: NotTaken) -> Self {
        match reason {
            NotTaken::Undecodable(_) => Self::Undecodable,
            NotTaken::IdentityUnknown => Self::IdentityUnknown,
            NotTaken::Unavailable => Self::Unavailable,
            NotTaken::Draining => Self::Draining,
            NotTaken::UnknownBot => Self::UnknownBot,
        }
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

/// The body has to be JSON as it is. It is never unpacked: the platform does not compress, and a
/// small packed body can be a huge one.
fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let is = |name, word: &str| {
        let mut values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let only = values.next().filter(|_value| values.next().is_none());
        let essence = only.and_then(|value| value.split(';').next()).unwrap_or("");
        essence.trim().eq_ignore_ascii_case(word)
    };
    if headers.contains_key(CONTENT_ENCODING) && !is(CONTENT_ENCODING, "identity") {
        return Err(Refusal::Encoded);
    }
    if is(CONTENT_TYPE, "application/json") { Ok(()) } else { Err(Refusal::NotJson) }
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
