//! What users send along, downloading it, merged forwards, and who users are
//! (feishu-protocol.md 2.3, 5.1, 5.4, 8).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query as Queried, State as Extracted};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::amend::find;
use super::limits::RESOURCE_BYTES;
use super::people::{PlaygroundError, Say, say};
use super::read::inside;
use super::refusal::Refusal;
use super::request::Query;
use super::send::gateway_rate;
use super::state::{Shared, State};
use super::switches::ForwardResources;
use super::tokens::caller;
use super::world::{Message, Upload};

/// The content of a merged forward, whatever it holds.
pub(crate) const FORWARD_CONTENT: &str = r#"{"content":"Merged and Forwarded Message"}"#;

/// A file that a user sends into a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sent {
    /// The speaker: alias or open id.
    pub user: String,
    /// The chat: alias or chat id.
    pub chat: String,
    /// `file`, `image`, `audio` or `media`; empty: `file`.
    pub msg_type: String,
    /// The file's name.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// What is in it, if it is no text: takes the place of `text`.
    pub bytes: Vec<u8>,
    /// The message that this answers or quotes.
    pub parent: Option<String>,
}

/// Uploads a file and says it; the message id and the key.
pub(crate) fn send(shared: &Arc<Shared>, sent: &Sent) -> Result<(String, String), PlaygroundError> {
    let bytes =
        if sent.bytes.is_empty() { sent.text.clone().into_bytes() } else { sent.bytes.clone() };
    let msg_type = if sent.msg_type.is_empty() { "file" } else { sent.msg_type.as_str() };
    let key = upload(shared, msg_type == "image", &sent.name, bytes);
    let content = match msg_type {
        "image" => json!({ "image_key": key }),
        "file" => json!({"file_key": key, "file_name": sent.name}),
        "audio" => json!({"file_key": key, "duration": 2000}),
        "media" => json!({"file_key": key, "file_name": sent.name, "duration": 2000}),
        other => return Err(PlaygroundError::Bad(format!("nobody can send a `{other}`"))),
    };
    let mut words = Say::new(&sent.user, &sent.chat, "");
    words.parent.clone_from(&sent.parent);
    let message_id = say(shared, &words.with_content(msg_type, &content.to_string()))?;
    Ok((message_id, key))
}

/// Keeps a file under a new key.
pub(crate) fn upload(shared: &Shared, is_image: bool, name: &str, bytes: Vec<u8>) -> String {
    let file_name = name.to_owned();
    keep(shared, is_image, Upload { app_id: None, kind: String::new(), file_name, bytes })
}

/// Keeps what somebody uploaded; its key.
pub(crate) fn keep(shared: &Shared, is_image: bool, upload: Upload) -> String {
    let mut state = shared.lock();
    let kind = if is_image { "img_v3" } else { "file_v3" };
    let key = format!("{kind}_{}g", state.dice.hex());
    state.world.uploads.insert(key.clone(), upload);
    key
}

/// Puts copies of messages into a merged forward, forwards among them with what they hold.
pub(crate) fn hold(state: &mut State, forward: &str, messages: &[String]) {
    for message in messages {
        if let Some(original) = state.world.messages.get(message).cloned() {
            copy(state, &original, forward);
        }
    }
}

fn copy(state: &mut State, original: &Message, upper: &str) {
    let message_id = format!("om_{}", state.dice.hex());
    state.world.insert(Message {
        message_id: message_id.clone(),
        upper_id: Some(upper.to_owned()),
        card_id: None,
        parent_id: None,
        root_id: None,
        thread_id: None,
        reactions: Vec::new(),
        ..original.clone()
    });
    let held = state.world.held.get(&original.message_id).cloned().unwrap_or_default();
    for id in held {
        if let Some(inner) = state.world.messages.get(&id).cloned() {
            copy(state, &inner, &message_id);
        }
    }
}

/// `GET /open-apis/im/v1/messages/:message_id/resources/:file_key?type=image|file`
pub(crate) async fn download(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path((message_id, file_key)): Path<(String, String)>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "resource", &app_id, now_ms)?;
    let wanted = query.get("type").ok_or_else(|| Refusal::field("type", "is required"))?;
    let invalid = || Refusal::new(234_001, "Invalid request param.");
    if !matches!(wanted.as_str(), "image" | "file") {
        return Err(invalid());
    }
    let (message, chat) = find(&state, &message_id)?;
    if message.recalled {
        return Err(Refusal::message_gone());
    }
    inside(&chat, &app_id).map_err(|refusal| match refusal.code {
        230_002 => Refusal::new(234_004, "The app is not in the chat."),
        _ => refusal,
    })?;
    if matches!(message.msg_type.as_str(), "sticker" | "interactive") || message.upper_id.is_some()
    {
        return Err(Refusal::new(234_043, "Unsupported message type."));
    }
    if !carries(&state, &message, &file_key) {
        return Err(Refusal::new(234_003, "File not in message."));
    }
    let is_image = file_key.starts_with("img");
    if is_image != (wanted == "image") {
        return Err(invalid());
    }
    let upload = state.world.uploads.get(&file_key);
    let upload = upload.ok_or_else(|| Refusal::new(234_003, "File not in message."))?;
    if RESOURCE_BYTES.refuses(upload.bytes.len()) {
        return Err(Refusal::new(RESOURCE_BYTES.code, "Downloaded file size exceeds limit."));
    }
    Ok(file(upload))
}

/// Whether a key stands in a message, or in one that it holds where that counts.
pub(crate) fn carries(state: &State, message: &Message, key: &str) -> bool {
    let own = |message: &Message| {
        let content: Value = serde_json::from_str(&message.content).unwrap_or(Value::Null);
        holds(&content, key) || message.card.as_ref().is_some_and(|card| shows(card, key))
    };
    let served = state.switches.forward_resources == ForwardResources::Served;
    own(message) || (served && state.world.whole(message).iter().any(own))
}

/// Whether a card has a picture, also in the middle of a text.
fn shows(card: &Value, key: &str) -> bool {
    key.starts_with("img_") && card.to_string().contains(key)
}

fn holds(value: &Value, key: &str) -> bool {
    match value {
        Value::String(text) => text == key,
        Value::Array(values) => values.iter().any(|value| holds(value, key)),
        Value::Object(members) => members.values().any(|value| holds(value, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(crate) fn file(upload: &Upload) -> Response {
    let mut response = Response::new(Body::from(upload.bytes.clone()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let name = format!("attachment; filename=\"{}\"", upload.file_name.replace('"', "_"));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}
