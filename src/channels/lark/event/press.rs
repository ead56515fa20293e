//! Card callbacks of both generations.
//!
//! Whoever pressed waits for the answer, so nothing in here fails: what is missing or has another
//! shape is empty.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::wire::{Text, WireIds, loose, loose_text};
use super::{Opened, Receiver, SENDER_UNKNOWN, TYPE_CARD, relation};
use crate::base::{ChatId, MessageId, Timestamp, UserId};
use crate::envelope::{Button, Channel, DedupKey, Press, Pressed};

#[derive(Debug, Default, Deserialize)]
struct WireOperator<'a> {
    #[serde(flatten, borrow)]
    ids: WireIds<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    tenant_key: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
struct WireAction<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    tag: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    name: Text<'a>,
    #[serde(default)]
    value: Value,
    #[serde(default, deserialize_with = "lenient")]
    form_value: Map<String, Value>,
    #[serde(default, borrow, deserialize_with = "loose")]
    option: Text<'a>,
    #[serde(default, deserialize_with = "lenient")]
    options: Vec<String>,
    #[serde(default)]
    input_value: Value,
    #[serde(default)]
    checked: Value,
}

#[derive(Debug, Default, Deserialize)]
struct WireContext<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    open_message_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    open_chat_id: Text<'a>,
}

/// A part of the event; one of another shape counts as absent.
fn part<'a, T: Default + Deserialize<'a>>(opened: &'a Opened<'_>, name: &str) -> T {
    let part = opened.event.get(name).and_then(|part| T::deserialize(part).ok());
    part.unwrap_or_default()
}

/// What is of another shape counts as absent.
fn lenient<'de, D: Deserializer<'de>, T>(input: D) -> Result<T, D::Error>
where
    T: Default + for<'any> Deserialize<'any>,
{
    Ok(T::deserialize(Value::deserialize(input)?).unwrap_or_default())
}

/// Decodes a press; what its button is, is found out in [`buttons`](super::super::buttons). `refresh_token` is the header of the first generation that changes only after
/// a press was answered.
pub(in crate::channels::lark) fn decode_press(
    opened: &Opened<'_>,
    receiver: Receiver<'_>,
    refresh_token: Option<&str>,
) -> Press {
    let operator: WireOperator<'_> = part(opened, "operator");
    let context: WireContext<'_> = part(opened, "context");
    let own_tenant = opened.head.tenant_key.as_deref();
    let user_id = operator.ids.user_id.as_deref();
    let message = context.open_message_id;
    let subject = opened.head.event_id.as_ref().or(message.as_ref());
    let host = opened.event.get("host").cloned().and_then(loose_text);
    Press {
        bot: receiver.bot.clone(),
        channel: Channel::Lark,
        event_type: opened.head.event_type.as_deref().unwrap_or(TYPE_CARD).to_owned(),
        subject: subject.map(|id| id.as_ref().to_owned()).unwrap_or_default(),
        keys: keys(opened, receiver, refresh_token),
        operator: UserId::new(operator.ids.best().unwrap_or(SENDER_UNKNOWN)),
        relation: relation(own_tenant, operator.tenant_key.as_deref(), user_id),
        chat: context.open_chat_id.map(ChatId::new),
        message: message.map(MessageId::new),
        host: host.unwrap_or_default(),
        pressed: pressed(part(opened, "action")),
        button: Button::Foreign,
        takes_card: opened.first_card.is_none(),
    }
}

fn pressed(action: WireAction<'_>) -> Pressed {
    let mut options = action.options;
    options.extend(action.option.map(Cow::into_owned));
    Pressed {
        tag: action.tag.unwrap_or_default().into_owned(),
        name: action.name.unwrap_or_default().into_owned(),
        value: action.value,
        form: action.form_value,
        options,
        input: action.input_value.as_str().map(str::to_owned),
        checked: action.checked.as_bool(),
    }
}

/// Presses are told apart for a short while only, so their keys need no time. The first generation
/// has no id: its update token is another with every press. The header is not covered by the
/// signature, so it counts beside the token, never instead.
fn keys(opened: &Opened<'_>, receiver: Receiver<'_>, refresh_token: Option<&str>) -> Vec<DedupKey> {
    let bot = receiver.bot.as_str();
    let key = |kind, id: &str| DedupKey::new(Timestamp::default(), &[kind, bot, id]);
    match (&opened.first_card, &opened.head.event_id) {
        (Some(update_token), _) => {
            let mut keys = vec![key("card", update_token)];
            keys.extend(refresh_token.map(|token| key("card again", token)));
            keys
        }
        (None, Some(event_id)) => vec![key("press", event_id)],
        (None, None) => vec![key("press", &opened.event.to_string())],
    }
}
