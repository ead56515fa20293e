//! Card entities and streaming (feishu-protocol.md 6.1): the calls, and the order in which they
//! are judged.
//!
//! Order of a change: who calls, form, rate of the API, the entity, `uuid`, sequence, rate of the
//! entity, what is done, the card that comes of it. Only a change that was accepted uses up its
//! sequence and its `uuid`. Where the fact sheet gives a range of codes for one kind of error,
//! which of them is meant is the playground's own choice: 300312 (an element that cannot be read),
//! 300313 (no such element), 300314 (it cannot stand there).

mod entity;
mod operation;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::callbacks;
use super::card::{self, Author};
use super::limits::{ENTITY_BYTES, ENTITY_PER_SECOND, ENTITY_UUID_CHARS, SEQUENCE};
use super::refusal::{Refusal, success};
use super::request;
use super::send::gateway_rate;
use super::state::{Shared, State};
use super::switches::{CardRate, CardUuidRepeat, LateStream, RateLimits};
use super::tokens::{caller, done};

pub(crate) use entity::{Entity, link, named, replace, settle, streams, take};
use entity::{Stream, store};
use operation::Operation;

type Sim = Extracted<Arc<Shared>>;
type Answer = Result<Response, Refusal>;
type Fields = Map<String, Value>;

/// `POST /open-apis/cardkit/v1/cards`
pub(crate) async fn create(Extracted(shared): Sim, headers: HeaderMap, body: Bytes) -> Answer {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    gateway_rate(&mut state, "card create", &app_id, now_ms)?;
    let card = card_of(&fields)?;
    fit(&state, &app_id, &card)?;
    let card_id = entity::create(&mut state, &app_id, card, now_ms);
    drop(state);
    shared.changed();
    Ok(success(&json!({ "card_id": card_id })))
}

/// `PUT /open-apis/cardkit/v1/cards/:card_id`
pub(crate) async fn update(
    Extracted(shared): Sim,
    Path(card_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("card update", &card_id), &headers, &body, |fields| {
        let Some(Value::Object(card)) = fields.get("card") else {
            return Err(Refusal::field("card", "is no object"));
        };
        Ok(vec![Operation::Replace(card_of(card)?)])
    })
}

/// `PATCH /open-apis/cardkit/v1/cards/:card_id/settings`
pub(crate) async fn settings(
    Extracted(shared): Sim,
    Path(card_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("card settings", &card_id), &headers, &body, |fields| {
        Ok(vec![Operation::Settings(json_in(fields, "settings")?)])
    })
}

/// `POST /open-apis/cardkit/v1/cards/:card_id/batch_update`
pub(crate) async fn batch(
    Extracted(shared): Sim,
    Path(card_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("card batch", &card_id), &headers, &body, |fields| {
        operation::batch(&json_in(fields, "actions")?)
    })
}

/// `POST /open-apis/cardkit/v1/cards/:card_id/elements`
pub(crate) async fn add(
    Extracted(shared): Sim,
    Path(card_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("element add", &card_id), &headers, &body, |fields| {
        let target = request::optional_string(fields, "target_element_id")?;
        let place = request::string(fields, "type")?;
        Ok(vec![Operation::add(place, target, json_in(fields, "elements")?)?])
    })
}

/// `PUT /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
pub(crate) async fn replace_element(
    Extracted(shared): Sim,
    Path((card_id, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("element update", &card_id), &headers, &body, |fields| {
        Ok(vec![Operation::Put { id, element: json_in(fields, "element")? }])
    })
}

/// `PATCH /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
pub(crate) async fn patch_element(
    Extracted(shared): Sim,
    Path((card_id, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("element patch", &card_id), &headers, &body, |fields| {
        Ok(vec![Operation::Patch { id, partial: json_in(fields, "partial_element")? }])
    })
}

/// `DELETE /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
pub(crate) async fn delete_element(
    Extracted(shared): Sim,
    Path((card_id, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("element delete", &card_id), &headers, &body, |_fields| {
        Ok(vec![Operation::Delete { id }])
    })
}

/// `PUT /open-apis/cardkit/v1/cards/:card_id/elements/:element_id/content`: the whole text.
pub(crate) async fn content(
    Extracted(shared): Sim,
    Path((card_id, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    operate(&shared, ("element content", &card_id), &headers, &body, |fields| {
        let text = request::string(fields, "content")?.to_owned();
        Ok(vec![Operation::Content { id, text }])
    })
}

/// The card of `{type, data}`.
fn card_of(fields: &Fields) -> Result<Value, Refusal> {
    match request::string(fields, "type")? {
        "card_json" => {}
        "template" => return Err(Refusal::field("type", "template is not simulated")),
        _ => return Err(Refusal::field("type", "has an unknown value")),
    }
    let data = match fields.get("data") {
        Some(Value::String(data)) if data.is_empty() => return Err(empty("data")),
        _ => request::string(fields, "data")?,
    };
    if ENTITY_BYTES.refuses(data.len()) {
        return Err(too_large());
    }
    card::parse(data).map_err(|flaw| flaw.in_entity())
}

/// The JSON in a field that is a string.
fn json_in(fields: &Fields, name: &'static str) -> Result<Value, Refusal> {
    let text = request::string(fields, name)?;
    serde_json::from_str(text)
        .map_err(|error| Refusal::field(name, &format!("is not a string of JSON: {error}")))
}

fn empty(what: &str) -> Refusal {
    Refusal::new(300_307, format!("{what} is empty"))
}

fn too_large() -> Refusal {
    Refusal::new(ENTITY_BYTES.code, "the card is larger than 30 KB")
}

/// Whether a card may be that of an entity.
fn fit(state: &State, app_id: &str, card: &Value) -> Result<(), Refusal> {
    let author = Author { world: &state.world, switches: state.switches, app_id };
    card::check(author, card).map_err(|flaw| flaw.in_entity())?;
    let elements = card.pointer("/body/elements").and_then(Value::as_array);
    if elements.is_none_or(Vec::is_empty) {
        return Err(empty("the card"));
    }
    if ENTITY_BYTES.refuses(card.to_string().len()) {
        return Err(too_large());
    }
    Ok(())
}

/// One change of an entity from its call to its answer.
fn operate(
    shared: &Arc<Shared>,
    (api, card_id): (&str, &str),
    headers: &HeaderMap,
    body: &[u8],
    read: impl FnOnce(&Fields) -> Result<Vec<Operation>, Refusal>,
) -> Answer {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, headers, shared.now())?;
    let fields = request::json_object(headers, body)?;
    gateway_rate(&mut state, api, &app_id, now_ms)?;
    let sequence = sequence(&fields)?;
    let uuid = request::optional_string(&fields, "uuid")?;
    if uuid.is_some_and(|uuid| ENTITY_UUID_CHARS.refuses(uuid.chars().count())) {
        return Err(Refusal::field("uuid", "has more than 64 characters"));
    }
    let operations = read(&fields)?;
    let mut entity = entity::own(&state, card_id, &app_id, now_ms)?;
    if uuid.is_some_and(|uuid| entity.uuids.contains(uuid)) {
        return match state.switches.card_uuid_repeat {
            CardUuidRepeat::Done => Ok(done()),
            CardUuidRepeat::Conflict => Err(Refusal::new(200_770, "uuid conflict")),
        };
    }
    if sequence <= entity.sequence {
        return Err(Refusal::new(300_317, "sequence number compare failed"));
    }
    rate(&mut state, &entity, card_id, now_ms)?;
    let message_id = entity.message_id.as_deref();
    if message_id.is_some_and(|message_id| callbacks::is_locked(&state, message_id)) {
        return Err(Refusal::new(200_810, "a user is interacting with the card"));
    }
    if perform(&state, &mut entity, operations, now_ms)? {
        fit(&state, &app_id, &entity.card)?;
    }
    entity.sequence = sequence;
    entity.uuids.extend(uuid.map(str::to_owned));
    store(&mut state, card_id, entity, now_ms);
    drop(state);
    shared.changed();
    Ok(done())
}

fn sequence(fields: &Fields) -> Result<u64, Refusal> {
    let sequence =
        fields.get("sequence").ok_or_else(|| Refusal::field("sequence", "is required"))?;
    let within = sequence.as_u64().filter(|number| (1..=SEQUENCE.most).contains(number));
    within.ok_or_else(|| Refusal::field("sequence", "is no positive int32"))
}

fn rate(state: &mut State, entity: &Entity, card_id: &str, now_ms: u64) -> Result<(), Refusal> {
    let is_exempt = entity.is_streaming() && state.switches.card_rate == CardRate::NotStreaming;
    if state.switches.rate_limits == RateLimits::Off || is_exempt {
        return Ok(());
    }
    let key = format!("{}:{card_id}", ENTITY_PER_SECOND.name);
    match state.count(key, 1_000, ENTITY_PER_SECOND.most, now_ms) {
        None => Ok(()),
        Some(wait_ms) => {
            Err(Refusal::gateway_rate(ENTITY_PER_SECOND.most, wait_ms.div_ceil(1_000)))
        }
    }
}

/// Carries operations out; false if the platform only pretends to.
fn perform(
    state: &State,
    entity: &mut Entity,
    operations: Vec<Operation>,
    now_ms: u64,
) -> Result<bool, Refusal> {
    let off = || Refusal::new(300_309, "streaming mode is closed");
    for operation in operations {
        if let Operation::Content { .. } = &operation {
            match (entity.stream, state.switches.late_stream) {
                (Stream::Open { .. }, _) => {}
                (Stream::TimedOut, LateStream::Ignored) => return Ok(false),
                (Stream::TimedOut, LateStream::TimedOut) => {
                    return Err(Refusal::new(200_850, "streaming mode has timed out"));
                }
                (Stream::TimedOut, LateStream::Closed) | (Stream::Off, _) => return Err(off()),
            }
        }
        entity.perform(operation, state.switches.full_update, now_ms)?;
    }
    Ok(true)
}
