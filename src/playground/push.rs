//! Event push: order per chat, the retry ladder, what is recorded (feishu-protocol.md 1.1 to 1.6).
//!
//! The first tries of one chat's events go out one after the other, each after the answer to the
//! one before; different chats run beside each other. Retries are not ordered.

mod parcel;
mod sender;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

pub(crate) use parcel::{Parcel, carry, event_url};
pub(crate) use sender::{Signed, build_client, post, sign_body, sign_event, sign_first_card};

use super::limits::{PUSH_LADDER, QUICK_LADDER};
use super::settings::Transport;
use super::socket::FrameKind;
use super::state::{Shared, State};
use super::switches::{RetryEventId, RetrySignature, SocketRetries};
use super::wire;
use super::world::App;
use crate::base::Timestamp;

/// How many deliveries of one chat may wait for their first try.
const LANE_MAX: usize = 100_000;
/// How often the ladder looks at a clock that it cannot sleep on.
const LADDER_TICK: Duration = Duration::from_millis(20);

/// One event on its way to one app.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) app_id: String,
    /// Events of one lane are delivered in order: a chat id, or the app id for the rest.
    pub(crate) lane: String,
    pub(crate) message_id: Option<String>,
    pub(crate) event: Value,
    /// The bytes and headers of the first try, kept for a retry with the old signature.
    pub(crate) signed: Option<Signed>,
    /// How many tries were made.
    pub(crate) tries: u32,
    /// The seed of the world it belongs to: a reset ends it.
    pub(crate) epoch: u64,
}

/// A delivery that waits for its next try.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) due: Timestamp,
    pub(crate) delivery: Delivery,
}

/// Why an event was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PushKind {
    /// The platform's own delivery: the first try or one of the ladder.
    Ladder,
    /// A further delivery that a test asked for.
    Duplicate,
    /// A body that a test wrote.
    Raw,
    /// An event that a test asked for.
    Event,
    /// A press in a card.
    Card,
}

/// One try of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushRecord {
    /// Why it was posted.
    pub kind: PushKind,
    /// The app.
    pub app_id: String,
    /// The message that it tells of, if any.
    pub message_id: Option<String>,
    /// `header.event_id`; empty for raw pushes.
    pub event_id: String,
    /// The event's type; empty for raw pushes.
    pub event_type: String,
    /// Where it was posted; `ws:` and the connection's id, if it went over one.
    pub url: String,
    /// The long connection that it went over, by its device id.
    pub connection: Option<String>,
    /// 1 for the first try.
    pub attempt: u32,
    /// When the try began, on the simulator's clock, in milliseconds.
    pub at_ms: u64,
    /// The same on the base clock.
    pub base_at_ms: u64,
    /// How long the answer took, in milliseconds of the base clock.
    pub took_ms: u64,
    /// The HTTP status of the answer, or the code of the acknowledgement; `None`: there was none.
    pub status: Option<u16>,
    /// The first bytes of the answer, or why there was none. Of an acknowledgement its data.
    pub answer: String,
    /// Whether the platform counts the event as delivered.
    pub counted: bool,
    /// When the next try is due, on the simulator's clock, in milliseconds.
    pub next_try_at_ms: Option<u64>,
}

impl PushRecord {
    /// Whether the platform counts the event as delivered: HTTP 200 in time, or a good
    /// acknowledgement in time.
    pub fn delivered(&self) -> bool {
        self.counted
    }

    /// How it was answered, in short: `HTTP 200`, or `code 200` over a long connection.
    pub(crate) fn answered(&self) -> Option<String> {
        let kind = if self.connection.is_some() { "code" } else { "HTTP" };
        self.status.map(|status| format!("{kind} {status}"))
    }
}

/// Puts an event of `app` in line for its first try. Nothing happens if its events go nowhere.
pub(crate) fn enqueue(
    shared: &Arc<Shared>,
    state: &mut State,
    app: &App,
    about: About<'_>,
    event: &Value,
) {
    let event_id = state.dice.hex();
    let now_ms = shared.now_ms();
    let mut whole = wire::envelope(app, &event_id, about.event_type, now_ms, event);
    if let Some(patch) = about.overrides {
        wire::overlay(&mut whole, patch);
    }
    let delivery = Delivery {
        app_id: app.app_id.clone(),
        lane: about.lane.to_owned(),
        message_id: about.message_id.map(str::to_owned),
        event: whole,
        signed: None,
        tries: 0,
        epoch: state.dice.seed(),
    };
    if let Some(message_id) = about.message_id {
        let kept = state.delivered.entry(message_id.to_owned()).or_default();
        kept.push(delivery.clone());
    }
    if !app.is_reachable() || !about.deliver {
        return;
    }
    if let Some(waiting) = state.lanes.get_mut(&delivery.lane) {
        if waiting.len() < LANE_MAX {
            waiting.push_back(delivery);
        } else if let Some(wait) = PUSH_LADDER.first() {
            // As if the first try had failed: late and out of order, but not lost.
            let due = shared.now().after(*wait);
            state.retries.push(Retry { due, delivery });
        }
        return;
    }
    let lane = delivery.lane.clone();
    state.lanes.insert(lane.clone(), VecDeque::from([delivery]));
    let runner = Arc::clone(shared);
    let epoch = state.dice.seed();
    shared.tasks.spawn("lane", run_lane(runner, lane, epoch));
}

/// What an event is about, beside its own fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'event> {
    pub(crate) event_type: &'event str,
    pub(crate) lane: &'event str,
    pub(crate) message_id: Option<&'event str>,
    /// Laid over the whole event.
    pub(crate) overrides: Option<&'event Value>,
    /// Whether it is pushed, or only kept for a later duplicate.
    pub(crate) deliver: bool,
}

async fn run_lane(shared: Arc<Shared>, lane: String, epoch: u64) {
    loop {
        let next = {
            let mut state = shared.lock();
            if state.dice.seed() != epoch {
                return;
            }
            let next = state.lanes.get_mut(&lane).and_then(VecDeque::pop_front);
            if next.is_none() {
                state.lanes.remove(&lane);
            }
            next
        };
        let Some(delivery) = next else {
            shared.changed();
            return;
        };
        tokio::select! {
            () = shared.tasks.cancellation().cancelled() => return,
            () = attempt(&shared, delivery) => {}
        }
    }
}

/// One try of the ladder; a failed one is put back with its next due time.
async fn attempt(shared: &Arc<Shared>, mut delivery: Delivery) {
    let slot = shared.push_slots.acquire().await;
    let Some(parcel) = next_parcel(&mut shared.lock(), shared.now(), &mut delivery) else {
        return;
    };
    let is_posted = matches!(parcel, Parcel::Webhook { .. });
    delivery.tries += 1;
    let mut record = carry(shared, parcel).await;
    drop(slot);
    record.kind = PushKind::Ladder;
    fill(&mut record, &delivery);
    let mut state = shared.lock();
    if state.dice.seed() != delivery.epoch {
        return;
    }
    let step = usize::try_from(delivery.tries - 1).unwrap_or(usize::MAX);
    let ladder = match state.switches.socket_retries {
        SocketRetries::Quick if !is_posted => QUICK_LADDER,
        _ => PUSH_LADDER,
    };
    if !record.delivered()
        && let Some(wait) = ladder.get(step)
    {
        let due = shared.now().after(*wait);
        record.next_try_at_ms = Some(due.as_millis());
        state.retries.push(Retry { due, delivery });
    }
    state.record_push(record);
    drop(state);
    shared.changed();
}

/// What the next try carries; `None` if the delivery belongs to nobody any more.
fn next_parcel(state: &mut State, now: Timestamp, delivery: &mut Delivery) -> Option<Parcel> {
    let app = state.world.app(&delivery.app_id).cloned()?;
    if state.dice.seed() != delivery.epoch {
        return None;
    }
    let switches = state.switches;
    if delivery.tries > 0 && switches.retry_event_id == RetryEventId::New {
        let event_id = state.dice.hex();
        let header = serde_json::json!({"header": {"event_id": event_id}});
        wire::overlay(&mut delivery.event, &header);
        delivery.signed = None;
    }
    if app.transport == Transport::Websocket {
        return Some(Parcel::plain(&app, FrameKind::Event, delivery.event.to_string()));
    }
    let signed = match delivery.signed.take() {
        Some(old) if switches.retry_signature == RetrySignature::Old => old,
        _ => sign_event(&mut state.dice, &app, &delivery.event, now),
    };
    delivery.signed = Some(signed.clone());
    Some(Parcel::Webhook { url: app.event_url.unwrap_or_default(), signed })
}

fn fill(record: &mut PushRecord, delivery: &Delivery) {
    let event_id = delivery.event.pointer("/header/event_id");
    record.app_id.clone_from(&delivery.app_id);
    record.message_id.clone_from(&delivery.message_id);
    event_id.and_then(Value::as_str).unwrap_or_default().clone_into(&mut record.event_id);
    let event_type = delivery.event.pointer("/header/event_type");
    event_type.and_then(Value::as_str).unwrap_or_default().clone_into(&mut record.event_type);
    record.attempt = delivery.tries;
}

/// Delivers the event of a message once more, outside its lane and without retries.
pub(crate) async fn duplicate(
    shared: &Arc<Shared>,
    mut delivery: Delivery,
    event_id: RetryEventId,
) -> PushRecord {
    let parcel = {
        let mut state = shared.lock();
        if event_id == RetryEventId::New {
            let header = serde_json::json!({"header": {"event_id": state.dice.hex()}});
            wire::overlay(&mut delivery.event, &header);
        }
        let app = state.world.app(&delivery.app_id).cloned();
        let packed =
            app.map(|app| Parcel::of_event(&mut state, &app, &delivery.event, shared.now()));
        packed.and_then(Result::ok).unwrap_or_else(Parcel::to_nobody)
    };
    delivery.tries += 1;
    let slot = shared.push_slots.acquire().await;
    let mut record = carry(shared, parcel).await;
    drop(slot);
    record.kind = PushKind::Duplicate;
    fill(&mut record, &delivery);
    shared.lock().record_push(record.clone());
    shared.changed();
    record
}

/// Starts the retries whose time has come, until the playground stops.
pub(crate) async fn climb(shared: Arc<Shared>) {
    let mut changes = shared.changes.subscribe();
    loop {
        changes.borrow_and_update();
        let now = shared.now();
        let (due, waiting) = {
            let mut state = shared.lock();
            let all = std::mem::take(&mut state.retries);
            let (due, later): (Vec<Retry>, Vec<Retry>) =
                all.into_iter().partition(|retry| retry.due <= now);
            state.retries = later;
            (due, !state.retries.is_empty())
        };
        for retry in due {
            let runner = Arc::clone(&shared);
            shared.tasks.spawn("retry", async move {
                tokio::select! {
                    () = runner.tasks.cancellation().cancelled() => {}
                    () = attempt(&runner, retry.delivery) => {}
                }
            });
        }
        tokio::select! {
            () = shared.tasks.cancellation().cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LADDER_TICK), if waiting => {}
        }
    }
}
