//! Tokens, and what every answer has.

use std::time::Duration;

use serde_json::json;

use crate::support::{Client, playground};

const TOKEN: &str = "/open-apis/auth/v3/tenant_access_token/internal";

#[tokio::test]
async fn a_token_is_the_same_until_half_an_hour_is_left_and_then_both_hold() {
    let sim = playground().await;
    let mut client = Client::anonymous(&sim);
    let first = client.new_token().await;
    sim.advance(Duration::from_secs(5_400));
    assert_eq!(client.new_token().await, first);
    sim.advance(Duration::from_secs(1));
    let second = client.new_token().await;
    assert_ne!(second, first);
    for token in [&first, &second] {
        client.token.clone_from(token);
        assert_eq!(client.call("GET", "/open-apis/bot/v3/info", None).await.code(), 0);
    }
    sim.advance(Duration::from_secs(1_800));
    client.token = first;
    let expired = client.call("GET", "/open-apis/bot/v3/info", None).await;
    assert_eq!((expired.status, expired.code()), (400, 99_991_663));
}

#[tokio::test]
async fn wrong_credentials_and_tokens_have_their_codes() {
    let sim = playground().await;
    let mut client = Client::anonymous(&sim);
    for (body, code) in [
        (json!({"app_id": "cli_a1b2c3d4e5f60718"}), 10_003),
        (json!({"app_id": 1, "app_secret": "x"}), 10_003),
        (json!({"app_id": "cli_unknown", "app_secret": "x"}), 10_014),
        (json!({"app_id": "cli_a1b2c3d4e5f60718", "app_secret": "x"}), 10_015),
    ] {
        let reply = client.call("POST", TOKEN, Some(&body)).await;
        assert_eq!(reply.code(), code, "{}", reply.text);
        assert!(reply.json.get("data").is_none());
    }
    let info = "/open-apis/bot/v3/info";
    for (token, code) in [("", 99_991_661), ("x-1", 99_991_671), ("t-1", 99_991_663)] {
        token.clone_into(&mut client.token);
        assert_eq!(client.call("GET", info, None).await.code(), code, "{token}");
    }
}

#[tokio::test]
async fn the_bot_stands_at_the_top_level_and_every_answer_has_a_log_id() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let info = client.call("GET", "/open-apis/bot/v3/info", None).await;
    assert_eq!(info.json["bot"]["open_id"], sim.bot_open_id());
    assert_eq!(info.json["bot"]["activate_status"], 2);
    assert!(info.headers.contains_key("x-tt-logid"));
    let lost = client.call("GET", "/open-apis/im/v2/nothing", None).await;
    assert_eq!((lost.status, lost.code()), (404, 99_991_201));
    let log_id = lost.headers["x-tt-logid"].to_str().unwrap();
    assert_eq!(lost.json["error"]["log_id"], log_id);
}
