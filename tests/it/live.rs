//! Answers that people see while they grow: one message, at most a change a second, whole at the
//! end whatever happens on the way.

use std::time::Duration;

use larkspur::base::fault::LIVE_POINTS;
use larkspur::playground::{Endpoint, FaultAction, FaultRule, SeenMessage, SeenState};
use serde_json::json;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, bot_lines, late, text, until};

/// Long enough to grow for some seconds.
const SLOW: &str = "Deployments run on Tuesdays and on Thursdays, behind the freeze of the week.";
/// Between two pieces of it.
const PAUSE: Duration = Duration::from_millis(400);

/// A stage whose model speaks slowly, and a private chat on it.
async fn slow(turns: impl IntoIterator<Item = Turn>) -> (Stage, String) {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script(turns));
    stage.model.set_chunk_pause(PAUSE);
    let chat = stage.sim.p2p("ann").chat_id;
    (stage, chat)
}

fn asks(stage: &Stage, chat: &str) -> String {
    stage.sim.says("ann", chat, "when do we deploy?").unwrap()
}

fn growing(stage: &Stage, question: &str) -> Option<SeenMessage> {
    let answers = stage.sim.answers_to(question).into_iter().rev();
    answers.into_iter().find(|answer| answer.card.as_ref().is_some_and(|card| card.streaming))
}

/// Waits until an answer is seen growing, with some of its words.
async fn grows(stage: &Stage, question: &str) -> SeenMessage {
    until("the answer is seen growing", || {
        growing(stage, question).is_some_and(|answer| answer.text.contains("Deployments"))
    })
    .await;
    growing(stage, question).unwrap()
}

/// The one answer, which grows no more.
async fn the_answer(stage: &Stage, question: &str) -> SeenMessage {
    stage.verdict(question, "answered").await;
    let mut answers = stage.answers(question).await;
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let answer = answers.remove(0);
    assert!(!answer.card.as_ref().is_some_and(|card| card.streaming), "{answer:?}");
    answer
}

fn refusal(endpoint: Endpoint, times: u32, (status, code): (u16, i64)) -> FaultRule {
    let action = FaultAction::Refuse { status, code, reset_s: None };
    FaultRule::next(endpoint, times, action)
}

fn search() -> Turn {
    Turn::call("search_knowledge", &json!({"query": "deployments"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_in_one_message_and_is_whole_at_the_end() {
    let (stage, chat) = slow([search(), Turn::text(SLOW)]).await;
    let question = asks(&stage, &chat);
    let answer = the_answer(&stage, &question).await;
    assert_eq!(answer.text, SLOW);
    assert_eq!(bot_lines(&stage, &chat), [SLOW]);
    let states = stage.sim.states(&answer.message_id);
    let (last, before) = states.split_last().unwrap();
    assert!(!last.streaming && !before.is_empty(), "{states:#?}");
    let mut words = 0;
    for state in before {
        assert!(state.streaming && state.buttons == 0, "{state:?}");
        assert!(!state.text.trim().is_empty(), "never empty");
        let said = SLOW.split(' ').filter(|word| state.text.contains(word)).count();
        assert!(said >= words, "it goes on where it was: {states:#?}");
        words = said;
    }
    assert_changes_at_most_every_second(&states);
    let card = answer.card.unwrap();
    let panel = card.json.pointer("/body/elements/0").unwrap();
    assert_eq!((&panel["tag"], &panel["expanded"]), (&json!("collapsible_panel"), &json!(false)));
    assert!(panel.to_string().contains("search_knowledge"), "{panel}");
}

/// The end may come at any time. What leaves a second apart may arrive a little closer.
fn assert_changes_at_most_every_second(states: &[SeenState]) {
    let grows = |state: &&SeenState| state.streaming && state.text != SLOW;
    let growing: Vec<u64> = states.iter().filter(grows).map(|state| state.at_ms).collect();
    for pair in growing.windows(2) {
        assert!(pair[1] - pair[0] >= 700, "{growing:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_there_at_once_does_not_grow() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    the_answer(&stage, &question).await;
    assert!(stage.sim.calls(Endpoint::CardCreate).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_shows_nothing_live_answers_when_it_is_done() {
    for lines in ["live = false", "render = \"text\""] {
        let stage = Stage::set(Options::default()).await;
        let mut stage = stage;
        stage.edit_bot("[lark]", &format!("[lark]\n{lines}"));
        stage.start(&[]).await;
        stage.model.set_mode(Mode::script([late(2500, "done")]));
        let chat = stage.sim.p2p("ann").chat_id;
        let question = asks(&stage, &chat);
        assert_eq!(the_answer(&stage, &question).await.text, "done");
        assert!(stage.sim.calls(Endpoint::CardCreate).is_empty(), "{lines}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_mid_answer_it_goes_on_in_the_same_message() {
    let (mut stage, chat) = slow([Turn::text(SLOW), Turn::text(SLOW)]).await;
    let question = asks(&stage, &chat);
    let before = grows(&stage, &question).await;
    until("it was changed twice", || stage.sim.states(&before.message_id).len() > 2).await;
    stage.kill();
    let seen = stage.sim.states(&before.message_id).len();
    stage.start(&[]).await;
    let answer = the_answer(&stage, &question).await;
    assert_eq!((&answer.message_id, answer.text.as_str()), (&before.message_id, SLOW));
    assert_eq!(bot_lines(&stage, &chat), [SLOW]);
    let states = stage.sim.states(&answer.message_id);
    let grew_on = states.iter().skip(seen).any(|state| state.streaming && state.text != SLOW);
    assert!(grew_on, "nothing was seen of it between the restart and the end: {states:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_of_its_growth_it_stands_there_once_and_whole() {
    let planned = ["turn.before_plan", "turn.after_plan", "send.before", "send.after"];
    for point in LIVE_POINTS.into_iter().chain(planned) {
        let mut stage = Stage::set(Options::default()).await;
        stage.launch(&[("LARKSPUR_FAULT", &format!("{point}:1"))]);
        assert!(stage.is_ready().await, "{point}");
        let turns = [Turn::text(SLOW), Turn::text(SLOW), Turn::text(SLOW)];
        stage.model.set_mode(Mode::script(turns));
        stage.model.set_chunk_pause(PAUSE);
        let chat = stage.sim.p2p("ann").chat_id;
        let question = asks(&stage, &chat);
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
        stage.start(&[]).await;
        let answer = the_answer(&stage, &question).await;
        assert_eq!(answer.text, SLOW, "{point}");
        assert_eq!(bot_lines(&stage, &chat), [SLOW], "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_it_says_that_it_is_not_complete() {
    let (stage, chat) = slow([Turn::text(SLOW)]).await;
    let question = asks(&stage, &chat);
    let before = grows(&stage, &question).await;
    stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&question, "stopped").await;
    let answer = stage.sim.seen(&before.message_id).unwrap();
    assert!(!answer.card.unwrap().streaming);
    assert!(answer.text.contains("Deployments"), "what was seen stays: {}", answer.text);
    assert!(answer.text.ends_with("(stopped; the answer is not complete)"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_a_recalled_question_goes_with_it() {
    let (stage, chat) = slow([Turn::text(SLOW)]).await;
    let question = asks(&stage, &chat);
    let before = grows(&stage, &question).await;
    stage.sim.recalls(&question).unwrap();
    stage.verdict(&question, "recalled").await;
    assert!(stage.sim.seen(&before.message_id).unwrap().recalled);
    assert!(bot_lines(&stage, &chat).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_cards_that_grow_the_answer_comes_when_it_is_done() {
    let (stage, chat) = slow([Turn::text(SLOW)]).await;
    stage.sim.fault(refusal(Endpoint::CardCreate, 1000, (400, 99_991_672)));
    let question = asks(&stage, &chat);
    assert_eq!(the_answer(&stage, &question).await.text, SLOW);
    assert_eq!(stage.sim.calls(Endpoint::CardCreate).len(), 1, "asked once a turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_growing_message_that_is_refused_leaves_the_answer_whole_and_single() {
    let (stage, chat) = slow([Turn::text(SLOW)]).await;
    stage.sim.fault(refusal(Endpoint::Reply, 1, (400, 230_099)));
    let question = asks(&stage, &chat);
    assert_eq!(the_answer(&stage, &question).await.text, SLOW);
    assert_eq!(bot_lines(&stage, &chat), [SLOW]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_growing_message_whose_sending_is_in_doubt_is_there_once() {
    for action in [FaultAction::DropAfter, FaultAction::Drop] {
        let (stage, chat) = slow([Turn::text(SLOW)]).await;
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 2, action));
        let question = asks(&stage, &chat);
        assert_eq!(the_answer(&stage, &question).await.text, SLOW);
        assert_eq!(bot_lines(&stage, &chat), [SLOW]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_cannot_be_completed_is_replaced_by_a_message_of_its_own() {
    for code in [200_740, 200_750, 300_311] {
        let (stage, chat) = slow([Turn::text(SLOW)]).await;
        let question = asks(&stage, &chat);
        let before = grows(&stage, &question).await;
        stage.sim.fault(refusal(Endpoint::CardUpdate, 1000, (400, code)));
        stage.verdict(&question, "answered").await;
        assert_eq!(bot_lines(&stage, &chat), [SLOW], "{code}");
        assert!(stage.sim.seen(&before.message_id).unwrap().recalled, "{code}");
        let reason = stage.why(&question);
        assert!(text(&reason, "reason").contains("could not be completed"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_change_whose_answer_is_lost_is_made_once() {
    for action in [FaultAction::DropAfter, FaultAction::Drop] {
        let (stage, chat) = slow([Turn::text(SLOW)]).await;
        stage.sim.fault(FaultRule::next(Endpoint::CardUpdate, 2, action));
        let question = asks(&stage, &chat);
        assert_eq!(the_answer(&stage, &question).await.text, SLOW);
        assert_eq!(bot_lines(&stage, &chat), [SLOW]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_the_platform_closed_grows_on() {
    let (stage, chat) = slow([Turn::text(SLOW)]).await;
    let question = asks(&stage, &chat);
    let before = grows(&stage, &question).await;
    // The platform ends the growth ten minutes after it began.
    stage.sim.advance(Duration::from_secs(601));
    until("its growth was begun again", || !stage.sim.calls(Endpoint::CardSettings).is_empty())
        .await;
    let answer = the_answer(&stage, &question).await;
    assert_eq!((&answer.message_id, answer.text.as_str()), (&before.message_id, SLOW));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_on_through_rate_limits_and_lost_tokens() {
    let limits = [(429, 99_991_400, Some(1)), (429, 99_991_400, None), (400, 230_020, None)];
    for (status, code, reset_s) in limits {
        let (stage, chat) = slow([Turn::text(SLOW)]).await;
        let refuse = || FaultAction::Refuse { status, code, reset_s };
        stage.sim.fault(FaultRule::next(Endpoint::ElementContent, 1, refuse()));
        stage.sim.fault(FaultRule::next(Endpoint::CardUpdate, 1, refuse()));
        let question = asks(&stage, &chat);
        grows(&stage, &question).await;
        stage.sim.revoke_tokens();
        assert_eq!(the_answer(&stage, &question).await.text, SLOW, "{code} {reset_s:?}");
        assert_eq!(bot_lines(&stage, &chat), [SLOW]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_longer_than_a_card_begins_in_it_and_goes_on_behind_it() {
    let lengthy = "Every line of it counts.\n\n".repeat(2_000);
    let (stage, chat) = slow([search(), late(2_000, &lengthy)]).await;
    stage.model.set_chunk_pause(Duration::ZERO);
    let question = asks(&stage, &chat);
    until("it is seen at work", || growing(&stage, &question).is_some()).await;
    stage.verdict(&question, "answered").await;
    let answers = stage.sim.answers_to(&question);
    assert!(answers.len() > 1 && answers.iter().all(|answer| answer.msg_type == "interactive"));
    let lines: usize =
        answers.iter().map(|answer| answer.text.matches("Every line of it counts.").count()).sum();
    assert_eq!(lines, 2_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_is_removed_in_mid_answer_says_why_it_fell_silent() {
    let (stage, _) = slow([Turn::text(SLOW)]).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let question = stage.sim.asks("ann", &group, "when do we deploy?").unwrap();
    asked(&stage, 1).await;
    for endpoint in [Endpoint::Reply, Endpoint::Send] {
        stage.sim.fault(refusal(endpoint, 1000, (400, 230_002)));
    }
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    assert!(text(&why, "reason").contains("230002"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_may_stand_there_since_an_hour_is_looked_for_and_completed() {
    for (point, arrived) in [("live.after_show", 1), ("live.before_show", 0)] {
        let mut stage = Stage::set(Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        stage.model.set_mode(Mode::script([Turn::text(SLOW), Turn::text(SLOW)]));
        stage.model.set_chunk_pause(PAUSE);
        let chat = stage.sim.p2p("ann").chat_id;
        let question = asks(&stage, &chat);
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
        assert_eq!(stage.sim.answers_to(&question).len(), arrived, "{point}");
        // The platform has forgotten the key of the send by then.
        let hour = Duration::from_secs(3_700);
        stage.sim.advance(hour);
        let offset = hour.as_millis().to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        let answer = the_answer(&stage, &question).await;
        assert_eq!(answer.text, SLOW, "{point}");
        assert_eq!(bot_lines(&stage, &chat), [SLOW], "{point}");
    }
}
