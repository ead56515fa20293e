//! Acting: what people say and do, deliveries, time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State as Extracted};
use serde::Deserialize;
use serde_json::json;

use super::{Answer, read, shown};
use crate::playground::callbacks::{self, CardPress, EventPush};
use crate::playground::people::{self, Say};
use crate::playground::resources::{self, Sent};
use crate::playground::state::Shared;
use crate::playground::switches::RetryEventId;
use crate::playground::verbs::{self, RawPush};

type Sim = Extracted<Arc<Shared>>;

/// The most deliveries that one request may ask for.
const DUPLICATES_MAX: u32 = 1_000;

pub(crate) async fn say(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: Say = read(&body)?;
    let message_id = people::say(&shared, &wanted)?;
    shown(&json!({"message_id": message_id}))
}

pub(crate) async fn send(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: Sent = read(&body)?;
    let (message_id, key) = resources::send(&shared, &wanted)?;
    shown(&json!({"message_id": message_id, "key": key}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Duplicates {
    #[serde(default = "once")]
    times: u32,
    #[serde(default = "same")]
    event_id: RetryEventId,
}

fn once() -> u32 {
    1
}

fn same() -> RetryEventId {
    RetryEventId::Same
}

/// Delivers `times` more copies at the same time and answers when all have been answered.
pub(crate) async fn duplicate(
    Extracted(shared): Sim,
    Path(message): Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: Duplicates = read(&body)?;
    let times = wanted.times.min(DUPLICATES_MAX);
    let pushes = verbs::duplicate(&shared, &message, times, wanted.event_id).await?;
    shown(&pushes)
}

pub(crate) async fn recall(Extracted(shared): Sim, Path(message): Path<String>) -> Answer {
    people::recall(&shared, &message)?;
    shown(&json!({}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewReaction {
    user: String,
    emoji: String,
}

pub(crate) async fn react(
    Extracted(shared): Sim,
    Path(message): Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: NewReaction = read(&body)?;
    people::react(&shared, &wanted.user, &message, &wanted.emoji)?;
    shown(&json!({}))
}

pub(crate) async fn push(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: RawPush = read(&body)?;
    shown(&verbs::push(&shared, wanted).await?)
}

pub(crate) async fn push_event(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: EventPush = read(&body)?;
    shown(&callbacks::push_event(&shared, wanted).await?)
}

pub(crate) async fn press(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: CardPress = read(&body)?;
    shown(&callbacks::press(&shared, wanted).await?)
}

pub(crate) async fn verify_url(Extracted(shared): Sim, Path(app): Path<String>) -> Answer {
    let outcome = verbs::verify_url(&shared, &app).await?;
    shown(&outcome)
}

pub(crate) async fn time(Extracted(shared): Sim) -> Answer {
    shown(&json!({
        "now_ms": shared.now_ms(),
        "now": shared.now().to_string(),
        "time_scale": shared.clock.scale(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeChange {
    #[serde(default)]
    advance_ms: u64,
    #[serde(default)]
    time_scale: Option<u32>,
}

pub(crate) async fn set_time(extracted: Sim, body: Bytes) -> Answer {
    let wanted: TimeChange = read(&body)?;
    if let Some(scale) = wanted.time_scale {
        extracted.0.clock.set_scale(scale);
    }
    extracted.0.clock.advance(Duration::from_millis(wanted.advance_ms));
    extracted.0.changed();
    time(extracted).await
}
