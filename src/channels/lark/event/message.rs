//! Message events of schema 2.0.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::content::{Named, Rendered, render};
use super::wire::{Text, WireIds, WireMessage, WireSender};
use super::{DecodeError, Opened, Receiver, SENDER_UNKNOWN, platform_time};
use crate::base::{BotName, ChatId, MessageId, Timestamp, UserId, Verdict};
use crate::envelope::{
    Addressing, AgentMessage, Arrival, Channel, ChatKind, DedupKey, Incoming, News, Notice, Part,
    Relation, Sender, SenderKind, Thread,
};

/// What no message can do without, and the wire structs it was taken from.
struct Facts<'a> {
    event_type: Cow<'a, str>,
    tenant_key: Text<'a>,
    id: MessageId,
    chat: ChatId,
    time: Timestamp,
    /// The time in the message's key: what a redelivery says anew has no place there.
    key_time: Timestamp,
    message: WireMessage<'a>,
    sender: WireSender<'a>,
}

fn facts(opened: Opened<'_>) -> Result<Facts<'_>, DecodeError> {
    let missing = DecodeError::Undecodable;
    let event = opened.message.ok_or(missing("the message has another shape"))?;
    let mut message = event.message.ok_or(missing("no message"))?;
    let written = message.create_time.as_deref().and_then(platform_time);
    Ok(Facts {
        event_type: opened.head.event_type.unwrap_or_default(),
        tenant_key: opened.head.tenant_key,
        id: MessageId::new(message.message_id.take().ok_or(missing("no message_id"))?),
        chat: ChatId::new(message.chat_id.take().ok_or(missing("no chat_id"))?),
        time: written.or(opened.head.created_at).ok_or(missing("no create_time"))?,
        key_time: written.unwrap_or_default(),
        message,
        sender: event.sender.unwrap_or_default(),
    })
}

/// Notes a message that starts no work.
pub(super) fn note(
    opened: Opened<'_>,
    bot: &BotName,
    verdict: Verdict,
) -> Result<Notice, DecodeError> {
    Ok(note_facts(facts(opened)?, bot, verdict))
}

fn note_facts(facts: Facts<'_>, bot: &BotName, verdict: Verdict) -> Notice {
    Notice {
        channel: Channel::Lark,
        bot: bot.clone(),
        event_type: facts.event_type.into_owned(),
        key: message_key(bot, facts.key_time, &facts.id),
        subject: facts.id.as_str().to_owned(),
        verdict,
        news: News::Nothing,
    }
}

/// The same for every delivery of one message, also to be found by its id alone.
fn message_key(bot: &BotName, time: Timestamp, id: &MessageId) -> DedupKey {
    DedupKey::new(time, &["message", bot.as_str(), id.as_str()])
}

/// Decodes a message event.
pub(in crate::channels::lark) fn decode_message(
    opened: Opened<'_>,
    receiver: Receiver<'_>,
) -> Result<Arrival, DecodeError> {
    let facts = facts(opened)?;
    let Some(content) = facts.message.content.and_then(content_text) else {
        // The platform empties what its sender took back before it was pushed.
        let notice = note_facts(facts, receiver.bot, Verdict::Recalled);
        return Ok(Arrival::Notice(notice));
    };
    let named = Named::list(&facts.message.mentions);
    let chat_kind = chat_kind(facts.message.chat_type.as_deref());
    let somebody = named.iter().any(|named| !named.everybody);
    if chat_kind == ChatKind::Group && somebody && receiver.own.is_none() {
        return Err(DecodeError::IdentityUnknown);
    }
    let kind = facts.message.message_type.as_deref().unwrap_or("");
    let rendered = render(kind, &content, &named, receiver.own);
    let incoming = incoming(facts, &content, rendered, chat_kind, receiver);
    Ok(Arrival::Message(Box::new(incoming)))
}

fn incoming(
    facts: Facts<'_>,
    content: &str,
    rendered: Rendered,
    chat_kind: ChatKind,
    receiver: Receiver<'_>,
) -> Incoming {
    let sender = sender(&facts.sender);
    let kind = facts.message.message_type.as_deref().unwrap_or("");
    let time = facts.time.as_millis().to_string();
    let bot = receiver.bot.as_str();
    let content_key =
        ["content", bot, facts.chat.as_str(), sender.id.as_str(), &time, kind, content];
    let keys = vec![
        message_key(receiver.bot, facts.key_time, &facts.id),
        DedupKey::new(facts.time, &content_key),
    ];
    let addressing = Addressing {
        chat_kind,
        mentions_bot: rendered.mentions_bot,
        mentions_all: rendered.mentions_all,
        sender: relation(&facts.sender, facts.tenant_key.as_deref(), receiver),
        sender_ids: sender_ids(&facts.sender),
    };
    let mut message =
        AgentMessage::from_lark(receiver.bot.clone(), facts.chat, facts.id, sender, rendered.text)
            .sent_at(facts.time);
    if rendered.only_attachments {
        let places = 0..rendered.attachments.len();
        message.parts = places.map(|index| Part::Attachment { index }).collect();
    }
    message.attachments = rendered.attachments;
    message.mentions = rendered.mentions;
    message.quotes = facts.message.parent_id.map(MessageId::new);
    let destination = message.reply_fn.destination_mut();
    let root = facts.message.root_id.map(MessageId::new);
    destination.in_thread = facts.message.thread_id.is_some();
    destination.thread = facts.message.thread_id.map(|id| Thread { id: id.into_owned(), root });
    if chat_kind == ChatKind::Private {
        message = message.in_private();
    }
    message.tenant = facts.tenant_key.map(Cow::into_owned);
    Incoming { bot: receiver.bot.clone(), message, keys, addressing }
}

/// The content as text: it is a JSON string inside the JSON, but an object is understood, too.
/// `None` if there is none at all.
fn content_text(content: &RawValue) -> Option<String> {
    let content: Value = serde_json::from_str(content.get()).ok()?;
    match content {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        Value::Object(_) => Some(content.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// An unknown kind of chat counts as a group, where a bot is quiet unless it is named.
fn chat_kind(chat_type: Option<&str>) -> ChatKind {
    match chat_type {
        Some("p2p" | "private") => ChatKind::Private,
        _ => ChatKind::Group,
    }
}

fn sender(wire: &WireSender<'_>) -> Sender {
    let none = WireIds::default();
    let ids = wire.sender_id.as_ref().unwrap_or(&none);
    Sender {
        id: UserId::new(ids.best().unwrap_or(SENDER_UNKNOWN)),
        kind: match wire.sender_type.as_deref() {
            Some("user") | None => SenderKind::User,
            Some(_) => SenderKind::Agent,
        },
        display_name: None,
    }
}

/// All ids that the event tells of its sender.
fn sender_ids(wire: &WireSender<'_>) -> Vec<UserId> {
    let ids = wire.sender_id.iter();
    let ids = ids.flat_map(|ids| [&ids.open_id, &ids.union_id, &ids.user_id, &ids.app_id]);
    ids.filter_map(|id| id.as_deref().map(UserId::new)).collect()
}

/// Who the sender is to the bot. Where a tenant is not told the sender is an outsider.
fn relation(wire: &WireSender<'_>, tenant_key: Option<&str>, receiver: Receiver<'_>) -> Relation {
    let own = receiver.own.map(UserId::as_str);
    let itself = wire.sender_id.as_ref().is_some_and(|ids| {
        let open_id = ids.open_id.as_deref();
        (open_id.is_some() && open_id == own)
            || open_id == Some(receiver.app_id)
            || ids.app_id.as_deref() == Some(receiver.app_id)
    });
    if itself {
        Relation::Itself
    } else if tenant_key.is_some() && wire.tenant_key.as_deref() == tenant_key {
        Relation::Colleague
    } else {
        Relation::Outsider
    }
}
