//! Webhooks of other programs: what is signed arrives in the chat once, and nothing else does.

use std::os::unix::process::ExitStatusExt;

use hmac::{KeyInit, Mac};
use larkspur::net::read_capped;
use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::{bot_lines, until};

const SECRET: &str = "a-hook-secret";
const SIGNATURE: &str = "X-Signature-256";

/// A stage with the hook `alerts`, which posts into a group, and its chat.
async fn set(lines: &str) -> (Stage, String) {
    // The id of a group is known before the daemon is: the file is written again.
    let options = Options { main: "#HOOKS".to_owned(), ..Options::default() };
    let stage = Stage::set(options).await;
    let chat = stage.sim.group("ops", &["ann"]).chat_id;
    let file = stage.path("config/larkspur.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("#HOOKS", "");
    let hook = format!(
        "[[hooks]]\nname = \"alerts\"\nsecret = \"file:hook-secret\"\nbot = \"assistant\"\n\
         chat = \"{chat}\"\n{lines}\n"
    );
    std::fs::write(file, format!("{text}\n{hook}")).unwrap();
    std::fs::write(stage.path("hook-secret"), SECRET).unwrap();
    (stage, chat)
}

async fn with(lines: &str) -> (Stage, String) {
    let (mut stage, chat) = set(lines).await;
    stage.start(&[]).await;
    (stage, chat)
}

fn signature(parts: &[&[u8]]) -> String {
    let mut mac = hmac::Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    for part in parts {
        mac.update(part);
    }
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// The headers of a call, and the status and code of its refusal.
type Refused<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

/// What came back: the status, and the body as JSON.
type Answer = (u16, Value);

async fn post(stage: &Stage, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut request = http().post(stage.url(path)).body(body.to_vec());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let body = read_capped(response, 1 << 20).await.unwrap();
    if status >= 400 {
        assert_eq!(kind.unwrap(), "application/problem+json");
    }
    (status, serde_json::from_slice(&body).unwrap())
}

async fn call(stage: &Stage, body: &[u8]) -> Answer {
    post(stage, "/hooks/alerts", &[(SIGNATURE, &signature(&[body]))], body).await
}

/// The id of a call that was taken.
fn taken(answer: &Answer, duplicate: bool) -> String {
    assert_eq!((answer.0, &answer.1["duplicate"]), (202, &json!(duplicate)), "{answer:?}");
    let id = answer.1["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("hook-"), "{id}");
    id
}

/// Calls, and what the bot then said.
async fn said(stage: &Stage, chat: &str, body: &[u8]) -> String {
    let before = bot_lines(stage, chat).len();
    let id = taken(&call(stage, body).await, false);
    stage.verdict(&id, "answered").await;
    let lines = bot_lines(stage, chat);
    assert_eq!(lines.len(), before + 1, "{lines:?}");
    lines.last().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_call_is_said_once_in_the_words_of_its_template() {
    let (stage, chat) =
        with("template = \"{{ alert.title }}: {{ alert.value }}{{ none.at.all }}\"").await;
    let body = json!({"alert": {"title": "CPU", "value": 97}}).to_string();
    let id = taken(&call(&stage, body.as_bytes()).await, false);
    stage.verdict(&id, "answered").await;
    assert_eq!(taken(&call(&stage, body.as_bytes()).await, true), id, "a repetition has its id");
    assert_eq!(said(&stage, &chat, br#"{"alert":{"title":"RAM","value":1}}"#).await, "RAM: 1");
    assert_eq!(bot_lines(&stage, &chat), ["CPU: 97", "RAM: 1"]);
    assert_eq!(stage.why(&id)["reason"], "webhook alerts");
    assert!(stage.model.requests().is_empty(), "no model is asked");
    let (_, metrics) = scraped(&stage).await;
    assert!(metrics.contains("larkspur_events_total{event=\"hook_called\",hook=\"alerts\"} 3"));
    assert!(!stage.log().contains("RAM") && !stage.log().contains(SECRET));
}

async fn scraped(stage: &Stage) -> (u16, String) {
    let token = std::fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let response = http().get(stage.url("/metrics")).bearer_auth(token).send().await.unwrap();
    let status = response.status().as_u16();
    (status, String::from_utf8(read_capped(response, 1 << 20).await.unwrap().to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_signed_well_is_refused_and_never_said() {
    let (stage, chat) = with("verify = { timestamp_header = \"X-Time\" }").await;
    let body = b"{\"title\":\"forged\"}";
    let at = |seconds: u64| (stage.sim.clock().now().as_millis() / 1000 - seconds).to_string();
    let (now, old) = (at(0), at(400));
    let sign = |time: &str| signature(&[time.as_bytes(), b".", body]);
    let wrong = sign(&now).replace("sha256=", "sha256=0");
    let (good, aged) = (sign(&now), sign(&old));
    let table: [Refused<'_>; 7] = [
        (&[(SIGNATURE, &wrong), ("X-Time", &now)], 401, "signature_wrong"),
        (&[(SIGNATURE, &good), ("X-Time", &old)], 401, "signature_wrong"),
        (&[(SIGNATURE, &good)], 401, "signature_missing"),
        (&[("X-Time", &now)], 401, "signature_missing"),
        (&[(SIGNATURE, &good), (SIGNATURE, &good), ("X-Time", &now)], 401, "signature_missing"),
        (&[(SIGNATURE, &aged), ("X-Time", &old)], 401, "timestamp_stale"),
        (
            &[(SIGNATURE, &good), ("X-Time", &now), ("Content-Encoding", "gzip")],
            415,
            "unsupported_encoding",
        ),
    ];
    for (headers, status, code) in table {
        let answer = post(&stage, "/hooks/alerts", headers, body).await;
        assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{headers:?}");
        assert_eq!(answer.1["status"], status);
    }
    let answer = post(&stage, "/hooks/nosuch", &[(SIGNATURE, &good)], body).await;
    assert_eq!((answer.0, &answer.1["code"]), (404, &json!("unknown_hook")));
    let long = vec![b'a'; (1 << 20) + 1];
    let answer = call(&stage, &long).await;
    assert_eq!((answer.0, &answer.1["code"]), (413, &json!("body_too_large")));
    let (status, body_405) = stage.get("/hooks/alerts").await.unwrap();
    assert!(status == 405 && body_405.contains("method_not_allowed"), "{status} {body_405}");
    assert!(bot_lines(&stage, &chat).is_empty());
    let headers = [(SIGNATURE, good.as_str()), ("X-Time", now.as_str())];
    let answer = post(&stage, "/hooks/alerts", &headers, body).await;
    stage.verdict(&taken(&answer, false), "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["forged"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_or_a_password_proves_who_calls() {
    for (scheme, good, bad) in [
        ("bearer", "Bearer a-hook-secret", "Bearer another"),
        ("basic", "Basic dXNlcjphLWhvb2stc2VjcmV0", "Bearer user:a-hook-secret"),
    ] {
        let (mut stage, chat) = set(&format!("verify = {{ scheme = \"{scheme}\" }}")).await;
        if scheme == "basic" {
            std::fs::write(stage.path("hook-secret"), format!("user:{SECRET}")).unwrap();
        }
        stage.start(&[]).await;
        let body = b"{\"title\":\"hello\"}";
        let refused: [Refused<'_>; 3] = [
            (&[], 401, "authorization_missing"),
            (&[("Authorization", good), ("Authorization", good)], 401, "authorization_missing"),
            (&[("Authorization", bad)], 401, "authorization_wrong"),
        ];
        for (headers, status, code) in refused {
            let answer = post(&stage, "/hooks/alerts", headers, body).await;
            assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{headers:?}");
        }
        let answer = post(&stage, "/hooks/alerts", &[("Authorization", good)], body).await;
        stage.verdict(&taken(&answer, false), "answered").await;
        assert_eq!(bot_lines(&stage, &chat), ["hello"]);
        assert!(!stage.log().contains(SECRET));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_template_a_call_is_said_as_readably_as_it_can_be() {
    let (stage, chat) = with("").await;
    for (body, parts) in [
        (&br#"{"title": "Disk full", "message": "on db-1"}"#[..], &["Disk full", "on db-1"][..]),
        (br#"{"text": "only text"}"#, &["only text"]),
        (br#"{"state": "firing"}"#, &["\"state\": \"firing\""]),
        (b"no JSON at all", &["no JSON at all"]),
        (b"broken \xff UTF-8", &["broken \u{fffd} UTF-8"]),
        (b"", &["The webhook alerts was called without content."]),
    ] {
        let line = said(&stage, &chat, body).await;
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    let long = format!("{}END", "x".repeat(100_000));
    let line = said(&stage, &chat, long.as_bytes()).await;
    assert!(line.contains("the rest is cut off") && !line.contains("END"), "{}", line.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_notified_by_what_a_call_brings() {
    let (stage, chat) = with("template = \"{{ title }}\"").await;
    said(&stage, &chat, br#"{"title": "<at user_id=\"all\">all</at> hello"}"#).await;
    let seen = stage.sim.visible(&chat);
    let line = seen.iter().rfind(|line| line.from_bot).unwrap();
    assert!(line.mentions.is_empty(), "{line:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_which_the_template_fails_is_said_all_the_same() {
    let template = "{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}ok";
    let (stage, chat) = with(&format!("template = \"{template}\"")).await;
    assert_eq!(said(&stage, &chat, br#"{"x": [1]}"#).await, "ok");
    let many: Vec<u32> = (0..2000).collect();
    let body = json!({"title": "too much", "x": many}).to_string();
    let line = said(&stage, &chat, body.as_bytes()).await;
    assert!(line.contains("too much") && line.contains("The template failed"), "{line}");
    assert!(stage.log().contains("a template of a hook failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_id_tells_equal_bodies_apart_and_repetitions_together() {
    let (stage, chat) = with("id_header = \"X-Delivery-Id\"").await;
    let body = b"{\"title\":\"again\"}";
    let good = signature(&[body]);
    let mut ids = Vec::new();
    for (id, duplicate) in [("1", false), ("1", true), ("2", false)] {
        let headers = [(SIGNATURE, good.as_str()), ("X-Delivery-Id", id)];
        let answer = post(&stage, "/hooks/alerts", &headers, body).await;
        ids.push(taken(&answer, duplicate));
    }
    for id in &ids {
        stage.verdict(id, "answered").await;
    }
    assert_eq!(bot_lines(&stage, &chat), ["again", "again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_storing_and_saying_loses_and_doubles_nothing() {
    for point in ["accept.after_commit", "send.before", "send.after"] {
        let (mut stage, chat) = set("").await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let body = b"{\"title\":\"survived\"}";
        let good = signature(&[body]);
        let request = http().post(stage.url("/hooks/alerts")).header(SIGNATURE, &good);
        drop(request.body(body.to_vec()).send().await);
        let status = stage.ended(PATIENCE).await.expect("the point is reached");
        assert_eq!(status.signal(), Some(9), "{point}");
        stage.start(&[]).await;
        let id = taken(&call(&stage, body).await, true);
        stage.verdict(&id, "answered").await;
        assert_eq!(bot_lines(&stage, &chat), ["survived"], "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_ends_takes_no_call() {
    let (mut stage, chat) = with("").await;
    let question = stage.sim.p2p("ann").chat_id;
    stage.model.set_mode(crate::llm_script::Mode::script([crate::talk::late(3000, "slow")]));
    stage.sim.says("ann", &question, "hold the drain open").unwrap();
    crate::talk::asked(&stage, 1).await;
    stage.signal("TERM");
    until("it drains", || stage.log().contains("no new work is taken")).await;
    let answer = call(&stage, b"{\"title\":\"too late\"}").await;
    assert_eq!((answer.0, &answer.1["code"]), (503, &json!("draining")));
    stage.ended(PATIENCE).await.unwrap();
    assert!(bot_lines(&stage, &chat).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_hook_is_told_with_its_place() {
    let (stage, _chat) = set("").await;
    let file = stage.path("config/larkspur.toml");
    let base = std::fs::read_to_string(&file).unwrap();
    for (from, to, key, text) in [
        ("bot = \"assistant\"", "bot = \"nobody\"", "hooks[0].bot", "no bot is named"),
        ("name = \"alerts\"", "name = \"Alerts!\"", "hooks[0].name", "is no name"),
        ("secret = \"file:hook-secret\"", "", "hooks[0].secret", "is missing"),
        ("name = \"alerts\"", "name = \"alerts\"\nmode = \"agent\"", "hooks[0].mode", "exist yet"),
        ("name = \"alerts\"", "name = \"alerts\"\npreset = \"github\"", "hooks[0].preset", "yet"),
        (
            "name = \"alerts\"",
            "name = \"alerts\"\ntemplate = \"\"\"\\\na\n{{ x\"\"\"",
            "hooks[0].template",
            "line 2 of the template",
        ),
        ("chat = \"oc_", "chat = \"xx_", "hooks[0].chat", "is no chat"),
        (
            "name = \"alerts\"",
            "name = \"alerts\"\nverify = { scheme = \"token\" }",
            "hooks[0].verify.scheme",
            "exist yet",
        ),
        (
            "name = \"alerts\"",
            "name = \"alerts\"\nverify = { scheme = \"basic\" }",
            "hooks[0].secret",
            "is not `user:password`",
        ),
        ("name = \"alerts\"", "name = \"alerts\"\ntypo = 1", "hooks[0].typo", "unknown key"),
    ] {
        assert!(base.contains(from), "{from}");
        std::fs::write(&file, base.replace(from, to)).unwrap();
        let output = stage.cli(&["check", "--json"]);
        assert_eq!(output.status.code(), Some(78), "{to}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let problems = report["problems"].as_array().unwrap();
        let named = |problem: &&Value| {
            problem["key"].as_str().unwrap().replace("hooks.0.", "hooks[0].") == key
        };
        let problem = problems.iter().find(named).unwrap_or_else(|| panic!("{key}: {report}"));
        assert!(problem["text"].as_str().unwrap().contains(text), "{problem}");
        assert!(problem["line"].as_u64().unwrap() > 5, "{problem}");
    }
    let twice = base.split_once("[[hooks]]").unwrap().1;
    std::fs::write(&file, format!("{base}\n[[hooks]]{twice}")).unwrap();
    let output = stage.cli(&["check"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("another hook is named `alerts`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_write_takes_no_call() {
    let (mut stage, chat) = set("").await;
    stage.start_surviving_full_disks().await;
    stage.limit_files(Some(0));
    let body = b"{\"title\":\"nowhere to put it\"}";
    let answer = call(&stage, body).await;
    assert_eq!((answer.0, &answer.1["code"]), (503, &json!("store_unavailable")));
    stage.limit_files(None);
    assert_eq!(said(&stage, &chat, body).await, "nowhere to put it", "it is not taken for seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_arrive_in_their_order_even_if_the_first_has_to_wait() {
    let (stage, chat) = with("").await;
    let broken = FaultAction::Refuse { status: 500, code: 0, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Send, 1, broken));
    for state in ["db DOWN", "db UP", "db DOWN", "db UP"] {
        taken(&call(&stage, &json!({ "title": state }).to_string().into_bytes()).await, false);
    }
    until("four posts", || bot_lines(&stage, &chat).len() == 4).await;
    assert_eq!(bot_lines(&stage, &chat), ["db DOWN", "db UP", "db DOWN", "db UP"]);
}
