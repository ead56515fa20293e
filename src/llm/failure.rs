//! Sorts the failures of a provider into the kinds that callers treat differently. Pure.
//!
//! Texts hold the status and the provider's codes, never its sentences: those can repeat the
//! prompt or a part of the key.

use std::error::Error as StdError;
use std::time::Duration;

use genai::webc::{Error as WebError, StreamTimeout};
use serde_json::Value;

use super::port::{LlmError, LlmErrorKind};
use crate::base::limit::prefix_chars;
use crate::net::unconnected;

/// The longest wait a provider may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// The longest code of a provider that is shown, in characters.
const CODE_CHARS_MAX: usize = 64;

/// The time is up.
pub(super) fn timeout() -> LlmError {
    plain(LlmErrorKind::Timeout, "the provider did not answer in time")
}

/// The reply makes no sense.
pub(super) fn malformed(text: &str) -> LlmError {
    plain(LlmErrorKind::Malformed, text)
}

fn plain(kind: LlmErrorKind, text: &str) -> LlmError {
    LlmError { kind, retry_after: None, text: text.to_owned() }
}

/// What a failure of the library means.
pub(super) fn of(error: &genai::Error) -> LlmError {
    match error {
        genai::Error::HttpError { status, body, headers, .. } => {
            of_status(status.as_u16(), body, headers)
        }
        genai::Error::WebModelCall { webc_error, .. }
        | genai::Error::WebAdapterCall { webc_error, .. } => of_web(webc_error),
        genai::Error::WebStream { error, .. } => of_stream(error.as_ref()),
        genai::Error::StreamParse { .. } => malformed("an event of the stream is not JSON"),
        genai::Error::JsonValueExt(_) => malformed("an event of the stream lacks a part"),
        genai::Error::ChatResponse { body, .. } => of_event(body),
        _ => plain(LlmErrorKind::Rejected, "the request cannot be put into words"),
    }
}

fn of_web(error: &WebError) -> LlmError {
    match error {
        WebError::ResponseFailedStatus { status, body, headers } => {
            of_status(status.as_u16(), body, headers)
        }
        WebError::Reqwest(error) => of_transport(error),
        _ => malformed("the answer is not JSON"),
    }
}

/// In streams the real error is hidden in a box.
fn of_stream(error: &(dyn StdError + Send + Sync + 'static)) -> LlmError {
    if let Some(error) = error.downcast_ref::<genai::Error>() {
        return of(error);
    }
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        return of_transport(error);
    }
    if error.downcast_ref::<StreamTimeout>().is_some() {
        return timeout();
    }
    malformed("the stream is not readable text")
}

fn of_transport(error: &reqwest::Error) -> LlmError {
    if error.is_timeout() && !error.is_connect() {
        timeout()
    } else if error.is_connect() {
        let cause = unconnected(error);
        plain(LlmErrorKind::Network, &format!("no connection to the provider: {cause}"))
    } else if error.is_body() || error.is_decode() {
        plain(LlmErrorKind::CutOff, "the connection broke within the reply")
    } else {
        plain(LlmErrorKind::Network, "the connection to the provider broke")
    }
}

/// The provider's identifiers of what went wrong.
struct Codes {
    shown: String,
    /// Code, type and sentence in lower case, for looking into only.
    all: String,
}

impl Codes {
    fn of_error(error: &Value) -> Self {
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let shown: Vec<String> = ["code", "type", "status", "param"]
            .iter()
            .map(|name| identifier(&field(name)))
            .filter(|code| !code.is_empty())
            .collect();
        let all: Vec<String> = ["code", "type", "status", "message"].map(field).into();
        let all = all.join(" ");
        Self { shown: shown.join(", "), all: all.to_lowercase() }
    }

    fn of_body(body: &str) -> Self {
        let parsed: Value = serde_json::from_str(body).unwrap_or_default();
        let mut codes = Self::of_error(inner(&parsed));
        if codes.all.trim().is_empty() {
            codes.all = body.to_lowercase();
        }
        codes
    }

    fn has(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.all.contains(part))
    }
}

/// The error itself, which most providers wrap, some within a list.
fn inner(value: &Value) -> &Value {
    let value = value.get(0).unwrap_or(value);
    value.get("error").filter(|error| error.is_object()).unwrap_or(value)
}

/// A code, if it looks like one: a sentence in its place is not shown.
fn identifier(code: &str) -> String {
    let is_code =
        code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']'));
    if is_code { prefix_chars(code, CODE_CHARS_MAX).to_owned() } else { String::new() }
}

const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "maximum context",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "max_model_len",
    "exceed context limit",
    "exceeds the maximum number of tokens",
];
const NO_QUOTA: &[&str] =
    &["insufficient_quota", "billing_", "insufficient balance", "credit balance is too low"];
const NO_KEY: &[&str] = &["api key not valid", "api_key_invalid"];

fn of_status(status: u16, body: &str, headers: &reqwest::header::HeaderMap) -> LlmError {
    let codes = Codes::of_body(body);
    let behind = if codes.shown.is_empty() { String::new() } else { format!(" ({})", codes.shown) };
    LlmError {
        kind: kind_of(status, &codes),
        retry_after: retry_after(headers).or_else(|| retry_delay(body)),
        text: match status {
            // Nobody else says that.
            407 => "a proxy on the way to the provider wants credentials (407)".to_owned(),
            _ => format!("the provider answered {status}{behind}"),
        },
    }
}

fn kind_of(status: u16, codes: &Codes) -> LlmErrorKind {
    match status {
        401..=403 => LlmErrorKind::Unauthorised,
        // An empty account does not fill up by waiting.
        400 | 429 if codes.has(NO_QUOTA) => LlmErrorKind::Unauthorised,
        400 if codes.has(NO_KEY) => LlmErrorKind::Unauthorised,
        429 => LlmErrorKind::RateLimited,
        408 => LlmErrorKind::Timeout,
        413 => LlmErrorKind::ContextTooLong,
        400 | 422 if codes.has(TOO_LONG) => LlmErrorKind::ContextTooLong,
        500..=599 => LlmErrorKind::Overloaded,
        _ => LlmErrorKind::Rejected,
    }
}

/// Gemini writes the wait into the body: `{"retryDelay": "34s"}` among the details of the error.
fn retry_delay(body: &str) -> Option<Duration> {
    let parsed: Value = serde_json::from_str(body).ok()?;
    let details = inner(&parsed).get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(RETRY_AFTER_MAX))
}

/// An error that the provider reports within a stream that began well.
fn of_event(error: &Value) -> LlmError {
    let error = inner(error);
    if error.get("finishReason").is_some() {
        return malformed("the reply holds no candidate");
    }
    let codes = Codes::of_error(error);
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
    let kind = match status {
        Some(status @ 400..=599) => kind_of(status, &codes),
        _ if codes.has(TOO_LONG) => LlmErrorKind::ContextTooLong,
        _ if codes.has(NO_QUOTA) => LlmErrorKind::Unauthorised,
        _ if codes.has(&["rate_limit", "rate limit", "429"]) => LlmErrorKind::RateLimited,
        _ => LlmErrorKind::Overloaded,
    };
    LlmError {
        kind,
        retry_after: None,
        text: format!("the provider broke off with an error ({})", codes.shown),
    }
}

/// How long to wait, as milliseconds, seconds, or a date compared with the answer's own.
fn retry_after(headers: &reqwest::header::HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |text: &str, unit: f64| {
        let number: f64 = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let date = |text: &str| jiff::fmt::rfc2822::parse(text.trim()).ok();
    let asked = header("retry-after-ms")
        .and_then(|text| number(text, 0.001))
        .or_else(|| header("retry-after").and_then(|text| number(text, 1.0)))
        .or_else(|| {
            let until = date(header("retry-after")?)?;
            let now = date(header("date")?)?;
            Duration::try_from(until.duration_since(&now)).ok()
        });
    asked.map(|span| span.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        retry_after(&headers.collect())
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait(&[("retry-after", "7")]), seconds(7));
        assert_eq!(wait(&[("retry-after-ms", "2000")]), seconds(2));
        let date = [
            ("date", "Wed, 21 Oct 2026 07:28:00 GMT"),
            ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
        ];
        assert_eq!(wait(&date), seconds(30));
        assert_eq!(wait(&[("retry-after", "99999999")]), seconds(3600));
        assert_eq!(wait(&[("retry-after", "-1")]), None);
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn a_failure_shows_codes_and_no_sentences() {
        let body = r#"{"error":{"message":"Incorrect key sk-123","type":"auth error sk-123","code":"invalid_api_key"}}"#;
        let error = of_status(401, body, &reqwest::header::HeaderMap::new());
        assert_eq!(error.text, "the provider answered 401 (invalid_api_key)");
        assert_eq!(error.kind, LlmErrorKind::Unauthorised);
        let quota = r#"{"error":{"code":"insufficient_quota","message":"x"}}"#;
        let error = of_status(429, quota, &reqwest::header::HeaderMap::new());
        assert_eq!(error.kind, LlmErrorKind::Unauthorised);
    }
}
