//! Component `parse`.

use larkspur::playground::Say;
use serde_json::json;

use crate::stage::Stage;
use crate::talk::{barrier, bot_lines, text};

/// Own messages come back as those of an `app` and are answered.
#[tokio::test(flavor = "multi_thread")]
async fn p041_own_messages_are_ignored_whatever_their_sender_is_called() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let own = stage.sim.bot_open_id();
    for sender_type in ["app", "bot", "user"] {
        for id in [json!({"open_id": own}), json!({"app_id": stage.sim.app_id()})] {
            let sender = json!({"sender_type": sender_type, "sender_id": id});
            let patch = json!({"event": {"sender": sender}});
            let echo = Say::new("ann", &group, "my own reply").to_bot().with_overrides(patch);
            let echo = stage.sim.say(&echo).unwrap();
            stage.verdict(&echo, "filtered").await;
        }
    }
    let other = json!({"event": {"sender": {
        "sender_type": "app", "sender_id": {"open_id": "ou_another_app"},
    }}});
    let other = Say::new("ann", &group, "ping").to_bot().with_overrides(other);
    let other = stage.sim.say(&other).unwrap();
    stage.verdict(&other, "filtered").await;
    assert!(text(&stage.why(&other), "reason").contains("another bot"));
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn p024_a_command_behind_a_mention_is_a_command() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let variants = [
        "@{bot} /new",
        "@{bot}, /new",
        "@{bot}:/new",
        "@{bot}\u{a0}\u{3000}/new",
        "@{bot}：/NEW",
        "@{bot}\n/new",
        "@{bot}/new",
    ];
    for words in variants {
        let command = stage.sim.says("ann", &group, words).unwrap();
        stage.verdict(&command, "command").await;
    }
    assert!(stage.model.requests().is_empty(), "the model never saw one");
}

#[tokio::test(flavor = "multi_thread")]
async fn p199_a_sentence_that_mentions_a_command_goes_to_the_bot() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let words = "is it /model or /models that I need here?";
    let question = stage.sim.says("ann", &chat, words).unwrap();
    assert_eq!(stage.answer(&question).await, format!("answer to: {words}"));
    stage.verdict(&question, "answered").await;
    // What is taken for a command and refused leaves its trace.
    let unknown = stage.sim.says("ann", &chat, "/models").unwrap();
    assert!(stage.answer(&unknown).await.contains("no command /models"));
    stage.verdict(&unknown, "command").await;
    // A message that never becomes a turn, too.
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let beside = stage.sim.say(&Say::new("ann", &group, "/model gpt")).unwrap();
    stage.verdict(&beside, "not_mentioned").await;
    let patch = json!({"event": {"sender": {"tenant_key": "another"}}});
    let foreign = Say::new("ann", &group, "/model gpt").to_bot().with_overrides(patch);
    let foreign = stage.sim.say(&foreign).unwrap();
    stage.verdict(&foreign, "not_allowed").await;
    assert!(text(&stage.why(&foreign), "reason").contains("access.users"));
    barrier(&stage, "ann", &chat).await;
}
