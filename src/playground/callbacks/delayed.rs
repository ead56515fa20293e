//! What a press leaves behind: a token with which the app may change the card later, and, while
//! its answer is awaited, a card that nobody else may change (feishu-protocol.md 1.7).
//!
//! The fact sheet lists the codes of the delayed update without their meanings; which of them
//! stands for what is the playground's own choice.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as Extracted;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;

use crate::playground::amend::replace_card;
use crate::playground::card;
use crate::playground::cardkit;
use crate::playground::content;
use crate::playground::limits::{UPDATE_TOKEN_LIFE, UPDATE_TOKEN_USES};
use crate::playground::refusal::Refusal;
use crate::playground::request;
use crate::playground::send::{check_length, gateway_rate};
use crate::playground::state::{Shared, State};
use crate::playground::switches::{EarlyUpdates, PressedCards};
use crate::playground::tokens::{caller, done};

const BAD_CARD: i64 = 11_311;
const NO_TOKEN: i64 = 300_020;
const USED_UP: i64 = 300_030;
const TOO_EARLY: i64 = 300_040;
const STREAMING: i64 = 200_810;

/// The right to change the card that was pressed.
#[derive(Clone, Debug)]
pub(crate) struct UpdateToken {
    app_id: String,
    message_id: String,
    made_ms: u64,
    answered: bool,
    uses: u64,
}

impl UpdateToken {
    pub(super) fn new(app_id: &str, message_id: &str, made_ms: u64) -> Self {
        let (app_id, message_id) = (app_id.to_owned(), message_id.to_owned());
        Self { app_id, message_id, made_ms, answered: false, uses: 0 }
    }
}

/// A press whose answer is awaited. Its end is noted even if whoever pressed goes away.
pub(super) struct Pressing {
    shared: Arc<Shared>,
    message_id: String,
    token: String,
}

impl Pressing {
    pub(super) fn begin(
        shared: &Arc<Shared>,
        state: &mut State,
        token: &str,
        made: UpdateToken,
    ) -> Self {
        let message_id = made.message_id.clone();
        state.update_tokens.insert(token.to_owned(), made);
        *state.pressing.entry(message_id.clone()).or_default() += 1;
        if let Some(message) = state.world.messages.get_mut(&message_id) {
            message.presses += 1;
        }
        Self { shared: Arc::clone(shared), message_id, token: token.to_owned() }
    }
}

impl Drop for Pressing {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(token) = state.update_tokens.get_mut(&self.token) {
            token.answered = true;
        }
        if let Some(count) = state.pressing.get_mut(&self.message_id) {
            *count = count.saturating_sub(1);
        }
    }
}

/// Whether nobody but the answer to a press may change the card of a message now.
pub(crate) fn is_locked(state: &State, message_id: &str) -> bool {
    let is_pressed = state.pressing.get(message_id).is_some_and(|count| *count > 0);
    is_pressed && state.switches.pressed_cards == PressedCards::Locked
}

/// `POST /open-apis/interactive/v1/card/update`: after the answer, twice, within half an hour.
pub(crate) async fn update(
    Extracted(shared): Extracted<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    gateway_rate(&mut state, "delayed update", &app_id, now_ms)?;
    let name = request::string(&fields, "token")?;
    let new = fields.get("card").filter(|card| card.is_object());
    let new = new.ok_or_else(|| Refusal::field("card", "is no object"))?;
    check_length("interactive", body.len())?;
    let token = usable(&state, name, &app_id, now_ms)?;
    if !token.answered {
        return match state.switches.early_updates {
            EarlyUpdates::Refused => {
                Err(Refusal::new(TOO_EARLY, "the callback was not answered yet"))
            }
            EarlyUpdates::Undone => Ok(done()),
        };
    }
    change(&mut state, &token, new, now_ms)?;
    if let Some(token) = state.update_tokens.get_mut(name) {
        token.uses += 1;
    }
    drop(state);
    shared.changed();
    Ok(done())
}

fn usable(state: &State, name: &str, app_id: &str, now_ms: u64) -> Result<UpdateToken, Refusal> {
    let life_ms = UPDATE_TOKEN_LIFE.most * 1_000;
    let token = state
        .update_tokens
        .get(name)
        .filter(|token| token.app_id == app_id && now_ms <= token.made_ms.saturating_add(life_ms));
    let token = token.ok_or_else(|| Refusal::new(NO_TOKEN, "the token is invalid or expired"))?;
    if token.uses >= UPDATE_TOKEN_USES.most {
        return Err(Refusal::new(USED_UP, "the token was used twice"));
    }
    Ok(token.clone())
}

fn change(state: &mut State, token: &UpdateToken, new: &Value, now_ms: u64) -> Result<(), Refusal> {
    let message = state.world.messages.get(&token.message_id);
    let message = message.filter(|message| message.card.is_some() && !message.recalled);
    let message = message.ok_or_else(Refusal::message_gone)?;
    if cardkit::streams(&state.world, message) {
        return Err(Refusal::new(STREAMING, "the card is being streamed"));
    }
    card::check(state.author(&token.app_id), new)
        .map_err(|flaw| Refusal::new(BAD_CARD, flaw.in_entity().msg))?;
    replace_card(state, &token.message_id, content::read_card(new.clone()), now_ms);
    Ok(())
}
