//! A press of a button that people see: what the client fills in, and what it makes of the answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CardPress, PressOutcome};
use crate::playground::amend::replace_card;
use crate::playground::card::{self, CardButton};
use crate::playground::cardkit;
use crate::playground::content;
use crate::playground::limits::CARD_LIFE;
use crate::playground::people::PlaygroundError;
use crate::playground::state::Shared;
use crate::playground::switches::StreamingAnswers;
use crate::playground::world::Actor;

/// The answer holds a card that cannot be shown.
const BAD_CARD: u32 = 200_673;
/// A card of schema 2.0 was answered with one of 1.0.
const OLD_CARD: u32 = 200_830;
/// The card is being streamed, and the answer holds one.
const STREAMING: u32 = 200_810;

/// Fills in what the client knows of a button: chat, app, tag, value and name.
pub(super) fn fill(
    shared: &Arc<Shared>,
    wanted: &mut CardPress,
    button: &CardButton,
) -> Result<(), PlaygroundError> {
    let bad = |why: &str| PlaygroundError::Bad(why.to_owned());
    let message_id = wanted.message_id.clone().ok_or_else(|| bad("a button needs a message_id"))?;
    let state = shared.lock();
    let message = state.world.messages.get(&message_id);
    let message = message.ok_or_else(|| PlaygroundError::NoMessage(message_id.clone()))?;
    let shown = message.card.as_ref().filter(|_| !message.recalled);
    let shown = shown.map(|shown| card::seen(shown, &state.world));
    let shown = shown.ok_or_else(|| bad("the message shows no card"))?;
    let button = shown.button(button).ok_or_else(|| bad("the card has no such button"))?;
    let value = button.value.clone().filter(|_| !button.disabled);
    let value = value.ok_or_else(|| bad("pressing this button calls nobody"))?;
    let age_ms = shared.now_ms().saturating_sub(message.created_ms);
    if age_ms > CARD_LIFE.most * 1_000 {
        return Err(bad("the card is too old to be pressed"));
    }
    let user = state.world.user(&wanted.user);
    let user = user.ok_or_else(|| PlaygroundError::NoUser(wanted.user.clone()))?;
    let chat = state.world.chat(&message.chat_id);
    if !chat.is_some_and(|chat| chat.members.contains(&user.open_id)) {
        return Err(PlaygroundError::NotAllowed(wanted.user.clone()));
    }
    wanted.chat.clone_from(&message.chat_id);
    if let Actor::App(app_id) = &message.sender {
        wanted.app_id = Some(app_id.clone());
    }
    let mut action = json!({"tag": "button", "value": value, "timezone": "Asia/Shanghai"});
    if let (Some(name), Some(action)) = (&button.name, action.as_object_mut()) {
        action.insert("name".to_owned(), json!(name));
    }
    wanted.action = action;
    Ok(())
}

/// Puts the card of the answer in the place of the one that was pressed. A bad one is an error
/// that whoever pressed sees, and changes nothing.
pub(super) fn show(shared: &Arc<Shared>, message_id: &str, outcome: &mut PressOutcome) {
    let answer: Value = serde_json::from_str(&outcome.push.answer).unwrap_or(Value::Null);
    let Some(new) = answer.get("card").filter(|card| !card.is_null()) else {
        return;
    };
    let mut state = shared.lock();
    let Some(message) = state.world.messages.get(message_id) else {
        return;
    };
    let Some(chat) = state.world.chat(&message.chat_id).cloned() else {
        return;
    };
    let (Some(_), Actor::App(app_id)) = (&message.card, &message.sender) else {
        return;
    };
    let app_id = app_id.clone();
    if cardkit::streams(&state.world, message) {
        if state.switches.streaming_answers == StreamingAnswers::Error {
            outcome.client_error = STREAMING;
            outcome.toast = None;
        }
        return;
    }
    let data = new.get("data").unwrap_or(&Value::Null);
    let is_raw = new.get("type").and_then(Value::as_str) == Some("raw");
    let error = if is_raw && data.is_object() && data.get("schema").is_none() {
        OLD_CARD
    } else {
        match content::read(state.author(&app_id), &chat, "interactive", &data.to_string()) {
            Ok(received) if is_raw => {
                replace_card(&mut state, message_id, received, shared.now_ms());
                outcome.replaced = true;
                0
            }
            Ok(_) | Err(_) => BAD_CARD,
        }
    };
    drop(state);
    outcome.client_error = error;
    if error != 0 {
        outcome.toast = None;
    }
    shared.changed();
}
