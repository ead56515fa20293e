//! Messages that are taken back, and chats that the bot leaves.

use larkspur::playground::{Endpoint, EventPush, FaultAction, FaultRule, RetryEventId, Say};
use serde_json::json;

use crate::failed::failed_turns;
use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, context, late, text, told_closed, until, word};

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_and_what_waits_ends_when_its_message_is_taken_back() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let running = stage.sim.says("ann", &chat, "one").unwrap();
    asked(&stage, 1).await;
    let waiting = stage.sim.says("ann", &chat, "two").unwrap();
    stage.verdict(&waiting, "queued").await;
    let kept = stage.sim.says("ann", &chat, "three").unwrap();
    stage.verdict(&kept, "queued").await;

    stage.sim.recalls(&waiting).unwrap();
    stage.verdict(&waiting, "recalled").await;
    told_closed(&stage, &waiting).await;
    assert_eq!(word(&stage, &running), "running", "only what was taken back ends");
    assert_eq!(word(&stage, &kept), "queued");
    stage.model.set_mode(Mode::Echo);
    stage.sim.recalls(&running).unwrap();
    stage.verdict(&running, "recalled").await;
    assert_eq!(stage.answer(&kept).await, "answer to: three");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2, "nothing is said to the others");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_stays_answered() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "answered").await;
    let before = stage.why(&question);
    stage.sim.recalls(&question).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    assert_eq!(stage.why(&question), before);
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recall_may_come_before_its_message_and_the_daemon_may_end_between() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let held = Say { hold: true, ..Say::new("ann", &chat, "never mind") };
    let question = stage.sim.say(&held).unwrap();
    stage.sim.recalls(&question).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    assert_eq!(word(&stage, &question), "recalled", "it is told even before it comes");
    stage.kill();
    stage.start(&[]).await;
    let pushes = stage.sim.duplicate(&question, 3, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(|push| push.status == Some(200)));
    assert_eq!(word(&stage, &question), "recalled");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recall_that_was_acknowledged_survives_a_kill() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::Same(Turn::Stall));
    let chat = stage.sim.p2p("ann").chat_id;
    let running = stage.sim.says("ann", &chat, "one").unwrap();
    asked(&stage, 1).await;
    // Killed before the run's end can be planned, after the recall was stored.
    stage.kill();
    stage.start(&[("LARKSPUR_FAULT", "turn.before_plan")]).await;
    stage.sim.recalls(&running).unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "it is killed where the run's end is planned");
    stage.model.set_mode(Mode::Echo);
    stage.start(&[]).await;
    stage.verdict(&running, "recalled").await;
    barrier(&stage, "ann", &chat).await;
    assert!(stage.sim.answers_to(&running).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_answer_to_a_message_that_was_taken_back_is_given_up() {
    let mut stage = Stage::new().await;
    let busy = FaultAction::Refuse { status: 503, code: 2200, reset_s: None };
    stage.sim.fault(FaultRule::by_chance(Endpoint::Reply, 1000, busy));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    asked(&stage, 1).await;
    until("the answer is tried", || !stage.sim.calls(Endpoint::Reply).is_empty()).await;
    stage.kill();
    stage.start(&[]).await;
    stage.sim.recalls(&question).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    until("the turn ends", || ["recalled", "in_doubt"].contains(&word(&stage, &question).as_str()))
        .await;
    stage.sim.clear_faults();
    barrier(&stage, "ann", &chat).await;
    assert!(stage.sim.answers_to(&question).is_empty());
}

fn gone(stage: &Stage, event_type: &str, chat: &str, age_ms: u64) -> EventPush {
    let at = stage.sim.clock().now().as_millis() - age_ms;
    EventPush {
        overrides: Some(json!({"header": {"create_time": at.to_string()}})),
        ..EventPush::new(event_type, json!({"chat_id": chat}))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_in_a_chat_that_is_gone_ends_without_a_word() {
    for event_type in ["im.chat.member.bot.deleted_v1", "im.chat.disbanded_v1"] {
        let stage = Stage::new().await;
        stage.model.set_mode(Mode::script([Turn::Stall, late(1500, "elsewhere")]));
        let group = stage.sim.group("team", &["ann"]).chat_id;
        let running = stage.sim.asks("ann", &group, "one").unwrap();
        asked(&stage, 1).await;
        let waiting = stage.sim.asks("ann", &group, "two").unwrap();
        stage.verdict(&waiting, "queued").await;
        let other = stage.sim.p2p("ann").chat_id;
        let elsewhere = stage.sim.says("ann", &other, "three").unwrap();
        asked(&stage, 2).await;

        // An event that is older than the messages is about an earlier stay.
        let old = stage.sim.push_event(gone(&stage, event_type, &group, 3_600_000)).await.unwrap();
        assert!(old.delivered());
        assert_eq!(word(&stage, &running), "running");
        assert_eq!(word(&stage, &waiting), "queued");

        let event = gone(&stage, event_type, &group, 0).with_id("ev_gone");
        assert!(stage.sim.push_event(event.clone()).await.unwrap().delivered());
        for message in [&running, &waiting] {
            stage.verdict(message, "failed").await;
            let why = stage.why(message);
            assert!(text(&why, "reason").contains(event_type), "{why}");
            told_closed(&stage, message).await;
        }
        let mut failed: Vec<String> =
            failed_turns(&stage).iter().map(|turn| text(turn, "content").to_owned()).collect();
        failed.sort();
        assert_eq!(failed, ["one", "two"], "both can be asked for again if the bot comes back");
        stage.verdict("ev_gone", "filtered").await;
        assert!(stage.sim.push_event(event).await.unwrap().delivered());
        stage.verdict("ev_gone", "duplicate").await;
        assert_eq!(stage.answer(&elsewhere).await, "elsewhere");
        assert!(bot_lines(&stage, &group).is_empty(), "{event_type}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_turn_goes_on_for_the_others_when_one_is_taken_back() {
    let stage = Stage::with(merging()).await;
    stage.model.set_mode(Mode::script([late(3000, "all"), Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    for turn in [1, 2] {
        let questions = ["one", "two"].map(|words| {
            let old = Say { age_ms: 3_600_000, ..Say::new("ann", &chat, words) };
            stage.sim.say(&old).unwrap()
        });
        asked(&stage, turn).await;
        stage.verdict(&questions[1], "merged").await;
        stage.sim.recalls(&questions[0]).unwrap();
        if turn == 1 {
            assert!(stage.answer(&questions[1]).await.ends_with("all"));
        } else {
            stage.sim.recalls(&questions[1]).unwrap();
            stage.verdict(&questions[0], "recalled").await;
        }
    }
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}

/// Two late messages that are answered as one; the first is taken back while the platform takes
/// its time to tell what the second quotes. The first question and the daemon's answer to it are
/// left out.
async fn taken_back_during_look_ups(stage: &Stage) -> String {
    let chat = stage.sim.p2p("ann").chat_id;
    let quoted = stage.sim.says("ann", &chat, "the weather").unwrap();
    stage.verdict(&quoted, "answered").await;
    let slow = FaultAction::Delay { ms: 2000 };
    stage.sim.fault(FaultRule::next(Endpoint::Get, 1, slow));
    let old = |words| Say { age_ms: 3_600_000, ..Say::new("ann", &chat, words) };
    let secret = stage.sim.say(&old("my password")).unwrap();
    let question = stage.sim.say(&old("what of this?").replying_to(&quoted)).unwrap();
    // From then on the quote is looked up.
    stage.verdict(&question, "merged").await;
    stage.sim.recalls(&secret).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    assert_eq!(stage.model.requests().len(), 1, "it was taken back before the model was asked");
    question
}

fn assert_kept_from_the_model(stage: &Stage) {
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("what of this?"), 1);
    assert_eq!(request.count_containing("my password"), 0);
    assert_eq!(context(stage).matches("the weather").count(), 1);
}

fn merging() -> Options {
    let bot = "[groups]\nstale = { after = \"10m\", then = \"merge\" }".to_owned();
    Options { bot, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_during_the_look_ups_does_not_reach_the_model() {
    let stage = Stage::with(merging()).await;
    let question = taken_back_during_look_ups(&stage).await;
    assert!(stage.answer(&question).await.ends_with("what of this?"));
    assert_kept_from_the_model(&stage);
    assert_eq!(stage.sim.calls(Endpoint::Get).len(), 2, "the quote is looked up again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_had_begun_with_what_was_taken_back_begins_anew_after_a_kill() {
    let mut stage = Stage::set(merging()).await;
    // The first run is that of the message that is quoted, the second holds what is taken back.
    stage.start(&[("LARKSPUR_FAULT", "turn.started:2")]).await;
    let question = taken_back_during_look_ups(&stage).await;
    assert!(stage.ended(PATIENCE).await.is_some(), "it is killed where the run has begun");
    stage.start(&[]).await;
    assert!(stage.answer(&question).await.ends_with("what of this?"));
    assert_kept_from_the_model(&stage);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_beside_the_bot_and_taken_back_is_given_to_nobody() {
    let bot = "[groups]\nhistory = 3".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let beside = ["the build is red", "my password"]
        .map(|words| stage.sim.says("ann", &group, words).unwrap());
    for message in &beside {
        stage.verdict(message, "not_mentioned").await;
    }
    stage.sim.recalls(&beside[1]).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    let question = stage.sim.asks("ann", &group, "why?").unwrap();
    stage.verdict(&question, "answered").await;
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("the build is red"), 1);
    assert_eq!(request.count_containing("my password"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_while_names_are_looked_up_is_given_to_nobody() {
    let bot = "[groups]\nhistory = 3".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let beside = [("ben", "the build is red"), ("ann", "my password")]
        .map(|(user, words)| stage.sim.says(user, &group, words).unwrap());
    for message in &beside {
        stage.verdict(message, "not_mentioned").await;
    }
    let slow = FaultAction::Delay { ms: 5000 };
    stage.sim.fault(FaultRule::next(Endpoint::UserNames, 1, slow));
    let question = stage.sim.asks("ann", &group, "why?").unwrap();
    // The model is asked a second later, without the names.
    stage.verdict(&question, "running").await;
    stage.sim.recalls(&beside[1]).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    stage.verdict(&question, "answered").await;
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("the build is red"), 1);
    assert_eq!(request.count_containing("my password"), 0);
}
