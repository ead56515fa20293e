//! Questions on the buttons of a card, from the welcome to the answer: once for everybody, for
//! nobody who may not ask, and never by a button that is not the bot's own.

use std::time::Duration;

use larkspur::playground::{
    CardButton, CardPress, Endpoint, EventPush, FaultAction, FaultRule, PressOutcome, PushRecord,
    SeenMessage,
};
use serde_json::{Value, json};

use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{bot_lines, text, until};

const QUESTIONS: [&str; 2] = ["How do we deploy?", "What runs on Tuesdays?"];
const ASKED: &str = "Asked; the answer is on its way.";
const AGAIN: &str = "This was asked already; the answer is below the card.";
const INVALID: &str =
    "This button is not valid any more. Please send me your question as a message.";
const ELSEWHERE: &str = "This button works only in the chat it was made for. Please send me your \
                         question here as a message.";
const EXPIRED: &str = "This button is too old. Please send me your question as a message.";

fn options() -> Options {
    let bot = format!("examples = {QUESTIONS:?}");
    Options { welcome: true, bot, model: None, ..Options::default() }
}

/// A user adds the bot to a group; the welcome that it gets.
async fn welcomed(stage: &Stage, user: &str, group: &str) -> SeenMessage {
    let user = stage.sim.user(user);
    let event = json!({
        "chat_id": group, "external": false, "name": "team", "operator_tenant_key": user.tenant_key,
        "operator_id": {"open_id": user.open_id, "user_id": user.user_id},
    });
    let added = EventPush::new("im.chat.member.bot.added_v1", event);
    assert!(stage.sim.push_event(added).await.unwrap().delivered());
    until("the welcome", || !stage.sim.visible(group).is_empty()).await;
    stage.sim.visible(group).remove(0)
}

/// A stage with a group that ann and ben are in, and the welcome there.
async fn with_welcome() -> (Stage, String, SeenMessage) {
    let stage = Stage::with(options()).await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let card = welcomed(&stage, "ann", &group).await;
    (stage, group, card)
}

fn press_of(user: &str, message: &str, place: usize) -> CardPress {
    CardPress::of_button(user, message, CardButton::Place(place))
}

fn toast(outcome: &PressOutcome) -> &str {
    assert_eq!(outcome.client_error, 0, "{outcome:?}");
    outcome.toast.as_ref().map_or("", |(_, words)| words.as_str())
}

fn answer(record: &PushRecord) -> Value {
    serde_json::from_str(&record.answer).unwrap()
}

/// The buttons and the lines of people that a card in an answer shows.
fn shown(card: &Value) -> Vec<String> {
    let elements = card["body"]["elements"].as_array().unwrap().iter().skip(1);
    let line = |element: &Value| match element["tag"].as_str() {
        Some("button") => format!("[{}]", element["text"]["content"].as_str().unwrap()),
        _ => element["content"].as_str().unwrap().to_owned(),
    };
    elements.map(line).collect()
}

/// What the welcome shows once `user` has pressed its first question.
fn after_the_first(stage: &Stage, user: &str) -> Vec<String> {
    let id = stage.sim.user(user).open_id;
    vec![format!("✓ <at id={id}></at> {}", QUESTIONS[0]), format!("[{}]", QUESTIONS[1])]
}

/// The answers below a card.
fn answers(stage: &Stage, card: &SeenMessage) -> usize {
    stage.sim.answers_to(&card.message_id).len()
}

/// Whatever was on its way has arrived.
async fn settled(stage: &Stage, chat: &str) {
    let last = stage.sim.asks("ann", chat, "/ping").unwrap();
    stage.verdict(&last, "command").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_asks_and_the_card_says_who_pressed() {
    let (stage, group, card) = with_welcome().await;
    let press = CardPress { id: Some("ev_1".to_owned()), ..press_of("ben", &card.message_id, 0) };
    let outcome = stage.sim.press(press).await.unwrap();
    assert_eq!(toast(&outcome), ASKED);
    assert!(outcome.replaced, "{outcome:?}");
    assert_eq!(outcome.push.event_type, "card.action.trigger");
    stage.verdict("ev_1", "answered").await;
    let body = answer(&outcome.push);
    assert_eq!(body["card"]["type"], "raw");
    assert_eq!(shown(&body["card"]["data"]), after_the_first(&stage, "ben"));
    // The other button goes on as before: it is the first of those that are left.
    let other = stage.sim.press(press_of("ann", &card.message_id, 0)).await.unwrap();
    assert_eq!(toast(&other), ASKED);
    let lines = shown(&answer(&other.push)["card"]["data"]);
    assert!(lines[0].ends_with(QUESTIONS[0]) && lines[1].ends_with(QUESTIONS[1]), "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with('✓')), "{lines:?}");
    settled(&stage, &group).await;
    until("both answers", || answers(&stage, &card) == 2).await;
    assert!(stage.sim.calls(Endpoint::ChangeCard).is_empty(), "the answer brought the card");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_often_a_button_is_pressed_it_asks_once() {
    let (stage, group, card) = with_welcome().await;
    // A client that does not look at the card before it presses.
    let value = card.card.as_ref().unwrap().buttons[0].value.clone().unwrap();
    let action = json!({"tag": "button", "value": value});
    let presses = ["ann", "ben", "ann", "ben"].map(|user| {
        let press = CardPress::new(user, &group, action.clone());
        stage.sim.press(CardPress { message_id: Some(card.message_id.clone()), ..press })
    });
    let outcomes = futures_util::future::join_all(presses).await;
    let outcomes: Vec<PressOutcome> = outcomes.into_iter().map(Result::unwrap).collect();
    let words = |words: &str| outcomes.iter().filter(|outcome| toast(outcome) == words).count();
    assert_eq!((words(ASKED), words(AGAIN)), (1, 3), "{outcomes:?}");
    let cards: Vec<_> =
        outcomes.iter().map(|outcome| shown(&answer(&outcome.push)["card"]["data"])).collect();
    assert!(cards.iter().all(|card| *card == cards[0]), "all see the same card: {cards:?}");
    settled(&stage, &group).await;
    until("the answer", || answers(&stage, &card) == 1).await;
    settled(&stage, &group).await;
    assert_eq!(answers(&stage, &card), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_of_the_first_generation_changes_the_card_beside_its_answer() {
    let (stage, _group, card) = with_welcome().await;
    let refuse = FaultAction::Refuse { status: 400, code: 230_020, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::ChangeCard, 1, refuse));
    let press = press_of("ben", &card.message_id, 0).of_the_first_generation();
    let outcome = stage.sim.press(press).await.unwrap();
    assert_eq!(toast(&outcome), ASKED);
    assert_eq!(answer(&outcome.push).as_object().unwrap().len(), 1, "{outcome:?}");
    assert_eq!(outcome.push.event_type, "card.action.trigger_v1");
    let now = || stage.sim.visible(&card.chat_id).remove(0).card.unwrap();
    until("the card is changed", || now().buttons.len() == 1).await;
    assert_eq!(shown(&now().json), after_the_first(&stage, "ben"));
    // Where both generations are configured, both are delivered.
    let value = card.card.as_ref().unwrap().buttons[0].value.clone().unwrap();
    let press = CardPress::new("ben", &card.chat_id, json!({"tag": "button", "value": value}));
    let press = CardPress { message_id: Some(card.message_id.clone()), ..press };
    let second = stage.sim.press(press).await.unwrap();
    assert_eq!((toast(&second), second.replaced), (AGAIN, true));
    until("the answer", || answers(&stage, &card) == 1).await;
    settled(&stage, &card.chat_id).await;
    assert_eq!(answers(&stage, &card), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_button_does_nothing_and_is_noted() {
    let (stage, group, card) = with_welcome().await;
    let genuine = card.card.as_ref().unwrap().buttons[0].value.clone().unwrap();
    let mut forged = vec![json!({"larkspur": {"do": "ask", "text": "what?"}})];
    for (member, new) in [("text", json!("another question")), ("number", json!(1))] {
        let mut value = genuine.clone();
        value["larkspur"][member] = new;
        forged.push(value);
    }
    for (number, value) in forged.iter().enumerate() {
        let id = format!("ev_{number}");
        let press = CardPress::new("ann", &group, json!({"tag": "button", "value": value}));
        let message_id = Some(card.message_id.clone());
        let press = CardPress { id: Some(id.clone()), message_id, ..press };
        let outcome = stage.sim.press(press).await.unwrap();
        assert_eq!((toast(&outcome), outcome.replaced), (INVALID, false));
        stage.verdict(&id, "refused").await;
        let why = stage.why(&id);
        let reason = "card.action.trigger: the button does not have this bot's signature";
        assert_eq!(text(&why, "reason"), reason);
    }
    settled(&stage, &group).await;
    assert_eq!(answers(&stage, &card), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_of_a_card_that_was_sent_on_or_is_too_old_says_what_to_do() {
    let (mut stage, group, card) = with_welcome().await;
    let value = card.card.as_ref().unwrap().buttons[0].value.clone().unwrap();
    let action = json!({"tag": "button", "value": value});
    let other = stage.sim.group("other", &["ann"]).chat_id;
    let press = CardPress::new("ann", &other, action.clone());
    let copied = CardPress { id: Some("ev_copied".to_owned()), ..press };
    assert_eq!(toast(&stage.sim.press(copied).await.unwrap()), ELSEWHERE);
    stage.verdict("ev_copied", "refused").await;
    let why = stage.why("ev_copied");
    assert!(text(&why, "reason").ends_with("made for another chat"), "{why}");

    // A client that keeps old cards alive for longer than the platform says.
    stage.kill();
    let late = Duration::from_secs(14 * 24 * 3600 + 60).as_millis().to_string();
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &late)]).await;
    stage.sim.advance(Duration::from_secs(14 * 24 * 3600 + 60));
    let press = CardPress::new("ann", &group, action);
    let press = CardPress { message_id: Some(card.message_id.clone()), ..press };
    let old = CardPress { id: Some("ev_old".to_owned()), ..press };
    assert_eq!(toast(&stage.sim.press(old).await.unwrap()), EXPIRED);
    stage.verdict("ev_old", "stale").await;
    settled(&stage, &group).await;
    assert!(bot_lines(&stage, &other).is_empty());
    assert_eq!(answers(&stage, &card), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_a_crash_left_without_an_answer_can_be_pressed_again() {
    for point in ["accept.before_commit", "accept.after_commit"] {
        let (mut stage, group, card) = with_welcome().await;
        assert!(stage.terminate().await.success());
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let press = || press_of("ben", &card.message_id, 0);
        let broken = stage.sim.press(press()).await.unwrap();
        assert_ne!(broken.client_error, 0, "{point}: {broken:?}");
        assert!(stage.ended(PATIENCE).await.is_some(), "{point}");
        stage.start(&[]).await;
        let outcome = stage.sim.press(press()).await.unwrap();
        let expected = if point == "accept.after_commit" { AGAIN } else { ASKED };
        assert_eq!((toast(&outcome), outcome.replaced), (expected, true), "{point}");
        let card_now = &answer(&outcome.push)["card"]["data"];
        assert_eq!(shown(card_now), after_the_first(&stage, "ben"), "{point}");
        until("the answer", || answers(&stage, &card) == 1).await;
        settled(&stage, &group).await;
        assert_eq!(answers(&stage, &card), 1, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_reaches_nobody_is_told_by_the_platform_and_can_be_pressed_again() {
    let (mut stage, group, card) = with_welcome().await;
    assert!(stage.terminate().await.success());
    let press = || press_of("ben", &card.message_id, 0);
    let outcome = stage.sim.press(press()).await.unwrap();
    assert_ne!(outcome.client_error, 0, "nobody is at the callback's address: {outcome:?}");
    stage.start(&[]).await;
    assert_eq!(toast(&stage.sim.press(press()).await.unwrap()), ASKED);
    until("the answer", || answers(&stage, &card) == 1).await;
    settled(&stage, &group).await;
    assert_eq!(answers(&stage, &card), 1);
}

/// What stands behind `/pair` in a hint.
fn code_in(hint: &str) -> String {
    hint.split_once("/pair ").unwrap().1.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_let_in_by_a_code_may_press_in_private() {
    let boss_id = Stage::set(Options::default()).await.sim.user("boss").open_id;
    let mut stage = Stage::set(options()).await;
    let access = format!("admins = [\"{boss_id}\"]\n");
    stage.edit_bot("users = [\"@tenant\"]\nchats = [\"*\"]\n", &access);
    stage.start(&[]).await;
    let (ann, boss) = (stage.sim.p2p("ann").chat_id, stage.sim.p2p("boss").chat_id);
    let first = stage.sim.says("ann", &ann, "hello").unwrap();
    let code = code_in(&stage.answer(&first).await);
    let pair = stage.sim.says("boss", &boss, &format!("/pair {code}")).unwrap();
    stage.verdict(&pair, "command").await;
    let second = stage.sim.says("ann", &ann, "hello again").unwrap();
    stage.verdict(&second, "answered").await;
    let has_buttons =
        |seen: &SeenMessage| seen.card.as_ref().is_some_and(|card| !card.buttons.is_empty());
    let welcome = || stage.sim.visible(&ann).into_iter().find(has_buttons);
    until("the welcome", || welcome().is_some()).await;
    let card = welcome().unwrap();
    let outcome = stage.sim.press(press_of("ann", &card.message_id, 0)).await.unwrap();
    assert_eq!((toast(&outcome), outcome.replaced), (ASKED, true));
    until("the answer", || answers(&stage, &card) == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_roles_must_be_looked_up_asks_once_and_leaves_the_button_to_others() {
    let mut stage = Stage::set(options()).await;
    let ben = stage.sim.user("ben").open_id;
    let access = format!("users = [\"@department/od-eng\", \"{ben}\"]\nchats = [\"*\"]\n");
    stage.edit_bot("users = [\"@tenant\"]\nchats = [\"*\"]\n", &access);
    stage.start(&[]).await;
    stage.sim.change_user("ann", |user| user.departments = vec!["od-eng".to_owned()]);
    let group = stage.sim.group("team", &["ann", "ben", "eve"]).chat_id;
    let card = welcomed(&stage, "ben", &group).await;
    for (user, words) in [("eve", ASKED), ("ann", ASKED), ("ann", AGAIN)] {
        let outcome = stage.sim.press(press_of(user, &card.message_id, 0)).await.unwrap();
        assert_eq!(toast(&outcome), words, "{user}");
        let body = answer(&outcome.push);
        let unused: Vec<_> = QUESTIONS.iter().map(|question| format!("[{question}]")).collect();
        let card = &body["card"]["data"];
        assert!(card.is_null() || shown(card) == unused, "{user}: {body}");
    }
    until("ann's answer, and none for eve", || answers(&stage, &card) == 1).await;
    let outcome = stage.sim.press(press_of("ben", &card.message_id, 0)).await.unwrap();
    assert_eq!((toast(&outcome), outcome.replaced), (ASKED, true));
    assert_eq!(shown(&answer(&outcome.push)["card"]["data"]), after_the_first(&stage, "ben"));
    until("ben's answer", || answers(&stage, &card) == 2).await;
}
