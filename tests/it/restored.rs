//! A copy that is older than an answer: what was open in it may have been answered since.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::stage::{PATIENCE, Stage};
use crate::talk::{barrier, bot_lines};

/// The platform no longer knows the keys of sends, and the daemon does not rely on it.
const LATER: Duration = Duration::from_secs(2 * 3600);

/// A daemon that died at `point` with a question on its way; a copy of that; then the answer.
/// Restored from the copy two hours later, with `arguments`, whose output comes back.
async fn restored(point: &str, arguments: &[&str]) -> (Stage, String, String, String) {
    let mut stage = Stage::set(crate::stage::Options::default()).await;
    stage.start(&[("LARKSPUR_FAULT", point)]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "{point} is not reached");
    let copy = stage.path("copy.jsonl").display().to_string();
    assert!(stage.cli(&["store", "backup", &copy]).status.success());
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    stage.terminate().await;

    fs::rename(stage.path("data"), stage.path("data.lost")).unwrap();
    let output = stage.cli(&[&["store", "restore", &copy], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("open when the copy was made: 1."), "{said}");
    stage.sim.advance(LATER);
    let offset = LATER.as_millis().to_string();
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
    (stage, chat, question, said)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_open_in_a_copy_is_not_answered_again_unless_it_is_asked_for() {
    for point in ["turn.started", "turn.after_plan", "send.before"] {
        let (stage, chat, question, said) = restored(point, &[]).await;
        assert!(said.contains("larkspur events replay"), "{said}");
        barrier(&stage, "ann", &chat).await;
        assert_eq!(bot_lines(&stage, &chat)[..1], ["answer to: once?"], "{point}");
        assert_eq!(bot_lines(&stage, &chat).len(), 2, "{point}");
        let why = stage.why(&question);
        assert_eq!(why["verdict"], "failed", "{why}");
        assert!(why["reason"].as_str().unwrap().contains("the copy that was restored"), "{why}");

        let listed = stage.cli(&["events", "failed", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["events"][0]["message"], question.as_str(), "{listed}");
        assert!(stage.cli(&["events", "replay", "--all"]).status.success());
        stage.verdict(&question, "answered").await;
        assert_eq!(bot_lines(&stage, &chat).len(), 3, "{point}: on request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_answer_that_is_kept_is_looked_up_before_it_is_sent() {
    for point in ["turn.after_plan", "send.before"] {
        let (stage, chat, question, said) = restored(point, &["--open-turns", "keep"]).await;
        assert!(said.contains("a second time"), "{said}");
        stage.verdict(&question, "answered").await;
        barrier(&stage, "ann", &chat).await;
        assert_eq!(bot_lines(&stage, &chat).len(), 2, "{point}: found in the chat");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_turn_without_a_plan_is_gone_on_with() {
    let (stage, chat, question, _) = restored("turn.started", &["--open-turns", "keep"]).await;
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 3, "nobody can know what it said");
}
