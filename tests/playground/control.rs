//! The control API, as curl would use it.

use serde_json::json;

use crate::support::{App, Client, PATIENCE, playground};

#[tokio::test]
async fn a_whole_conversation_can_be_driven_from_outside() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    let curl = Client::anonymous(&sim);
    let bot = Client::of(&sim).await;
    let url = json!({"url": app.url});
    let path = "/sim/v1/apps/cli_a1b2c3d4e5f60718";
    assert_eq!(curl.call("PUT", &format!("{path}/event_url"), Some(&url)).await.status, 200);
    let handshake = curl.call("POST", &format!("{path}/verify_url"), None).await;
    assert_eq!(handshake.json["accepted"], true, "{}", handshake.text);
    let user = json!({"alias": "u1", "name": "Tom"});
    assert_eq!(curl.call("POST", "/sim/v1/users", Some(&user)).await.json["name"], "Tom");
    let chat = json!({"alias": "g1", "kind": "group", "members": ["u1"]});
    curl.call("POST", "/sim/v1/chats", Some(&chat)).await;
    let say = json!({"user": "u1", "chat": "g1", "text": "hi", "mention_bot": true});
    let said = curl.call("POST", "/sim/v1/say", Some(&say)).await;
    let message_id = said.json["message_id"].as_str().unwrap();
    bot.reply(message_id, "hello").await;
    assert!(sim.pushed(PATIENCE).await);
    let path = format!("/sim/v1/messages/{message_id}");
    let answers = curl.call("GET", &format!("{path}/answers"), None).await;
    assert_eq!(answers.json[0]["text"], "hello");
    let twice = json!({"times": 2, "event_id": "new"});
    let copies = curl.call("POST", &format!("{path}/duplicate"), Some(&twice)).await;
    assert_eq!(copies.json.as_array().unwrap().len(), 2);
    let pushes = curl.call("GET", &format!("/sim/v1/pushes?message_id={message_id}"), None).await;
    assert_eq!(pushes.json.as_array().unwrap().len(), 3);
    let react = json!({"user": "u1", "emoji": "OK"});
    assert_eq!(curl.call("POST", &format!("{path}/reactions"), Some(&react)).await.status, 200);
    assert_eq!(curl.call("POST", &format!("{path}/recall"), None).await.status, 200);
    let seen = curl.call("GET", "/sim/v1/chats/g1/messages", None).await;
    assert_eq!(seen.json[0]["recalled"], true);
    assert_eq!(seen.json[1]["sender"], "gateway-bot");
    let state = curl.call("GET", "/sim/v1/state", None).await;
    assert_eq!(state.json["messages"], 2);
    assert_eq!(curl.call("POST", "/sim/v1/reset", None).await.status, 200);
    let state = curl.call("GET", "/sim/v1/state", None).await;
    assert_eq!(
        (&state.json["messages"], &state.json["apps"][0]["event_url"]),
        (&json!(0), &json!(app.url))
    );
}

#[tokio::test]
async fn time_switches_and_faults_are_set_and_read() {
    let sim = playground().await;
    let curl = Client::anonymous(&sim);
    let time =
        curl.call("POST", "/sim/v1/time", Some(&json!({"advance_ms": 5, "time_scale": 0}))).await;
    assert_eq!(time.json["now_ms"], 1_760_000_000_005_u64);
    let switches = json!({"rate_limits": "on", "edit_window_s": 60});
    let set = curl.call("PATCH", "/sim/v1/switches", Some(&switches)).await;
    assert_eq!(
        (&set.json["rate_limits"], &set.json["uuid_repeat"]),
        (&json!("on"), &json!("first"))
    );
    let fault = json!({"endpoint": "send", "action": {"kind": "drop"}, "times": 1});
    assert_eq!(curl.call("POST", "/sim/v1/faults", Some(&fault)).await.status, 200);
    assert_eq!(curl.call("GET", "/sim/v1/faults", None).await.json[0]["action"]["kind"], "drop");
    curl.call("DELETE", "/sim/v1/faults", None).await;
    assert_eq!(curl.call("GET", "/sim/v1/faults", None).await.json, json!([]));
}

#[tokio::test]
async fn mistakes_are_told() {
    let sim = playground().await;
    let curl = Client::anonymous(&sim);
    for (method, path, body, status) in [
        ("POST", "/sim/v1/say", json!({"user": "nobody", "chat": "g1"}), 404),
        ("POST", "/sim/v1/say", json!({"usr": "u1"}), 400),
        ("PATCH", "/sim/v1/switches", json!({"rate_limits": "maybe"}), 400),
        ("POST", "/sim/v1/faults", json!({"endpoint": "nowhere"}), 400),
        ("POST", "/sim/v1/chats", json!({"alias": "p", "kind": "p2p", "members": []}), 400),
        ("PATCH", "/sim/v1/chats/g9", json!({}), 404),
        ("POST", "/sim/v1/push", json!({"body": "x"}), 400),
    ] {
        let reply = curl.call(method, path, Some(&body)).await;
        assert_eq!(reply.status, status, "{path} {body} {}", reply.text);
        assert!(reply.json["error"].is_string(), "{}", reply.text);
    }
}
