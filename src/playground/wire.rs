//! Messages and events as the platform writes them (feishu-protocol.md 2.1, 2.2, 5.1).

use serde_json::{Map, Value, json};

use super::request::Query;
use super::switches::{AtAllEntry, BotSender, Switches};
use super::world::{Actor, App, Chat, Mention, Message, Reaction, User, World};

/// The message object of create, reply, edit, GET and list.
pub(crate) fn message_object(world: &World, message: &Message) -> Value {
    let content =
        if message.recalled { r#"{"text":"This message was recalled"}"# } else { &message.content };
    let mut object = json!({
        "message_id": message.message_id,
        "msg_type": message.msg_type,
        "create_time": message.created_ms.to_string(),
        "update_time": message.updated_ms.to_string(),
        "deleted": message.recalled,
        "updated": message.edits > 0,
        "chat_id": message.chat_id,
        "sender": sender(world, &message.sender),
        "body": {"content": content},
    });
    if let Some(object) = object.as_object_mut() {
        put_places(object, message);
        if let Some(upper) = &message.upper_id {
            object.insert("upper_message_id".to_owned(), json!(upper));
        }
        if !message.mentions.is_empty() && !message.recalled {
            let mentions = message.mentions.iter().map(|mention| {
                json!({
                    "key": mention.key, "id": mention.open_id, "id_type": "open_id",
                    "name": mention.name, "tenant_key": mention.tenant_key,
                })
            });
            object.insert("mentions".to_owned(), mentions.collect());
        }
    }
    object
}

fn put_places(object: &mut Map<String, Value>, message: &Message) {
    let places = [
        ("root_id", &message.root_id),
        ("parent_id", &message.parent_id),
        ("thread_id", &message.thread_id),
    ];
    for (name, value) in places {
        if let Some(value) = value {
            object.insert(name.to_owned(), json!(value));
        }
    }
}

fn sender(world: &World, actor: &Actor) -> Value {
    match actor {
        Actor::App(app_id) => json!({
            "id": app_id, "id_type": "app_id", "sender_type": "app",
            "tenant_key": world.app(app_id).map_or(&world.tenant_key, |app| &app.tenant_key),
        }),
        Actor::User(open_id) => json!({
            "id": open_id, "id_type": "open_id", "sender_type": "user",
            "tenant_key": world.user(open_id).map_or(&world.tenant_key, |user| &user.tenant_key),
        }),
    }
}

/// As [`message_object`]; a card in full if the caller asked for that.
pub(crate) fn listed_object(world: &World, message: &Message, query: &Query) -> Value {
    let mut object = message_object(world, message);
    let in_full =
        query.get("card_msg_content_type").is_some_and(|kind| kind == "user_card_content");
    if let (Some(card), true, false) = (&message.card, in_full, message.recalled) {
        overlay(&mut object, &json!({"body": {"content": card.to_string()}}));
    }
    object
}

/// The reaction object of the reaction endpoints.
pub(crate) fn reaction_object(reaction: &Reaction) -> Value {
    let (operator_id, operator_type) = match &reaction.by {
        Actor::App(app_id) => (app_id, "app"),
        Actor::User(open_id) => (open_id, "user"),
    };
    json!({
        "reaction_id": reaction.reaction_id,
        "operator": {"operator_id": operator_id, "operator_type": operator_type},
        "action_time": reaction.at_ms.to_string(),
        "reaction_type": {"emoji_type": reaction.emoji_type},
    })
}

fn ids(open_id: &str, union_id: Option<&str>, user_id: Option<&str>) -> Value {
    let mut object = Map::new();
    let fields = [("union_id", union_id), ("user_id", user_id), ("open_id", Some(open_id))];
    for (name, value) in fields {
        if let Some(value) = value {
            object.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(object)
}

/// The three ids of a user.
pub(crate) fn user_ids(user: &User) -> Value {
    ids(&user.open_id, Some(&user.union_id), user.user_id.as_deref())
}

fn pushed_mention(mention: &Mention) -> Value {
    json!({
        "key": mention.key,
        "id": ids(&mention.open_id, mention.union_id.as_deref(), mention.user_id.as_deref()),
        "mentioned_type": if mention.is_bot { "bot" } else { "user" },
        "name": mention.name,
        "tenant_key": mention.tenant_key,
    })
}

/// The entry of @all, if it has one.
fn everybody(world: &World, entry: AtAllEntry) -> Option<Value> {
    let user_id = match entry {
        AtAllEntry::Absent => return None,
        AtAllEntry::Key => "",
        AtAllEntry::Word => "all",
    };
    Some(json!({
        "key": "@_all", "id": {"union_id": "", "user_id": user_id, "open_id": ""},
        "name": "所有人", "tenant_key": world.tenant_key,
    }))
}

/// The `event` of `im.message.receive_v1`.
pub(crate) fn received_event(
    world: &World,
    chat: &Chat,
    message: &Message,
    switches: Switches,
) -> Value {
    let sender = match &message.sender {
        Actor::User(open_id) => match world.user(open_id) {
            Some(user) => json!({
                "sender_id": user_ids(user), "sender_type": "user", "tenant_key": user.tenant_key,
            }),
            None => json!({
                "sender_id": {"open_id": open_id}, "sender_type": "user",
                "tenant_key": world.tenant_key,
            }),
        },
        Actor::App(app_id) => {
            let open_id = world.app(app_id).map_or("", |app| &app.open_id);
            json!({
                "sender_id": {"open_id": open_id},
                "sender_type": match switches.bot_sender {
                    BotSender::Bot => "bot",
                    BotSender::App => "app",
                },
                "tenant_key": world.tenant_key,
            })
        }
    };
    let mut object = json!({
        "message_id": message.message_id,
        "create_time": message.created_ms.to_string(),
        "update_time": message.updated_ms.to_string(),
        "chat_id": message.chat_id,
        "chat_type": chat.kind.word(),
        "message_type": message.msg_type,
        "content": message.content,
    });
    if let Some(object) = object.as_object_mut() {
        put_places(object, message);
        let everybody =
            message.mentions_all.then(|| everybody(world, switches.at_all_entry)).flatten();
        let mentions: Vec<Value> =
            message.mentions.iter().map(pushed_mention).chain(everybody).collect();
        if !mentions.is_empty() {
            object.insert("mentions".to_owned(), Value::Array(mentions));
        }
    }
    json!({"sender": sender, "message": object})
}

/// A whole event of schema 2.0.
pub(crate) fn envelope(
    app: &App,
    event_id: &str,
    event_type: &str,
    now_ms: u64,
    event: &Value,
) -> Value {
    json!({
        "schema": "2.0",
        "header": {
            "event_id": event_id,
            "token": app.verification_token,
            "create_time": now_ms.to_string(),
            "event_type": event_type,
            "tenant_key": app.tenant_key,
            "app_id": app.app_id,
        },
        "event": event,
    })
}

/// Lays `patch` over `target` as RFC 7396 says: objects merge, null removes, all else replaces.
pub(crate) fn overlay(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            overlay(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
