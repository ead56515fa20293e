//! The shapes of events on the wire. Nothing here leaves the decoder.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{TYPE_CARD, TYPE_CARD_FIRST, TYPE_MESSAGE, platform_time};
use crate::base::Timestamp;

/// A text of an event, which stays where it is: a message has twenty of them, and few are kept.
pub(super) type Text<'a> = Option<Cow<'a, str>>;

/// A text that may be a number, null, empty or absent.
pub(super) fn loose<'de: 'a, 'a, D: Deserializer<'de>>(input: D) -> Result<Text<'a>, D::Error> {
    input.deserialize_any(Loose(PhantomData))
}

/// Takes a text as it comes, without a tree in between.
struct Loose<'a>(PhantomData<&'a str>);

impl<'de: 'a, 'a> Visitor<'de> for Loose<'a> {
    type Value = Text<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(text).filter(|text| !text.is_empty()).map(Cow::Borrowed))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text).filter(|text| !text.is_empty()).map(|text| Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(loose_text(Value::from(number)).map(Cow::Owned))
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

/// The same of a value that was read.
pub(super) fn loose_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct WireHeader<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    event_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    token: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    create_time: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    event_type: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    tenant_key: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    app_id: Text<'a>,
}

/// The union of both envelopes, the flat card callback, the handshake and the encrypted form.
#[derive(Debug, Deserialize)]
struct WireEnvelope<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    schema: Text<'a>,
    #[serde(default, borrow)]
    header: Option<WireHeader<'a>>,
    /// Read when it is known what it is.
    #[serde(default, borrow)]
    event: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "type", deserialize_with = "loose")]
    kind: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    challenge: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    token: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    uuid: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    ts: Text<'a>,
    #[serde(default, borrow)]
    encrypt: Text<'a>,
    /// From here on: the fields of a card callback of the first generation, which is flat,
    /// without type, id or time.
    #[serde(default, borrow, deserialize_with = "loose")]
    open_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    user_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    open_message_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    open_chat_id: Text<'a>,
    #[serde(default)]
    action: Value,
}

/// The envelope of a message of schema 2.0, which is what comes most often. Whatever else has the
/// same shape is read again as [`WireEnvelope`].
#[derive(Debug, Deserialize)]
struct WireMessageEnvelope<'a> {
    #[serde(borrow)]
    header: WireHeader<'a>,
    #[serde(borrow)]
    event: WireMessageEvent<'a>,
    #[serde(default, rename = "type")]
    kind: Option<IgnoredAny>,
    #[serde(default)]
    encrypt: Option<IgnoredAny>,
}

impl<'a> WireMessageEnvelope<'a> {
    /// Reads the body of a message in one go; `None` if it is another one.
    fn read(body: &'a str) -> Option<Opened<'a>> {
        let wire: Self = serde_json::from_str(body).ok()?;
        let is_message = wire.header.event_type.as_deref() == Some(TYPE_MESSAGE);
        if !is_message || wire.kind.is_some() || wire.encrypt.is_some() {
            return None;
        }
        Some(Opened {
            head: second(wire.header),
            encrypt: None,
            challenge: None,
            kind: None,
            first_card: None,
            message: Some(wire.event),
            event: Value::Null,
        })
    }
}

/// What both schemas say about an event, under one set of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::channels::lark) struct Head<'a> {
    pub(in crate::channels::lark) event_id: Text<'a>,
    pub(in crate::channels::lark) event_type: Text<'a>,
    pub(in crate::channels::lark) token: Text<'a>,
    pub(in crate::channels::lark) app_id: Text<'a>,
    pub(in crate::channels::lark) tenant_key: Text<'a>,
    pub(in crate::channels::lark) created_at: Option<Timestamp>,
}

/// A parsed body: an event, a handshake, or the encrypted form of either.
#[derive(Debug)]
pub(in crate::channels::lark) struct Opened<'a> {
    pub(in crate::channels::lark) head: Head<'a>,
    /// The encrypted content; all else is empty then.
    pub(in crate::channels::lark) encrypt: Text<'a>,
    /// The text to answer a handshake with.
    pub(in crate::channels::lark) challenge: Text<'a>,
    kind: Text<'a>,
    /// The token of a card callback of the first generation, which is not the verification token:
    /// it is another with every press.
    pub(in crate::channels::lark) first_card: Text<'a>,
    /// A message of schema 2.0, if it has the shape of one.
    pub(super) message: Option<WireMessageEvent<'a>>,
    /// The `event` member of all else.
    pub(super) event: Value,
}

impl<'a> Opened<'a> {
    /// Parses a body; `None` if it is not a JSON object of a possible shape.
    pub(in crate::channels::lark) fn parse(body: &'a [u8]) -> Option<Self> {
        // Derived structs accept arrays, too; an envelope is an object.
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return None;
        }
        // Once for all of it, not once for every text in it.
        let body = std::str::from_utf8(body).ok()?;
        if let Some(message) = WireMessageEnvelope::read(body) {
            return Some(message);
        }
        let wire: WireEnvelope<'_> = serde_json::from_str(body).ok()?;
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

    fn first_card(wire: WireEnvelope<'a>) -> Self {
        let event_type = Some(Cow::Borrowed(TYPE_CARD_FIRST));
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

fn second(header: WireHeader<'_>) -> Head<'_> {
    Head {
        event_id: header.event_id,
        event_type: header.event_type,
        token: header.token,
        app_id: header.app_id,
        tenant_key: header.tenant_key,
        created_at: header.create_time.as_deref().and_then(platform_time),
    }
}

fn first<'a>(token: Text<'a>, uuid: Text<'a>, ts: Option<&str>, event: &Value) -> Head<'a> {
    let field = |name: &str| event.get(name).cloned().and_then(loose_text).map(Cow::Owned);
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
pub(super) struct WireIds<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) open_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) user_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) union_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) app_id: Text<'a>,
}

impl WireIds<'_> {
    /// The one that names the person or app here: of those that are told, the first in the order
    /// of how widely apps are shown them.
    pub(super) fn best(&self) -> Option<&str> {
        let ids = [&self.open_id, &self.user_id, &self.union_id, &self.app_id];
        ids.into_iter().find_map(Option::as_deref)
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireSender<'a> {
    #[serde(default, borrow)]
    pub(super) sender_id: Option<WireIds<'a>>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) sender_type: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) tenant_key: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireMessage<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) message_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) root_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) parent_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) thread_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) create_time: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) chat_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) chat_type: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    pub(super) message_type: Text<'a>,
    /// A JSON text in the JSON, mostly; read when it is known that it is wanted.
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) mentions: Value,
}

/// The `event` member of a message event.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireMessageEvent<'a> {
    #[serde(default, borrow)]
    pub(super) sender: Option<WireSender<'a>>,
    #[serde(default, borrow)]
    pub(super) message: Option<WireMessage<'a>>,
}
