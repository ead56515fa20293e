//! Every way a call is refused, as `application/problem+json`.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What a 503 asks the caller to wait, in seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("15");

/// Why a call was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not POST.
    WrongMethod,
    /// No hook has that name. It is in a URL that people paste, and no secret.
    UnknownHook,
    /// Over the body limit.
    TooLarge,
    /// The body ended early.
    BodyBroken,
    /// The body is compressed.
    Encoded,
    /// A signature or timestamp header is missing, doubled or unreadable.
    Unsigned,
    /// The signature is not that of the body.
    WrongSignature,
    /// The header `Authorization` is missing, doubled or unreadable.
    Unauthorized,
    /// The header `Authorization` says something else.
    WrongAuthorization,
    /// Signed too long ago, or too far in the future.
    Stale,
    /// The bot of the hook does not run.
    BotNotRunning,
    /// The store cannot take it.
    Unavailable,
    /// The daemon is ending.
    Draining,
}

impl Refusal {
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::WrongMethod => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Only POST is allowed here")
            }
            Self::UnknownHook => (StatusCode::NOT_FOUND, "unknown_hook", "No such hook"),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large")
            }
            Self::BodyBroken => {
                (StatusCode::BAD_REQUEST, "body_incomplete", "The body is incomplete")
            }
            Self::Encoded => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_encoding",
                "The body must not be compressed",
            ),
            Self::Unsigned => {
                (StatusCode::UNAUTHORIZED, "signature_missing", "The signature is missing")
            }
            Self::WrongSignature => {
                (StatusCode::UNAUTHORIZED, "signature_wrong", "The signature is wrong")
            }
            Self::Unauthorized => {
                (StatusCode::UNAUTHORIZED, "authorization_missing", "Authorization is missing")
            }
            Self::WrongAuthorization => {
                (StatusCode::UNAUTHORIZED, "authorization_wrong", "Authorization is wrong")
            }
            Self::Stale => (
                StatusCode::UNAUTHORIZED,
                "timestamp_stale",
                "The time of the signature is too far from now",
            ),
            Self::BotNotRunning => {
                (StatusCode::SERVICE_UNAVAILABLE, "bot_not_running", "Not ready, try again later")
            }
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", "Not ready, try again later")
            }
            Self::Draining => (
                StatusCode::SERVICE_UNAVAILABLE,
                "draining",
                "The server is ending, try again later",
            ),
        }
    }

    /// The HTTP status.
    pub(super) const fn status(self) -> StatusCode {
        self.row().0
    }

    /// The stable code.
    pub(super) const fn code(self) -> &'static str {
        self.row().1
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, title) = self.row();
        let problem = json!({
            "type": "about:blank", "title": title, "status": status.as_u16(), "code": code,
        });
        let mut response = (status, problem.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        if self == Self::WrongMethod {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}
