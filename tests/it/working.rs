//! The sign on a message that the bot is at work on it.

use larkspur::playground::{Endpoint, FaultAction, FaultRule};

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, bot_lines, late, until};

fn signs(stage: &Stage, message: &str) -> Vec<String> {
    let seen = stage.sim.seen(message).unwrap();
    seen.reactions.into_iter().map(|reaction| reaction.emoji).collect()
}

async fn stands(stage: &Stage, message: &str) {
    until("the sign stands", || signs(stage, message) == ["Typing"]).await;
}

async fn is_gone(stage: &Stage, message: &str) {
    until("the sign is gone", || signs(stage, message).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_stands_while_the_model_works_and_is_gone_at_the_end() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(600, "done")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stands(&stage, &question).await;
    assert!(stage.sim.answers_to(&question).is_empty());
    stage.verdict(&question, "answered").await;
    is_gone(&stage, &question).await;
    assert_eq!(stage.sim.calls(Endpoint::React).len(), 1);
    assert_eq!(stage.sim.calls(Endpoint::Unreact).len(), 1);
    assert_eq!(bot_lines(&stage, &chat), ["done"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_refusals_have_no_sign() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for text in ["/ping", "$ ls", "> x", "/nothing"] {
        let message = stage.sim.says("ann", &chat, text).unwrap();
        stage.answers(&message).await;
    }
    assert!(stage.sim.calls(Endpoint::React).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_goes_after_a_kill_in_the_middle_of_the_work() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall, Turn::text("done")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    stands(&stage, &question).await;
    stage.kill();
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    is_gone(&stage, &question).await;
    assert_eq!(stage.sim.calls(Endpoint::React).len(), 1, "it is not put up twice");
    assert_eq!(bot_lines(&stage, &chat), ["done"]);
}

async fn gone_after_a_death_at(point: &str) {
    let mut stage = Stage::set(Options::default()).await;
    stage.model.set_mode(Mode::script([late(500, "done")]));
    // A call whose caller dies meanwhile is not carried out.
    stage.sim.fault(FaultRule::next(Endpoint::Unreact, 1, FaultAction::Delay { ms: 2000 }));
    stage.start(&[("LARKSPUR_FAULT", point)]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stands(&stage, &question).await;
    assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
    stage.sim.clear_faults();
    assert_eq!(signs(&stage, &question), ["Typing"], "{point}");
    stage.model.set_mode(Mode::script([Turn::text("done")]));
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    is_gone(&stage, &question).await;
    assert_eq!(bot_lines(&stage, &chat), ["done"], "{point}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_goes_after_a_kill_when_the_answer_is_planned() {
    gone_after_a_death_at("turn.after_plan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_goes_after_a_kill_when_the_answer_is_sent() {
    gone_after_a_death_at("send.after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_goes_before_a_kill_can_forget_it() {
    let mut stage = Stage::set(Options::default()).await;
    stage.model.set_mode(Mode::script([late(500, "done")]));
    stage.sim.fault(FaultRule::next(Endpoint::Unreact, 1, FaultAction::Delay { ms: 300 }));
    stage.start(&[("LARKSPUR_FAULT", "close.after")]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stands(&stage, &question).await;
    assert!(stage.ended(PATIENCE).await.is_some(), "the turn was never closed");
    assert!(signs(&stage, &question).is_empty(), "the turn is closed, so its sign is gone");
    assert_eq!(bot_lines(&stage, &chat), ["done"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waited_at_a_kill_has_its_sign_when_its_turn_comes() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall, Turn::text("first"), late(600, "second")]));
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.says("ann", &chat, "one").unwrap();
    asked(&stage, 1).await;
    let waiting = stage.sim.says("ann", &chat, "two").unwrap();
    stage.verdict(&waiting, "queued").await;
    stage.kill();
    stage.start(&[]).await;
    stands(&stage, &waiting).await;
    stage.verdict(&waiting, "answered").await;
    is_gone(&stage, &waiting).await;
    assert_eq!(bot_lines(&stage, &chat), ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_that_may_stand_is_taken_away_too() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(400, "done")]));
    stage.sim.fault(FaultRule::next(Endpoint::React, 1, FaultAction::DropAfter));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stands(&stage, &question).await;
    stage.verdict(&question, "answered").await;
    is_gone(&stage, &question).await;
    assert_eq!(bot_lines(&stage, &chat), ["done"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_that_cannot_be_put_up_does_not_hold_the_answer_up() {
    let stage = Stage::new().await;
    let refuse = FaultAction::Refuse { status: 400, code: 231_003, reset_s: None };
    stage.sim.fault(FaultRule { times: None, ..FaultRule::next(Endpoint::React, 1, refuse) });
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["answer to: work"]);
    assert_eq!(stage.sim.calls(Endpoint::React).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_goes_when_the_turn_is_stopped() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stands(&stage, &question).await;
    stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&question, "stopped").await;
    is_gone(&stage, &question).await;
}
