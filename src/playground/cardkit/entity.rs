//! What a card entity is, when its streaming ends, and how the message that shows it follows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::operation::{Operation, apply};
use crate::playground::card;
use crate::playground::content::{self, Received};
use crate::playground::limits::{ENTITY_LIFE, STREAM_LIFE};
use crate::playground::refusal::Refusal;
use crate::playground::seen;
use crate::playground::state::State;
use crate::playground::switches::FullUpdate;
use crate::playground::world::{Message, World};

/// Whether texts of an entity may be streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// It was never opened, or the app closed it.
    Off,
    /// It closes itself at that time.
    Open { until_ms: u64 },
    /// It closed itself.
    TimedOut,
}

/// A card that can be changed piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Entity {
    pub(crate) app_id: String,
    /// `streaming_mode` in it is always as `stream` says.
    pub(crate) card: Value,
    pub(crate) created_ms: u64,
    /// The last sequence that was accepted.
    pub(crate) sequence: u64,
    pub(crate) uuids: BTreeSet<String>,
    pub(crate) stream: Stream,
    /// The one message that shows it.
    pub(crate) message_id: Option<String>,
}

impl Entity {
    pub(crate) fn is_streaming(&self) -> bool {
        matches!(self.stream, Stream::Open { .. })
    }

    pub(super) fn perform(
        &mut self,
        operation: Operation,
        full_update: FullUpdate,
        now_ms: u64,
    ) -> Result<(), Refusal> {
        let replaces = matches!(operation, Operation::Replace(_));
        let opens = operation.wanted_mode();
        apply(&mut self.card, operation)?;
        match (opens, replaces, full_update) {
            // A card that says nothing of streaming does not stream.
            (wanted, true, FullUpdate::Decides) => self.turn(wanted == Some(true), now_ms),
            (_, true, FullUpdate::Keeps) => self.write_mode(),
            (Some(wanted), false, _) => self.turn(wanted, now_ms),
            (None, false, _) => {}
        }
        Ok(())
    }

    fn turn(&mut self, on: bool, now_ms: u64) {
        self.stream = if on {
            Stream::Open { until_ms: now_ms.saturating_add(STREAM_LIFE.most * 1_000) }
        } else {
            Stream::Off
        };
        self.write_mode();
    }

    fn write_mode(&mut self) {
        let is_streaming = self.is_streaming();
        if let Some(card) = self.card.as_object_mut()
            && let Some(config) = card.entry("config").or_insert_with(|| json!({})).as_object_mut()
        {
            config.insert("streaming_mode".to_owned(), json!(is_streaming));
        }
    }
}

/// Makes an entity; its id.
pub(super) fn create(state: &mut State, app_id: &str, card: Value, now_ms: u64) -> String {
    let number = u128::from_be_bytes(state.dice.bytes());
    let card_id = format!("7{:018}", number % 1_000_000_000_000_000_000);
    let on = mode(&card) == Some(true);
    let mut entity = Entity {
        app_id: app_id.to_owned(),
        card,
        created_ms: now_ms,
        sequence: 0,
        uuids: BTreeSet::new(),
        stream: Stream::Off,
        message_id: None,
    };
    entity.turn(on, now_ms);
    store(state, &card_id, entity, now_ms);
    card_id
}

/// Puts a whole card into an entity, as the answer to a press does.
pub(crate) fn replace(state: &mut State, card_id: &str, card: Value, now_ms: u64) {
    if let Some(mut entity) = state.world.entities.get(card_id).cloned() {
        let on = mode(&card) == Some(true);
        entity.card = card;
        entity.turn(on, now_ms);
        store(state, card_id, entity, now_ms);
    }
}

/// Whether a message shows a card that is being streamed.
pub(crate) fn streams(world: &World, message: &Message) -> bool {
    let entity = message.card_id.as_ref().and_then(|card_id| world.entities.get(card_id));
    entity.is_some_and(Entity::is_streaming)
}

/// What a card says of streaming.
pub(super) fn mode(card: &Value) -> Option<bool> {
    card.pointer("/config/streaming_mode").and_then(Value::as_bool)
}

/// The app's own entity of that id, while it lives.
pub(super) fn own(
    state: &State,
    card_id: &str,
    app_id: &str,
    now_ms: u64,
) -> Result<Entity, Refusal> {
    let entity = state.world.entities.get(card_id);
    let entity = entity.ok_or_else(|| Refusal::new(200_740, "there is no such card entity"))?;
    if entity.app_id != app_id {
        return Err(Refusal::new(300_311, "the card entity belongs to another app"));
    }
    if now_ms > entity.created_ms.saturating_add(ENTITY_LIFE.most * 1_000) {
        return Err(Refusal::new(ENTITY_LIFE.code, "the card entity has expired"));
    }
    Ok(entity.clone())
}

/// Keeps an entity as it is now, and shows it.
pub(super) fn store(state: &mut State, card_id: &str, entity: Entity, now_ms: u64) {
    if let Stream::Open { until_ms } = entity.stream {
        state.world.streams.insert((until_ms, card_id.to_owned()));
    }
    state.world.entities.insert(card_id.to_owned(), entity);
    show(&mut state.world, card_id, now_ms);
}

/// Closes the streams whose time is over. What they show is noted at the time at which they ended.
pub(crate) fn settle(world: &mut World, now_ms: u64) {
    while world.streams.first().is_some_and(|(until_ms, _)| *until_ms <= now_ms) {
        let Some((ended_ms, card_id)) = world.streams.pop_first() else {
            return;
        };
        // An entry of a stream that was opened anew or closed meanwhile means nothing.
        let entity = world.entities.get_mut(&card_id);
        let ended = Stream::Open { until_ms: ended_ms };
        if let Some(entity) = entity.filter(|entity| entity.stream == ended) {
            entity.stream = Stream::TimedOut;
            entity.write_mode();
            show(world, &card_id, ended_ms);
        }
    }
}

/// The entity that the `content` of a message names.
pub(crate) fn named(msg_type: &str, content: &str) -> Option<String> {
    if msg_type != "interactive" {
        return None;
    }
    let content: Value = serde_json::from_str(content).ok()?;
    if content.get("type")?.as_str()? != "card" {
        return None;
    }
    Some(content.pointer("/data/card_id")?.as_str()?.to_owned())
}

/// The card of an entity that is about to be sent.
pub(crate) fn take(
    state: &State,
    card_id: &str,
    app_id: &str,
    now_ms: u64,
) -> Result<Received, Refusal> {
    let entity = own(state, card_id, app_id, now_ms);
    let entity = entity.map_err(|refusal| unbuilt(refusal.code, &refusal.msg))?;
    if entity.message_id.is_some() {
        return Err(unbuilt(200_740, "the card entity was sent before"));
    }
    let received = content::read_card(entity.card);
    Ok(Received { card_id: Some(card_id.to_owned()), ..received })
}

fn unbuilt(code: i64, why: &str) -> Refusal {
    let sentence = format!("Failed to create card content, ext=ErrCode: {code}; ErrMsg: {why}; ");
    Refusal::new(230_099, sentence)
}

/// From now on a message shows the entity that it was made of.
pub(crate) fn link(world: &mut World, message: &Message) {
    let card_id = message.card_id.as_ref();
    if let Some(entity) = card_id.and_then(|card_id| world.entities.get_mut(card_id)) {
        entity.message_id = Some(message.message_id.clone());
    }
}

/// Puts the entity's card into the message that shows it. Settings alone are no edit.
fn show(world: &mut World, card_id: &str, now_ms: u64) {
    let Some(entity) = world.entities.get(card_id) else {
        return;
    };
    let Some(message_id) = entity.message_id.clone() else {
        return;
    };
    let card = entity.card.clone();
    if let Some(message) = world.messages.get_mut(&message_id)
        && let Some(old) = &message.card
    {
        if ["/header", "/body"].iter().any(|part| old.pointer(part) != card.pointer(part)) {
            message.edits += 1;
            message.updated_ms = now_ms;
        }
        message.content = card::flattened(&card).to_string();
        message.mentions_all |= content::mentions_all(&card);
        message.card = Some(card);
    }
    seen::note(world, &message_id, now_ms);
}
