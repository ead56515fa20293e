//! Cases about messages that come twice, or are wanted twice.

use larkspur::playground::{PushRecord, RetryEventId};
use serde_json::Value;

use crate::failed::{failed_turns, replay};
use crate::llm_script::{Mode, Turn};
use crate::stage::Stage;
use crate::talk::bot_lines;

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
