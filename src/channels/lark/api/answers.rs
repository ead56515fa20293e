//! The answers of the API, and what the rest of the channel reads of them.

use serde::Deserialize;
use serde_json::Value;

use super::super::content::{Named, Rendered, render};
use super::super::event::platform_time;
use crate::base::{MessageId, Timestamp, UserId};
use crate::envelope::Attachment;

/// Who the bot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotInfo {
    /// Its own id, valid for this app.
    pub open_id: UserId,
    /// Its name as people see it.
    pub name: String,
}

/// A message read back from the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Its id.
    pub id: MessageId,
    /// Its text, converted like that of a received message.
    pub text: String,
    /// The message it replies to.
    pub parent: Option<MessageId>,
    /// What was sent along.
    pub attachments: Vec<Attachment>,
    /// The merged forward that holds it.
    pub upper: Option<MessageId>,
    /// The sender's id: an app's id for bots.
    pub sender: Option<String>,
    /// A person sent it, no bot.
    pub is_person: bool,
    /// The sender's organisation.
    pub tenant: Option<String>,
    /// It was taken back.
    pub deleted: bool,
    /// When it was sent.
    pub created_at: Timestamp,
}

#[derive(Deserialize)]
struct WireBot {
    open_id: String,
    #[serde(default)]
    app_name: Option<String>,
}

pub(super) fn bot_info(answer: &Value) -> Option<BotInfo> {
    // Unlike everywhere else it is not under `data`.
    let bot: WireBot = Deserialize::deserialize(answer.get("bot")?).ok()?;
    (!bot.open_id.is_empty()).then(|| BotInfo {
        open_id: UserId::new(bot.open_id),
        name: bot.app_name.unwrap_or_default(),
    })
}

/// A text member of `data` that must not be empty.
pub(super) fn data_text(answer: &Value, name: &str) -> Option<String> {
    text(answer.get("data")?, name)
}

fn text(object: &Value, name: &str) -> Option<String> {
    match object.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) items: &'a [Value],
    /// How to ask for the next one; `None` at the end.
    pub(super) next: Option<String>,
}

pub(super) fn page(answer: &Value) -> Option<Page<'_>> {
    let data = answer.get("data")?;
    let more = data.get("has_more").and_then(Value::as_bool) == Some(true);
    let items = match data.get("items") {
        Some(Value::Array(items)) => items.as_slice(),
        // An empty page may come without the member.
        None | Some(Value::Null) => &[],
        Some(_) => return None,
    };
    Some(Page { items, next: text(data, "page_token").filter(|_| more) })
}

/// Reads a message of a list; `None` if it has no id.
pub(super) fn message(item: &Value) -> Option<MessageRecord> {
    let id = text(item, "message_id")?;
    let content = item.pointer("/body/content").and_then(Value::as_str).unwrap_or("");
    let message_type = text(item, "msg_type").unwrap_or_default();
    let named = Named::list(item.get("mentions").unwrap_or(&Value::Null));
    let deleted = item.get("deleted").and_then(Value::as_bool) == Some(true);
    let rendered = if deleted {
        Rendered { text: "[recalled message]".to_owned(), ..Rendered::default() }
    } else {
        render(&message_type, content, &named, None)
    };
    let sender = |name: &str| item.get("sender").and_then(|sender| text(sender, name));
    Some(MessageRecord {
        id: MessageId::new(id),
        text: rendered.text,
        attachments: rendered.attachments,
        upper: text(item, "upper_message_id").map(MessageId::new),
        parent: text(item, "parent_id").map(MessageId::new),
        sender: sender("id"),
        is_person: sender("sender_type").is_none_or(|kind| kind == "user"),
        tenant: sender("tenant_key"),
        deleted,
        created_at: text(item, "create_time")
            .and_then(|time| platform_time(&time))
            .unwrap_or_default(),
    })
}

/// One reaction on a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReactionRecord {
    pub(super) id: String,
    pub(super) operator: String,
    pub(super) emoji: String,
}

pub(super) fn reaction(item: &Value) -> Option<ReactionRecord> {
    Some(ReactionRecord {
        id: text(item, "reaction_id")?,
        operator: text(item.get("operator")?, "operator_id")?,
        emoji: text(item.get("reaction_type")?, "emoji_type")?,
    })
}
