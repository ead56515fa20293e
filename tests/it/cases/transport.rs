//! Component `transport`.

use larkspur::playground::{Endpoint, EventPush, FaultAction, FaultRule, RawPush, Say, Settings};
use serde_json::json;

use crate::stage::{Options, Stage};
use crate::talk::{barrier, bot_lines, context, text, word};

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
    let token = std::fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let request = crate::stage::http().get(stage.url("/metrics")).bearer_auth(token);
    let metrics = request.send().await.unwrap();
    let metrics = larkspur::net::read_capped(metrics, 1 << 20).await.unwrap();
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
    stage.sim.fault(FaultRule::next(Endpoint::User, 1, slow));
    let quoted = stage.sim.says("ben", &group, "ship it").unwrap();
    let ask = || Say::new("ann", &group, "who said that?").to_bot().replying_to(&quoted);
    let question = stage.sim.say(&ask()).unwrap();
    stage.verdict(&question, "answered").await;
    assert!(stage.sim.calls(Endpoint::User).is_empty(), "the platform has not answered yet");
    let pushes = stage.sim.pushes_of(&question);
    assert_eq!(pushes.iter().map(|push| push.status).collect::<Vec<_>>(), [Some(200)]);
    let ben = stage.sim.user("ben").open_id;
    let first = context(&stage);
    assert!(first.contains(&format!("from=\"{ben}\"")), "the id does meanwhile: {first}");

    // What came too late is there for the next question.
    let answered = |stage: &Stage| !stage.sim.calls(Endpoint::User).is_empty();
    crate::talk::until("the platform answers", || answered(&stage)).await;
    let question = stage.sim.say(&ask()).unwrap();
    stage.verdict(&question, "answered").await;
    let second = context(&stage);
    assert!(second.contains("from=\"Ben Lee\""), "{second}");
    assert_eq!(stage.sim.calls(Endpoint::User).len(), 1, "asked for once");
}
