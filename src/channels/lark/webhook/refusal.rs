//! Every way a request is refused, as `application/problem+json`.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What a 503 asks the caller to wait, in seconds: the platform's own first retry.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("15");

/// Why a request was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not POST.
    WrongMethod,
    /// No bot of that name runs here.
    UnknownBot,
    /// Over the body limit.
    TooLarge,
    /// The body ended early.
    BodyBroken,
    /// The content type is not JSON.
    NotJson,
    /// The body is compressed.
    Encoded,
    /// No JSON, no envelope that opens, or no event inside.
    Undecodable,
    /// A signature header is missing, doubled or unreadable.
    Unsigned,
    /// The signature is not that of the body.
    WrongSignature,
    /// The verification token is another.
    WrongToken,
    /// For another app.
    WrongApp,
    /// Whether the bot is addressed cannot be told yet.
    IdentityUnknown,
    /// The store cannot take it.
    Unavailable,
    /// The daemon is ending.
    Draining,
}

impl Refusal {
    /// The HTTP status.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnknownBot => StatusCode::NOT_FOUND,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson | Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyBroken | Self::Undecodable => StatusCode::BAD_REQUEST,
            Self::Unsigned | Self::WrongSignature => StatusCode::UNAUTHORIZED,
            Self::WrongToken | Self::WrongApp => StatusCode::FORBIDDEN,
            Self::IdentityUnknown | Self::Unavailable | Self::Draining => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// The stable code.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::WrongMethod => "method_not_allowed",
            Self::UnknownBot => "unknown_bot",
            Self::TooLarge => "body_too_large",
            Self::BodyBroken => "body_incomplete",
            Self::NotJson => "unsupported_media_type",
            Self::Encoded => "unsupported_encoding",
            Self::Undecodable => "undecodable",
            Self::Unsigned => "signature_missing",
            Self::WrongSignature => "signature_wrong",
            Self::WrongToken => "token_wrong",
            Self::WrongApp => "app_wrong",
            Self::IdentityUnknown => "identity_unknown",
            Self::Unavailable => "store_unavailable",
            Self::Draining => "draining",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::WrongMethod => "Only POST is allowed here",
            Self::UnknownBot => "No such bot",
            Self::TooLarge => "The body is too large",
            Self::BodyBroken => "The body is incomplete",
            Self::NotJson => "The content type must be application/json",
            Self::Encoded => "The body must not be compressed",
            Self::Undecodable => "The body cannot be decoded",
            Self::Unsigned => "The signature is missing",
            Self::WrongSignature => "The signature is wrong",
            Self::WrongToken => "The verification token is wrong",
            Self::WrongApp => "The event is for another app",
            Self::IdentityUnknown | Self::Unavailable => "Not ready, try again later",
            Self::Draining => "The server is ending, try again later",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = json!({
            "type": "about:blank",
            "title": self.title(),
            "status": self.status().as_u16(),
            "code": self.code(),
        });
        let mut response = (self.status(), problem.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        if self == Self::WrongMethod {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}
