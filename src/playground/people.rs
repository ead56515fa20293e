//! What people do on the simulated platform: say, take back, react; and what is pushed of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cardkit;
use super::push::{About, enqueue};
use super::reactions::known_emoji;
use super::resources::{FORWARD_CONTENT, hold};
use super::settings::GroupMessages;
use super::state::{Shared, State};
use super::switches::AtAllDelivery;
use super::wire;
use super::world::{Actor, App, Chat, ChatKind, MESSAGES_MAX, Mention, Message, Reaction};

/// What went wrong with a verb of the playground.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaygroundError {
    /// No user of that alias or open id.
    #[error("no user `{0}`")]
    NoUser(String),
    /// No chat of that alias or chat id.
    #[error("no chat `{0}`")]
    NoChat(String),
    /// No app of that id.
    #[error("no app `{0}`")]
    NoApp(String),
    /// No such message.
    #[error("no message `{0}`")]
    NoMessage(String),
    /// The user is not in the chat, or the message is not the user's.
    #[error("{0} may not do that")]
    NotAllowed(String),
    /// An unknown emoji, an app without an event URL, a value out of range.
    #[error("{0}")]
    Bad(String),
    /// The address is not on loopback or cannot be bound, or the client cannot be built.
    #[error("the playground cannot start: {0}")]
    Start(String),
}

/// Something that a user says. Build it with [`Say::new`]; the control API reads it as JSON.
///
/// `@{name}` in the text becomes a mention: an alias, an app id, or `bot` for the chat's first
/// bot; `@{all}` mentions everyone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Say {
    /// The speaker: alias or open id.
    pub user: String,
    /// The chat: alias or chat id.
    pub chat: String,
    /// The text, with `@{name}` for mentions.
    pub text: String,
    /// Puts a mention of the chat's first bot in front.
    pub mention_bot: bool,
    /// The message that this answers or quotes.
    pub parent: Option<String>,
    /// Opens a thread at the parent (a thread that exists goes on anyway).
    pub in_thread: bool,
    /// How old the message already is.
    pub age_ms: u64,
    /// `message_type`; none: `text`.
    pub msg_type: Option<String>,
    /// `content` as it stands, in the place of the text; must go with `msg_type`.
    pub content: Option<String>,
    /// Laid over the whole pushed event (RFC 7396): any field can be changed or removed.
    pub overrides: Option<Value>,
    /// Keeps the event back, for a later duplicate.
    pub hold: bool,
    /// The messages of a merged forward; it has no words then.
    pub forwards: Vec<String>,
}

impl Say {
    /// Plain words of a user in a chat.
    pub fn new(user: &str, chat: &str, text: &str) -> Self {
        Self {
            user: user.to_owned(),
            chat: chat.to_owned(),
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Mentions the chat's first bot at the beginning.
    #[must_use]
    pub fn to_bot(mut self) -> Self {
        self.mention_bot = true;
        self
    }

    /// Answers or quotes a message.
    #[must_use]
    pub fn replying_to(mut self, message_id: &str) -> Self {
        self.parent = Some(message_id.to_owned());
        self
    }

    /// Opens a thread at the message that is answered.
    #[must_use]
    pub fn in_thread(mut self) -> Self {
        self.in_thread = true;
        self
    }

    /// Lays `patch` over the pushed event.
    #[must_use]
    pub fn with_overrides(mut self, patch: Value) -> Self {
        self.overrides = Some(patch);
        self
    }

    /// Forwards messages together; what they are at this moment is copied.
    #[must_use]
    pub fn forwarding(mut self, message_ids: &[&str]) -> Self {
        self.forwards = message_ids.iter().map(|id| (*id).to_owned()).collect();
        self.with_content("merge_forward", FORWARD_CONTENT)
    }

    /// Content of another type, as it stands.
    #[must_use]
    pub fn with_content(mut self, msg_type: &str, content: &str) -> Self {
        self.msg_type = Some(msg_type.to_owned());
        self.content = Some(content.to_owned());
        self
    }
}

/// Carries out what a user says; the message id.
pub(crate) fn say(shared: &Arc<Shared>, say: &Say) -> Result<String, PlaygroundError> {
    let mut guard = shared.lock();
    let state = &mut *guard;
    let user = state.world.user(&say.user);
    let user = user.ok_or_else(|| PlaygroundError::NoUser(say.user.clone()))?.clone();
    let chat = state.world.chat(&say.chat);
    let chat = chat.ok_or_else(|| PlaygroundError::NoChat(say.chat.clone()))?.clone();
    if chat.dissolved || !chat.members.contains(&user.open_id) {
        return Err(PlaygroundError::NotAllowed(say.user.clone()));
    }
    if state.world.messages.len() >= MESSAGES_MAX {
        return Err(PlaygroundError::Bad("too many messages; reset the playground".to_owned()));
    }
    if let Some(unknown) = say.forwards.iter().find(|id| !state.world.messages.contains_key(*id)) {
        return Err(PlaygroundError::NoMessage(unknown.clone()));
    }
    let forwarded = say.forwards.iter().filter_map(|id| state.world.messages.get(id));
    if forwarded.into_iter().any(|message| cardkit::streams(&state.world, message)) {
        return Err(PlaygroundError::Bad("a card that is streaming is not forwarded".to_owned()));
    }
    let message = compose(state, say, &chat, &user.open_id, shared.now_ms())?;
    let message_id = message.message_id.clone();
    state.world.insert(message.clone());
    hold(state, &message_id, &say.forwards);
    let event = wire::received_event(&state.world, &chat, &message, state.switches);
    for app in listeners(state, &chat, &message) {
        let about = About {
            event_type: "im.message.receive_v1",
            lane: &chat.chat_id,
            message_id: Some(&message_id),
            overrides: say.overrides.as_ref(),
            deliver: !say.hold,
        };
        enqueue(shared, state, &app, about, &event);
    }
    drop(guard);
    shared.changed();
    Ok(message_id)
}

/// The apps that the platform tells of a message of a user.
fn listeners(state: &State, chat: &Chat, message: &Message) -> Vec<App> {
    let all_wakes = state.switches.at_all_delivery == AtAllDelivery::Pushed;
    let apps = chat.bots.iter().filter_map(|bot| state.world.app(bot));
    apps.filter(|app| {
        chat.kind == ChatKind::P2p
            || app.group_messages == GroupMessages::All
            || (message.mentions_all && all_wakes)
            || message.mentions.iter().any(|mention| mention.open_id == app.open_id)
    })
    .cloned()
    .collect()
}

fn compose(
    state: &mut State,
    say: &Say,
    chat: &Chat,
    open_id: &str,
    now_ms: u64,
) -> Result<Message, PlaygroundError> {
    let text = if say.mention_bot { format!("@{{bot}} {}", say.text) } else { say.text.clone() };
    let (text, mentions, mentions_all) = placeholders(state, chat, &text);
    let content = match &say.content {
        Some(content) => content.clone(),
        None => json!({"text": text}).to_string(),
    };
    let message_id = format!("om_{}", state.dice.hex());
    let (root_id, thread_id) = match &say.parent {
        None => (None, None),
        Some(parent_id) => places(state, parent_id, say.in_thread)?,
    };
    let created_ms = now_ms.saturating_sub(say.age_ms);
    Ok(Message {
        message_id,
        chat_id: chat.chat_id.clone(),
        sender: Actor::User(open_id.to_owned()),
        msg_type: say.msg_type.clone().unwrap_or_else(|| "text".to_owned()),
        content,
        card: None,
        card_id: None,
        mentions,
        mentions_all,
        root_id,
        parent_id: say.parent.clone(),
        thread_id,
        upper_id: None,
        created_ms,
        updated_ms: created_ms,
        edits: 0,
        presses: 0,
        recalled: false,
        reactions: Vec::new(),
    })
}

type Places = (Option<String>, Option<String>);

fn places(state: &mut State, parent_id: &str, in_thread: bool) -> Result<Places, PlaygroundError> {
    let fresh = format!("omt_{}", state.dice.hex().get(..16).unwrap_or_default());
    let parent = state.world.messages.get_mut(parent_id);
    let parent = parent.ok_or_else(|| PlaygroundError::NoMessage(parent_id.to_owned()))?;
    if in_thread && parent.thread_id.is_none() {
        parent.thread_id = Some(fresh);
    }
    let root = parent.root_id.clone().unwrap_or_else(|| parent_id.to_owned());
    Ok((Some(root), parent.thread_id.clone()))
}

/// Replaces `@{name}` by `@_user_N`; names that nobody has stay as they are written.
fn placeholders(state: &State, chat: &Chat, text: &str) -> (String, Vec<Mention>, bool) {
    let (mut out, mut mentions, mut all) = (String::new(), Vec::new(), false);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("@{") {
        out.push_str(before);
        let named = after.split_once('}').and_then(|(name, tail)| {
            if name == "all" {
                return Some((None, tail));
            }
            let key = format!("@_user_{}", mentions.len() + 1);
            Some((Some(state.world.mention(&key, name, chat)?), tail))
        });
        match named {
            Some((Some(mention), tail)) => {
                out.push_str(&mention.key);
                mentions.push(mention);
                rest = tail;
            }
            Some((None, tail)) => {
                out.push_str("@_all");
                all = true;
                rest = tail;
            }
            None => {
                out.push_str("@{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    (out, mentions, all)
}

/// A user takes back a message of its own; the bots of the chat are told.
pub(crate) fn recall(shared: &Arc<Shared>, message_id: &str) -> Result<(), PlaygroundError> {
    let now_ms = shared.now_ms();
    let mut guard = shared.lock();
    let state = &mut *guard;
    let message = state.world.messages.get_mut(message_id);
    let message = message.ok_or_else(|| PlaygroundError::NoMessage(message_id.to_owned()))?;
    message.recalled = true;
    message.updated_ms = now_ms;
    let event = json!({
        "message_id": message_id,
        "chat_id": message.chat_id,
        "recall_time": now_ms.to_string(),
        "recall_type": "message_owner",
    });
    let chat_id = message.chat_id.clone();
    push_to_bots(shared, state, &chat_id, "im.message.recalled_v1", &event);
    drop(guard);
    shared.changed();
    Ok(())
}

/// A user reacts to a message; the bots of the chat are told.
pub(crate) fn react(
    shared: &Arc<Shared>,
    user: &str,
    message_id: &str,
    emoji_type: &str,
) -> Result<(), PlaygroundError> {
    if !known_emoji(emoji_type) {
        return Err(PlaygroundError::Bad(format!("no emoji `{emoji_type}`")));
    }
    let now_ms = shared.now_ms();
    let mut guard = shared.lock();
    let state = &mut *guard;
    let open_id = state.world.user(user).map(|user| user.open_id.clone());
    let open_id = open_id.ok_or_else(|| PlaygroundError::NoUser(user.to_owned()))?;
    let reaction = Reaction {
        reaction_id: format!("ZCaCIjUBVVWSrm5L{}", state.dice.hex()),
        emoji_type: emoji_type.to_owned(),
        by: Actor::User(open_id),
        at_ms: now_ms,
    };
    let message = state.world.messages.get_mut(message_id);
    let message = message.ok_or_else(|| PlaygroundError::NoMessage(message_id.to_owned()))?;
    message.reactions.push(reaction.clone());
    push_reaction(shared, state, message_id, &reaction, "created");
    drop(guard);
    shared.changed();
    Ok(())
}

/// Tells the bots of the message's chat of a reaction that came or went.
pub(crate) fn push_reaction(
    shared: &Arc<Shared>,
    state: &mut State,
    message_id: &str,
    reaction: &Reaction,
    change: &str,
) {
    let Some(message) = state.world.messages.get(message_id) else {
        return;
    };
    let chat_id = message.chat_id.clone();
    let mut event = json!({
        "message_id": message_id,
        "reaction_type": {"emoji_type": reaction.emoji_type},
        "action_time": reaction.at_ms.to_string(),
    });
    let operator = match &reaction.by {
        Actor::App(app_id) => json!({"operator_type": "app", "app_id": app_id}),
        Actor::User(open_id) => {
            let ids = state.world.user(open_id).map(wire::user_ids);
            json!({"operator_type": "user", "user_id": ids})
        }
    };
    wire::overlay(&mut event, &operator);
    let event_type = format!("im.message.reaction.{change}_v1");
    push_to_bots(shared, state, &chat_id, &event_type, &event);
}

/// Pushes an event to every bot of a chat, in the chat's order.
fn push_to_bots(
    shared: &Arc<Shared>,
    state: &mut State,
    chat_id: &str,
    event_type: &str,
    event: &Value,
) {
    let bots = state.world.chat(chat_id).map(|chat| chat.bots.clone());
    let bots = bots.unwrap_or_default();
    let apps: Vec<App> = bots.iter().filter_map(|bot| state.world.app(bot).cloned()).collect();
    for app in apps {
        let about =
            About { event_type, lane: chat_id, message_id: None, overrides: None, deliver: true };
        enqueue(shared, state, &app, about, event);
    }
}
