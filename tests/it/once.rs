//! One answer to one message, however often it is delivered.

use std::time::Duration;

use larkspur::playground::{PushRecord, RetryEventId, RetrySignature, Say};
use serde_json::json;

use crate::llm_script::Mode;
use crate::stage::{PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, word};

fn all_delivered(pushes: &[PushRecord], count: usize) {
    assert_eq!(pushes.len(), count);
    assert!(pushes.iter().all(PushRecord::delivered), "{pushes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_parallel_deliveries_give_one_answer() {
    for event_id in [RetryEventId::Same, RetryEventId::New] {
        let stage = Stage::new().await;
        let chat = stage.sim.p2p("ann").chat_id;
        let held = Say { hold: true, ..Say::new("ann", &chat, "once?") };
        let question = stage.sim.say(&held).unwrap();
        assert_eq!(word(&stage, &question), "never_received");
        let pushes = stage.sim.duplicate(&question, 200, event_id).await.unwrap();
        all_delivered(&pushes, 200);
        stage.verdict(&question, "answered").await;
        barrier(&stage, "ann", &chat).await;
        assert_eq!(
            bot_lines(&stage, &chat),
            ["answer to: once?", "answer to: the last question"],
            "{event_id:?}"
        );
        assert_eq!(stage.model.requests().len(), 2, "the model was asked once a question");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_delivered_again_while_the_first_runs_is_acknowledged_and_ignored() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(400, "slowly")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "slow?").unwrap();
    asked(&stage, 1).await;
    assert_eq!(word(&stage, &question), "running");
    let pushes = stage.sim.duplicate(&question, 30, RetryEventId::New).await.unwrap();
    all_delivered(&pushes, 30);
    assert_eq!(stage.answer(&question).await, "slowly");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_the_answer_and_a_redelivery_gives_no_second_answer() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    stage.verdict(&question, "answered").await;
    let before = stage.why(&question);
    stage.kill();
    stage.start(&[]).await;
    assert_eq!(stage.why(&question), before, "the receipt survives");
    let pushes = stage.sim.duplicate(&question, 50, RetryEventId::New).await.unwrap();
    all_delivered(&pushes, 50);
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.model.requests().len(), 2);
    assert_eq!(stage.why(&question), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_the_model_works_and_a_redelivery_give_one_answer() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(30_000, "never"), late(300, "after the restart")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "still there?").unwrap();
    asked(&stage, 1).await;
    assert!(stage.sim.pushed(PATIENCE).await);
    stage.kill();
    stage.start(&[]).await;
    let pushes = stage.sim.duplicate(&question, 20, RetryEventId::New).await.unwrap();
    all_delivered(&pushes, 20);
    assert_eq!(stage.answer(&question).await, "after the restart");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

/// The process dies at a point; the platform delivers again; one answer in the end.
async fn dies_at(point: &str) {
    let mut stage = Stage::set(crate::stage::Options::default()).await;
    stage.start(&[("LARKSPUR_FAULT", point)]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
    stage.start(&[]).await;
    let pushes = stage.sim.duplicate(&question, 10, RetryEventId::New).await.unwrap();
    all_delivered(&pushes, 10);
    stage.sim.advance(Duration::from_secs(20));
    assert_eq!(stage.answer(&question).await, "answer to: once?");
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2, "{point}");
    let why = stage.why(&question);
    assert_eq!(why["message_ids"].as_array().unwrap().len(), 1, "{point}: {why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_before_the_acknowledgement_is_made_good_by_the_platform() {
    dies_at("accept.before_commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_right_after_the_store_has_the_message_loses_nothing() {
    dies_at("accept.after_commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_after_the_send_but_before_its_receipt_doubles_nothing() {
    dies_at("send.after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_before_and_after_the_closing_doubles_nothing() {
    dies_at("close.before").await;
    dies_at("close.after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_a_daemon_that_is_down_is_answered_once_by_every_kind_of_retry() {
    for (event_id, signature) in [
        (RetryEventId::Same, RetrySignature::Fresh),
        (RetryEventId::Same, RetrySignature::Old),
        (RetryEventId::New, RetrySignature::Fresh),
    ] {
        let mut stage = Stage::set(crate::stage::Options::default()).await;
        stage.sim.switch(|switches| {
            switches.retry_event_id = event_id;
            switches.retry_signature = signature;
        });
        let chat = stage.sim.p2p("ann").chat_id;
        let question = stage.sim.says("ann", &chat, "anybody?").unwrap();
        assert!(stage.sim.pushed(PATIENCE).await);
        assert_eq!(stage.sim.retries_waiting(), 1);
        stage.start(&[]).await;
        stage.sim.advance(Duration::from_secs(16));
        assert_eq!(stage.answer(&question).await, "answer to: anybody?");
        stage.verdict(&question, "answered").await;
        assert_eq!(stage.sim.retries_waiting(), 0);
        assert_eq!(bot_lines(&stage, &chat).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_message_with_another_text_is_a_repetition() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "the first text").unwrap();
    stage.verdict(&question, "answered").await;
    let created = stage.sim.seen(&question).unwrap().at_ms.to_string();
    let patch = json!({"event": {"message": {"message_id": question, "create_time": created}}});
    for text in ["edited once", "edited twice"] {
        let say = Say::new("ann", &chat, text).with_overrides(patch.clone());
        let other = stage.sim.say(&say).unwrap();
        assert!(stage.sim.pushed(PATIENCE).await);
        assert_eq!(word(&stage, &other), "never_received");
    }
    barrier(&stage, "ann", &chat).await;
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines, ["answer to: the first text", "answer to: the last question"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_words_said_twice_are_two_questions() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let first = stage.sim.says("ann", &chat, "again").unwrap();
    stage.verdict(&first, "answered").await;
    let second = stage.sim.says("ann", &chat, "again").unwrap();
    stage.verdict(&second, "answered").await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.sim.answers_to(&first).len(), 1);
    assert_eq!(stage.sim.answers_to(&second).len(), 1);
}
