//! What became of a message, by the command line.

use larkspur::playground::{PushRecord, RetryEventId};
use serde_json::Value;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, Stage};
use crate::talk::{asked, barrier, bot_lines, text, word};

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_its_five_fields() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "answered").await;
    let why = stage.why(&question);
    let mut keys: Vec<&str> = why.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["at", "message_ids", "reason", "turn", "verdict"]);
    let answer = stage.answers(&question).await[0].message_id.clone();
    assert_eq!(why["message_ids"], serde_json::json!([answer]));
    assert!(!text(&why, "turn").is_empty());
    assert!(!why["at"].is_null());
    assert_eq!(stage.why(&answer), why, "an answer is explained as its question");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_a_message_can_go_has_its_word() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let group = stage.sim.group("team", &["ann", "eve"]).chat_id;
    stage.sim.change_user("eve", |user| user.tenant_key = "another-tenant".to_owned());

    let answered = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&answered, "answered").await;
    let command = stage.sim.says("ann", &chat, "/ping").unwrap();
    stage.verdict(&command, "command").await;
    let unnamed = stage.sim.says("ann", &group, "lunch?").unwrap();
    stage.verdict(&unnamed, "not_mentioned").await;
    let outsider = stage.sim.asks("eve", &group, "let me in").unwrap();
    stage.verdict(&outsider, "not_allowed").await;
    assert!(text(&stage.why(&outsider), "reason").contains("access.users"));
    let outsider_command = stage.sim.asks("eve", &group, "/status").unwrap();
    stage.verdict(&outsider_command, "not_allowed").await;
    assert_eq!(word(&stage, "om_of_nobody"), "never_received");
    assert!(bot_lines(&stage, &group).is_empty(), "outsiders get nothing");
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.model.requests().len(), 1);

    stage.model.set_mode(Mode::script([Turn::Stall]));
    let running = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 2).await;
    stage.verdict(&running, "running").await;
    let queued = stage.sim.says("ann", &chat, "more work").unwrap();
    stage.verdict(&queued, "queued").await;
    stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&running, "stopped").await;
    stage.verdict(&queued, "stopped").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_line_refuses_politely_and_the_platform_is_not_asked_to_repeat() {
    let bot = "[groups]\nqueue_max = 1".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let running = stage.sim.says("ann", &chat, "one").unwrap();
    asked(&stage, 1).await;
    let waiting = stage.sim.says("ann", &chat, "two").unwrap();
    stage.verdict(&waiting, "queued").await;
    let refused = stage.sim.says("ann", &chat, "three").unwrap();
    let answer = stage.answer(&refused).await;
    assert!(answer.contains("queue is full"), "{answer}");
    stage.verdict(&refused, "busy").await;
    let pushes = stage.sim.pushes_of(&refused);
    assert_eq!(pushes.iter().map(|push| push.status).collect::<Vec<_>>(), [Some(200)]);
    assert_eq!(
        (word(&stage, &running), word(&stage, &waiting)),
        ("running".into(), "queued".into())
    );
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
    // Another chat has its own line, and the full one is free again later.
    let other = stage.sim.p2p("ben").chat_id;
    barrier(&stage, "ben", &other).await;
    let stop = stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&waiting, "stopped").await;
    stage.answers(&stop).await;
    barrier(&stage, "ann", &chat).await;
    let pushes = stage.sim.duplicate(&refused, 5, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(PushRecord::delivered));
    barrier(&stage, "ann", &chat).await;
    assert_eq!(word(&stage, &refused), "busy", "what was refused is not done later");
    assert_eq!(stage.sim.answers_to(&refused).len(), 1);
    assert_eq!(bot_lines(&stage, &chat).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_survive_a_restart() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let answered = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&answered, "answered").await;
    let unnamed = stage.sim.says("ann", &group, "lunch?").unwrap();
    stage.verdict(&unnamed, "not_mentioned").await;
    let before = [stage.why(&answered), stage.why(&unnamed)];
    assert!(stage.terminate().await.success());
    stage.start(&[]).await;
    assert_eq!([stage.why(&answered), stage.why(&unnamed)], before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_has_words_for_people_and_codes_for_scripts() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "$ ls").unwrap();
    stage.verdict(&question, "refused").await;
    let output = stage.cli(&["why", &question]);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(words.starts_with("Refused") && words.contains("(refused): policy"), "{words}");
    assert!(serde_json::from_str::<Value>(&words).is_err());
    let output = stage.cli(&["why", "om_of_nobody"]);
    assert_eq!(output.status.code(), Some(0));
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.contains("(never_received)") && words.contains("Likely causes"), "{words}");
    assert_eq!(stage.cli(&["why", ""]).status.code(), Some(64));
    for strange in ["../../etc/passwd", "a b", "状态", "%2e%2e", "?x=1#y"] {
        assert_eq!(word(&stage, strange), "never_received", "{strange}");
    }
    stage.kill();
    let output = stage.cli(&["why", &question, "--json"]);
    assert_eq!(output.status.code(), Some(75));
    assert!(output.stdout.is_empty());
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("is it running?"), "{complaint}");
}
