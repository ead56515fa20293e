//! The verbs that both the handle and the control API offer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::crypt;
use super::people::PlaygroundError;
use super::push::{self, Delivery, Parcel, PushRecord, Signed};
use super::settings::{AppSettings, LongConnection, Transport};
use super::socket::FrameKind;
use super::state::{Daemon, Shared};
use super::switches::RetryEventId;
use super::world::{App, Chat, ChatKind, User};
use crate::base::Secret;

/// A body that a test wrote itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawPush {
    /// The app whose URL and keys are used; none: the first.
    pub app_id: Option<String>,
    /// Where to post; none: the app's event URL, or one of its long connections, where nothing is
    /// signed and there are no further headers.
    pub url: Option<String>,
    /// The bytes of the body, or of what is encrypted.
    pub body: String,
    /// Wraps the body as `{"encrypt":"…"}`.
    pub encrypt: bool,
    /// Adds the signature headers over the bytes that are posted.
    pub sign: bool,
    /// Further headers; one of the same name replaces ours.
    pub headers: Vec<(String, String)>,
}

/// What came of the URL handshake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Handshake {
    /// Whether the platform would save the URL.
    pub accepted: bool,
    /// Why not; empty if it would.
    pub reason: String,
    /// The exchange itself.
    pub push: PushRecord,
}

pub(crate) fn app(shared: &Shared, app_id: Option<&str>) -> Result<App, PlaygroundError> {
    let state = shared.lock();
    let app = match app_id {
        Some(app_id) => state.world.app(app_id),
        None => state.world.apps.first(),
    };
    let name = app_id.unwrap_or("the first app");
    app.cloned().ok_or_else(|| PlaygroundError::NoApp(name.to_owned()))
}

/// Adds an app, or replaces the one of that id; its bot's open id.
pub(crate) fn add_app(shared: &Shared, settings: &AppSettings) -> Result<String, PlaygroundError> {
    if settings.app_id.is_empty() || settings.app_secret.is_empty() {
        return Err(PlaygroundError::Bad("an app needs an id and a secret".to_owned()));
    }
    let mut state = shared.lock();
    let app = App::new(settings, &state.world.tenant_key);
    let open_id = app.open_id.clone();
    match state.world.apps.iter_mut().find(|known| known.app_id == app.app_id) {
        Some(known) => *known = app,
        None => state.world.apps.push(app),
    }
    Ok(open_id)
}

pub(crate) fn set_event_url(
    shared: &Shared,
    app_id: &str,
    url: &str,
) -> Result<(), PlaygroundError> {
    change_app(shared, app_id, |app| {
        app.event_url = (!url.is_empty()).then(|| url.to_owned());
    })
}

/// How the events of an app reach it, from the next try on.
pub(crate) fn set_transport(
    shared: &Shared,
    app_id: &str,
    transport: Transport,
) -> Result<(), PlaygroundError> {
    change_app(shared, app_id, |app| app.transport = transport)
}

pub(crate) fn set_long_connection(
    shared: &Shared,
    app_id: &str,
    settings: LongConnection,
) -> Result<(), PlaygroundError> {
    change_app(shared, app_id, |app| app.long_connection = settings)
}

fn change_app(
    shared: &Shared,
    app_id: &str,
    change: impl FnOnce(&mut App),
) -> Result<(), PlaygroundError> {
    let mut state = shared.lock();
    let app = state.world.apps.iter_mut().find(|app| app.app_id == app_id);
    let app = app.ok_or_else(|| PlaygroundError::NoApp(app_id.to_owned()))?;
    change(app);
    drop(state);
    shared.changed();
    Ok(())
}

/// Who can be asked for the way of a message; an empty address: nobody.
pub(crate) fn set_daemon(shared: &Shared, url: &str, token: &str) -> Result<(), PlaygroundError> {
    let is_address = url.starts_with("http://") || url.starts_with("https://");
    if !url.is_empty() && !is_address {
        return Err(PlaygroundError::Bad("the daemon's address is not http or https".to_owned()));
    }
    let daemon = Daemon { url: url.trim_end_matches('/').to_owned(), token: Secret::new(token) };
    shared.surroundings().daemon = Some(daemon).filter(|daemon| !daemon.url.is_empty());
    shared.changed();
    Ok(())
}

pub(crate) fn change_user(shared: &Shared, name: &str, change: impl FnOnce(&mut User)) -> User {
    let mut state = shared.lock();
    let mut user = state.world.ensure_user(name);
    change(&mut user);
    let known = state.world.users.iter_mut().find(|known| known.open_id == user.open_id);
    if let Some(known) = known {
        *known = user.clone();
    }
    drop(state);
    shared.changed();
    user
}

/// Makes a chat with its members, or sets the members of the one that exists.
pub(crate) fn add_chat(
    shared: &Shared,
    alias: &str,
    kind: ChatKind,
    members: &[&str],
    bots: Option<&[String]>,
) -> Result<Chat, PlaygroundError> {
    let mut state = shared.lock();
    let bots = match bots {
        Some(bots) => bots.to_vec(),
        None => state.world.apps.iter().take(1).map(|app| app.app_id.clone()).collect(),
    };
    if let Some(unknown) = bots.iter().find(|bot| state.world.app(bot).is_none()) {
        return Err(PlaygroundError::NoApp(unknown.clone()));
    }
    let members: Vec<String> =
        members.iter().map(|name| state.world.ensure_user(name).open_id).collect();
    if kind == ChatKind::P2p && (members.len() != 1 || bots.len() != 1) {
        return Err(PlaygroundError::Bad("a p2p chat has one user and one bot".to_owned()));
    }
    let mut chat = Chat::new(alias, kind);
    chat.members = members;
    chat.bots = bots;
    match state.world.chat_mut(alias) {
        Some(known) => *known = chat.clone(),
        None => state.world.chats.push(chat.clone()),
    }
    drop(state);
    shared.changed();
    Ok(chat)
}

pub(crate) fn change_chat(
    shared: &Shared,
    name: &str,
    change: impl FnOnce(&mut Chat),
) -> Result<Chat, PlaygroundError> {
    let mut state = shared.lock();
    let chat = state.world.chat_mut(name);
    let chat = chat.ok_or_else(|| PlaygroundError::NoChat(name.to_owned()))?;
    change(chat);
    Ok(chat.clone())
}

/// Delivers the event of a message `times` more, all at once, to each app that was told of it.
pub(crate) async fn duplicate(
    shared: &Arc<Shared>,
    message_id: &str,
    times: u32,
    event_id: RetryEventId,
) -> Result<Vec<PushRecord>, PlaygroundError> {
    let known = shared.lock().delivered.get(message_id).cloned();
    let known: Vec<Delivery> =
        known.ok_or_else(|| PlaygroundError::NoMessage(message_id.to_owned()))?;
    let copies = known.iter().flat_map(|delivery| {
        let copy = move || push::duplicate(shared, delivery.clone(), event_id);
        (0..times).map(move |_| copy())
    });
    Ok(futures_util::future::join_all(copies).await)
}

/// Posts a body that a test wrote.
pub(crate) async fn push(shared: &Shared, wanted: RawPush) -> Result<PushRecord, PlaygroundError> {
    let app = app(shared, wanted.app_id.as_deref())?;
    let parcel = if app.transport == Transport::Websocket && wanted.url.is_none() {
        let signed = prepare(shared, &app, RawPush { sign: false, ..wanted });
        Parcel::Socket { app: Box::new(app.clone()), kind: FrameKind::Event, payload: signed.body }
    } else {
        let url = wanted.url.clone().map_or_else(|| push::event_url(&app), Ok)?;
        Parcel::Webhook { url, signed: prepare(shared, &app, wanted) }
    };
    let mut record = push::carry(shared, parcel).await;
    record.app_id = app.app_id;
    shared.lock().record_push(record.clone());
    Ok(record)
}

fn prepare(shared: &Shared, app: &App, wanted: RawPush) -> Signed {
    let mut state = shared.lock();
    let body = if wanted.encrypt {
        let sealed = crypt::seal(&app.encrypt_key, state.dice.bytes(), &wanted.body);
        json!({"encrypt": sealed}).to_string().into_bytes()
    } else {
        wanted.body.into_bytes()
    };
    let mut signed = if wanted.sign {
        push::sign_body(&mut state.dice, app, body, shared.now())
    } else {
        let content_type = ("Content-Type".to_owned(), "application/json;charset=utf-8".to_owned());
        Signed { body, headers: vec![content_type] }
    };
    for (name, value) in wanted.headers {
        signed.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        signed.headers.push((name, value));
    }
    signed
}

/// The handshake that precedes saving an event URL: not signed, answered within a second.
pub(crate) async fn verify_url(
    shared: &Shared,
    app_id: &str,
) -> Result<Handshake, PlaygroundError> {
    let app = app(shared, Some(app_id))?;
    let url = push::event_url(&app)?;
    let challenge = shared.lock().dice.hex();
    let question = json!({
        "challenge": challenge,
        "token": app.verification_token,
        "type": "url_verification",
    });
    let wanted = RawPush {
        body: question.to_string(),
        encrypt: !app.encrypt_key.is_empty(),
        ..RawPush::default()
    };
    let signed = prepare(shared, &app, wanted);
    let mut push = push::post(shared, &url, signed, shared.settings.handshake_patience).await;
    push.app_id = app.app_id;
    shared.lock().record_push(push.clone());
    let answer: Value = serde_json::from_str(&push.answer).unwrap_or(Value::Null);
    let reason = match push.status {
        Some(200) if answer.get("challenge") == Some(&json!(challenge)) => String::new(),
        Some(200) => "the challenge did not come back".to_owned(),
        Some(status) => format!("HTTP status {status}"),
        None => push.answer.clone(),
    };
    Ok(Handshake { accepted: reason.is_empty(), reason, push })
}
