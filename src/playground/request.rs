//! Strict reading of API requests: bodies, fields, queries.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The JSON object of a body that must have the JSON content type.
pub(crate) fn json_object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime = content_type.split(';').next().unwrap_or_default().trim();
    if !mime.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(9_499, "Bad Request: Content-Type is not application/json"));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::new(9_499, "Bad Request: the body is not a JSON object")),
        Err(error) => Err(Refusal::new(9_499, format!("Bad Request: {error}"))),
    }
}

/// A required string field.
pub(crate) fn string<'body>(
    body: &'body Map<String, Value>,
    name: &'static str,
) -> Result<&'body str, Refusal> {
    match body.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(Value::String(_)) => Err(Refusal::field(name, "is empty")),
        Some(_) => Err(Refusal::field(name, "is not a string")),
        None => Err(Refusal::field(name, "is required")),
    }
}

/// A string field that may be missing.
pub(crate) fn optional_string<'body>(
    body: &'body Map<String, Value>,
    name: &'static str,
) -> Result<Option<&'body str>, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok((!text.is_empty()).then_some(text)),
        Some(_) => Err(Refusal::field(name, "is not a string")),
    }
}

/// A boolean field; false if it is missing.
pub(crate) fn flag(body: &Map<String, Value>, name: &'static str) -> Result<bool, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Refusal::field(name, "is not a boolean")),
    }
}

/// The parameters of a query.
pub(crate) type Query = HashMap<String, String>;

/// A number in a query.
pub(crate) fn number(query: &Query, name: &'static str) -> Result<Option<u64>, Refusal> {
    match query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => {
            text.parse().map(Some).map_err(|_not_a_number| Refusal::field(name, "is not a number"))
        }
    }
}
