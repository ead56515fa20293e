//! Reactions: add, list, remove (feishu-protocol.md 5.1, 5.4, 5.6).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::amend::find;
use super::limits::{PAGE_SIZE, PAGE_SIZE_DEFAULT};
use super::people::push_reaction;
use super::refusal::{Refusal, success};
use super::request::{self, Query};
use super::send::{gateway_rate, may_speak};
use super::state::{Shared, State};
use super::switches::OwnReactions;
use super::tokens::caller;
use super::wire;
use super::world::{Actor, Chat, Message, Reaction};

/// The names that the playground knows; case matters.
const EMOJI: [&str; 49] = [
    "OK",
    "THUMBSUP",
    "THANKS",
    "MUSCLE",
    "FINGERHEART",
    "APPLAUSE",
    "FISTBUMP",
    "JIAYI",
    "DONE",
    "SMILE",
    "BLUSH",
    "LAUGH",
    "SMIRK",
    "LOL",
    "FACEPALM",
    "LOVE",
    "WINK",
    "PROUD",
    "WITTY",
    "SMART",
    "SCOWL",
    "THINKING",
    "SOB",
    "CRY",
    "ERROR",
    "NOSEPICK",
    "HEART",
    "HEARTBROKEN",
    "POOP",
    "GIFT",
    "CAKE",
    "PARTY",
    "ROSE",
    "Fire",
    "BOMB",
    "ThumbsDown",
    "Music",
    "Trophy",
    "MeMeMe",
    "OneSecond",
    "Typing",
    "Get",
    "LGTM",
    "OnIt",
    "CheckMark",
    "CrossMark",
    "Pin",
    "Alarm",
    "Loudspeaker",
];

pub(crate) fn known_emoji(name: &str) -> bool {
    EMOJI.contains(&name)
}

fn gone() -> Refusal {
    Refusal::new(231_003, "The message is not found or has been recalled.")
}

fn present(state: &State, message_id: &str) -> Result<(Message, Chat), Refusal> {
    let (message, chat) = find(state, message_id)
        .map_err(|refusal| if refusal.code == 230_110 { gone() } else { refusal })?;
    if message.recalled {
        return Err(gone());
    }
    Ok((message, chat))
}

/// `POST …/reactions`. The same emoji of the same app again answers with the first reaction.
pub(crate) async fn add(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    gateway_rate(&mut state, "react", &app_id, now_ms)?;
    let Some(Value::Object(kind)) = fields.get("reaction_type") else {
        return Err(Refusal::field("reaction_type", "is required"));
    };
    let emoji_type = request::string(kind, "emoji_type")?;
    if !known_emoji(emoji_type) {
        return Err(Refusal::new(231_001, "The reaction type is invalid."));
    }
    let (message, chat) = present(&state, &message_id)?;
    may_speak(&state, &chat, &app_id)?;
    let by = Actor::App(app_id);
    let first = message
        .reactions
        .iter()
        .find(|reaction| reaction.by == by && reaction.emoji_type == emoji_type);
    if let Some(first) = first {
        return Ok(success(&wire::reaction_object(first)));
    }
    let reaction = Reaction {
        reaction_id: format!("ZCaCIjUBVVWSrm5L{}", state.dice.hex()),
        emoji_type: emoji_type.to_owned(),
        by,
        at_ms: now_ms,
    };
    if let Some(message) = state.world.messages.get_mut(&message_id) {
        message.reactions.push(reaction.clone());
    }
    if state.switches.own_reactions == OwnReactions::Pushed {
        push_reaction(&shared, &mut state, &message_id, &reaction, "created");
    }
    drop(state);
    shared.changed();
    Ok(success(&wire::reaction_object(&reaction)))
}

/// `GET …/reactions?reaction_type=&page_size=&page_token=`
pub(crate) async fn list(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let (message, chat) = present(&state, &message_id)?;
    may_speak(&state, &chat, &app_id)?;
    let size = request::number(&query, "page_size")?.unwrap_or(PAGE_SIZE_DEFAULT.most);
    if size == 0 || size > PAGE_SIZE.most {
        return Err(Refusal::field("page_size", "is not within 1 and 50"));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let wanted = query.get("reaction_type").filter(|kind| !kind.is_empty());
    let begin = match query.get("page_token").filter(|token| !token.is_empty()) {
        None => 0,
        Some(token) => {
            token.parse::<usize>().map_err(|_not_ours| Refusal::parameter("invalid page_token"))?
        }
    };
    let all: Vec<&Reaction> = message
        .reactions
        .iter()
        .filter(|reaction| wanted.is_none_or(|kind| *kind == reaction.emoji_type))
        .collect();
    let rest = all.get(begin..).unwrap_or_default();
    let shown = rest.get(..size.min(rest.len())).unwrap_or_default();
    let has_more = rest.len() > shown.len();
    let items: Vec<Value> = shown.iter().map(|reaction| wire::reaction_object(reaction)).collect();
    let token = if has_more { (begin + shown.len()).to_string() } else { String::new() };
    Ok(success(&json!({"items": items, "has_more": has_more, "page_token": token})))
}

/// `DELETE …/reactions/:reaction_id`: own reactions only.
pub(crate) async fn remove(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path((message_id, reaction_id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "unreact", &app_id, now_ms)?;
    let (message, chat) = present(&state, &message_id)?;
    may_speak(&state, &chat, &app_id)?;
    let reaction = message
        .reactions
        .iter()
        .find(|reaction| reaction.reaction_id == reaction_id)
        .ok_or_else(|| Refusal::parameter("invalid reaction_id"))?;
    if reaction.by != Actor::App(app_id) {
        return Err(Refusal::new(231_002, "The operator has no permission to the reaction."));
    }
    if let Some(message) = state.world.messages.get_mut(&message_id) {
        message.reactions.retain(|reaction| reaction.reaction_id != reaction_id);
    }
    if state.switches.own_reactions == OwnReactions::Pushed {
        push_reaction(&shared, &mut state, &message_id, reaction, "deleted");
    }
    drop(state);
    shared.changed();
    Ok(success(&wire::reaction_object(reaction)))
}
