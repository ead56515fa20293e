//! The shapes of events on the wire. Nothing here leaves the decoder.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{TYPE_CARD, TYPE_CARD_FIRST, TYPE_MESSAGE, platform_time};
use crate::base::Timestamp;

/// A text that may be a number, null, empty or absent.
pub(super) fn loose<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    input.deserialize_any(Loose)
}

/// Takes a text as it comes, without a tree in between: a message has twenty of them.
struct Loose;

impl<'de> Visitor<'de> for Loose {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text).filter(|text| !text.is_empty()).map(str::to_owned))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(loose_text(Value::from(number)))
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
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

/// The union of both envelopes, the flat card callback, the handshake and the encrypted form.
#[derive(Debug, Deserialize)]
struct WireEnvelope<'a> {
    #[serde(default, deserialize_with = "loose")]
    schema: Option<String>,
    #[serde(default)]
    header: Option<WireHeader>,
    /// Read when it is known what it is.
    #[serde(default, borrow)]
    event: Option<&'a RawValue>,
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
    #[serde(default)]
    encrypt: Option<String>,
    /// From here on: the fields of a card callback of the first generation, which is flat,
    /// without type, id or time.
    #[serde(default, deserialize_with = "loose")]
    open_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    open_message_id: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    open_chat_id: Option<String>,
    #[serde(default)]
    action: Value,
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
    /// The token of a card callback of the first generation, which is not the verification token:
    /// it is another with every press.
    pub(in crate::channels::lark) first_card: Option<String>,
    /// A message of schema 2.0, if it has the shape of one.
    pub(super) message: Option<WireMessageEvent>,
    /// The `event` member of all else.
    pub(super) event: Value,
}

impl Opened {
    /// Parses a body; `None` if it is not a JSON object of a possible shape.
    pub(in crate::channels::lark) fn parse(body: &[u8]) -> Option<Self> {
        // Derived structs accept arrays, too; an envelope is an object.
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return None;
        }
        let wire: WireEnvelope<'_> = serde_json::from_slice(body).ok()?;
        let is_flat = wire.schema.is_none() && wire.header.is_none() && wire.kind.is_none();
        if is_flat && wire.event.is_none() && wire.action.is_object() {
            return Some(Self::first_card(wire));
        }
        let text = wire.event.map_or("null", RawValue::get);
        let is_second = wire.schema.is_some() || wire.header.is_some();
        let mut head =
            if is_second { second(wire.header.unwrap_or_default()) } else { Head::default() };
        let (mut message, mut event) = (None, Value::Null);
        if head.event_type.as_deref() == Some(TYPE_MESSAGE) {
            // What comes most often does not become a tree first.
            message = serde_json::from_str(text).ok();
        } else {
            event = serde_json::from_str(text).ok()?;
            if !is_second {
                head = first(wire.token, wire.uuid, wire.ts.as_deref(), &event);
            }
        }
        Some(Self {
            head,
            encrypt: wire.encrypt,
            challenge: wire.challenge,
            kind: wire.kind,
            first_card: None,
            message,
            event,
        })
    }

    fn first_card(wire: WireEnvelope<'_>) -> Self {
        let event_type = Some(TYPE_CARD_FIRST.to_owned());
        Self {
            head: Head { event_type, ..Head::default() },
            encrypt: wire.encrypt,
            challenge: None,
            kind: None,
            first_card: Some(wire.token.unwrap_or_default()),
            message: None,
            // In the form of the second generation. The tenant is left out: there is none of the
            // app to compare it with.
            event: json!({
                "operator": {"open_id": wire.open_id, "user_id": wire.user_id},
                "action": wire.action,
                "context": {
                    "open_message_id": wire.open_message_id, "open_chat_id": wire.open_chat_id,
                },
            }),
        }
    }

    /// Whether a person pressed something in a card and waits for the answer.
    pub(in crate::channels::lark) fn is_press(&self) -> bool {
        self.first_card.is_some() || self.head.event_type.as_deref() == Some(TYPE_CARD)
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

impl WireIds {
    /// The one that names the person or app here: of those that are told, the first in the order
    /// of how widely apps are shown them.
    pub(super) fn best(&self) -> Option<&str> {
        let ids = [&self.open_id, &self.user_id, &self.union_id, &self.app_id];
        ids.into_iter().find_map(Option::as_deref)
    }
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
