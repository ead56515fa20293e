//! Changing what was said: edit, change of a card, recall.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;

use super::callbacks;
use super::card;
use super::cardkit;
use super::content;
use super::limits::{CARD_LIFE, EDITS, MESSAGE_PER_SECOND};
use super::refusal::{Refusal, success};
use super::request;
use super::seen;
use super::send::{business_rate, check_length, gateway_rate, may_speak};
use super::state::{Shared, State};
use super::tokens::{caller, done};
use super::wire;
use super::world::{Actor, Chat, Message};

/// `PUT /open-apis/im/v1/messages/:message_id`: text and post only, own messages only.
pub(crate) async fn edit(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    let msg_type = request::string(&fields, "msg_type")?;
    let text = request::string(&fields, "content")?;
    gateway_rate(&mut state, "edit", &app_id, now_ms)?;
    let (message, chat) = find(&state, &message_id)?;
    if message.recalled {
        return Err(Refusal::recalled_target());
    }
    may_speak(&state, &chat, &app_id)?;
    if message.sender != Actor::App(app_id.clone()) {
        return Err(Refusal::new(230_071, "The operator is not the sender of the message."));
    }
    let editable = ["text", "post"];
    if !editable.contains(&msg_type) || !editable.contains(&message.msg_type.as_str()) {
        return Err(Refusal::new(230_054, "This message type can not be edited."));
    }
    if message.edits >= EDITS.most {
        return Err(Refusal::new(
            EDITS.code,
            "The message has reached the number of times it can be edited.",
        ));
    }
    if over(message.created_ms, state.switches.edit_window_s, now_ms) {
        return Err(Refusal::new(230_075, "The message is beyond the editable time."));
    }
    check_length(msg_type, body.len())?;
    business_rate(&mut state, MESSAGE_PER_SECOND, &message_id, now_ms)?;
    let received = content::read(state.author(&app_id), &chat, msg_type, text)?;
    if let Some(message) = state.world.messages.get_mut(&message_id) {
        msg_type.clone_into(&mut message.msg_type);
        message.content = received.content;
        message.mentions = received.mentions;
        message.mentions_all |= received.mentions_all;
        message.edits += 1;
        message.updated_ms = now_ms;
    }
    seen::note(&mut state.world, &message_id, now_ms);
    let (message, _) = find(&state, &message_id)?;
    let object = wire::message_object(&state.world, &message);
    drop(state);
    shared.changed();
    Ok(success(&object))
}

/// `PATCH /open-apis/im/v1/messages/:message_id`: own cards only, within 14 days.
pub(crate) async fn change_card(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    let text = request::string(&fields, "content")?;
    gateway_rate(&mut state, "change card", &app_id, now_ms)?;
    let (message, chat) = find(&state, &message_id)?;
    if message.recalled {
        return Err(Refusal::recalled_target());
    }
    may_speak(&state, &chat, &app_id)?;
    if message.sender != Actor::App(app_id.clone()) {
        return Err(Refusal::new(230_071, "The operator is not the sender of the message."));
    }
    let Some(old) = &message.card else {
        return Err(Refusal::parameter("This message is NOT a card."));
    };
    if over(message.created_ms, Some(CARD_LIFE.most), now_ms) {
        return Err(Refusal::new(CARD_LIFE.code, "The card is beyond the time of updating."));
    }
    check_length("interactive", body.len())?;
    business_rate(&mut state, MESSAGE_PER_SECOND, &message_id, now_ms)?;
    card::shared(old)?;
    if callbacks::is_locked(&state, &message_id) {
        return Err(card::locked());
    }
    let received = content::read(state.author(&app_id), &chat, "interactive", text)?;
    received.card.as_ref().map_or(Ok(()), card::shared)?;
    replace_card(&mut state, &message_id, received, now_ms);
    drop(state);
    shared.changed();
    Ok(done())
}

/// Puts a card in the place of the one that a message shows.
pub(crate) fn replace_card(
    state: &mut State,
    message_id: &str,
    received: content::Received,
    now_ms: u64,
) {
    let card_id = state.world.messages.get(message_id).and_then(|message| message.card_id.clone());
    if let (Some(card_id), Some(card)) = (card_id, &received.card) {
        cardkit::replace(state, &card_id, card.clone(), now_ms);
        return;
    }
    if let Some(message) = state.world.messages.get_mut(message_id) {
        message.content = received.content;
        message.card = received.card;
        message.mentions_all |= received.mentions_all;
        message.edits += 1;
        message.updated_ms = now_ms;
    }
    seen::note(&mut state.world, message_id, now_ms);
}

/// `DELETE /open-apis/im/v1/messages/:message_id`: own messages, within the tenant's window.
pub(crate) async fn recall(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "recall", &app_id, now_ms)?;
    let (message, chat) = find(&state, &message_id)?;
    if message.recalled {
        return Err(Refusal::message_gone());
    }
    may_speak(&state, &chat, &app_id)?;
    if message.sender != Actor::App(app_id) {
        return Err(Refusal::new(230_026, "No permission to recall this message."));
    }
    if over(message.created_ms, state.switches.recall_window_s, now_ms) {
        return Err(Refusal::new(
            230_009,
            "The message is beyond the time in which it can be recalled.",
        ));
    }
    if let Some(message) = state.world.messages.get_mut(&message_id) {
        message.recalled = true;
        message.updated_ms = now_ms;
    }
    seen::note(&mut state.world, &message_id, now_ms);
    drop(state);
    shared.changed();
    Ok(done())
}

/// A message and its chat; recalled messages are found, too.
pub(crate) fn find(state: &State, message_id: &str) -> Result<(Message, Chat), Refusal> {
    if !message_id.starts_with("om_") {
        return Err(Refusal::parameter("invalid message_id"));
    }
    let message = state.world.messages.get(message_id);
    let message = message.ok_or_else(Refusal::message_gone)?;
    let chat = state.world.chat(&message.chat_id);
    let chat = chat.ok_or_else(Refusal::message_gone)?;
    Ok((message.clone(), chat.clone()))
}

fn over(since_ms: u64, window_s: Option<u64>, now_ms: u64) -> bool {
    window_s
        .is_some_and(|window_s| now_ms > since_ms.saturating_add(window_s.saturating_mul(1_000)))
}
