//! The shapes of events on the wire. Nothing here leaves the decoder.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::platform_time;
use crate::base::Timestamp;

/// A text that may be a number, null, empty or absent.
pub(super) fn loose<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    Ok(loose_text(Value::deserialize(input)?))
}

fn loose_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct WireHeader {
    #[serde(default, deserialize_with = "loose")]
    event_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    token: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    create_time: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    event_type: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    tenant_key: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    app_id: Option<String>,
}

/// The union of both envelopes, the handshake and the encrypted form.
#[derive(Debug, Deserialize)]
struct WireEnvelope {
    #[serde(default, deserialize_with = "loose")]
    schema: Option<String>,
    #[serde(default)]
    header: Option<WireHeader>,
    #[serde(default)]
    event: Value,
    #[serde(default, rename = "type", deserialize_with = "loose")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    challenge: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    token: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    uuid: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    ts: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    open_message_id: Option<String>,
    #[serde(default)]
    encrypt: Option<String>,
}

/// What both schemas say about an event, under one set of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::channels::lark) struct Head {
    pub(in crate::channels::lark) event_id: Option<String>,
    pub(in crate::channels::lark) event_type: Option<String>,
    pub(in crate::channels::lark) token: Option<String>,
    pub(in crate::channels::lark) app_id: Option<String>,
    pub(in crate::channels::lark) tenant_key: Option<String>,
    pub(in crate::channels::lark) created_at: Option<Timestamp>,
}

/// A parsed body: an event, a handshake, or the encrypted form of either.
#[derive(Debug)]
pub(in crate::channels::lark) struct Opened {
    pub(in crate::channels::lark) head: Head,
    /// The encrypted content; all else is empty then.
    pub(in crate::channels::lark) encrypt: Option<String>,
    /// The text to answer a handshake with.
    pub(in crate::channels::lark) challenge: Option<String>,
    kind: Option<String>,
    open_message_id: Option<String>,
    pub(super) event: Value,
}

impl Opened {
    /// Parses a body; `None` if it is not a JSON object of a possible shape.
    pub(in crate::channels::lark) fn parse(body: &[u8]) -> Option<Self> {
        // Derived structs accept arrays, too; an envelope is an object.
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return None;
        }
        let wire: WireEnvelope = serde_json::from_slice(body).ok()?;
        let head = match (wire.schema.as_deref(), wire.header) {
            (Some(_), header) => second(header.unwrap_or_default()),
            (None, Some(header)) => second(header),
            (None, None) => first(wire.token, wire.uuid, wire.ts.as_deref(), &wire.event),
        };
        Some(Self {
            head,
            encrypt: wire.encrypt,
            challenge: wire.challenge,
            kind: wire.kind,
            open_message_id: wire.open_message_id,
            event: wire.event,
        })
    }

    /// Whether this is the handshake that proves who owns the URL.
    pub(in crate::channels::lark) fn is_handshake(&self) -> bool {
        self.kind.as_deref() == Some("url_verification")
    }

    /// The id of the message that the event is about, wherever its type puts it.
    pub(super) fn message_concerned(&self) -> Option<&str> {
        let text = |pointer: &str| {
            self.event.pointer(pointer).and_then(Value::as_str).filter(|id| !id.is_empty())
        };
        text("/message_id")
            .or_else(|| text("/message/message_id"))
            .or_else(|| text("/context/open_message_id"))
            .or_else(|| text("/open_message_id"))
            .or(self.open_message_id.as_deref())
    }
}

fn second(header: WireHeader) -> Head {
    Head {
        event_id: header.event_id,
        event_type: header.event_type,
        token: header.token,
        app_id: header.app_id,
        tenant_key: header.tenant_key,
        created_at: header.create_time.as_deref().and_then(platform_time),
    }
}

fn first(token: Option<String>, uuid: Option<String>, ts: Option<&str>, event: &Value) -> Head {
    let field = |name: &str| event.get(name).cloned().and_then(loose_text);
    Head {
        event_id: uuid,
        event_type: field("type"),
        token,
        app_id: field("app_id"),
        tenant_key: field("tenant_key"),
        created_at: ts.and_then(platform_time),
    }
}

/// The ids of a person or an app.
#[expect(clippy::struct_field_names, reason = "the platform's names")]
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireIds {
    #[serde(default, deserialize_with = "loose")]
    pub(super) open_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) user_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) union_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) app_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireSender {
    #[serde(default)]
    pub(super) sender_id: Option<WireIds>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) sender_type: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) tenant_key: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireMessage {
    #[serde(default, deserialize_with = "loose")]
    pub(super) message_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) root_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) parent_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) thread_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) create_time: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) chat_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) chat_type: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) message_type: Option<String>,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    pub(super) mentions: Value,
}

/// The `event` member of a message event.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireMessageEvent {
    #[serde(default)]
    pub(super) sender: Option<WireSender>,
    #[serde(default)]
    pub(super) message: Option<WireMessage>,
}
