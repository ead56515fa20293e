//! Cases about messages that come twice, or are wanted twice.

use futures_util::future::join_all;
use larkspur::playground::{AppSettings, PushRecord, RetryEventId, Say};
use serde_json::{Value, json};
use std::time::Duration;

use crate::failed::{failed_turns, replay};
use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, text, word};

/// The payload of what failed is kept and shown; the platform's repetition is a duplicate that
/// says why; an operator's repetition runs, once.
#[tokio::test(flavor = "multi_thread")]
async fn p189_what_failed_keeps_its_payload_and_is_done_again_once() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::Same(Turn::unauthorized()));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "is the payload kept?").unwrap();
    stage.verdict(&question, "failed").await;
    let failed = failed_turns(&stage);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["content"], "is the payload kept?");
    assert_eq!(failed[0]["message"], question);

    // The platform sends it again: told apart, and not worked on behind anybody's back.
    let pushes = stage.sim.duplicate(&question, 5, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(PushRecord::delivered), "{pushes:?}");
    assert_eq!(stage.why(&question)["verdict"], "failed");

    stage.model.set_mode(Mode::Echo);
    let id = failed[0]["id"].as_str().unwrap();
    let first = replay(&stage, id);
    assert_eq!(first["replayed"][0]["new"], true, "{first}");
    stage.verdict(&question, "answered").await;
    for _again in 0..3 {
        let again = replay(&stage, id);
        assert_eq!(again["replayed"][0]["new"], false, "{again}");
        assert_eq!(again["replayed"][0]["turn"], first["replayed"][0]["turn"]);
    }
    let lines = bot_lines(&stage, &chat);
    let answered = lines.iter().filter(|line| *line == "answer to: is the payload kept?").count();
    assert_eq!(answered, 1, "{lines:?}");
    let failed = failed_turns(&stage);
    assert_eq!(failed[0]["replayed"], first["replayed"][0]["turn"], "it is marked: {failed:?}");
    assert_ne!(failed[0]["replayed"], Value::Null);
}

/// A webhook retry makes a slow turn run twice.
#[tokio::test(flavor = "multi_thread")]
async fn p001_a_slow_turn_is_acknowledged_at_once_and_runs_once_whatever_is_sent_again() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(1500, "done")]));
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let question = stage.sim.asks("ann", &group, "status of the build").unwrap();
    asked(&stage, 1).await;
    // The turn is still at work, and the platform has its answer.
    let first = stage.sim.pushes_of(&question);
    assert_eq!(first.len(), 1);
    assert!(first[0].delivered(), "{first:?}");
    let again = stage.sim.duplicate(&question, 1, RetryEventId::Same).await.unwrap();
    assert!(again.iter().all(PushRecord::delivered));
    assert_eq!(stage.answer(&question).await, "done");
    stage.verdict(&question, "answered").await;
    for hours in [0, 1, 6] {
        stage.kill();
        let offset = (hours * 3_600_000).to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        let again = stage.sim.duplicate(&question, 2, RetryEventId::Same).await.unwrap();
        assert!(again.iter().all(PushRecord::delivered));
    }
    barrier(&stage, "ann", &group).await;
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
    assert_eq!(stage.model.requests().len(), 2);
    let duplicates = stage.log().matches("an event was delivered again").count();
    assert_eq!(duplicates, 7);
}

/// A shared dedup table hides a message from the second bot.
#[tokio::test(flavor = "multi_thread")]
async fn p005_two_bots_that_are_both_mentioned_answer_once_each() {
    let mut stage = Stage::set(Options::default()).await;
    let app = AppSettings {
        app_id: "cli_b".to_owned(),
        name: "helper-bot".to_owned(),
        event_url: stage.url("/lark/helper/events"),
        ..AppSettings::default()
    };
    stage.sim.add_app(&app).unwrap();
    let helper = std::fs::read_to_string(stage.path("bots/assistant.toml"))
        .unwrap()
        .replace("\"assistant\"", "\"helper\"")
        .replace(&stage.sim.app_id(), "cli_b");
    std::fs::write(stage.path("bots/helper.toml"), helper).unwrap();
    stage.start(&[]).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    stage.sim.change_chat(&group, |chat| chat.bots.push("cli_b".to_owned())).unwrap();
    let both = stage.sim.says("ann", &group, "@{bot} @{cli_b} status?").unwrap();
    stage.answers_of(&both, 2).await;
    let again = stage.sim.duplicate(&both, 5, RetryEventId::New).await.unwrap();
    assert_eq!(again.len(), 10, "of both apps");
    assert!(again.iter().all(PushRecord::delivered));
    barrier(&stage, "ann", &group).await;
    let last = stage.sim.says("ann", &group, "@{cli_b} the very last?").unwrap();
    stage.answers(&last).await;
    let mut senders: Vec<String> =
        stage.sim.answers_to(&both).into_iter().map(|answer| answer.sender).collect();
    senders.sort_unstable();
    assert_eq!(senders, ["gateway-bot", "helper-bot"]);
}

/// The echo of the bot's own send shows a user as its sender.
#[tokio::test(flavor = "multi_thread")]
async fn p042_what_the_bot_sent_is_its_own_whoever_is_said_to_have_sent_it() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    let out = stage.answers(&question).await.remove(0).message_id;
    stage.verdict(&question, "answered").await;
    let ann = stage.sim.user("ann").open_id;
    for sender in [json!({"open_id": ann}), json!({"open_id": stage.sim.bot_open_id()})] {
        let patch = json!({"event": {
            "sender": {"sender_type": "user", "sender_id": sender},
            "message": {"message_id": out},
        }});
        stage.sim.say(&Say::new("ann", &chat, "answer to: hello").with_overrides(patch)).unwrap();
    }
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.sim.pushes().iter().all(PushRecord::delivered));
    assert_eq!(text(&stage.why(&out), "verdict"), "answered", "it is known as the answer it is");
}

/// The same when the echo comes, or comes again, after a restart hours later.
#[tokio::test(flavor = "multi_thread")]
async fn p042_what_the_bot_sent_before_a_restart_is_its_own_still() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    let out = stage.answers(&question).await.remove(0).message_id;
    stage.verdict(&question, "answered").await;
    for hours in [0, 7] {
        stage.sim.advance(Duration::from_secs(hours * 3600));
        stage.kill();
        let offset = (hours * 3_600_000).to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        let patch = json!({"event": {
            "sender": {"sender_type": "user"},
            "message": {"message_id": out},
        }});
        stage.sim.say(&Say::new("ann", &chat, "answer to: hello").with_overrides(patch)).unwrap();
        let now = format!("{hours} hours later");
        let last = stage.sim.says("ann", &chat, &now).unwrap();
        assert_eq!(stage.answer(&last).await, format!("answer to: {now}"));
    }
    assert_eq!(bot_lines(&stage, &chat).len(), 3);
    assert_eq!(stage.model.requests().len(), 3);
    assert!(stage.sim.pushes().iter().all(PushRecord::delivered));
}

#[tokio::test(flavor = "multi_thread")]
async fn p002_a_message_is_remembered_for_longer_than_the_platform_retries_across_restarts() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    stage.verdict(&question, "answered").await;
    let mut passed_s = 0;
    for at_s in [61, 6 * 3600, 24 * 3600] {
        stage.sim.advance(Duration::from_secs(at_s - passed_s));
        passed_s = at_s;
        stage.kill();
        let offset = (at_s * 1000).to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        for event_id in [RetryEventId::Same, RetryEventId::New] {
            let pushes = stage.sim.duplicate(&question, 2, event_id).await.unwrap();
            assert!(pushes.iter().all(PushRecord::delivered), "{at_s} s: {pushes:?}");
        }
        assert_eq!(word(&stage, &question), "answered", "{at_s} s");
    }
    barrier(&stage, "ann", &chat).await;
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines, ["answer to: once?", "answer to: the last question"]);
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn p006_a_message_that_could_not_be_stored_is_not_taken_for_seen() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start_surviving_full_disks().await;
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(&stage, "ann", &chat).await;
    stage.limit_files(Some(0));
    let question = stage.sim.says("ann", &chat, "lost?").unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    let refused = stage.sim.duplicate(&question, 3, RetryEventId::Same).await.unwrap();
    assert!(refused.iter().all(|push| push.status == Some(503)), "{refused:?}");
    stage.limit_files(None);
    stage.sim.advance(Duration::from_secs(16));
    assert_eq!(stage.answer(&question).await, "answer to: lost?");
    let again = stage.sim.duplicate(&question, 3, RetryEventId::New).await.unwrap();
    assert!(again.iter().all(PushRecord::delivered));
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn p092_copies_that_arrive_together_give_one_answer() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let held = Say { hold: true, ..Say::new("ann", &chat, "once?") };
    let question = stage.sim.say(&held).unwrap();
    let pushes = stage.sim.duplicate(&question, 3, RetryEventId::Same).await.unwrap();
    assert!(pushes.iter().all(PushRecord::delivered));
    assert_eq!(stage.answer(&question).await, "answer to: once?");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn p136_a_thousand_deliveries_of_a_hundred_messages_are_a_hundred_turns() {
    let stage = Stage::new().await;
    let mut questions = Vec::new();
    for number in 0..100 {
        let user = format!("user{number}");
        let chat = stage.sim.p2p(&user).chat_id;
        let held = Say { hold: true, ..Say::new(&user, &chat, &format!("question {number}")) };
        questions.push((chat, stage.sim.say(&held).unwrap()));
    }
    let deliveries =
        questions.iter().map(|(_, question)| stage.sim.duplicate(question, 10, RetryEventId::New));
    for pushes in join_all(deliveries).await {
        assert!(pushes.unwrap().iter().all(PushRecord::delivered));
    }
    for (chat, question) in &questions {
        stage.answers(question).await;
        assert_eq!(bot_lines(&stage, chat).len(), 1);
    }
    assert_eq!(stage.model.requests().len(), 100);
    let accepted = stage.log().lines().filter(|line| line.contains("\"accepted\"")).count();
    let duplicates = stage.log().lines().filter(|line| line.contains("\"duplicate\"")).count();
    assert_eq!((accepted, duplicates), (100, 900));
}
