//! Presses in cards, of both generations.

use super::*;

fn press_of(body: &str, refresh_token: Option<&str>) -> Press {
    let bot = BotName::new("assistant");
    let receiver = Receiver { bot: &bot, app_id: APP, own: None };
    let opened = Opened::parse(body.as_bytes()).unwrap();
    assert!(opened.is_press(), "{body}");
    decode_press(&opened, receiver, refresh_token)
}

#[test]
fn a_press_says_who_pressed_what_and_where() {
    let button = press_of(&event_file("094_card_button.json"), None);
    assert_eq!(button.subject, "34e1db7683104795fd037036dea10ad6");
    assert_eq!(button.operator.as_str(), "ou_7d8a2c934157f1e66eca389063b4cb90");
    assert_eq!(button.relation, Relation::Colleague);
    assert_eq!(button.chat.unwrap().as_str(), "oc_e248a0746e548196aa16b736b6617e3c");
    assert_eq!(button.message.unwrap().as_str(), "om_10b733b5d7bd45555804b331b50f197f");
    assert_eq!(button.host, "im_message");
    assert_eq!(button.pressed.value["nested"]["k"], json!([1]));
    assert_eq!((button.pressed.tag.as_str(), button.pressed.name.as_str()), ("button", "btn_ok"));
}

#[test]
fn every_recorded_control_has_its_setting() {
    let pressed = |file: &str| press_of(&event_file(file), None).pressed;
    let form = pressed("096_card_form.json").form;
    assert_eq!((&form["reason"], &form["ok"]), (&json!("测试"), &json!(true)));
    assert_eq!(pressed("098_card_multi_select.json").options, ["1", "3"]);
    assert_eq!(pressed("099_card_input.json").input.as_deref(), Some("自由文本 🙂"));
    assert_eq!(pressed("101_card_overflow.json").options, ["C"]);
    assert_eq!(pressed("104_card_no_value.json").value, Value::Null);
    assert_eq!(pressed("103_card_from_link_preview.json").value["k"], "v");
    let text = changed("094_card_button.json", |body| {
        body["event"]["action"]["value"] = json!("approve");
    });
    assert_eq!(press_of(&text, None).pressed.value, "approve", "a text is as good as an object");
}

#[test]
fn a_press_of_the_first_generation_reads_like_one_of_the_second() {
    let old = press_of(&event_file("105_card_v1_button.json"), None);
    assert_eq!(old.event_type, "card.action.trigger_v1");
    assert_eq!(old.operator.as_str(), "ou_7d8a2c934157f1e66eca389063b4cb90");
    assert_eq!(old.relation, Relation::Colleague);
    assert_eq!(old.pressed.value["action"], "approve");
    assert_eq!(old.subject, "om_10b733b5d7bd45555804b331b50f197f");
    assert!(old.chat.is_some());
}

#[test]
fn a_press_without_any_shape_is_nobodys_and_still_a_press() {
    for event in [json!("text"), Value::Null, json!({"operator": 7, "action": [], "context": ""})] {
        let body = changed("094_card_button.json", |body| body["event"] = event);
        let press = press_of(&body, None);
        assert_eq!((press.operator.as_str(), press.relation), ("unknown", Relation::Outsider));
        assert_eq!((press.chat, press.pressed), (None, Pressed::default()));
    }
}

#[test]
fn a_repeated_press_shares_a_key_and_another_does_not() {
    let file = event_file("105_card_v1_button.json");
    let other = changed("105_card_v1_button.json", |body| body["token"] = json!("c-other"));
    let shares = |one: &Press, two: &Press| one.keys.iter().any(|key| two.keys.contains(key));
    let first = press_of(&file, Some("r1"));
    // The header can be forged, the token cannot: either makes it a repetition.
    assert!(shares(&first, &press_of(&file, Some("r2"))));
    assert!(shares(&first, &press_of(&other, Some("r1"))));
    assert!(!shares(&first, &press_of(&other, Some("r2"))));
    assert!(!shares(&press_of(&file, None), &press_of(&other, None)));
    let new = press_of(&event_file("094_card_button.json"), None);
    assert!(!shares(&new, &press_of(&event_file("096_card_form.json"), None)));
}
