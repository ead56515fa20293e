//! What is kept for how long, with the daemon's clock moved on.

use std::time::Duration;

use larkspur::playground::{PushRecord, RetryEventId};
use serde_json::Value;

use crate::failed::failed_turns;
use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, Stage};
use crate::talk::{barrier, bot_lines, word};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Starts the daemon with its clock so far ahead. The platform's stays.
async fn start_ahead(stage: &mut Stage, millis: u64) {
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &millis.to_string())]).await;
}

/// `larkspur store expire --json`: what went.
fn expire(stage: &Stage) -> Value {
    let output = stage.cli(&["store", "expire", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let swept: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(swept["done"], true, "{swept}");
    swept["deleted"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_known_for_26_hours_and_a_sweep_does_not_shorten_that() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    stage.verdict(&question, "answered").await;
    stage.kill();
    // The platform's clock goes along, so that it signs afresh and nothing is stale.
    start_ahead(&mut stage, 26 * HOUR).await;
    stage.sim.advance(Duration::from_millis(26 * HOUR));
    assert_eq!(expire(&stage)["dedup_keys"], 0);
    let pushes = stage.sim.duplicate(&question, 5, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(PushRecord::delivered), "{pushes:?}");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2, "answered once");
    assert_eq!(stage.model.requests().len(), 2);
    assert_eq!(word(&stage, &question), "answered");
    stage.kill();
    start_ahead(&mut stage, 29 * HOUR).await;
    assert_eq!(expire(&stage)["dedup_keys"], 2, "both keys of the question, not those of the last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_that_was_signed_days_ago_is_stale_when_its_key_is_gone() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    stage.verdict(&question, "answered").await;
    stage.kill();
    start_ahead(&mut stage, 3 * DAY).await;
    assert_eq!(expire(&stage)["dedup_keys"], 2);
    // The platform's clock stands, so its signature is three days old for the daemon.
    let pushes = stage.sim.duplicate(&question, 3, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(PushRecord::delivered), "{pushes:?}");
    assert_eq!(bot_lines(&stage, &chat).len(), 1, "answered once");
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_failed_turns_and_receipts_go_when_their_time_is_over() {
    let main = "[retention]\nmessages = \"30d\"\nledger = \"60d\"\n".to_owned();
    let mut stage = Stage::with(Options { main, ..Options::default() }).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "answered").await;
    stage.model.set_mode(Mode::Same(Turn::unauthorized()));
    let failing = stage.sim.says("ann", &chat, "fail").unwrap();
    stage.verdict(&failing, "failed").await;
    assert_eq!(expire(&stage)["sessions"], 0);
    stage.kill();

    start_ahead(&mut stage, 31 * DAY).await;
    let gone = expire(&stage);
    assert_eq!((&gone["sessions"], &gone["failed"]), (&1.into(), &1.into()), "{gone}");
    assert_eq!(gone["receipts"], 0, "{gone}");
    assert!(failed_turns(&stage).is_empty());
    assert_eq!(word(&stage, &failing), "failed", "what became of it is still known");
    stage.kill();

    start_ahead(&mut stage, 61 * DAY).await;
    assert_eq!(expire(&stage)["receipts"], 2);
    assert_eq!(word(&stage, &question), "never_received");
}
