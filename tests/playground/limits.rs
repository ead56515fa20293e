//! Sizes and rates.

use std::time::Duration;

use larkspur::playground::{LIMITS, RateLimits};
use serde_json::json;

use crate::support::{Client, playground};

#[tokio::test]
async fn too_long_messages_are_refused_by_their_bytes() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    // 149 KB of Chinese fit, the next KB does not; a quotation mark counts as it is escaped.
    assert_eq!(client.send(&chat.chat_id, &"字".repeat(149 * 1024 / 3), "").await.code(), 0);
    assert_eq!(client.send(&chat.chat_id, &"字".repeat(150 * 1024 / 3), "").await.code(), 230_025);
    assert_eq!(client.send(&chat.chat_id, &"\"".repeat(60 * 1024), "").await.code(), 230_025);
    let content = json!({"zh_cn": {"content": [[{"tag": "text", "text": "x".repeat(30 * 1024)}]]}});
    let body =
        json!({"receive_id": chat.chat_id, "msg_type": "post", "content": content.to_string()});
    let path = "/open-apis/im/v1/messages?receive_id_type=chat_id";
    assert_eq!(client.call("POST", path, Some(&body)).await.code(), 230_025);
    assert_eq!(sim.visible("g1").len(), 1);
}

#[tokio::test]
async fn rates_hold_only_while_they_are_switched_on() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    for _ in 0..6 {
        assert_eq!(client.send(&chat.chat_id, "x", "").await.code(), 0);
    }
    sim.switch(|switches| switches.rate_limits = RateLimits::On);
    for _ in 0..5 {
        assert_eq!(client.send(&chat.chat_id, "x", "").await.code(), 0);
    }
    let refused = client.send(&chat.chat_id, "x", "").await;
    assert_eq!((refused.status, refused.code()), (400, 230_020));
    sim.advance(Duration::from_secs(1));
    assert_eq!(client.send(&chat.chat_id, "x", "").await.code(), 0);
    sim.advance(Duration::from_secs(1));
    let path = format!("/open-apis/im/v1/messages/{}", sim.visible("g1")[0].message_id);
    for _ in 0..50 {
        assert_eq!(client.call("GET", &path, None).await.code(), 0);
    }
    let refused = client.call("GET", &path, None).await;
    assert_eq!((refused.status, refused.code()), (429, 99_991_400));
    assert_eq!(refused.headers["x-ogw-ratelimit-reset"], "1");
    assert_eq!(refused.headers["x-ogw-ratelimit-limit"], "50");
}

#[tokio::test]
async fn people_and_changed_messages_have_rates_of_their_own() {
    let sim = playground().await;
    let (ann, ben) = (sim.p2p("ann").chat_id, sim.p2p("ben").chat_id);
    sim.switch(|switches| switches.rate_limits = RateLimits::On);
    let client = Client::of(&sim).await;
    for _ in 0..5 {
        assert_eq!(client.send(&ann, "x", "").await.code(), 0);
    }
    let refused = client.send(&ann, "x", "").await;
    assert_eq!((refused.status, refused.code()), (400, 230_020));
    assert!(refused.headers.get("x-ogw-ratelimit-reset").is_none());
    assert_eq!(client.send(&ben, "x", "").await.code(), 0);
    let messages = sim.visible(&ann);
    let path = |index: usize| format!("/open-apis/im/v1/messages/{}", messages[index].message_id);
    let content = json!({"text": "new"}).to_string();
    let body = json!({"msg_type": "text", "content": content});
    for _ in 0..5 {
        assert_eq!(client.call("PUT", &path(0), Some(&body)).await.code(), 0);
    }
    assert_eq!(client.call("PUT", &path(0), Some(&body)).await.code(), 230_020);
    assert_eq!(client.call("PUT", &path(1), Some(&body)).await.code(), 0);
    sim.advance(Duration::from_secs(1));
    assert_eq!(client.call("PUT", &path(0), Some(&body)).await.code(), 0);
}

#[test]
fn every_limit_names_its_source() {
    let facts = [
        "1.4", "1.6", "1.7", "3.1", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.5", "6", "6.1", "11",
    ];
    for limit in LIMITS {
        assert!(facts.contains(&limit.source), "{}", limit.name);
        assert!(limit.most > 0, "{}", limit.name);
    }
}
