//! Every fault, seen from the caller and from the chat.

use std::time::Duration;

use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::json;

use crate::support::{Client, PATIENCE, playground, text_message};

const SEND: &str = "/open-apis/im/v1/messages?receive_id_type=chat_id";

#[tokio::test]
async fn a_refusal_strikes_as_often_as_it_says_and_does_nothing() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let action = FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(3) };
    sim.fault(FaultRule { skip: 1, ..FaultRule::next(Endpoint::Send, 2, action) });
    let mut codes = Vec::new();
    for _ in 0..4 {
        let reply = client.send(&chat.chat_id, "x", "").await;
        codes.push((reply.status, reply.code()));
        if reply.status == 429 {
            assert_eq!(reply.headers["x-ogw-ratelimit-reset"], "3");
            assert!(reply.json["error"]["log_id"].is_string());
        }
    }
    assert_eq!(codes, [(200, 0), (429, 99_991_400), (429, 99_991_400), (200, 0)]);
    assert_eq!(sim.visible("g1").len(), 2);
    let calls = sim.calls(Endpoint::Send);
    let struck: Vec<bool> = calls.iter().map(|call| call.fault).collect();
    assert_eq!(struck, [false, true, true, false]);
}

#[tokio::test]
async fn a_dropped_connection_leaves_the_caller_without_an_answer() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let body = text_message(&chat.chat_id, "x", "once");
    sim.fault(FaultRule::next(Endpoint::Send, 1, FaultAction::Drop));
    assert!(client.try_call("POST", SEND, Some(&body)).await.is_err());
    assert!(sim.visible("g1").is_empty());
    sim.fault(FaultRule::next(Endpoint::Send, 1, FaultAction::DropAfter));
    assert!(client.try_call("POST", SEND, Some(&body)).await.is_err());
    assert_eq!(sim.visible("g1").len(), 1);
    // The uuid resolves the doubt: the repeat is the same message.
    let again = client.call("POST", SEND, Some(&body)).await;
    assert_eq!(again.data("/message_id"), sim.visible("g1")[0].message_id);
    assert_eq!(sim.visible("g1").len(), 1);
    assert_eq!(sim.calls(Endpoint::Send)[0].status, 0);
}

#[tokio::test]
async fn a_garbled_answer_hides_work_that_was_done() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let action = FaultAction::Garble { status: 502, body: "<html>".to_owned() };
    sim.fault(FaultRule::next(Endpoint::Any, 1, action));
    let reply = client.send(&chat.chat_id, "x", "").await;
    assert_eq!((reply.status, reply.text.as_str()), (502, "<html>"));
    assert_eq!(sim.visible("g1").len(), 1);
}

#[tokio::test]
async fn an_answer_can_be_given_without_any_work_and_keys_of_sends_are_recorded() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let action = FaultAction::Answer { status: 400, body: "{\"msg\":\"own words\"}".to_owned() };
    sim.fault(FaultRule::next(Endpoint::Send, 1, action));
    let reply = client.send(&chat.chat_id, "x", "key").await;
    assert_eq!((reply.status, reply.text.as_str()), (400, "{\"msg\":\"own words\"}"));
    assert!(sim.visible("g1").is_empty());
    assert_eq!(sim.calls(Endpoint::Send)[0].uuid.as_deref(), Some("key"));
}

#[tokio::test]
async fn a_slow_send_is_in_flight_and_outlives_its_caller() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let body = text_message(&chat.chat_id, "x", "slow");
    sim.fault(FaultRule::next(Endpoint::Send, 1, FaultAction::Slow { ms: 1_500 }));
    let hung_up = tokio::time::timeout(
        Duration::from_millis(300),
        client.try_call("POST", SEND, Some(&body)),
    );
    assert!(hung_up.await.is_err());
    assert_eq!(client.call("POST", SEND, Some(&body)).await.code(), 230_049);
    let made = sim.wait_until(PATIENCE, |sim| sim.visible("g1").first().cloned()).await.unwrap();
    let again = client.call("POST", SEND, Some(&body)).await;
    assert_eq!(again.data("/message_id"), made.message_id);
}

#[tokio::test]
async fn a_delayed_call_is_done_late_or_not_at_all() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    sim.fault(FaultRule::next(Endpoint::Send, 1, FaultAction::Delay { ms: 50 }));
    assert_eq!(client.send(&chat.chat_id, "x", "").await.code(), 0);
    sim.fault(FaultRule::next(Endpoint::Send, 1, FaultAction::Delay { ms: 3_600_000 }));
    let body = text_message(&chat.chat_id, "y", "");
    let hung_up = tokio::time::timeout(
        Duration::from_millis(100),
        client.try_call("POST", SEND, Some(&body)),
    );
    assert!(hung_up.await.is_err());
    assert_eq!(sim.visible("g1").len(), 1);
}

#[tokio::test]
async fn a_fault_by_chance_strikes_the_same_calls_for_the_same_seed() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let sim = playground().await;
        let client = Client::of(&sim).await;
        let action = FaultAction::Refuse { status: 500, code: 1, reset_s: None };
        sim.fault(FaultRule::by_chance(Endpoint::BotInfo, 500, action));
        let mut struck = Vec::new();
        for _ in 0..40 {
            struck.push(client.call("GET", "/open-apis/bot/v3/info", None).await.status);
        }
        runs.push(struck);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].contains(&200) && runs[0].contains(&500));
}

#[tokio::test]
async fn revoked_tokens_are_refused_until_a_new_one_is_fetched() {
    let sim = playground().await;
    let mut client = Client::of(&sim).await;
    sim.revoke_tokens();
    let info = "/open-apis/bot/v3/info";
    assert_eq!(client.call("GET", info, None).await.code(), 99_991_663);
    client.token = client.new_token().await;
    assert_eq!(client.call("GET", info, None).await.json["msg"], json!("ok"));
}
