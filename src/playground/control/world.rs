//! Making, changing and looking at what exists.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query as Queried, State as Extracted};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, read, shown};
use crate::playground::faults::FaultRule;
use crate::playground::limits::LIMITS;
use crate::playground::people::PlaygroundError;
use crate::playground::request::Query;
use crate::playground::seen;
use crate::playground::settings::AppSettings;
use crate::playground::state::Shared;
use crate::playground::switches::Switches;
use crate::playground::verbs;
use crate::playground::wire::overlay;
use crate::playground::world::{ChatKind, User};

type Sim = Extracted<Arc<Shared>>;

pub(crate) async fn summary(Extracted(shared): Sim) -> Answer {
    let state = shared.lock();
    let apps: Vec<Value> = state
        .world
        .apps
        .iter()
        .map(|app| {
            json!({
                "app_id": app.app_id, "bot_open_id": app.open_id, "name": app.name,
                "event_url": app.event_url, "encrypted": !app.encrypt_key.is_empty(),
                "transport": app.transport,
            })
        })
        .collect();
    let waiting: usize = state.lanes.values().map(std::collections::VecDeque::len).sum();
    shown(&json!({
        "apps": apps,
        "users": state.world.users,
        "chats": state.world.chats,
        "messages": state.world.messages.len(),
        "pushes": state.pushes.len(),
        "calls": state.calls.len(),
        "first_tries_waiting": waiting,
        "retries_waiting": state.retries.len(),
        "connections": state.links.shown().len(),
        "faults": state.faults.rules.len(),
        "switches": state.switches,
        "seed": state.dice.seed(),
        "now_ms": shared.now_ms(),
        "time_scale": shared.clock.scale(),
    }))
}

pub(crate) async fn reset(Extracted(shared): Sim) -> Answer {
    shared.reset();
    shown(&json!({}))
}

pub(crate) async fn limits() -> Answer {
    shown(&LIMITS)
}

pub(crate) async fn add_app(Extracted(shared): Sim, body: Bytes) -> Answer {
    let settings: AppSettings = read(&body)?;
    let open_id = verbs::add_app(&shared, &settings)?;
    shown(&json!({"app_id": settings.app_id, "bot_open_id": open_id}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventUrl {
    url: String,
}

pub(crate) async fn set_event_url(
    Extracted(shared): Sim,
    Path(app): Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: EventUrl = read(&body)?;
    verbs::set_event_url(&shared, &app, &wanted.url)?;
    shown(&json!({}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    alias: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tenant_key: Option<String>,
    #[serde(default)]
    available: Option<bool>,
    #[serde(default)]
    departments: Option<Vec<String>>,
    #[serde(default)]
    groups: Option<Vec<String>>,
}

/// Makes a user, or changes the one of that alias.
pub(crate) async fn add_user(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: NewUser = read(&body)?;
    let user: User = verbs::change_user(&shared, &wanted.alias, |user| {
        if let Some(name) = wanted.name {
            user.name = name;
        }
        if let Some(tenant_key) = wanted.tenant_key {
            user.tenant_key = tenant_key;
        }
        if let Some(available) = wanted.available {
            user.available = available;
        }
        user.departments = wanted.departments.unwrap_or_else(|| user.departments.clone());
        user.groups = wanted.groups.unwrap_or_else(|| user.groups.clone());
    });
    shown(&user)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewChat {
    alias: String,
    kind: ChatKind,
    members: Vec<String>,
    /// None: the first app's bot.
    #[serde(default)]
    bots: Option<Vec<String>>,
}

pub(crate) async fn add_chat(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: NewChat = read(&body)?;
    let members: Vec<&str> = wanted.members.iter().map(String::as_str).collect();
    let bots = wanted.bots.as_deref();
    shown(&verbs::add_chat(&shared, &wanted.alias, wanted.kind, &members, bots)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatChange {
    members: Option<Vec<String>>,
    bots: Option<Vec<String>>,
    threads: Option<bool>,
    muted: Option<bool>,
    dissolved: Option<bool>,
    owner: Option<String>,
}

pub(crate) async fn change_chat(
    Extracted(shared): Sim,
    Path(chat): Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: ChatChange = read(&body)?;
    let members = wanted.members.map(|members| {
        let mut state = shared.lock();
        let ids = members.iter().map(|name| state.world.ensure_user(name).open_id);
        ids.collect::<Vec<String>>()
    });
    let owner = wanted.owner.map(|name| shared.lock().world.ensure_user(&name).open_id);
    let changed = verbs::change_chat(&shared, &chat, |chat| {
        chat.owner = owner.or_else(|| chat.owner.take());
        chat.members = members.unwrap_or_else(|| chat.members.clone());
        chat.bots = wanted.bots.unwrap_or_else(|| chat.bots.clone());
        chat.threads = wanted.threads.unwrap_or(chat.threads);
        chat.muted = wanted.muted.unwrap_or(chat.muted);
        chat.dissolved = wanted.dissolved.unwrap_or(chat.dissolved);
    })?;
    shown(&changed)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownDaemon {
    url: String,
    token: String,
}

/// Where the daemon's admin address is; the token is not shown again.
pub(crate) async fn set_daemon(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: KnownDaemon = read(&body)?;
    verbs::set_daemon(&shared, &wanted.url, &wanted.token)?;
    shown(&json!({}))
}

pub(crate) async fn messages(Extracted(shared): Sim, Path(chat): Path<String>) -> Answer {
    let state = shared.lock();
    let found = state.world.chat(&chat);
    let chat_id = &found.ok_or(PlaygroundError::NoChat(chat))?.chat_id;
    shown(&seen::visible(&state.world, chat_id))
}

pub(crate) async fn answers(Extracted(shared): Sim, Path(message): Path<String>) -> Answer {
    let state = shared.lock();
    if !state.world.messages.contains_key(&message) {
        return Err(PlaygroundError::NoMessage(message).into());
    }
    shown(&seen::answers_to(&state.world, &message))
}

pub(crate) async fn states(Extracted(shared): Sim, Path(message): Path<String>) -> Answer {
    let state = shared.lock();
    match state.world.states.of(&message) {
        Some(states) => shown(&states),
        None => Err(PlaygroundError::NoMessage(message).into()),
    }
}

/// `?message_id=` narrows the list.
pub(crate) async fn pushes(Extracted(shared): Sim, Queried(query): Queried<Query>) -> Answer {
    let wanted = query.get("message_id");
    let state = shared.lock();
    let pushes =
        state.pushes.iter().filter(|push| wanted.is_none() || push.message_id.as_ref() == wanted);
    shown(&pushes.collect::<Vec<_>>())
}

pub(crate) async fn calls(Extracted(shared): Sim) -> Answer {
    shown(&shared.lock().calls)
}

pub(crate) async fn revoke_tokens(Extracted(shared): Sim) -> Answer {
    shared.lock().tokens.revoke_all();
    shown(&json!({}))
}

pub(crate) async fn faults(Extracted(shared): Sim) -> Answer {
    shown(&shared.lock().faults.rules)
}

pub(crate) async fn add_fault(Extracted(shared): Sim, body: Bytes) -> Answer {
    let rule: FaultRule = read(&body)?;
    shared.lock().faults.rules.push(rule);
    shown(&json!({}))
}

pub(crate) async fn clear_faults(Extracted(shared): Sim) -> Answer {
    shared.lock().faults.rules.clear();
    shown(&json!({}))
}

pub(crate) async fn switches(Extracted(shared): Sim) -> Answer {
    shown(&shared.lock().switches)
}

/// Changes the switches that are named; `null` puts one back to its default.
pub(crate) async fn set_switches(Extracted(shared): Sim, body: Bytes) -> Answer {
    let patch: Value = read(&body)?;
    let mut state = shared.lock();
    let mut merged = json!(state.switches);
    overlay(&mut merged, &patch);
    let switches: Switches =
        serde_json::from_value(merged).map_err(|error| PlaygroundError::Bad(error.to_string()))?;
    state.switches = switches;
    shown(&switches)
}
