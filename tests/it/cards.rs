//! Presses in cards, as the platform and as whoever pressed see them.

use larkspur::playground::{CardPress, EventPush, FirstCards, PressOutcome};
use serde_json::json;

use crate::stage::Stage;
use crate::talk::{barrier, bot_lines, text};

fn button() -> serde_json::Value {
    json!({"tag": "button", "name": "approve", "value": {"act": "approve", "id": 17}})
}

fn assert_toast(outcome: &PressOutcome, words: &str) {
    assert_eq!(outcome.client_error, 0, "{outcome:?}");
    let (kind, content) = outcome.toast.as_ref().unwrap();
    assert_eq!((kind.as_str(), content.as_str()), ("warning", words));
}

const INVALID: &str =
    "This button is not valid any more. Please send me your question as a message.";
const NOT_ALLOWED: &str = "You may not use this button.";

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_button_of_either_generation_is_answered_and_noted() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let press = CardPress::new("ann", &group, button());
    let press = CardPress { id: Some("ev_press".to_owned()), ..press };
    assert_toast(&stage.sim.press(press.clone()).await.unwrap(), INVALID);
    stage.verdict("ev_press", "filtered").await;
    let why = stage.why("ev_press");
    assert_eq!(
        text(&why, "reason"),
        "card.action.trigger: the button `approve` is not one of this bot"
    );
    assert_toast(&stage.sim.press(press).await.unwrap(), INVALID);
    stage.verdict("ev_press", "duplicate").await;

    for how in [FirstCards::Plain, FirstCards::Encrypted, FirstCards::AsEvents] {
        stage.sim.switch(|switches| switches.first_cards = how);
        let message_id = format!("om_{how:?}");
        let old = CardPress::new("ann", &group, button()).of_the_first_generation();
        let old = CardPress { message_id: Some(message_id.clone()), ..old };
        assert_toast(&stage.sim.press(old).await.unwrap(), INVALID);
        stage.verdict(&message_id, "filtered").await;
        let why = stage.why(&message_id);
        assert!(text(&why, "reason").starts_with("card.action.trigger_v1"), "{why}");
    }
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 1, "nothing is said about it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_of_the_first_generation_is_known_again_by_its_token_or_the_header() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let press = |token: &str, refresh: &str| CardPress {
        id: Some(token.to_owned()),
        refresh_token: Some(refresh.to_owned()),
        message_id: Some("om_card".to_owned()),
        ..CardPress::new("ann", &group, button()).of_the_first_generation()
    };
    let table = [
        ("c-1", "r-1", "filtered"),
        ("c-2", "r-1", "duplicate"),
        ("c-1", "r-2", "duplicate"),
        ("c-3", "r-3", "filtered"),
    ];
    for (token, refresh, verdict) in table {
        assert_toast(&stage.sim.press(press(token, refresh)).await.unwrap(), INVALID);
        stage.verdict("om_card", verdict).await;
    }
    assert!(!stage.log().contains("c-1"), "a token is a secret for as long as it works");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_talk_to_the_bot_may_not_press_its_buttons() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "eve"]).chat_id;
    stage.sim.change_user("eve", |user| {
        user.tenant_key = "another-tenant".to_owned();
        user.user_id = None;
    });
    let press = CardPress::new("eve", &group, button());
    let press = CardPress { id: Some("ev_eve".to_owned()), ..press };
    assert_toast(&stage.sim.press(press.clone()).await.unwrap(), NOT_ALLOWED);
    stage.verdict("ev_eve", "not_allowed").await;
    let old = CardPress { id: None, ..press }.of_the_first_generation();
    assert_toast(&stage.sim.press(old).await.unwrap(), NOT_ALLOWED);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_an_action_is_answered() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let actions = [
        json!({"tag": "button", "value": "approve"}),
        json!({"tag": "button"}),
        json!({"tag": "overflow", "option": "C", "value": {}}),
        json!({"tag": "multi_select_static", "options": ["1", 3]}),
        json!({"tag": "input", "input_value": {"not": "a text"}}),
        json!({"tag": "button", "form_value": [1], "name": 7, "checked": "yes"}),
        json!("nonsense"),
        json!(null),
    ];
    for action in actions {
        let outcome = stage.sim.press(CardPress::new("ann", &group, action.clone())).await.unwrap();
        assert_toast(&outcome, INVALID);
    }
    let preview = EventPush::new("url.preview.get", json!({"context": {"url": "https://x.test"}}));
    let record = stage.sim.push_event(preview.with_id("ev_link")).await.unwrap();
    assert_eq!((record.status, record.answer.as_str()), (Some(200), "{}"));
    stage.verdict("ev_link", "filtered").await;
}
