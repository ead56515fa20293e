//! Component `transport`.

use larkspur::net::read_capped;
use larkspur::playground::{Endpoint, EventPush, FaultAction, FaultRule, RawPush, Say, Settings};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

use crate::stage::{Options, Stage, http};
use crate::talk::{barrier, bot_lines, context, text, until, word};

/// Unhandled event types flood the error log.
#[tokio::test(flavor = "multi_thread")]
async fn p096_events_of_a_type_are_acknowledged_and_counted_and_logged_once() {
    let stage = Stage::new().await;
    let kinds = ["im.chat.access_event.bot_p2p_chat_entered_v1", "made.up_v9"];
    for kind in kinds {
        for number in 0..20 {
            let event = EventPush::new(kind, json!({"anything": number}));
            let event = event.with_id(&format!("{kind}-{number}"));
            assert!(stage.sim.push_event(event).await.unwrap().delivered());
        }
        stage.verdict(&format!("{kind}-19"), "filtered").await;
        assert_eq!(text(&stage.why(&format!("{kind}-7")), "reason"), kind);
        let log = stage.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(kind)).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("INFO"), "{lines:?}");
    }
    let token = fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let request = http().get(stage.url("/metrics")).bearer_auth(token);
    let metrics = request.send().await.unwrap();
    let metrics = read_capped(metrics, 1 << 20).await.unwrap();
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    assert!(metrics.contains("larkspur_events_total{event=\"noted\"} 40"), "{metrics}");
}

/// The handshake comes without a signature.
#[tokio::test(flavor = "multi_thread")]
async fn p106_the_handshake_is_answered_unsigned_and_nothing_else_is() {
    let stage = Stage::new().await;
    let token = Settings::default().app.verification_token;
    let handshake = json!({"type": "url_verification", "token": token, "challenge": "c"});
    for encrypt in [false, true] {
        let push = RawPush { body: handshake.to_string(), encrypt, ..RawPush::default() };
        let record = stage.sim.push(push).await.unwrap();
        assert_eq!((record.status, record.answer.as_str()), (Some(200), "{\"challenge\":\"c\"}"));
        let mut wrong = handshake.clone();
        wrong["token"] = json!("guessed");
        let push = RawPush { body: wrong.to_string(), encrypt, ..RawPush::default() };
        assert_eq!(stage.sim.push(push).await.unwrap().status, Some(403));
        // The shape of a handshake does not carry an event in.
        let event = json!({
            "schema": "2.0", "type": "event_callback", "challenge": "c",
            "header": {
                "event_id": "ev_forged", "token": token, "event_type": "im.chat.disbanded_v1",
                "app_id": stage.sim.app_id(),
            },
            "event": {"chat_id": "oc_1"},
        });
        let push = RawPush { body: event.to_string(), encrypt, ..RawPush::default() };
        assert_eq!(stage.sim.push(push).await.unwrap().status, Some(401));
        assert_eq!(word(&stage, "ev_forged"), "never_received");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p010_a_clock_that_is_ahead_makes_no_fresh_message_stale() {
    for offset_ms in ["20000", "-20000"] {
        let bot = "[groups]\nstale = { after = \"1m\", then = \"drop\" }".to_owned();
        let mut stage = Stage::set(Options { bot, ..Options::default() }).await;
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", offset_ms)]).await;
        let chat = stage.sim.p2p("ann").chat_id;
        let fresh = stage.sim.says("ann", &chat, "fresh").unwrap();
        assert_eq!(stage.answer(&fresh).await, "answer to: fresh", "no word of its age");
        stage.verdict(&fresh, "answered").await;
        let command = stage.sim.says("ann", &chat, "/new").unwrap();
        stage.verdict(&command, "command").await;
        // What is dropped leaves a reason, and its sender is told.
        let late =
            stage.sim.say(&Say { age_ms: 600_000, ..Say::new("ann", &chat, "old") }).unwrap();
        stage.verdict(&late, "stale").await;
        assert!(text(&stage.why(&late), "reason").contains("after it was sent"));
        assert!(stage.answer(&late).await.contains("left unanswered"));
        assert!(stage.log().contains("stale"), "it can be counted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p011_a_message_that_was_two_minutes_on_its_way_is_answered() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let late = stage.sim.say(&Say { age_ms: 120_000, ..Say::new("ann", &chat, "late") }).unwrap();
    assert_eq!(stage.answer(&late).await, "answer to: late");
    stage.verdict(&late, "answered").await;
    // Much later it is answered all the same, and says so; seen before, it is a duplicate.
    let hours = Say { age_ms: 6 * 3_600_000, ..Say::new("ann", &chat, "very late") };
    let hours = stage.sim.say(&hours).unwrap();
    let answer = stage.answer(&hours).await;
    assert_eq!(answer, "(Sent 6 h 0 min ago.)\nanswer to: very late");
    let again = larkspur::playground::RetryEventId::New;
    stage.sim.duplicate(&hours, 3, again).await.unwrap();
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn p144_a_slow_look_up_of_names_delays_no_acknowledgement() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    stage.sim.change_user("ben", |user| user.name = "Ben Lee".to_owned());
    let slow = FaultAction::Delay { ms: 6000 };
    stage.sim.fault(FaultRule::next(Endpoint::UserNames, 1, slow));
    let quoted = stage.sim.says("ben", &group, "ship it").unwrap();
    let ask = || Say::new("ann", &group, "who said that?").to_bot().replying_to(&quoted);
    let question = stage.sim.say(&ask()).unwrap();
    stage.verdict(&question, "answered").await;
    assert!(stage.sim.calls(Endpoint::UserNames).is_empty(), "the platform has not answered yet");
    let pushes = stage.sim.pushes_of(&question);
    assert_eq!(pushes.iter().map(|push| push.status).collect::<Vec<_>>(), [Some(200)]);
    let ben = stage.sim.user("ben").open_id;
    let first = context(&stage);
    assert!(first.contains(&format!("from=\"{ben}\"")), "the id does meanwhile: {first}");

    // What came too late is there for the next question.
    let answered = |stage: &Stage| !stage.sim.calls(Endpoint::UserNames).is_empty();
    until("the platform answers", || answered(&stage)).await;
    let question = stage.sim.say(&ask()).unwrap();
    stage.verdict(&question, "answered").await;
    let second = context(&stage);
    assert!(second.contains("from=\"Ben Lee\""), "{second}");
    assert_eq!(stage.sim.calls(Endpoint::UserNames).len(), 1, "asked for once");
}

/// A token of the playground, as another client would get it.
async fn some_token(stage: &Stage) -> String {
    let app = Settings::default().app;
    let url = format!("{}/open-apis/auth/v3/tenant_access_token/internal", stage.sim.base_url());
    let body = json!({"app_id": app.app_id, "app_secret": app.app_secret});
    let response = http().post(url).json(&body).send().await.unwrap();
    let answer: Value =
        serde_json::from_slice(&read_capped(response, 4096).await.unwrap()).unwrap();
    answer["tenant_access_token"].as_str().unwrap().to_owned()
}

/// A stage whose daemon was given a token with so many seconds left.
async fn with_token_for(seconds: u64) -> Stage {
    let mut stage = Stage::set(Options::default()).await;
    let token = some_token(&stage).await;
    let body = json!({
        "code": 0, "msg": "ok", "tenant_access_token": token, "expire": seconds,
    });
    let action = FaultAction::Answer { status: 200, body: body.to_string() };
    stage.sim.fault(FaultRule::next(Endpoint::Token, 1, action));
    stage.start(&[]).await;
    stage
}

/// That a slow renewal holds nobody up while the old token is good needs a clock that can be
/// moved: it is a test of the client.
#[tokio::test(flavor = "multi_thread")]
async fn p040_a_token_is_not_used_in_the_last_seconds_of_its_life() {
    let stage = with_token_for(2).await;
    let before = stage.sim.calls(Endpoint::Token).len();
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(stage.sim.calls(Endpoint::Token).len(), before + 1, "it was replaced first, once");
    let calls = stage.sim.calls(Endpoint::Any);
    assert!(calls.iter().all(|call| call.code == 0), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p104_a_missing_scope_is_told_once_with_its_link_and_touches_no_answer() {
    let stage = Stage::new().await;
    let link = "https://open.feishu.cn/app/cli_x/auth?q=im:message.reactions:write_only";
    let msg = format!(
        "Access denied. One of the following scopes is required: \
         [im:message.reactions:write_only].点击链接申请并开通任一权限即可：{link}"
    );
    let body = json!({"code": 99_991_672, "msg": msg}).to_string();
    let denied = FaultAction::Answer { status: 400, body };
    let rule = FaultRule { times: None, ..FaultRule::next(Endpoint::React, 1, denied) };
    stage.sim.fault(rule);
    let chat = stage.sim.p2p("ann").chat_id;
    for number in 0..3 {
        let question = stage.sim.says("ann", &chat, &format!("number {number}")).unwrap();
        stage.verdict(&question, "answered").await;
        assert_eq!(stage.sim.answers_to(&question).len(), 1);
    }
    assert_eq!(bot_lines(&stage, &chat).len(), 3, "one question, one answer");
    until("every sign was refused", || stage.sim.calls(Endpoint::React).len() == 3).await;
    let log = stage.log();
    let told: Vec<&str> =
        log.lines().filter(|line| line.contains("event=\"scope_missing\"")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains(link), "{}", told[0]);
    assert_eq!(stage.model.requests().len(), 3, "one turn a question");
}

/// From outside only the address of a private deployment can be watched: everything must go there,
/// whatever the region. That the region alone gives the address otherwise is a test of the bot
/// file; that no code path has one of its own is a look at the sources.
#[tokio::test(flavor = "multi_thread")]
async fn p157_every_host_follows_from_the_app() {
    let mut stage = Stage::set(Options::default()).await;
    let file = stage.path("bots/assistant.toml");
    let definition = fs::read_to_string(&file).unwrap();
    fs::write(&file, definition.replace("[lark]", "[lark]\nregion = \"lark\"")).unwrap();
    stage.start(&[]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(&stage, "ann", &chat).await;
    let made = [Endpoint::Token, Endpoint::BotInfo, Endpoint::React, Endpoint::Reply];
    for endpoint in made {
        assert!(!stage.sim.calls(endpoint).is_empty(), "{endpoint:?}");
    }

    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found, ["src/bots/lark.rs"]);
}

/// The production sources that name a host of the platform.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
        if path.is_dir() {
            // The playground is the platform.
            if !name.ends_with("playground") {
                sources(&path, found);
            }
        } else if !name.ends_with("_tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            let body = text.split("\n#[cfg(test)]\n").next().unwrap();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let names_host =
                |line: &str| ["feishu.cn", "larksuite.com"].iter().any(|host| line.contains(host));
            if body.lines().filter(is_code).any(names_host) {
                found.push(name);
            }
        }
    }
}
