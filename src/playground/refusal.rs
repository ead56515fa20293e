//! What the platform answers when it says no: a code, an HTTP status, a sentence.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::limits::API_PER_SECOND;

/// A refusal of the platform API. The log id is put in when the answer leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: i64,
    pub(crate) msg: String,
    pub(crate) field: Option<&'static str>,
    /// Seconds until the gateway's limit opens again; gives the `x-ogw-ratelimit-*` headers.
    pub(crate) reset_s: Option<u64>,
    /// The limit that those headers name.
    pub(crate) most: u64,
}

impl Refusal {
    /// A refusal with the usual HTTP status 400.
    pub(crate) fn new(code: i64, msg: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            msg: msg.into(),
            field: None,
            reset_s: None,
            most: API_PER_SECOND.most,
        }
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// A field of the request that the gateway's validation refuses (99992402).
    pub(crate) fn field(name: &'static str, why: &str) -> Self {
        let mut refusal = Self::new(99_992_402, format!("field validation failed: {name} {why}"));
        refusal.field = Some(name);
        refusal
    }

    pub(crate) fn parameter(why: impl std::fmt::Display) -> Self {
        Self::new(230_001, format!("Your request contains an invalid request parameter, ext={why}"))
    }

    pub(crate) fn bot_outside() -> Self {
        Self::new(230_002, "Bot/User can NOT be out of the chat.")
    }

    pub(crate) fn recalled_target() -> Self {
        Self::new(230_011, "The message was recalled.")
    }

    pub(crate) fn message_gone() -> Self {
        Self::new(230_110, "Action unavailable as the message has been deleted.")
    }

    pub(crate) fn gateway_rate(most: u64, reset_s: u64) -> Self {
        let mut refusal = Self::new(99_991_400, "request trigger frequency limit")
            .with_status(StatusCode::TOO_MANY_REQUESTS);
        refusal.reset_s = Some(reset_s);
        refusal.most = most;
        refusal
    }

    pub(crate) fn path_unknown() -> Self {
        Self::new(99_991_201, "path not found").with_status(StatusCode::NOT_FOUND)
    }

    /// The bytes of the answer, under the log id that its header also carries.
    pub(crate) fn body(&self, log_id: &str) -> Value {
        let mut error = json!({
            "log_id": log_id,
            "troubleshooter": format!("https://open.feishu.cn/search?code={}", self.code),
        });
        if let (Some(field), Some(error)) = (self.field, error.as_object_mut()) {
            let violation = json!({"field": field, "value": "", "description": self.msg});
            error.insert("field_violations".to_owned(), json!([violation]));
        }
        json!({"code": self.code, "msg": self.msg, "error": error})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        if let Some(reset_s) = self.reset_s {
            let headers = response.headers_mut();
            headers.insert(
                HeaderName::from_static("x-ogw-ratelimit-limit"),
                HeaderValue::from(self.most),
            );
            headers.insert(
                HeaderName::from_static("x-ogw-ratelimit-reset"),
                HeaderValue::from(reset_s),
            );
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// A success in the usual shape: `{"code":0,"msg":"success","data":{…}}`.
pub(crate) fn success(data: &Value) -> Response {
    plain_success(&json!({"code": 0, "msg": "success", "data": data}))
}

/// A success whose fields stand at the top level.
pub(crate) fn plain_success(body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}
