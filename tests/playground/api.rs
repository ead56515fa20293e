//! Sending and replying: shapes, codes, idempotency, rights.

use std::time::Duration;

use larkspur::playground::UuidRepeat;
use serde_json::{Value, json};

use crate::support::{Client, playground, text_message};

const SEND: &str = "/open-apis/im/v1/messages?receive_id_type=chat_id";

#[tokio::test]
async fn a_message_is_answered_in_the_received_form() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let user = sim.user("u1");
    let client = Client::of(&sim).await;
    let text = format!(
        "hi <at user_id=\"{}\">Tom</at> and <at user_id=\"all\"></at> <at x>",
        user.open_id
    );
    let reply = client.send(&chat.chat_id, &text, "").await;
    assert_eq!(reply.code(), 0, "{}", reply.text);
    assert_eq!(reply.data("/body/content"), r#"{"text":"hi @_user_1 and @_all <at x>"}"#);
    assert_eq!(reply.data("/mentions/0/id"), user.open_id);
    assert_eq!(reply.data("/mentions/0/id_type"), "open_id");
    assert_eq!(reply.data("/sender/id_type"), "app_id");
    assert_eq!(reply.data("/create_time"), "1760000000000");
    assert_eq!(reply.json["data"]["updated"], false);
    assert!(reply.json["data"].get("parent_id").is_none());
    let seen = sim.visible("g1");
    assert_eq!(seen[0].text, "hi @u1 and @_all <at x>");
    assert!(seen[0].mentions_all && seen[0].from_bot);
}

#[tokio::test]
async fn malformed_sends_are_refused_and_make_no_message() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let good = text_message(&chat.chat_id, "hi", "");
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    let post = |content: Value| {
        let mut body = with("msg_type", json!("post"));
        body["content"] = json!(content.to_string());
        body
    };
    let cases = [
        (with("receive_id", Value::Null), 99_992_402),
        (with("receive_id", json!("oc_unknown")), 230_034),
        (with("content", json!({"text": "an object"})), 99_992_402),
        (with("content", json!("not json")), 230_001),
        (with("content", json!(r#"{"text":1}"#)), 230_001),
        (with("content", json!(r#"{"text":""}"#)), 230_001),
        (with("msg_type", json!("interactive")), 230_099),
        (with("msg_type", json!("nonsense")), 230_001),
        (with("uuid", json!("u".repeat(51))), 99_992_402),
        (post(json!({"title": "no language", "content": [[]]})), 230_001),
        (post(json!({"zh_cn": {"content": []}})), 230_001),
        (post(json!({"zh_cn": {"content": [[{"tag": "blink", "text": "x"}]]}})), 230_001),
        (
            post(
                json!({"zh_cn": {"content": [[{"tag": "md", "text": "x"}, {"tag": "text", "text": "y"}]]}}),
            ),
            230_001,
        ),
        (
            post(json!({"zh_cn": {"content": [[{"tag": "text", "text": "x", "style": ["red"]}]]}})),
            230_001,
        ),
    ];
    for (body, code) in cases {
        let reply = client.call("POST", SEND, Some(&body)).await;
        assert_eq!((reply.status, reply.code()), (400, code), "{body} {}", reply.text);
    }
    let no_type = client.call("POST", "/open-apis/im/v1/messages", Some(&good)).await;
    assert_eq!(no_type.json["error"]["field_violations"][0]["field"], "receive_id_type");
    let no_json = client.call("POST", SEND, None).await;
    assert_eq!(no_json.code(), 9_499);
    assert!(sim.visible("g1").is_empty());
}

#[tokio::test]
async fn a_post_loses_its_language_and_its_markdown() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let user = sim.user("u1");
    let client = Client::of(&sim).await;
    let content = json!({"zh_cn": {"title": "T", "content": [
        [{"tag": "text", "text": "to "}, {"tag": "at", "user_id": user.open_id}],
        [{"tag": "md", "text": "**bold**"}],
    ]}});
    let body =
        json!({"receive_id": chat.chat_id, "msg_type": "post", "content": content.to_string()});
    let reply = client.call("POST", SEND, Some(&body)).await;
    let received: Value = serde_json::from_str(reply.data("/body/content")).unwrap();
    assert_eq!(received["title"], "T");
    assert_eq!(received["content"][0][1]["user_id"], "@_user_1");
    assert_eq!(received["content"][1][0]["tag"], "text");
    assert_eq!(sim.visible("g1")[0].text, "T\nto @u1\n**bold**");
}

#[tokio::test]
async fn rights_are_checked() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let p2p = sim.p2p("u1");
    let client = Client::of(&sim).await;
    let code_of = async |change: &dyn Fn(&mut larkspur::playground::Chat)| {
        let before = sim.change_chat("g1", |_| {}).unwrap();
        sim.change_chat("g1", |chat| change(chat)).unwrap();
        let code = client.send(&chat.chat_id, "hi", "").await.code();
        sim.change_chat("g1", |chat| *chat = before).unwrap();
        code
    };
    assert_eq!(code_of(&|chat| chat.bots.clear()).await, 230_002);
    assert_eq!(code_of(&|chat| chat.muted = true).await, 230_035);
    assert_eq!(code_of(&|chat| chat.dissolved = true).await, 232_009);
    assert_eq!(code_of(&|_| {}).await, 0);
    sim.change_user("u1", |user| user.available = false);
    assert_eq!(client.send(&p2p.chat_id, "hi", "").await.code(), 230_013);
    let mut body = text_message("ou_nobody", "hi", "");
    let path = "/open-apis/im/v1/messages?receive_id_type=open_id";
    assert_eq!(client.call("POST", path, Some(&body)).await.code(), 99_992_351);
    body["receive_id"] = json!(sim.user("u2").open_id);
    assert_eq!(client.call("POST", path, Some(&body)).await.code(), 0);
    assert_eq!(sim.visible("p2p:u2").len(), 1);
}

#[tokio::test]
async fn a_uuid_makes_one_message_an_hour() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let first = client.send(&chat.chat_id, "one", "same").await;
    let again = client.send(&chat.chat_id, "two", "same").await;
    assert_eq!(first.data("/message_id"), again.data("/message_id"));
    assert_eq!(again.data("/body/content"), r#"{"text":"one"}"#);
    assert_eq!(sim.visible("g1").len(), 1);
    sim.switch(|switches| switches.uuid_repeat = UuidRepeat::Error);
    assert_eq!(client.send(&chat.chat_id, "two", "same").await.code(), 230_001);
    sim.advance(Duration::from_secs(3_600));
    let token = client.new_token().await;
    let client = Client { token, ..client };
    assert_eq!(client.send(&chat.chat_id, "three", "same").await.code(), 0);
    assert_eq!(sim.visible("g1").len(), 2);
    // A refused send does not use its uuid up.
    assert_eq!(client.send("oc_unknown", "x", "other").await.code(), 230_034);
    assert_eq!(client.send(&chat.chat_id, "x", "other").await.code(), 0);
}

#[tokio::test]
async fn replies_name_their_parent_and_stay_in_its_thread() {
    let sim = playground().await;
    sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let asked = sim.says("u1", "g1", "question").unwrap();
    let plain = client.reply(&asked, "answer").await;
    assert_eq!(
        (plain.data("/parent_id"), plain.data("/root_id")),
        (asked.as_str(), asked.as_str())
    );
    assert!(plain.json["data"].get("thread_id").is_none());
    let path = format!("/open-apis/im/v1/messages/{asked}/reply");
    let mut body = text_message("", "in thread", "");
    body["reply_in_thread"] = json!(true);
    let opened = client.call("POST", &path, Some(&body)).await;
    let thread = opened.data("/thread_id");
    assert!(thread.starts_with("omt_"), "{}", opened.text);
    let inner = client.reply(opened.data("/message_id"), "deeper").await;
    assert_eq!((inner.data("/thread_id"), inner.data("/root_id")), (thread, asked.as_str()));
    assert_eq!(sim.answers_to(&asked).len(), 2);
    let direct = sim.says("u1", &sim.p2p("u1").chat_id, "hi").unwrap();
    let path = format!("/open-apis/im/v1/messages/{direct}/reply");
    assert_eq!(client.call("POST", &path, Some(&body)).await.code(), 230_071);
    sim.recalls(&asked).unwrap();
    assert_eq!(client.reply(&asked, "late").await.code(), 230_011);
    assert_eq!(client.reply("om_unknown", "late").await.code(), 230_110);
    assert_eq!(client.reply("nonsense", "late").await.code(), 230_001);
}
