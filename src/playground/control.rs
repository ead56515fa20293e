//! The control API under `/sim/v1`: the verbs of [`super::Playground`] for curl and for tests
//! from outside. The table of its routes stands in the documentation of [`super`].

mod action;
mod socket;
mod world;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::people::PlaygroundError;
use super::state::Shared;

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/state", get(world::summary))
        .route("/reset", post(world::reset))
        .route("/limits", get(world::limits))
        .route("/apps", post(world::add_app))
        .route("/apps/{app}/event_url", put(world::set_event_url))
        .route("/apps/{app}/verify_url", post(action::verify_url))
        .route("/apps/{app}/transport", put(socket::set_transport))
        .route(
            "/apps/{app}/long_connection",
            get(socket::long_connection).patch(socket::change_long_connection),
        )
        .route("/connections", get(socket::connections))
        .route("/connections/break", post(socket::break_connections))
        .route("/users", post(world::add_user))
        .route("/chats", post(world::add_chat))
        .route("/chats/{chat}", axum::routing::patch(world::change_chat))
        .route("/chats/{chat}/messages", get(world::messages))
        .route("/messages/{message}/answers", get(world::answers))
        .route("/messages/{message}/states", get(world::states))
        .route("/messages/{message}/duplicate", post(action::duplicate))
        .route("/messages/{message}/recall", post(action::recall))
        .route("/messages/{message}/reactions", post(action::react))
        .route("/say", post(action::say))
        .route("/send", post(action::send))
        .route("/push", post(action::push))
        .route("/events", post(action::push_event))
        .route("/presses", post(action::press))
        .route("/pushes", get(world::pushes))
        .route("/calls", get(world::calls))
        .route("/tokens", axum::routing::delete(world::revoke_tokens))
        .route("/faults", get(world::faults).post(world::add_fault).delete(world::clear_faults))
        .route("/switches", get(world::switches).patch(world::set_switches))
        .route("/daemon", put(world::set_daemon))
        .route("/time", get(action::time).post(action::set_time))
}

/// An answer of the control API: a value, or what is wrong.
pub(crate) type Answer = Result<Response, Complaint>;

/// What is wrong with a request of the control API: `{"error":"…"}`.
#[derive(Debug)]
pub(crate) struct Complaint {
    status: StatusCode,
    sentence: String,
}

impl From<PlaygroundError> for Complaint {
    fn from(error: PlaygroundError) -> Self {
        let status = match error {
            PlaygroundError::NoUser(_)
            | PlaygroundError::NoChat(_)
            | PlaygroundError::NoApp(_)
            | PlaygroundError::NoMessage(_) => StatusCode::NOT_FOUND,
            PlaygroundError::NotAllowed(_)
            | PlaygroundError::Bad(_)
            | PlaygroundError::Start(_) => StatusCode::BAD_REQUEST,
        };
        Self { status, sentence: error.to_string() }
    }
}

impl IntoResponse for Complaint {
    fn into_response(self) -> Response {
        let mut response = write(&json!({"error": self.sentence}));
        *response.status_mut() = self.status;
        response
    }
}

fn write(value: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A value as the body of an answer.
pub(crate) fn shown(value: &impl Serialize) -> Answer {
    match serde_json::to_value(value) {
        Ok(value) => Ok(write(&value)),
        Err(error) => Err(PlaygroundError::Bad(error.to_string()).into()),
    }
}

/// The body of a request, whatever its content type; an empty one reads as `{}`.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Complaint> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| PlaygroundError::Bad(error.to_string()).into())
}
