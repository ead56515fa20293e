//! What goes wrong on a long connection, seen from the app.

use std::time::Duration;

use larkspur::playground::{
    Break, Endpoint, FaultAction, FaultRule, LongConnection, Playground, PushRecord, Settings,
    SocketFault, Transport,
};
use serde_json::json;

use crate::raw_socket::{APP, RawClient, SECRET, discover};
use crate::support::{Client, PATIENCE, playground, playground_with};

/// A playground whose apps have little time, so that what is lost is noticed soon.
async fn impatient() -> Playground {
    let sim = playground_with(Settings {
        seed: Some(7),
        time_scale: 0,
        push_patience: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    sim.set_transport(Transport::Websocket);
    sim
}

fn socket(how: SocketFault) -> FaultAction {
    FaultAction::Socket { how }
}

/// Says something, and waits until its event has failed once.
async fn fails(sim: &Playground, action: FaultAction) -> PushRecord {
    sim.fault(FaultRule::next(Endpoint::Event, 1, action));
    let chat = sim.p2p("u1").chat_id;
    let message_id = sim.says("u1", &chat, "hi").unwrap();
    let failed = sim.wait_until(PATIENCE, |sim| sim.pushes_of(&message_id).first().cloned());
    let failed = failed.await.unwrap();
    assert!(!failed.delivered() && failed.next_try_at_ms.is_some());
    failed
}

#[tokio::test]
async fn discovery_answers_any_code_with_its_data_as_often_as_it_is_told() {
    let sim = impatient().await;
    for code in [1, 403, 514, 1_000_040_343, 1_000_040_350, 1_000_040_351] {
        let action = FaultAction::Refuse { status: 200, code, reset_s: None };
        sim.fault(FaultRule::next(Endpoint::Discovery, 1, action));
        let refused = discover(&sim, APP, SECRET).await;
        assert_eq!(refused["code"], code);
        assert!(refused["data"]["ClientConfig"]["ReconnectCount"].is_i64());
        assert_eq!(discover(&sim, APP, SECRET).await["code"], 0);
    }
    let down = FaultAction::Refuse { status: 503, code: 1, reset_s: None };
    sim.fault(FaultRule::by_chance(Endpoint::Discovery, 1_000, down));
    let body = json!({"AppID": APP, "AppSecret": SECRET});
    let client = Client::anonymous(&sim);
    let reply = client.call("POST", "/callback/ws/endpoint", Some(&body)).await;
    assert_eq!((reply.status, reply.code()), (503, 1));
    sim.clear_faults();
    sim.fault(FaultRule::next(Endpoint::Discovery, 1, FaultAction::Delay { ms: 3_600_000 }));
    let hangs = client.call("POST", "/callback/ws/endpoint", Some(&body));
    assert!(tokio::time::timeout(Duration::from_millis(200), hangs).await.is_err());
    sim.stop().await;
}

#[tokio::test]
async fn an_upgrade_is_refused_with_the_status_and_code_it_is_told() {
    let sim = impatient().await;
    for (status, code) in [(403, 0), (514, 1_000_040_350), (500, 7)] {
        let found = discover(&sim, APP, SECRET).await;
        let action = FaultAction::Refuse { status, code, reset_s: None };
        sim.fault(FaultRule::next(Endpoint::Upgrade, 1, action));
        let refused = RawClient::at(&sim, found["data"]["URL"].as_str().unwrap()).await;
        let refused = refused.err().unwrap();
        assert_eq!((refused.status, refused.code), (status, code.to_string()));
        assert_eq!(refused.handshake_status, status.to_string());
    }
    assert!(sim.connections().is_empty());
    sim.stop().await;
}

#[tokio::test]
async fn a_connection_ends_in_the_place_of_an_event_or_right_after_it() {
    let sim = impatient().await;
    for action in [FaultAction::Drop, socket(SocketFault::Close), FaultAction::DropAfter] {
        let mut client = RawClient::open(&sim).await;
        let failed = fails(&sim, action.clone()).await;
        assert_eq!(failed.connection.as_deref(), Some(client.device_id.as_str()));
        let frame = client.frame().await;
        assert_eq!(frame.is_some(), action == FaultAction::DropAfter, "{action:?}");
        if frame.is_some() {
            assert_eq!(client.frame().await, None);
        }
        assert!(sim.connections().is_empty());
    }
    sim.stop().await;
}

#[tokio::test]
async fn a_half_open_connection_stays_and_says_nothing_until_another_is_opened() {
    let sim = impatient().await;
    let mut client = RawClient::open(&sim).await;
    let failed = fails(&sim, socket(SocketFault::Freeze)).await;
    assert_eq!(failed.status, None);
    assert!(sim.connections()[0].frozen);
    client.send_ping().await;
    assert!(client.is_silent().await);
    // Events still go this way and are lost.
    let chat = sim.p2p("u2").chat_id;
    sim.says("u2", &chat, "hi").unwrap();
    let lost = sim.wait_until(PATIENCE, |sim| sim.pushes().get(1).cloned()).await.unwrap();
    assert_eq!((lost.status, lost.connection.as_ref()), (None, Some(&client.device_id)));
    let mut next = RawClient::open(&sim).await;
    let open = sim.connections();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].device_id, next.device_id);
    sim.advance(Duration::from_secs(15));
    next.take().await;
    next.take().await;
    assert_eq!(sim.break_connections(None, Break::Freeze), 1);
    next.send_ping().await;
    assert!(next.is_silent().await);
    sim.stop().await;
}

#[tokio::test]
async fn pings_meet_faults_of_their_own() {
    let sim = impatient().await;
    for (action, ends) in [
        (socket(SocketFault::LoseFrame), false),
        (socket(SocketFault::Freeze), false),
        (FaultAction::Drop, true),
        (socket(SocketFault::Close), true),
    ] {
        let mut client = RawClient::open(&sim).await;
        sim.fault(FaultRule::next(Endpoint::Ping, 1, action));
        client.send_ping().await;
        if ends {
            assert_eq!(client.frame().await, None);
        } else {
            assert!(client.is_silent().await);
        }
    }
    sim.stop().await;
}

#[tokio::test]
async fn pieces_are_lost_or_reordered_and_the_whole_event_comes_again() {
    let sim = impatient().await;
    let mut client = RawClient::open(&sim).await;
    let settings = LongConnection { fragment_bytes: 200, ..LongConnection::default() };
    sim.set_long_connection(APP, settings).unwrap();
    fails(&sim, socket(SocketFault::LoseFrame)).await;
    let first = client.frame().await.unwrap();
    let sum: usize = first.header("sum").parse().unwrap();
    for _ in 2..sum {
        assert_eq!(client.frame().await.unwrap().header("message_id"), first.header("message_id"));
    }
    sim.fault(FaultRule::next(Endpoint::Event, 1, socket(SocketFault::Reorder)));
    sim.advance(Duration::from_secs(15));
    let (last, event) = client.event().await;
    assert_eq!(last.header("seq"), "0");
    assert_ne!(last.header("message_id"), first.header("message_id"));
    assert_eq!(event["header"]["event_type"], "im.message.receive_v1");
    client.ack(&last, &json!({"code": 200})).await;
    let pushes = sim.wait_until(PATIENCE, |sim| Some(sim.pushes()).filter(|made| made.len() == 2));
    let pushes = pushes.await.unwrap();
    assert!(pushes[1].delivered() && pushes[0].event_id == pushes[1].event_id);
    sim.stop().await;
}

#[tokio::test]
async fn an_event_may_be_late_be_called_a_card_or_have_a_huge_log_id() {
    let sim = playground().await;
    sim.set_transport(Transport::Websocket);
    let mut client = RawClient::open(&sim).await;
    let chat = sim.p2p("u1").chat_id;
    sim.fault(FaultRule::next(Endpoint::Event, 1, FaultAction::Delay { ms: 50 }));
    sim.fault(FaultRule::next(Endpoint::Event, 1, socket(SocketFault::AsCard)));
    sim.fault(FaultRule::next(Endpoint::Event, 1, socket(SocketFault::HugeLogId)));
    for index in 0..4 {
        sim.says("u1", &chat, "hi").unwrap();
        let (mut frame, _event) = client.event().await;
        assert_eq!(frame.header("type"), if index == 1 { "card" } else { "event" });
        assert_eq!(frame.log_id > 1 << 53, index == 2);
        // A client that counts in doubles sends another number back, which must not matter.
        frame.log_id &= !0xff;
        client.ack(&frame, &json!({"code": 200})).await;
        assert!(sim.pushed(PATIENCE).await);
    }
    assert!(sim.pushes().iter().all(PushRecord::delivered));
    sim.stop().await;
}
