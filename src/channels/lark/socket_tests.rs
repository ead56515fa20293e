//! Long connections against a server that does what each test says.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use tokio_util::sync::CancellationToken;

use super::super::testing::{self, Platform, SLOW_CHAT, TestInlet, private_message};
use super::frame::Frame;
use super::*;
use crate::base::ManualClock;
use crate::envelope::LinkState;

const CALL: &str = "POST /callback/ws/endpoint";
const PULSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(60);
const SERVICE: i32 = 33_554_678;

/// Waits for something that must come.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it comes in time")
}

/// One bot and its platform.
struct Bench {
    platform: Platform,
    listener: TcpListener,
    clock: ManualClock,
    inlet: Arc<TestInlet>,
    bot: Arc<LarkBot>,
    tasks: TaskSet,
    addresses: u32,
}

/// The server's end of a connection.
struct Peer {
    socket: WebSocketStream<TcpStream>,
    path: String,
}

impl Bench {
    async fn set(name: &str) -> Self {
        let platform = Platform::start().await;
        let clock = testing::clock();
        let mut bot = testing::linked(name, &platform.url, &clock);
        bot.hurry(Duration::from_secs(5));
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            inlet: Arc::default(),
            bot: Arc::new(bot),
            tasks: TaskSet::new("test", CancellationToken::new()),
            addresses: 0,
            platform,
            clock,
        }
    }

    fn hold(&self) {
        let deps = LinkDeps {
            pulse: PULSE,
            ..LinkDeps::new(
                HttpFactory::default(),
                Arc::<TestInlet>::clone(&self.inlet),
                Arc::new(self.clock.clone()),
                self.tasks.clone(),
            )
        };
        hold_link(Arc::clone(&self.bot), &deps);
    }

    /// The platform gives one address, each with a ticket of its own.
    fn offer(&mut self, config: &Value) {
        self.addresses += 1;
        let port = self.listener.local_addr().unwrap().port();
        let ticket = self.addresses;
        let url = format!("ws://127.0.0.1:{port}/ws?a=1&service_id={SERVICE}&ticket={ticket}");
        let body = json!({"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": config}});
        self.platform.on(CALL, 200, &body);
    }

    /// A connection, once there is one; time goes on until then.
    async fn accept(&self) -> Peer {
        soon(async {
            let stream = self.while_time_passes(self.listener.accept()).await.unwrap().0;
            let mut path = String::new();
            #[expect(clippy::result_large_err, reason = "the shape that the library wants")]
            let look = |request: &Request, response: Response| {
                path = request.uri().to_string();
                Ok::<_, ErrorResponse>(response)
            };
            let socket = accept_hdr_async(stream, look).await.unwrap();
            Peer { socket, path }
        })
        .await
    }

    async fn while_time_passes<T>(&self, what: impl Future<Output = T>) -> T {
        tokio::pin!(what);
        loop {
            tokio::select! {
                done = &mut what => return done,
                () = tokio::time::sleep(PULSE) => self.clock.advance(Duration::from_secs(1)),
            }
        }
    }

    fn state(&self) -> LinkState {
        self.bot.link_cell().unwrap().link().state
    }

    /// Waits until the state is as it should be, while time stands.
    async fn until(&self, holds: impl Fn(&LinkState) -> bool) {
        soon(async {
            while !holds(&self.state()) {
                tokio::time::sleep(PULSE).await;
            }
        })
        .await;
    }

    /// A bot that is connected, and the other end; the ping of the beginning has come.
    async fn connected(name: &str) -> (Self, Peer) {
        let mut bench = Self::set(name).await;
        bench.offer(&quick());
        bench.hold();
        let mut peer = bench.accept().await;
        peer.ping().await;
        (bench, peer)
    }
}

fn quick() -> Value {
    json!({"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": 1})
}

fn is_up(state: &LinkState) -> bool {
    matches!(state, LinkState::Connected { .. })
}

impl Peer {
    /// The next message that is no frame of the connection's own.
    async fn next(&mut self) -> Option<Message> {
        soon(self.socket.next()).await.map(|message| message.unwrap())
    }

    async fn frame(&mut self) -> Frame {
        match self.next().await {
            Some(Message::Binary(bytes)) => Frame::read(bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn ping(&mut self) {
        assert_eq!(self.frame().await, Frame::ping(SERVICE));
    }

    async fn send(&mut self, frame: &Frame) {
        self.socket.send(Message::Binary(frame.write())).await.unwrap();
    }

    async fn message(&mut self, id: &str, chat: &str) {
        let headers = [("type", "event"), ("message_id", id), ("sum", "1"), ("seq", "0")];
        self.send(&Frame::data(1, &headers, &private_message(id, chat, "hello"))).await;
    }

    /// The code of the next answer, pings passed over.
    async fn code(&mut self) -> u64 {
        loop {
            let frame = self.frame().await;
            if frame != Frame::ping(SERVICE) {
                let said: Value = serde_json::from_slice(&frame.payload.unwrap()).unwrap();
                return said["code"].as_u64().unwrap();
            }
        }
    }

    /// The connection ends without anything more of use.
    async fn is_left(&mut self) {
        while let Some(Ok(_)) = soon(self.socket.next()).await {}
    }
}

#[tokio::test]
async fn every_connection_has_a_fresh_address_and_begins_with_a_ping() {
    let (mut bench, mut peer) = Bench::connected("assistant").await;
    assert!(peer.path.ends_with("&ticket=1"), "{}", peer.path);
    bench.until(is_up).await;
    for ticket in 2..5 {
        bench.offer(&quick());
        drop(peer);
        peer = bench.accept().await;
        assert!(peer.path.ends_with(&format!("&ticket={ticket}")), "{}", peer.path);
        peer.ping().await;
    }
    assert_eq!(bench.platform.count(CALL), 4);
    assert_eq!(bench.bot.link_cell().unwrap().link().connects, 4);
}

#[tokio::test]
async fn an_event_is_acknowledged_and_a_ping_of_the_socket_answered() {
    let (bench, mut peer) = Bench::connected("assistant").await;
    peer.message("om_1", SLOW_CHAT).await;
    peer.socket.send(Message::Ping("life".into())).await.unwrap();
    assert_eq!(peer.next().await, Some(Message::Pong("life".into())), "nothing came before it");
    bench.inlet.open_gate();
    assert_eq!(peer.code().await, 200);
    assert_eq!(bench.inlet.taken(), ["om_1"]);
}

#[tokio::test]
async fn a_pong_changes_the_interval_at_once() {
    let mut bench = Bench::set("assistant").await;
    bench.offer(&json!({"PingInterval": 600}));
    bench.hold();
    let mut peer = bench.accept().await;
    peer.ping().await;
    let mut pong = Frame::ping(SERVICE);
    pong.headers[0].value = "pong".into();
    pong.payload = Some(quick().to_string().into());
    peer.send(&pong).await;
    peer.message("om_1", "oc_1").await;
    assert_eq!(peer.code().await, 200, "the pong was heard before");
    bench.clock.advance(Duration::from_secs(2));
    peer.ping().await;
}

#[tokio::test]
async fn each_refusal_is_reported_and_heals_by_itself() {
    for (code, words) in [
        (403, "the credentials are refused"),
        (514, "the credentials are refused"),
        (1_000_040_344, "the credentials are refused"),
        (1_000_040_345, "the app secret is wrong"),
        (1_000_040_346, "no app of this id"),
        (1_000_040_350, "too many long connections"),
        (1_000_040_351, "other region"),
    ] {
        let mut bench = Bench::set("assistant").await;
        bench.platform.on(CALL, 200, &json!({"code": code, "msg": "no", "data": {}}));
        bench.offer(&quick());
        bench.hold();
        bench.until(|state| matches!(state, LinkState::Refused { .. })).await;
        let LinkState::Refused { error, .. } = bench.state() else { panic!("it was refused") };
        assert!(error.contains(words) && error.contains(&code.to_string()), "{error}");
        let before = bench.clock.now();
        bench.accept().await.ping().await;
        assert!(bench.clock.now().since(before) >= Duration::from_secs(30), "not at once");
        bench.until(is_up).await;
    }
}

#[tokio::test]
async fn what_passes_is_tried_again_soon() {
    let mut bench = Bench::set("assistant").await;
    for (status, body) in [
        (200, json!({"code": 1, "msg": "busy", "data": {}})),
        (200, json!({"code": 1_000_040_343, "msg": "internal", "data": {}})),
        (502, json!({})),
    ] {
        bench.platform.on(CALL, status, &body);
    }
    bench.offer(&quick());
    bench.hold();
    let before = bench.clock.now();
    bench.accept().await.ping().await;
    let waited = bench.clock.now().since(before);
    assert!(waited <= Duration::from_secs(20), "{waited:?}");
}

#[tokio::test]
async fn a_rejected_handshake_asks_for_a_new_address() {
    let mut bench = Bench::set("assistant").await;
    bench.offer(&quick());
    bench.offer(&quick());
    bench.hold();
    let (stream, _) = soon(bench.listener.accept()).await.unwrap();
    #[expect(clippy::result_large_err, reason = "the shape that the library wants")]
    let reject = |_: &Request, _: Response| {
        let answer = Response::builder().status(400).header("Handshake-Status", "514");
        let answer = answer.header("Handshake-Autherrcode", "1000040350").body(None).unwrap();
        Err::<Response, ErrorResponse>(answer)
    };
    assert!(accept_hdr_async(stream, reject).await.is_err());
    bench.until(|state| matches!(state, LinkState::Refused { .. })).await;
    let peer = bench.accept().await;
    assert!(peer.path.ends_with("&ticket=2"), "{}", peer.path);
}

#[tokio::test]
async fn the_end_of_the_daemon_answers_what_was_taken_and_says_goodbye() {
    let (bench, mut peer) = Bench::connected("assistant").await;
    peer.message("om_1", SLOW_CHAT).await;
    peer.socket.send(Message::Ping("life".into())).await.unwrap();
    assert_eq!(peer.next().await, Some(Message::Pong("life".into())));
    bench.tasks.cancellation().cancel();
    bench.inlet.open_gate();
    assert_eq!(peer.code().await, 200);
    assert_eq!(peer.next().await, Some(Message::Close(None)));
    peer.is_left().await;
    assert_eq!(bench.tasks.join(PATIENCE).await, 0);
}

#[tokio::test]
async fn p012_a_used_up_budget_of_reconnects_ends_nothing() {
    let (mut bench, mut peer) = Bench::connected("assistant").await;
    let mut pong = Frame::ping(SERVICE);
    pong.headers[0].value = "pong".into();
    let mut config = quick();
    config["ReconnectCount"] = json!(1);
    pong.payload = Some(config.to_string().into());
    peer.send(&pong).await;
    drop(peer);
    // Two tries meet a server that hangs up.
    for _ in 0..2 {
        bench.offer(&config);
        let stream = soon(bench.while_time_passes(bench.listener.accept())).await;
        drop(stream);
        bench.until(|state| !is_up(state)).await;
    }
    bench.offer(&config);
    bench.accept().await.ping().await;
    bench.until(is_up).await;
}

#[tokio::test]
async fn p013_an_endpoint_that_hangs_delays_the_connection_and_no_more() {
    let mut bench = Bench::set("assistant").await;
    let bot = Arc::get_mut(&mut bench.bot).unwrap();
    bot.hurry(Duration::from_millis(50));
    for _ in 0..2 {
        bench.platform.raw(CALL, 0, Vec::new(), String::new());
    }
    bench.hold();
    let timed_out = |state: &LinkState| {
        let LinkState::Connecting { last_error: Some(error), .. } = state else { return false };
        error.contains("no answer in time")
    };
    bench.until(timed_out).await;
    bench.offer(&quick());
    bench.accept().await.ping().await;
    bench.until(is_up).await;
    assert!(bench.platform.count(CALL) >= 3);
}

#[tokio::test]
async fn p014_a_half_open_socket_is_noticed_and_touches_no_other_bot() {
    let (mut quiet, mut stalled) = Bench::connected("quiet").await;
    let mut others = [Bench::connected("one").await, Bench::connected("two").await];
    quiet.offer(&quick());
    // Its pings go out, and nothing comes back; the others hear pongs.
    let mut seconds = 0;
    while seconds < 31 {
        quiet.clock.advance(Duration::from_secs(10));
        seconds += 10;
        if seconds < 31 {
            stalled.ping().await;
        }
        for (bench, peer) in &mut others {
            bench.clock.advance(Duration::from_secs(10));
            peer.ping().await;
            peer.message("om_life", "oc_1").await;
            assert_eq!(peer.code().await, 200);
        }
    }
    let mut peer = quiet.accept().await;
    assert!(peer.path.ends_with("&ticket=2"), "{}", peer.path);
    peer.message("om_1", "oc_1").await;
    assert_eq!(peer.code().await, 200);
    assert_eq!(quiet.inlet.taken(), ["om_1"]);
    for (bench, _) in &others {
        assert_eq!(bench.bot.link_cell().unwrap().link().connects, 1);
    }
}

#[tokio::test]
async fn p015_a_machine_that_slept_connects_at_once() {
    let (mut bench, mut peer) = Bench::connected("assistant").await;
    bench.offer(&json!({"ReconnectNonce": 600}));
    bench.clock.advance(Duration::from_secs(45 * 60));
    let woken = bench.clock.now();
    peer.is_left().await;
    let (stream, _) = soon(bench.listener.accept()).await.unwrap();
    assert_eq!(bench.clock.now(), woken, "while the clock stands");
    drop(stream);
}

#[tokio::test]
async fn p017_messages_of_whatever_kind_leave_the_connection_alone() {
    let (bench, mut peer) = Bench::connected("assistant").await;
    peer.socket.send(Message::Text("text".into())).await.unwrap();
    peer.socket.send(Message::Binary("no frame".into())).await.unwrap();
    for id in ["om_1", "om_2", "om_3"] {
        peer.message(id, "oc_1").await;
        assert_eq!(peer.code().await, 200);
    }
    assert_eq!((bench.inlet.taken().len(), bench.platform.count(CALL)), (3, 1));
    assert_eq!(bench.bot.link_cell().unwrap().link().connects, 1);
}

#[tokio::test]
async fn p142_pings_of_the_server_keep_an_idle_connection() {
    let (bench, mut peer) = Bench::connected("assistant").await;
    for _ in 0..30 {
        bench.clock.advance(Duration::from_secs(20));
        peer.socket.send(Message::Ping("life".into())).await.unwrap();
        let mut seen = [peer.next().await.unwrap(), peer.next().await.unwrap()];
        seen.sort_by_key(Message::is_binary);
        assert_eq!(seen[0], Message::Pong("life".into()));
        assert!(seen[1].is_binary(), "{seen:?}");
    }
    assert!(is_up(&bench.state()));
    assert_eq!(bench.platform.count(CALL), 1);
}
