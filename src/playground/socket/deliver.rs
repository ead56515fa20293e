//! One event over one connection, and its acknowledgement (3.5).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use serde_json::Value;
use tokio::sync::oneshot;

use super::fragments;
use super::frame::{DATA, Frame, Header};
use super::link::SERVICE_ID;
use super::links::{Break, Order};
use crate::base::Clock as _;
use crate::playground::faults::{Endpoint, FaultAction, SocketFault};
use crate::playground::push::{PushKind, PushRecord};
use crate::playground::settings::FragmentOrder;
use crate::playground::state::{Shared, State};
use crate::playground::switches::SocketAcks;
use crate::playground::world::App;

/// The event was taken.
const OK: i64 = 200;
/// The event comes again.
const FAILED: i64 = 500;
/// Not exact in a double.
const HUGE_LOG_ID: u64 = 7_012_345_678_901_234_567;

/// What a frame says it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Event,
    Card,
}

/// What is about to happen on a connection.
struct Plan {
    id: u64,
    device_id: String,
    message_id: String,
    pause: Duration,
    orders: Vec<Order>,
    ack: oneshot::Receiver<Vec<u8>>,
}

/// What came of it: the code of the acknowledgement, and its data, or why there is none.
type Outcome = (Option<i64>, String);

/// Sends an event over one of the app's connections and waits for the acknowledgement, at most as
/// long as an app may take to answer.
pub(crate) async fn deliver(
    shared: &Shared,
    app: &App,
    kind: FrameKind,
    payload: &[u8],
) -> PushRecord {
    let began = shared.clock.base_now();
    let now = shared.clock.now();
    let plan = plan(&mut shared.lock(), app, kind, payload, now.as_millis());
    let connection = plan.as_ref().map(|plan| plan.device_id.clone());
    let (code, answer) = match plan {
        None => (None, "the app has no connection".to_owned()),
        Some(plan) => exchange(shared, plan).await,
    };
    let acks = shared.lock().switches.socket_acks;
    let counted = match (code, acks) {
        (None, _) => false,
        (Some(code), SocketAcks::Only200) => code == OK,
        (Some(code), SocketAcks::AllBut500) => code != FAILED,
    };
    let took = shared.clock.base_now().since(began).as_millis();
    PushRecord {
        kind: PushKind::Raw,
        app_id: app.app_id.clone(),
        message_id: None,
        event_id: String::new(),
        event_type: String::new(),
        url: connection.as_ref().map_or_else(String::new, |id| format!("ws:{id}")),
        connection,
        attempt: 1,
        at_ms: now.as_millis(),
        base_at_ms: began.as_millis(),
        took_ms: u64::try_from(took).unwrap_or(u64::MAX),
        status: code.map(|code| u16::try_from(code).unwrap_or(u16::MAX)),
        answer,
        counted,
        next_try_at_ms: None,
    }
}

async fn exchange(shared: &Shared, mut plan: Plan) -> Outcome {
    tokio::time::sleep(plan.pause).await;
    if let Some(link) = shared.lock().links.get_mut(plan.id) {
        link.shown.events += 1;
        for order in std::mem::take(&mut plan.orders) {
            match order {
                Order::Break(how) => link.order_break(how),
                order @ Order::Send(_) => drop(link.order(order)),
            }
        }
    }
    let patience = shared.settings.push_patience;
    let waited = tokio::time::timeout(patience, plan.ack).await;
    shared.lock().links.forget(plan.id, &plan.message_id);
    match waited {
        Ok(Ok(payload)) => read_ack(&payload),
        Ok(Err(_gone)) => (None, "the connection ended without an acknowledgement".to_owned()),
        Err(_elapsed) => (None, format!("no acknowledgement within {} ms", patience.as_millis())),
    }
}

/// The code of an acknowledgement, and its data as text; without data the payload itself.
fn read_ack(payload: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(payload).into_owned();
    let ack: Value = serde_json::from_slice(payload).unwrap_or(Value::Null);
    let Some(code) = ack.get("code").and_then(Value::as_i64) else {
        return (None, format!("an acknowledgement without a code: {text}"));
    };
    match ack.get("data").and_then(Value::as_str).filter(|data| !data.is_empty()) {
        None => (Some(code), text),
        Some(data) => match STANDARD.decode(data).map(String::from_utf8) {
            Ok(Ok(data)) => (Some(code), data),
            _ => (Some(code), "the data of the acknowledgement is not text in base64".to_owned()),
        },
    }
}

fn plan(
    state: &mut State,
    app: &App,
    kind: FrameKind,
    payload: &[u8],
    now_ms: u64,
) -> Option<Plan> {
    let id = state.links.draw(&app.app_id, &mut state.dice)?;
    let fault = state.faults.draw(Endpoint::Event, &mut state.dice);
    let size = fragments::size(&app.long_connection, state.switches.fragment_size);
    let pieces = fragments::cut(payload, size);
    let how = match &fault {
        Some(FaultAction::Socket { how }) => Some(*how),
        _ => None,
    };
    let kind = if how == Some(SocketFault::AsCard) { FrameKind::Card } else { kind };
    let message_id = uuid_of(&state.dice.hex());
    let headers = headers(kind, &message_id, &state.dice.hex(), now_ms);
    let log_base = if how == Some(SocketFault::HugeLogId) { HUGE_LOG_ID } else { now_ms };
    let log_text = state.dice.hex();
    let link = state.links.get_mut(id)?;
    let mut frames = Vec::new();
    for (seq, piece) in pieces.iter().enumerate() {
        let seq_id = link.next_seq_id();
        let mut headers = headers.clone();
        headers.push(Header::new("sum", pieces.len().to_string()));
        headers.push(Header::new("seq", seq.to_string()));
        let frame = Frame {
            seq_id,
            log_id: log_base.wrapping_add(seq_id.wrapping_mul(2)),
            service: SERVICE_ID,
            method: DATA,
            headers,
            payload: Some(piece.clone()),
            log_id_new: Some(log_text.clone()),
            ..Frame::default()
        };
        frames.push(frame.encode_to_vec());
    }
    let device_id = link.shown.device_id.clone();
    let order = match how {
        Some(SocketFault::Reorder) => FragmentOrder::Reversed,
        _ => app.long_connection.fragment_order,
    };
    fragments::order(&mut frames, order, &mut state.dice);
    if how == Some(SocketFault::LoseFrame) {
        frames.remove(state.dice.below(frames.len()));
    }
    let ack = state.links.wait_for(id, &message_id);
    let (pause, orders) = orders(fault.as_ref(), frames);
    Some(Plan { id, device_id, message_id, pause, orders, ack })
}

/// What the connection is told, and how long that is kept back.
fn orders(fault: Option<&FaultAction>, frames: Vec<Vec<u8>>) -> (Duration, Vec<Order>) {
    let send = Order::Send(frames);
    let orders = match fault {
        Some(FaultAction::Delay { ms } | FaultAction::Slow { ms }) => {
            return (Duration::from_millis(*ms), vec![send]);
        }
        Some(FaultAction::Drop) => vec![Order::Break(Break::Abort)],
        Some(FaultAction::DropAfter) => vec![send, Order::Break(Break::Abort)],
        Some(FaultAction::Socket { how: SocketFault::Close }) => vec![Order::Break(Break::Close)],
        Some(FaultAction::Socket { how: SocketFault::Freeze }) => {
            vec![Order::Break(Break::Freeze)]
        }
        _ => vec![send],
    };
    (Duration::ZERO, orders)
}

fn headers(kind: FrameKind, message_id: &str, trace_id: &str, now_ms: u64) -> Vec<Header> {
    let kind = match kind {
        FrameKind::Event => "event",
        FrameKind::Card => "card",
    };
    vec![
        Header::new("type", kind),
        Header::new("message_id", message_id),
        Header::new("trace_id", trace_id),
        Header::new("timestamp", now_ms.to_string()),
    ]
}

/// Thirty-two digits in the groups of a UUID.
fn uuid_of(hex: &str) -> String {
    let digits: Vec<char> = hex.chars().collect();
    let mut uuid = String::new();
    for (place, digit) in digits.into_iter().enumerate() {
        if matches!(place, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        uuid.push(digit);
    }
    uuid
}
