//! Events of any type, and presses in cards, pushed once and answered while the caller waits
//! (feishu-protocol.md 1.5, 1.7, 2.4).

mod delayed;
mod press;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use delayed::Pressing;
pub(crate) use delayed::{UpdateToken, is_locked, update};

use super::card::CardButton;
use super::crypt;
use super::people::PlaygroundError;
use super::push::{self, Parcel, PushKind, PushRecord};
use super::settings::Transport;
use super::socket::FrameKind;
use super::state::{Shared, State};
use super::switches::{FirstCards, PressFrames};
use super::verbs;
use super::wire;
use super::world::App;

/// One event of any type. It is pushed outside of the lanes and not repeated; push it again to
/// repeat it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventPush {
    /// The app; none: the first.
    pub app_id: Option<String>,
    /// The event type.
    pub event_type: String,
    /// The `event` object.
    pub event: Value,
    /// The event's id (`event_id`, in schema 1.0 `uuid`); none: a new one.
    pub event_id: Option<String>,
    /// In the envelope of schema 1.0.
    pub schema_1: bool,
    /// Signed as always, but not encrypted.
    pub plain: bool,
    /// Laid over the whole body (RFC 7396).
    pub overrides: Option<Value>,
}

impl EventPush {
    /// An event of schema 2.0.
    pub fn new(event_type: &str, event: Value) -> Self {
        Self { event_type: event_type.to_owned(), event, ..Self::default() }
    }

    /// The same in schema 1.0.
    #[must_use]
    pub fn in_schema_1(mut self) -> Self {
        self.schema_1 = true;
        self
    }

    /// The same without encryption.
    #[must_use]
    pub fn in_plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// With an id of the caller's choice.
    #[must_use]
    pub fn with_id(mut self, event_id: &str) -> Self {
        self.event_id = Some(event_id.to_owned());
        self
    }
}

/// Which generation of card callbacks an app has configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardGeneration {
    /// `card.action.trigger`, schema 2.0.
    #[default]
    Second,
    /// Flat, signed with the verification token.
    First,
}

impl CardGeneration {
    /// The type of its callbacks; those of the first do not say it themselves.
    const fn event_type(self) -> &'static str {
        match self {
            Self::Second => "card.action.trigger",
            Self::First => "card.action.trigger_v1",
        }
    }
}

/// A user presses something in a card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CardPress {
    /// The app; none: the first.
    pub app_id: Option<String>,
    /// Who presses: alias or open id.
    pub user: String,
    /// Where the card is: alias or chat id.
    pub chat: String,
    /// The message that holds the card; none: an invented one.
    pub message_id: Option<String>,
    /// The `action` object: tag, value, name, and what was chosen or written.
    pub action: Value,
    /// A button of the card that the message shows. The playground then fills in the chat, the
    /// app and the action.
    pub button: Option<CardButton>,
    /// Which callback is pushed.
    pub generation: CardGeneration,
    /// The event id of the second, the update token of the first generation; none: a new one.
    pub id: Option<String>,
    /// `X-Refresh-Token` of the first generation; none: a new one.
    pub refresh_token: Option<String>,
}

impl CardPress {
    /// A press of the second generation.
    pub fn new(user: &str, chat: &str, action: Value) -> Self {
        Self { user: user.to_owned(), chat: chat.to_owned(), action, ..Self::default() }
    }

    /// A press of a button of a card that is shown.
    pub fn of_button(user: &str, message_id: &str, button: CardButton) -> Self {
        Self {
            user: user.to_owned(),
            message_id: Some(message_id.to_owned()),
            button: Some(button),
            ..Self::default()
        }
    }

    /// The same in the first generation.
    #[must_use]
    pub fn of_the_first_generation(mut self) -> Self {
        self.generation = CardGeneration::First;
        self
    }
}

/// What whoever pressed sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PressOutcome {
    /// The exchange itself.
    pub push: PushRecord,
    /// The error that the client shows; 0: none.
    pub client_error: u32,
    /// The kind and the text of the toast, if there is one.
    pub toast: Option<(String, String)>,
    /// Whether the answer put another card in the place of the one that was pressed.
    pub replaced: bool,
}

/// Pushes an event and waits for the answer.
pub(crate) async fn push_event(
    shared: &Arc<Shared>,
    wanted: EventPush,
) -> Result<PushRecord, PlaygroundError> {
    let app = verbs::app(shared, wanted.app_id.as_deref())?;
    let (event_id, parcel) = {
        let mut state = shared.lock();
        let event_id = wanted.event_id.clone().unwrap_or_else(|| state.dice.hex());
        let mut body = envelope(shared, &app, &event_id, &wanted);
        if let Some(patch) = &wanted.overrides {
            wire::overlay(&mut body, patch);
        }
        let now = shared.now();
        let parcel = if wanted.plain && app.transport == Transport::Webhook {
            let body = body.to_string().into_bytes();
            let signed = push::sign_body(&mut state.dice, &app, body, now);
            Parcel::Webhook { url: push::event_url(&app)?, signed }
        } else {
            Parcel::of_event(&mut state, &app, &body, now)?
        };
        (event_id, parcel)
    };
    let told = Told { kind: PushKind::Event, event_id, event_type: wanted.event_type };
    Ok(exchange(shared, &app, parcel, told).await)
}

fn envelope(shared: &Shared, app: &App, event_id: &str, wanted: &EventPush) -> Value {
    let now_ms = shared.now_ms();
    if !wanted.schema_1 {
        return wire::envelope(app, event_id, &wanted.event_type, now_ms, &wanted.event);
    }
    let mut event = json!({
        "type": wanted.event_type, "app_id": app.app_id, "tenant_key": app.tenant_key,
    });
    wire::overlay(&mut event, &wanted.event);
    json!({
        "ts": format!("{}.{:03}0000", now_ms / 1000, now_ms % 1000),
        "uuid": event_id,
        "token": app.verification_token,
        "type": "event_callback",
        "event": event,
    })
}

/// What is recorded of an exchange beside its outcome.
struct Told {
    kind: PushKind,
    event_id: String,
    event_type: String,
}

async fn exchange(shared: &Arc<Shared>, app: &App, parcel: Parcel, told: Told) -> PushRecord {
    let mut record = push::carry(shared, parcel).await;
    record.kind = told.kind;
    record.app_id.clone_from(&app.app_id);
    record.event_id = told.event_id;
    record.event_type = told.event_type;
    shared.lock().record_push(record.clone());
    shared.changed();
    record
}

/// A user presses something; what they see then.
pub(crate) async fn press(
    shared: &Arc<Shared>,
    mut wanted: CardPress,
) -> Result<PressOutcome, PlaygroundError> {
    if let Some(button) = wanted.button.clone() {
        press::fill(shared, &mut wanted, &button)?;
    }
    let app = verbs::app(shared, wanted.app_id.as_deref())?;
    let (id, parcel, pressing) = {
        let mut state = shared.lock();
        let id = wanted.id.clone().unwrap_or_else(|| format!("c-{}", state.dice.hex()));
        let (parcel, token) = match wanted.generation {
            CardGeneration::Second => second(shared, &mut state, &app, &id, &wanted)?,
            CardGeneration::First => (first(shared, &mut state, &app, &id, &wanted)?, id.clone()),
        };
        let message_id = wanted.message_id.as_deref().unwrap_or_default();
        let made = UpdateToken::new(&app.app_id, message_id, shared.now_ms());
        (id, parcel, Pressing::begin(shared, &mut state, &token, made))
    };
    let event_type = wanted.generation.event_type().to_owned();
    let told = Told { kind: PushKind::Card, event_id: id, event_type };
    let push = exchange(shared, &app, parcel, told).await;
    drop(pressing);
    let mut outcome = outcome(push);
    if let Some(message_id) = wanted.message_id.filter(|_| outcome.client_error == 0) {
        press::show(shared, &message_id, &mut outcome);
    }
    Ok(outcome)
}

/// What the client makes of an answer (the error codes of 1.7).
fn outcome(push: PushRecord) -> PressOutcome {
    let answer = serde_json::from_str::<Value>(&push.answer).ok().filter(Value::is_object);
    let client_error = match (push.status, &answer) {
        (None, _) => 200_341,
        (Some(200), Some(_)) => 0,
        (Some(200), None) => 200_672,
        (Some(_), _) => 200_671,
    };
    let text = |pointer: &str| {
        let found = answer.as_ref()?.pointer(pointer)?.as_str()?;
        Some(found.to_owned())
    };
    let toast = text("/toast/type").zip(text("/toast/content")).filter(|_| client_error == 0);
    PressOutcome { push, client_error, toast, replaced: false }
}

/// Who pressed, where, in which message.
fn places(
    state: &mut State,
    wanted: &CardPress,
) -> Result<(super::User, String, String), PlaygroundError> {
    let user = state.world.user(&wanted.user).cloned();
    let user = user.ok_or_else(|| PlaygroundError::NoUser(wanted.user.clone()))?;
    let chat = state.world.chat(&wanted.chat).map(|chat| chat.chat_id.clone());
    let chat = chat.ok_or_else(|| PlaygroundError::NoChat(wanted.chat.clone()))?;
    let message = wanted.message_id.clone();
    Ok((user, chat, message.unwrap_or_else(|| format!("om_{}", state.dice.hex()))))
}

fn second(
    shared: &Shared,
    state: &mut State,
    app: &App,
    event_id: &str,
    wanted: &CardPress,
) -> Result<(Parcel, String), PlaygroundError> {
    let (user, chat, message) = places(state, wanted)?;
    let token = format!("c-{}", state.dice.hex());
    let mut operator = wire::user_ids(&user);
    wire::overlay(&mut operator, &json!({"tenant_key": user.tenant_key}));
    let event = json!({
        "operator": operator,
        "token": token,
        "action": wanted.action,
        "host": "im_message",
        "context": {"open_message_id": message, "open_chat_id": chat},
    });
    let mut body = wire::envelope(app, event_id, wanted.generation.event_type(), 0, &event);
    // Microseconds here, milliseconds everywhere else.
    let time = json!({"header": {"create_time": format!("{}000", shared.now_ms())}});
    wire::overlay(&mut body, &time);
    let parcel = match (app.transport, state.switches.press_frames) {
        (Transport::Websocket, PressFrames::Card) => {
            Parcel::plain(app, FrameKind::Card, body.to_string())
        }
        _ => Parcel::of_event(state, app, &body, shared.now())?,
    };
    Ok((parcel, token))
}

fn first(
    shared: &Shared,
    state: &mut State,
    app: &App,
    update_token: &str,
    wanted: &CardPress,
) -> Result<Parcel, PlaygroundError> {
    if app.transport == Transport::Websocket {
        let why = "card callbacks of the first generation do not come over a long connection";
        return Err(PlaygroundError::Bad(why.to_owned()));
    }
    let (user, chat, message) = places(state, wanted)?;
    let body = json!({
        "open_id": user.open_id,
        "user_id": user.user_id,
        "open_message_id": message,
        "open_chat_id": chat,
        "tenant_key": user.tenant_key,
        "token": update_token,
        "action": wanted.action,
    })
    .to_string();
    let (now, how) = (shared.now(), state.switches.first_cards);
    let dice = &mut state.dice;
    let sealed = |dice: &mut super::dice::Dice| {
        let sealed = crypt::seal(&app.encrypt_key, dice.bytes(), &body);
        json!({"encrypt": sealed}).to_string().into_bytes()
    };
    let mut signed = match how {
        FirstCards::Plain => push::sign_first_card(dice, app, body.clone().into_bytes(), now),
        FirstCards::Encrypted => {
            let body = sealed(dice);
            push::sign_first_card(dice, app, body, now)
        }
        FirstCards::AsEvents => {
            let body = sealed(dice);
            push::sign_body(dice, app, body, now)
        }
    };
    let refresh = wanted.refresh_token.clone().unwrap_or_else(|| dice.hex());
    signed.headers.push(("X-Refresh-Token".to_owned(), refresh));
    Ok(Parcel::Webhook { url: push::event_url(app)?, signed })
}
