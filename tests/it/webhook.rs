//! The webhook as a stranger and as the platform see it.

use larkspur::playground::{RawPush, Settings, crypt};
use serde_json::{Value, json};

use crate::llm_script::Mode;
use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::{barrier, bot_lines, text, word};

/// A message of ann in her private chat, as the platform would push it.
fn event(stage: &Stage, id: &str) -> Value {
    let settings = Settings::default();
    let ann = stage.sim.user("ann");
    let now = stage.sim.clock().now().as_millis().to_string();
    json!({
        "schema": "2.0",
        "header": {
            "event_id": format!("ev_{id}"), "event_type": "im.message.receive_v1",
            "create_time": now, "token": settings.app.verification_token,
            "tenant_key": settings.tenant_key, "app_id": settings.app.app_id,
        },
        "event": {
            "sender": {
                "sender_id": {"open_id": ann.open_id}, "sender_type": "user",
                "tenant_key": settings.tenant_key,
            },
            "message": {
                "message_id": id, "create_time": now, "chat_id": stage.sim.p2p("ann").chat_id,
                "chat_type": "p2p", "message_type": "text",
                "content": json!({"text": "forged"}).to_string(),
            },
        },
    })
}

fn sealed(body: &Value) -> RawPush {
    RawPush { body: body.to_string(), encrypt: true, sign: true, ..RawPush::default() }
}

fn with_header(mut push: RawPush, name: &str, value: &str) -> RawPush {
    push.headers.push((name.to_owned(), value.to_owned()));
    push
}

/// Posts it, expects a status and a code, and that nothing came of it.
async fn refused(stage: &Stage, push: RawPush, id: &str, status: u16, code: &str) {
    let record = stage.sim.push(push).await.unwrap();
    assert_eq!(record.status, Some(status), "{id}: {}", record.answer);
    let problem: Value = serde_json::from_str(&record.answer).unwrap();
    assert_eq!(problem["code"], code, "{id}");
    assert_eq!(problem["status"], status, "{id}");
    let secret = Settings::default().app;
    for kept in [&secret.verification_token, &secret.encrypt_key, &secret.app_secret] {
        assert!(!record.answer.contains(kept.as_str()) && !stage.log().contains(kept.as_str()));
    }
    assert_eq!(word(stage, id), "never_received", "{id}");
}

async fn nothing_happened(stage: &Stage) {
    let chat = stage.sim.p2p("ann").chat_id;
    assert!(bot_lines(stage, &chat).is_empty());
    assert!(stage.model.requests().is_empty());
    barrier(stage, "ann", &chat).await;
    assert_eq!(bot_lines(stage, &chat).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_handshake_succeeds_plain_and_encrypted_and_needs_the_token() {
    let stage = Stage::new().await;
    let encrypted = stage.sim.verify_url().await.unwrap();
    assert!(encrypted.accepted, "{encrypted:?}");
    let url = stage.url("/lark/assistant/events");
    let mut app = Settings::default().app;
    app.encrypt_key = String::new();
    app.event_url.clone_from(&url);
    stage.sim.add_app(&app).unwrap();
    let plain = stage.sim.verify_url().await.unwrap();
    assert!(plain.accepted, "{plain:?}");
    app.verification_token = "another".to_owned();
    stage.sim.add_app(&app).unwrap();
    let wrong = stage.sim.verify_url().await.unwrap();
    assert!(!wrong.accepted);
    assert_eq!(wrong.push.status, Some(403));
    app.encrypt_key = Settings::default().app.encrypt_key;
    stage.sim.add_app(&app).unwrap();
    let wrong = stage.sim.verify_url().await.unwrap();
    assert_eq!((wrong.accepted, wrong.push.status), (false, Some(403)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_genuine_is_refused_and_has_no_effect() {
    let stage = Stage::new().await;
    let zeros = "0".repeat(64);
    let push = with_header(sealed(&event(&stage, "om_sig")), "X-Lark-Signature", &zeros);
    refused(&stage, push, "om_sig", 401, "signature_wrong").await;
    let push = with_header(sealed(&event(&stage, "om_nonce")), "X-Lark-Request-Nonce", "other");
    refused(&stage, push, "om_nonce", 401, "signature_wrong").await;
    let push = with_header(sealed(&event(&stage, "om_time")), "X-Lark-Request-Timestamp", "1");
    refused(&stage, push, "om_time", 401, "signature_wrong").await;
    let push = RawPush { sign: false, ..sealed(&event(&stage, "om_bare")) };
    refused(&stage, push, "om_bare", 401, "signature_missing").await;
    let push = RawPush { sign: false, encrypt: false, ..sealed(&event(&stage, "om_plain")) };
    refused(&stage, push, "om_plain", 401, "signature_missing").await;

    let mut wrong_token = event(&stage, "om_token");
    wrong_token["header"]["token"] = json!("guessed");
    refused(&stage, sealed(&wrong_token), "om_token", 403, "token_wrong").await;
    let mut no_token = event(&stage, "om_none");
    no_token["header"].as_object_mut().unwrap().remove("token");
    refused(&stage, sealed(&no_token), "om_none", 403, "token_wrong").await;
    let mut other_app = event(&stage, "om_app");
    other_app["header"]["app_id"] = json!("cli_other");
    refused(&stage, sealed(&other_app), "om_app", 403, "app_wrong").await;
    nothing_happened(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_plain_body_is_as_good_as_an_encrypted_one() {
    let stage = Stage::new().await;
    let push = RawPush { encrypt: false, ..sealed(&event(&stage, "om_clear")) };
    let record = stage.sim.push(push).await.unwrap();
    assert_eq!((record.status, record.answer.as_str()), (Some(200), "{}"));
    assert!(stage.why("om_clear")["turn"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_every_layer_is_refused() {
    let stage = Stage::new().await;
    let bodies = ["", "{", "[]", "null", "\u{0}\u{1}", "{\"encrypt\":7}", "{\"encrypt\":\"AAAA\"}"];
    for body in bodies {
        let push = RawPush { body: body.to_owned(), sign: true, ..RawPush::default() };
        let record = stage.sim.push(push).await.unwrap();
        assert_eq!(record.status, Some(400), "{body:?}: {}", record.answer);
    }
    for inner in ["", "not json", "[1,2]", "\"text\"", "{\"header\":7}"] {
        let push =
            RawPush { body: inner.to_owned(), encrypt: true, sign: true, ..RawPush::default() };
        let record = stage.sim.push(push).await.unwrap();
        let status = record.status.unwrap();
        assert!((400..404).contains(&status), "{inner:?}: {}", record.answer);
    }
    for field in ["message_id", "chat_id"] {
        let mut body = event(&stage, "om_half");
        body["event"]["message"].as_object_mut().unwrap().remove(field);
        refused(&stage, sealed(&body), "om_half", 400, "undecodable").await;
    }
    let other_key = crypt::seal("another key", [7; 16], &event(&stage, "om_key").to_string());
    let push = RawPush {
        body: json!({"encrypt": other_key}).to_string(),
        sign: true,
        ..RawPush::default()
    };
    refused(&stage, push, "om_key", 400, "undecodable").await;
    nothing_happened(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_signed_a_day_ago_is_acknowledged_and_has_no_effect() {
    let stage = Stage::new().await;
    let key = Settings::default().app.encrypt_key;
    let body = json!({"encrypt": crypt::seal(&key, [7; 16], &event(&stage, "om_old").to_string())});
    let body = body.to_string();
    let now = stage.sim.clock().now().as_millis() / 1000;
    for (id, signed_at) in [("26 h ago", now - 26 * 3600), ("in 26 h", now + 26 * 3600)] {
        let at = signed_at.to_string();
        let signature = crypt::sign(&at, "n", &key, body.as_bytes());
        let push = RawPush { body: body.clone(), ..RawPush::default() };
        let push = with_header(push, "X-Lark-Request-Timestamp", &at);
        let push = with_header(push, "X-Lark-Request-Nonce", "n");
        let push = with_header(push, "X-Lark-Signature", &signature);
        let record = stage.sim.push(push).await.unwrap();
        assert_eq!(record.status, Some(200), "{id}: {}", record.answer);
        assert_eq!(word(&stage, "om_old"), "stale", "{id}");
    }
    nothing_happened(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_forms_of_a_request_have_their_statuses() {
    let stage = Stage::new().await;
    let body = event(&stage, "om_form");
    let push = with_header(sealed(&body), "Content-Type", "text/plain");
    refused(&stage, push, "om_form", 415, "unsupported_media_type").await;
    let push = RawPush {
        body: format!("{{\"encrypt\":\"{}\"}}", "A".repeat(2 << 20)),
        sign: true,
        ..RawPush::default()
    };
    refused(&stage, push, "om_form", 413, "body_too_large").await;
    let url = stage.url("/lark/nobody/events");
    let push = RawPush { url: Some(url), ..sealed(&body) };
    refused(&stage, push, "om_form", 404, "unknown_bot").await;
    let url = stage.url("/lark/assistant/events");
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let method = method.parse().unwrap();
        let response = http().request(method, &url).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 405);
        assert_eq!(response.headers()["allow"], "POST");
    }
    for path in ["/", "/lark", "/lark/assistant", "/lark/assistant/events/x", "/nothing"] {
        assert_eq!(stage.get(path).await.unwrap().0, 404, "{path}");
    }
    nothing_happened(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_start_no_work_are_acknowledged_and_noted() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for (number, kind) in [
        "contact.user.created_v3",
        "im.chat.disbanded_v1",
        "im.message.message_read_v1",
        "made.up_v9",
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = event(&stage, "om_x");
        body["header"]["event_type"] = json!(kind);
        body["header"]["event_id"] = json!(format!("ev_{number}"));
        body["event"] = json!({"anything": [1, 2, 3]});
        let record = stage.sim.push(sealed(&body)).await.unwrap();
        assert_eq!(record.status, Some(200), "{kind}: {}", record.answer);
        let why = stage.why(&format!("ev_{number}"));
        assert_eq!((text(&why, "verdict"), text(&why, "reason")), ("filtered", kind));
    }
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "answered").await;
    stage.sim.reacts("ann", &question, "SMILE").unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    assert!(stage.sim.pushes().iter().all(|push| push.status == Some(200)));
    assert_eq!(word(&stage, &question), "answered", "a reaction does not change the verdict");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_without_its_keys_does_not_start_and_the_others_run() {
    let mut stage = Stage::set(Options { model: Some(Mode::Echo), ..Options::default() }).await;
    let other = "name = \"helper\"\n[lark]\napp_id = \"cli_2\"\napp_secret = \"env:APP_SECRET\"\n\
                 encrypt_key = \"env:NOT_SET\"\nbase_url = \"http://127.0.0.1:9\"\n\
                 [access]\nusers = [\"*\"]\nchats = [\"*\"]\n";
    std::fs::write(stage.path("bots/helper.toml"), other).unwrap();
    stage.launch(&[]);
    let chat = stage.sim.p2p("ann").chat_id;
    crate::talk::until("the daemon listens", || stage.log().contains("listening")).await;
    let question = stage.sim.says("ann", &chat, "are you up?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: are you up?");
    let (status, body) = stage.get("/readyz").await.unwrap();
    assert_eq!(status, 503);
    for text in [body, stage.log()] {
        assert!(text.contains("helper"), "{text}");
        assert!(text.contains("lark.encrypt_key") && text.contains("NOT_SET"), "{text}");
        assert!(text.contains("lark.verification_token"), "{text}");
        assert!(!text.contains("lark.app_secret"), "{text}");
    }
    let url = Some(stage.url("/lark/helper/events"));
    let push = RawPush { url, ..sealed(&event(&stage, "om_helper")) };
    refused(&stage, push, "om_helper", 404, "unknown_bot").await;
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}
