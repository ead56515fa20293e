use proptest::prelude::*;

use super::super::testing::NOW_MS;
use super::*;

fn key() -> ButtonKey {
    ButtonKey::derive(&BotName::new("assistant"), &Secret::new("secret"))
}

fn now() -> Timestamp {
    Timestamp::from_millis(NOW_MS)
}

fn stamp() -> CardStamp {
    let (id, chat) = ("c1".to_owned(), ChatId::new("oc_1"));
    CardStamp { id, chat, chat_kind: ChatKind::Group, at: now() }
}

fn ask() -> ButtonPress {
    ButtonPress::Ask { text: "what?".to_owned() }
}

fn value() -> Value {
    key().value(&stamp(), 3, &ask())
}

fn judged_in(chat: &str, value: &Value, now: Timestamp) -> Button {
    key().judge(value, Some(&ChatId::new(chat)), now)
}

#[test]
fn a_button_comes_back_as_it_was_made() {
    let genuine = GenuineButton { card: stamp(), number: 3, press: ask() };
    let text: Value = serde_json::from_str(&value().to_string()).unwrap();
    assert_eq!(judged_in("oc_1", &text, now()), Button::Genuine(Box::new(genuine)));
    let clone = ButtonKey::derive(&BotName::new("assistant"), &Secret::new("secret"));
    assert_eq!(clone.value(&stamp(), 3, &ask()), value(), "every node signs alike");
    assert!(!format!("{:?}", key()).contains("key"), "the key is not printed");
}

#[test]
fn a_button_with_any_member_changed_or_taken_away_is_forged() {
    let changes = [
        ("do", json!("open")),
        ("text", json!("/stop")),
        ("card", json!("c2")),
        ("number", json!(4)),
        ("chat", json!("oc_2")),
        ("kind", json!("private")),
        ("at", json!(NOW_MS + 1)),
        ("sig", json!("00".repeat(32))),
        ("sig", json!("")),
        ("sig", json!(value()[MEMBER]["sig"].as_str().unwrap().get(..32))),
    ];
    let made = value();
    assert_eq!(made[MEMBER].as_object().unwrap().len(), 8, "one of each is changed above");
    for (member, new) in changes {
        let mut changed = made.clone();
        changed[MEMBER][member] = new;
        for chat in ["oc_1", "oc_2"] {
            assert_eq!(judged_in(chat, &changed, now()), Button::Forged, "{changed}");
        }
        changed[MEMBER].as_object_mut().unwrap().remove(member);
        assert_eq!(judged_in("oc_1", &changed, now()), Button::Forged, "{changed}");
    }
}

#[test]
fn what_one_member_loses_to_its_neighbour_does_not_go_unnoticed() {
    let of = |id: &str, chat: &str| {
        let stamp = CardStamp { id: id.to_owned(), chat: ChatId::new(chat), ..stamp() };
        key().value(&stamp, 3, &ask())[MEMBER]["sig"].clone()
    };
    assert_ne!(of("c13", "oc_1"), of("c1", "3oc_1"));
}

#[test]
fn a_button_of_another_bot_or_another_secret_is_forged() {
    for (bot, secret) in [("other", "secret"), ("assistant", "rotated")] {
        let other = ButtonKey::derive(&BotName::new(bot), &Secret::new(secret));
        let value = other.value(&stamp(), 3, &ask());
        assert_eq!(judged_in("oc_1", &value, now()), Button::Forged, "{bot} {secret}");
    }
}

#[test]
fn a_button_that_was_sent_on_or_is_too_old_says_so() {
    let last = now().after(CARD_LIFE);
    let late = last.after(Duration::from_millis(1));
    assert_eq!(judged_in("oc_2", &value(), now()), Button::Elsewhere);
    assert_eq!(judged_in("oc_2", &value(), late), Button::Elsewhere);
    assert_eq!(key().judge(&value(), None, now()), Button::Elsewhere);
    assert!(matches!(judged_in("oc_1", &value(), last), Button::Genuine(_)));
    assert_eq!(judged_in("oc_1", &value(), late), Button::Expired);
}

/// JSON of any shape, with the names of ours among the members.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[0-9a-f]{64}".prop_map(Value::from),
        Just(json!("ask")),
        Just(json!("group")),
        Just(json!("oc_1")),
    ];
    let name = prop_oneof![
        Just("larkspur"),
        Just("do"),
        Just("text"),
        Just("card"),
        Just("number"),
        Just("chat"),
        Just("kind"),
        Just("at"),
        Just("sig"),
    ];
    leaf.prop_recursive(4, 64, 10, move |inner| {
        let name = name.clone().prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..9)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_value_of_any_shape_is_taken_for_a_genuine_button(value in any_json()) {
        for value in [value.clone(), json!({ MEMBER: value })] {
            let button = judged_in("oc_1", &value, now());
            prop_assert!(matches!(button, Button::Foreign | Button::Forged), "{value}");
        }
    }

    #[test]
    fn no_member_of_a_genuine_button_can_be_anything_else(member in 0..8_usize, new in any_json()) {
        let mut changed = value();
        let members = changed[MEMBER].as_object_mut().unwrap();
        let name = members.keys().nth(member).unwrap().clone();
        let old = members.insert(name, new.clone());
        prop_assume!(old != Some(new));
        prop_assert_eq!(judged_in("oc_1", &changed, now()), Button::Forged);
    }
}
