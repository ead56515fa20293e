//! The long connection from the app's side: discovery, upgrade, events, presses, pings.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use larkspur::playground::{
    AppSettings, Break, CardPress, ClientConfig, Connection, Endpoint, EventPush, FragmentOrder,
    FragmentSize, LongConnection, Playground, PongPayload, PressFrames, PushRecord, RawPush,
    SocketAcks, SocketEnd, SocketRetries, Transport,
};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::raw_socket::{APP, RawClient, RawFrame, Rejected, SECRET, discover};
use crate::support::{Client, PATIENCE, playground};

async fn on_the_socket() -> Playground {
    let sim = playground().await;
    sim.set_transport(Transport::Websocket);
    sim
}

/// Waits until so many tries were made, and gives them.
async fn tries(sim: &Playground, count: usize) -> Vec<PushRecord> {
    let made = sim.wait_until(PATIENCE, |sim| (sim.pushes().len() >= count).then(|| sim.pushes()));
    made.await.unwrap()
}

async fn connections(sim: &Playground, count: usize) -> Vec<Connection> {
    let open =
        sim.wait_until(PATIENCE, |sim| Some(sim.connections()).filter(|open| open.len() == count));
    open.await.unwrap()
}

fn text_of(event: &Value) -> String {
    let content = event["event"]["message"]["content"].as_str().unwrap();
    serde_json::from_str::<Value>(content).unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_clients_own_codec_writes_the_recorded_frames() {
    let vectors = include_str!("../fixtures/feishu-vectors.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    for recorded in vectors["ws"]["frames"].as_array().unwrap() {
        let bytes = hex::decode(recorded["hex"].as_str().unwrap()).unwrap();
        assert_eq!(RawFrame::read(&bytes).write(), bytes, "{}", recorded["name"]);
    }
}

#[tokio::test]
async fn discovery_says_where_to_connect_or_why_not() {
    let sim = on_the_socket().await;
    let client = ClientConfig { ping_interval: 7, ..ClientConfig::default() };
    let settings = LongConnection { client, ..LongConnection::default() };
    sim.set_long_connection(APP, settings).unwrap();
    let found = discover(&sim, APP, SECRET).await;
    let address = found["data"]["URL"].as_str().unwrap();
    let start = format!("ws://{}/ws/v2?fpid=", sim.address());
    assert!(address.starts_with(&start), "{address}");
    assert_eq!(found["code"], 0);
    let told = json!({
        "ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": 7,
    });
    assert_eq!(found["data"]["ClientConfig"], told);
    for (app, secret, code) in [
        (APP, "wrong", 1_000_040_345),
        ("cli_0000000000000000", SECRET, 1_000_040_346),
        ("", SECRET, 1_000_040_344),
        (APP, "", 1_000_040_344),
    ] {
        let refused = discover(&sim, app, secret).await;
        assert_eq!(refused["code"], code, "{app} {secret}");
        assert!(refused["data"]["ClientConfig"]["PingInterval"].is_u64());
        assert_eq!(refused["data"]["URL"], "");
    }
    let calls = sim.calls(Endpoint::Discovery);
    assert_eq!(calls.iter().map(|call| call.code).max(), Some(1_000_040_346));
    sim.stop().await;
}

#[tokio::test]
async fn a_ticket_opens_one_connection_and_only_for_a_while() {
    let sim = on_the_socket().await;
    let forbidden =
        Rejected { status: 403, handshake_status: "403".to_owned(), code: "0".to_owned() };
    let found = discover(&sim, APP, SECRET).await;
    let address = found["data"]["URL"].as_str().unwrap();
    let client = RawClient::at(&sim, address).await.ok().unwrap();
    assert_eq!(RawClient::at(&sim, address).await.err(), Some(forbidden.clone()));
    let shown = connections(&sim, 1).await;
    assert_eq!((shown[0].device_id.as_str(), shown[0].app_id.as_str()), (&*client.device_id, APP));
    let found = discover(&sim, APP, SECRET).await;
    sim.advance(Duration::from_secs(121));
    let late = RawClient::at(&sim, found["data"]["URL"].as_str().unwrap()).await;
    assert_eq!(late.err(), Some(forbidden));
    let plain = Client::anonymous(&sim).call("GET", "/ws/v2?ticket=x", None).await;
    assert_eq!((plain.status, &plain.headers["handshake-status"]), (400, &"400".parse().unwrap()));
    client.close().await;
    connections(&sim, 0).await;
    sim.stop().await;
}

#[tokio::test]
async fn an_app_has_at_most_fifty_connections() {
    let sim = on_the_socket().await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        clients.push(RawClient::open(&sim).await);
    }
    let found = discover(&sim, APP, SECRET).await;
    let refused = RawClient::at(&sim, found["data"]["URL"].as_str().unwrap()).await.err().unwrap();
    let too_many =
        Rejected { status: 514, handshake_status: "514".to_owned(), code: "1000040350".to_owned() };
    assert_eq!(refused, too_many);
    let other = AppSettings { app_id: "cli_00000000000000aa".to_owned(), ..AppSettings::default() };
    sim.add_app(&other).unwrap();
    RawClient::open_as(&sim, &other.app_id, &other.app_secret).await;
    clients.pop().unwrap().close().await;
    sim.wait_until(PATIENCE, |sim| (sim.connections().len() < 51).then_some(())).await.unwrap();
    RawClient::open(&sim).await;
    sim.stop().await;
}

#[tokio::test]
async fn an_event_is_plain_and_counts_once_it_is_acknowledged() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    let chat = sim.p2p("u1");
    let message_id = sim.says("u1", &chat.chat_id, "你好").unwrap();
    let (frame, event) = client.event().await;
    assert_eq!((frame.method, frame.service), (1, client.service));
    assert_eq!(
        (frame.header("type"), frame.header("sum"), frame.header("seq")),
        ("event", "1", "0")
    );
    assert!(!frame.header("message_id").is_empty() && !frame.header("trace_id").is_empty());
    assert_eq!(event["header"]["event_type"], "im.message.receive_v1");
    assert_eq!(event["header"]["app_id"], APP);
    assert_eq!(event["event"]["message"]["message_id"], json!(message_id));
    assert_eq!(text_of(&event), "你好");
    assert!(sim.pushes().is_empty());
    client
        .ack(&frame, &json!({"code": 200, "headers": null, "data": STANDARD.encode("fine")}))
        .await;
    let push = tries(&sim, 1).await.remove(0);
    assert_eq!((push.status, push.answer.as_str(), push.attempt), (Some(200), "fine", 1));
    assert!(push.delivered() && push.next_try_at_ms.is_none());
    assert_eq!(push.connection.as_deref(), Some(client.device_id.as_str()));
    assert_eq!(push.message_id.as_deref(), Some(message_id.as_str()));
    let shown = &sim.connections()[0];
    assert_eq!((shown.events, shown.acks, shown.strays), (1, 1, 0));
    // The same again, and frames that mean nothing.
    client.ack(&frame, &json!({"code": 200})).await;
    client.write(Message::Text("hello".into())).await;
    client.write(Message::Binary(vec![0xff, 0xff].into())).await;
    sim.wait_until(PATIENCE, |sim| (sim.connections()[0].strays == 3).then_some(())).await.unwrap();
    sim.stop().await;
}

#[tokio::test]
async fn first_tries_of_one_chat_wait_for_each_other() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    let (first, second) = (sim.p2p("u1").chat_id, sim.p2p("u2").chat_id);
    for text in ["1", "2", "3"] {
        sim.says("u1", &first, text).unwrap();
    }
    let (held, event) = client.event().await;
    assert_eq!(text_of(&event), "1");
    sim.says("u2", &second, "other").unwrap();
    assert_eq!(text_of(&client.take().await), "other");
    assert!(client.is_silent().await);
    client.ack(&held, &json!({"code": 200})).await;
    assert_eq!(text_of(&client.take().await), "2");
    assert_eq!(text_of(&client.take().await), "3");
    assert!(sim.pushed(PATIENCE).await);
    sim.stop().await;
}

#[tokio::test]
async fn what_is_not_taken_climbs_the_same_ladder() {
    let sim = on_the_socket().await;
    let chat = sim.p2p("u1").chat_id;
    sim.says("u1", &chat, "hi").unwrap();
    let push = tries(&sim, 1).await.remove(0);
    assert_eq!((push.status, push.connection.clone()), (None, None));
    assert_eq!(push.next_try_at_ms, Some(push.at_ms + 15_000));
    let mut client = RawClient::open(&sim).await;
    let bad = [
        (300, json!({"code": 500})),
        (3_600, json!({"code": 400})),
        (21_600, json!({"no": "code"})),
    ];
    let mut wait_s = 15;
    for (done, (next_s, ack)) in bad.into_iter().enumerate() {
        sim.advance(Duration::from_secs(wait_s));
        let (frame, event) = client.event().await;
        assert_eq!(text_of(&event), "hi");
        client.ack(&frame, &ack).await;
        let push = tries(&sim, done + 2).await.pop().unwrap();
        assert!(!push.delivered());
        assert_eq!(push.next_try_at_ms, Some(push.at_ms + next_s * 1_000));
        wait_s = next_s;
    }
    sim.advance(Duration::from_secs(wait_s));
    let (_never_acknowledged, _event) = client.event().await;
    client.close().await;
    let last = tries(&sim, 5).await.pop().unwrap();
    assert_eq!((last.status, last.attempt, last.next_try_at_ms), (None, 5, None));
    assert_eq!(sim.retries_waiting(), 0);
    sim.stop().await;
}

#[tokio::test]
async fn how_retries_come_over_the_socket_is_switched() {
    let sim = on_the_socket().await;
    let chat = sim.p2p("u1").chat_id;
    sim.switch(|switches| switches.socket_retries = SocketRetries::Quick);
    sim.says("u1", &chat, "quick").unwrap();
    let push = tries(&sim, 1).await.remove(0);
    assert_eq!(push.next_try_at_ms, Some(push.at_ms + 5_000));
    sim.switch(|switches| {
        switches.socket_retries = SocketRetries::OnConnect;
        switches.socket_acks = SocketAcks::AllBut500;
    });
    let mut client = RawClient::open(&sim).await;
    // Although the clock stands still.
    let (frame, event) = client.event().await;
    assert_eq!(text_of(&event), "quick");
    client.ack(&frame, &json!({"code": 404})).await;
    let push = tries(&sim, 2).await.pop().unwrap();
    assert!(push.delivered() && push.status == Some(404));
    sim.says("u1", &chat, "failed").unwrap();
    let (frame, _event) = client.event().await;
    client.ack(&frame, &json!({"code": 500})).await;
    assert!(!tries(&sim, 3).await.pop().unwrap().delivered());
    assert_eq!(sim.retries_waiting(), 1);
    sim.stop().await;
}

#[tokio::test]
async fn each_event_goes_over_one_of_the_apps_connections() {
    let sim = on_the_socket().await;
    let (mut one, mut two) = (RawClient::open(&sim).await, RawClient::open(&sim).await);
    for index in 0..12 {
        let chat = sim.p2p(&format!("u{index}")).chat_id;
        sim.says(&format!("u{index}"), &chat, "hi").unwrap();
    }
    let mut taken = 0;
    while taken < 12 {
        tokio::select! {
            (frame, _event) = one.event() => one.ack(&frame, &json!({"code": 200})).await,
            (frame, _event) = two.event() => two.ack(&frame, &json!({"code": 200})).await,
        }
        taken += 1;
    }
    let pushes = tries(&sim, 12).await;
    assert!(pushes.iter().all(PushRecord::delivered));
    let over = |client: &RawClient| {
        let mine = |push: &&PushRecord| push.connection.as_ref() == Some(&client.device_id);
        pushes.iter().filter(mine).count()
    };
    assert!(over(&one) > 0 && over(&two) > 0);
    assert_eq!(over(&one) + over(&two), 12);
    sim.stop().await;
}

#[tokio::test]
async fn a_press_is_answered_by_the_data_of_its_acknowledgement() {
    let sim = on_the_socket().await;
    sim.group("g1", &["u1"]);
    let mut client = RawClient::open(&sim).await;
    let action = json!({"tag": "button", "value": {"k": "v"}});
    let press = || CardPress::new("u1", "g1", action.clone());
    let toast = json!({"toast": {"type": "success", "content": "已同意"}}).to_string();
    let with_data = |data: &str| json!({"code": 200, "data": STANDARD.encode(data)});
    for (frames, ack, error, shown) in [
        (PressFrames::Event, with_data(&toast), 0, Some("已同意")),
        (PressFrames::Card, with_data(&toast), 0, Some("已同意")),
        (PressFrames::Event, json!({"code": 200}), 0, None),
        (PressFrames::Event, with_data("\"no handler\""), 200_672, None),
        (PressFrames::Event, json!({"code": 500}), 200_671, None),
    ] {
        sim.switch(|switches| switches.press_frames = frames);
        let answer = async {
            let (frame, event) = client.event().await;
            client.ack(&frame, &ack).await;
            (frame, event)
        };
        let (outcome, (frame, event)) = tokio::join!(sim.press(press()), answer);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.client_error, error, "{ack}");
        assert_eq!(outcome.toast.as_ref().map(|(_, text)| text.as_str()), shown);
        let kind = if frames == PressFrames::Card { "card" } else { "event" };
        assert_eq!(frame.header("type"), kind);
        assert_eq!(event["header"]["event_type"], "card.action.trigger");
        assert_eq!(event["event"]["action"], action);
    }
    let first = sim.press(press().of_the_first_generation()).await;
    assert!(first.unwrap_err().to_string().contains("first generation"));
    client.close().await;
    connections(&sim, 0).await;
    assert_eq!(sim.press(press()).await.unwrap().client_error, 200_341);
    sim.stop().await;
}

#[tokio::test]
async fn events_and_bodies_of_the_tests_own_go_the_same_way() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    let event = EventPush::new("im.chat.disbanded_v1", json!({"chat_id": "oc_1"}));
    let (record, taken) = tokio::join!(sim.push_event(event.with_id("ev_1")), client.take());
    assert!(record.unwrap().delivered());
    assert_eq!(taken["header"]["event_id"], "ev_1");
    let old = EventPush::new("p2p_chat_create", json!({})).with_id("uu_1").in_schema_1();
    let (record, taken) = tokio::join!(sim.push_event(old), client.take());
    assert!(record.unwrap().delivered() && taken["uuid"] == "uu_1");
    let raw = RawPush { body: "{\"odd\":1}".to_owned(), sign: true, ..RawPush::default() };
    let (record, taken) = tokio::join!(sim.push(raw), client.take());
    assert!(record.unwrap().delivered() && taken == json!({"odd": 1}));
    let chat = sim.p2p("u1").chat_id;
    let message_id = sim.says("u1", &chat, "twice").unwrap();
    let first = client.take().await;
    let again = sim.duplicate(&message_id, 1, larkspur::playground::RetryEventId::New);
    let (records, second) = tokio::join!(again, client.take());
    assert!(records.unwrap()[0].delivered());
    assert_eq!(first["event"], second["event"]);
    assert_ne!(first["header"]["event_id"], second["header"]["event_id"]);
    sim.stop().await;
}

#[tokio::test]
async fn a_long_payload_is_cut_inside_of_characters_and_comes_in_the_order_that_is_set() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    let chat = sim.p2p("u1").chat_id;
    let text = "分片🧩".repeat(200);
    let mut seen = Vec::new();
    for order in [FragmentOrder::InOrder, FragmentOrder::Reversed, FragmentOrder::Shuffled] {
        let settings = LongConnection {
            fragment_bytes: 300,
            fragment_order: order,
            ..LongConnection::default()
        };
        sim.set_long_connection(APP, settings).unwrap();
        sim.says("u1", &chat, &text).unwrap();
        let mut frames = vec![client.frame().await.unwrap()];
        let sum: usize = frames[0].header("sum").parse().unwrap();
        while frames.len() < sum {
            frames.push(client.frame().await.unwrap());
        }
        let last = frames.last().unwrap().clone();
        client.ack(&last, &json!({"code": 200})).await;
        assert!(sim.pushed(PATIENCE).await);
        let broken = frames.iter().any(|frame| {
            std::str::from_utf8(frame.payload.as_deref().unwrap_or_default()).is_err()
        });
        assert!(broken && sum > 4);
        seen.push(
            frames.iter().map(|frame| frame.header("seq").parse().unwrap()).collect::<Vec<usize>>(),
        );
        frames.sort_by_key(|frame| frame.header("seq").parse::<usize>().unwrap());
        let whole: Vec<u8> =
            frames.iter().flat_map(|frame| frame.payload.clone().unwrap()).collect();
        assert_eq!(text_of(&serde_json::from_slice(&whole).unwrap()), text);
        let ids: Vec<&str> = frames.iter().map(|frame| frame.header("message_id")).collect();
        assert!(ids.iter().all(|id| *id == ids[0]));
    }
    assert!(seen[0].is_sorted() && seen[1].iter().rev().is_sorted());
    assert!(!seen[2].is_sorted() && !seen[2].iter().rev().is_sorted());
    assert!(sim.pushes().iter().all(PushRecord::delivered));
    sim.set_long_connection(APP, LongConnection::default()).unwrap();
    for (size, at_least) in
        [(FragmentSize::Whole, 1), (FragmentSize::Kilobyte, 2), (FragmentSize::Tiny, 20)]
    {
        sim.switch(|switches| switches.fragment_size = size);
        sim.says("u1", &chat, &text).unwrap();
        let (frame, _event) = client.event().await;
        let sum: usize = frame.header("sum").parse().unwrap();
        assert!(sum >= at_least && (sum == 1) == (at_least == 1), "{size:?}: {sum}");
        client.ack(&frame, &json!({"code": 200})).await;
        assert!(sim.pushed(PATIENCE).await);
    }
    sim.stop().await;
}

#[tokio::test]
async fn pings_of_both_kinds_are_answered_and_a_pong_tells_what_has_changed() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    // The platform's own ping comes at once.
    assert!(matches!(client.message().await, Some(Message::Ping(_))));
    client.write(Message::Ping(b"are you there".as_slice().into())).await;
    assert_eq!(client.message().await, Some(Message::Pong(b"are you there".as_slice().into())));
    let pong = client.ping().await.unwrap();
    assert_eq!((pong.method, pong.header("type"), &pong.payload), (0, "pong", &None));
    assert_eq!((pong.seq_id, pong.log_id, pong.service), (0, 0, client.service));
    let changed = ClientConfig { ping_interval: 3, reconnect_nonce: 0, ..ClientConfig::default() };
    let settings = LongConnection { client: changed, ..LongConnection::default() };
    sim.set_long_connection(APP, settings).unwrap();
    assert_eq!(client.ping().await.unwrap().json()["PingInterval"], 3);
    assert_eq!(client.ping().await.unwrap().payload, None);
    sim.switch(|switches| switches.pong_payload = PongPayload::Always);
    let told = client.ping().await.unwrap().json();
    assert_eq!((&told["ReconnectNonce"], &told["ReconnectCount"]), (&json!(0), &json!(-1)));
    assert_eq!(sim.connections()[0].pings, 4);
    sim.stop().await;
}

#[tokio::test]
async fn the_platform_ends_connections_by_itself_if_it_is_switched_so() {
    let sim = on_the_socket().await;
    let mut client = RawClient::open(&sim).await;
    sim.advance(Duration::from_secs(7_200));
    assert!(client.ping().await.is_some());
    sim.advance(Duration::from_secs(200));
    sim.switch(|switches| switches.socket_end = SocketEnd::Idle);
    assert!(client.ping().await.is_some());
    sim.advance(Duration::from_secs(299));
    assert!(client.is_silent().await);
    sim.advance(Duration::from_secs(2));
    assert_eq!(client.frame().await, None);
    let mut client = RawClient::open(&sim).await;
    sim.switch(|switches| switches.socket_end = SocketEnd::Rotated);
    sim.advance(Duration::from_secs(3_599));
    assert!(client.ping().await.is_some());
    sim.advance(Duration::from_secs(2));
    assert_eq!(client.frame().await, None);
    sim.stop().await;
}

#[tokio::test]
async fn the_control_api_shows_sets_and_breaks_long_connections() {
    let sim = playground().await;
    let curl = Client::anonymous(&sim);
    let path = format!("/sim/v1/apps/{APP}");
    let body = json!({"transport": "websocket"});
    assert_eq!(curl.call("PUT", &format!("{path}/transport"), Some(&body)).await.status, 200);
    assert_eq!(curl.call("PUT", &format!("{path}/transport"), Some(&json!({}))).await.status, 400);
    let patch = json!({"client": {"PingInterval": 1, "ReconnectNonce": 0}, "fragment_bytes": 64});
    let path = format!("{path}/long_connection");
    let set = curl.call("PATCH", &path, Some(&patch)).await.json;
    assert_eq!(set["client"]["PingInterval"], 1);
    assert_eq!(set["client"]["ReconnectInterval"], 120);
    assert_eq!(curl.call("GET", &path, None).await.json, set);
    let odd = json!({"client": {"Ping": 1}});
    assert_eq!(curl.call("PATCH", &path, Some(&odd)).await.status, 400);
    let (mut one, mut two) = (RawClient::open(&sim).await, RawClient::open(&sim).await);
    assert_eq!(one.told["PingInterval"], 1);
    let shown = curl.call("GET", "/sim/v1/connections", None).await.json;
    assert_eq!(shown[0]["device_id"], json!(one.device_id));
    assert_eq!((&shown[1]["app_id"], &shown[1]["frozen"]), (&json!(APP), &json!(false)));
    let state = curl.call("GET", "/sim/v1/state", None).await.json;
    assert_eq!(
        (&state["connections"], &state["apps"][0]["transport"]),
        (&json!(2), &json!("websocket"))
    );
    let body = json!({"how": "close", "device_id": one.device_id});
    let broken = curl.call("POST", "/sim/v1/connections/break", Some(&body)).await.json;
    assert_eq!(broken["broken"], 1);
    assert_eq!(one.frame().await, None);
    assert!(two.ping().await.is_some());
    // A reset leaves connections and the way of events as they are.
    assert_eq!(curl.call("POST", "/sim/v1/reset", None).await.status, 200);
    let chat = sim.p2p("u1").chat_id;
    sim.says("u1", &chat, "after the reset").unwrap();
    assert_eq!(text_of(&two.take().await), "after the reset");
    assert_eq!(sim.break_connections(Some(APP), Break::Abort), 1);
    assert_eq!(two.frame().await, None);
    sim.stop().await;
}
