//! The task of one open connection: it writes what it is told to and reads what the client says.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::frame::{CONTROL, DATA, Frame};
use super::links::{Break, Order};
use crate::playground::faults::{Endpoint, FaultAction, SocketFault};
use crate::playground::limits::{SOCKET_IN, SOCKET_PING};
use crate::playground::state::Shared;
use crate::playground::switches::PongPayload;

/// The number of the service that every client is told; it comes back in each of its pings.
pub(super) const SERVICE_ID: i32 = 33_554_678;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What follows from a frame that came in.
enum Reaction {
    Nothing,
    Answer(Vec<u8>),
    Break(Break),
}

/// Serves a connection until it ends.
pub(super) async fn run(
    shared: Arc<Shared>,
    id: u64,
    upgraded: OnUpgrade,
    orders: mpsc::Receiver<Order>,
) {
    let cancel = shared.tasks.cancellation().clone();
    let serving = async {
        if let Ok(upgraded) = upgraded.await {
            let most = usize::try_from(SOCKET_IN.most).unwrap_or(usize::MAX);
            let config =
                WebSocketConfig::default().max_message_size(Some(most)).max_frame_size(Some(most));
            let io = TokioIo::new(upgraded);
            let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            serve(&shared, id, socket, orders).await;
        }
    };
    tokio::select! {
        () = cancel.cancelled() => {}
        () = serving => {}
    }
    shared.lock().links.remove(id);
    shared.changed();
}

async fn serve(shared: &Shared, id: u64, mut socket: Socket, mut orders: mpsc::Receiver<Order>) {
    let mut pings = tokio::time::interval(ping_every(shared, id));
    let how = loop {
        let written = tokio::select! {
            order = orders.recv() => match order {
                None => break Break::Close,
                Some(Order::Break(how)) => break how,
                Some(Order::Send(frames)) => write(&mut socket, frames).await,
            },
            _now = pings.tick() => socket.send(Message::Ping(Bytes::new())).await.is_ok(),
            message = socket.next() => match message {
                // A client that went away, in good order or not: its goodbye was answered.
                None | Some(Err(_)) => return,
                Some(Ok(message)) => match heard(shared, id, &message) {
                    Reaction::Nothing => true,
                    Reaction::Answer(bytes) => write(&mut socket, vec![bytes]).await,
                    Reaction::Break(how) => break how,
                },
            },
        };
        if !written {
            return;
        }
    };
    match how {
        Break::Abort => {}
        Break::Close => drop(socket.close(None).await),
        Break::Freeze => stay_frozen(&mut orders).await,
    }
}

/// The socket is held, and nothing is done with it.
async fn stay_frozen(orders: &mut mpsc::Receiver<Order>) {
    loop {
        match orders.recv().await {
            None | Some(Order::Break(Break::Close | Break::Abort)) => return,
            Some(Order::Send(_) | Order::Break(Break::Freeze)) => {}
        }
    }
}

fn ping_every(shared: &Shared, id: u64) -> Duration {
    let mut state = shared.lock();
    let app_id = state.links.get_mut(id).map(|link| link.shown.app_id.clone());
    let app = app_id.and_then(|app_id| state.world.app(&app_id));
    let seconds = app.map_or(SOCKET_PING.most, |app| app.long_connection.ping_every_s);
    Duration::from_secs(seconds.max(1))
}

async fn write(socket: &mut Socket, frames: Vec<Vec<u8>>) -> bool {
    for frame in frames {
        if socket.send(Message::Binary(frame.into())).await.is_err() {
            return false;
        }
    }
    true
}

fn heard(shared: &Shared, id: u64, message: &Message) -> Reaction {
    match message {
        Message::Binary(bytes) => {
            let now_ms = shared.now_ms();
            if let Some(link) = shared.lock().links.get_mut(id) {
                link.shown.heard_ms = now_ms;
            }
            let reaction = frame_heard(shared, id, Frame::decode(bytes.clone()).ok());
            shared.changed();
            reaction
        }
        Message::Text(_) => frame_heard(shared, id, None),
        // The library answers a ping and a goodbye by itself.
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {
            Reaction::Nothing
        }
    }
}

fn frame_heard(shared: &Shared, id: u64, frame: Option<Frame>) -> Reaction {
    let mut guard = shared.lock();
    let state = &mut *guard;
    let is_ping = frame
        .as_ref()
        .is_some_and(|frame| frame.method == CONTROL && frame.header("type") == Some("ping"));
    if is_ping {
        let fault = state.faults.draw(Endpoint::Ping, &mut state.dice);
        if let Some(link) = state.links.get_mut(id) {
            link.shown.pings += 1;
        }
        drop(guard);
        return pong(shared, id, fault.as_ref());
    }
    let data = frame.filter(|frame| frame.method == DATA && frame.header("type").is_some());
    let acknowledged = data.is_some_and(|frame| {
        let message_id = frame.header("message_id").unwrap_or_default().to_owned();
        state.links.acknowledged(id, &message_id, frame.payload.unwrap_or_default())
    });
    if let Some(link) = state.links.get_mut(id) {
        if acknowledged {
            link.shown.acks += 1;
        } else {
            link.shown.strays += 1;
        }
    }
    Reaction::Nothing
}

fn pong(shared: &Shared, id: u64, fault: Option<&FaultAction>) -> Reaction {
    match fault {
        Some(FaultAction::Drop | FaultAction::DropAfter) => return Reaction::Break(Break::Abort),
        Some(FaultAction::Socket { how: SocketFault::LoseFrame }) => return Reaction::Nothing,
        Some(FaultAction::Socket { how: SocketFault::Close }) => {
            return Reaction::Break(Break::Close);
        }
        Some(FaultAction::Socket { how: SocketFault::Freeze }) => {
            if let Some(link) = shared.lock().links.get_mut(id) {
                link.shown.frozen = true;
            }
            return Reaction::Break(Break::Freeze);
        }
        _ => {}
    }
    let mut guard = shared.lock();
    let state = &mut *guard;
    let Some(link) = state.links.get_mut(id) else {
        return Reaction::Break(Break::Close);
    };
    let app = state.world.app(&link.shown.app_id);
    let told = app.map_or(link.told, |app| app.long_connection.client);
    let is_carried = told != link.told || state.switches.pong_payload == PongPayload::Always;
    link.told = told;
    let payload = is_carried.then(|| json!(told).to_string().into_bytes());
    Reaction::Answer(Frame::pong(SERVICE_ID, payload).encode_to_vec())
}
