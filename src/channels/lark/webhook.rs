//! The event webhook: `POST /lark/{bot}/events`.
//!
//! A request is read with a limit, proved genuine, decoded, handed to the [`Inlet`], and only
//! then acknowledged. It fails closed: the one thing answered unsigned is the handshake, whose
//! token must match. An answer tells a stable code and nothing about the inside. Nothing here
//! waits for the network.

mod admission;
mod refusal;

use std::sync::Arc;
use std::time::Duration;

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
use super::buttons;
use super::event::{self, DecodeError, Opened, Receiver};
use crate::base::limit::ellipsis;
use crate::base::{BotName, Clock};
use crate::envelope::{Arrival, Inlet, InletError};
use crate::telemetry::Event;

/// The answer to a press goes out after this at the latest; the platform waits three seconds,
/// the way there and back included.
const PRESS_PATIENCE: Duration = Duration::from_secs(2);
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
        let bot = self.bots.get(&BotName::new(name)).ok_or(Refusal::UnknownBot)?;
        let (parts, body) = request.into_parts();
        let body = read_body(body, self.body_bytes_max).await?;
        require_json(&parts.headers)?;
        match admission::admit(&bot, &parts.headers, &body, self.clock.now())? {
            Admitted::Handshake { challenge } => {
                Ok(Json(json!({ "challenge": challenge })).into_response())
            }
            Admitted::Fresh(opened) if opened.is_press() => {
                Ok(self.press(&bot, opened, &parts.headers).await)
            }
            Admitted::Fresh(opened) => self.submit(decode(&bot, opened, event::decode)?).await,
            Admitted::Stale(opened) => {
                self.submit(decode(&bot, opened, event::decode_stale)?).await
            }
        }
    }

    /// Hands the event over. Only what the inlet took is acknowledged.
    async fn submit(&self, arrival: Arrival) -> Result<Response, Refusal> {
        match self.inlet.submit(arrival).await {
            Ok(_taken) => Ok((StatusCode::OK, Json(json!({}))).into_response()),
            Err(InletError::Unavailable(_)) => Err(Refusal::Unavailable),
            Err(InletError::Draining) => Err(Refusal::Draining),
            Err(InletError::UnknownBot(_)) => Err(Refusal::UnknownBot),
        }
    }

    /// Answers a press, whatever happens: anything but a 200 in time is shown as an error, and
    /// the platform does not ask again. `{}` leaves the card as it is.
    async fn press(&self, bot: &LarkBot, opened: Opened, headers: &HeaderMap) -> Response {
        let receiver = Receiver { bot: bot.name(), app_id: bot.app_id(), own: None };
        let press = event::decode_press(opened, receiver, admission::refresh_token(headers));
        let press = buttons::judged(press, bot.buttons(), self.clock.now());
        let takes_card = press.takes_card;
        let answer = tokio::time::timeout(PRESS_PATIENCE, self.inlet.press(press)).await;
        let body = answer.map_or_else(
            |_late| json!({}),
            |reply| buttons::answer(&reply, takes_card, bot.buttons()),
        );
        (StatusCode::OK, Json(body)).into_response()
    }
}

fn decode(
    bot: &LarkBot,
    opened: Opened,
    decoder: impl FnOnce(Opened, Receiver<'_>) -> Result<Arrival, DecodeError>,
) -> Result<Arrival, Refusal> {
    let own = bot.identity().open_id();
    let receiver = Receiver { bot: bot.name(), app_id: bot.app_id(), own: own.as_ref() };
    decoder(opened, receiver).map_err(|error| match error {
        DecodeError::Undecodable(_) => Refusal::Undecodable,
        DecodeError::IdentityUnknown => Refusal::IdentityUnknown,
    })
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
