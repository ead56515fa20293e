//! What the platform tells of people and chats: departments, user groups, names, owners.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::refusal::{Refusal, success};
use super::request::{self, Query};
use super::send::gateway_rate;
use super::state::{Shared, State};
use super::tokens::caller;
use super::world::{ChatKind, User};

/// How many people one call for names may ask for.
const NAMES_MAX: usize = 10;

type Sim = Extracted<Arc<Shared>>;

/// The person of that id, of whichever kind; no name of the playground's own.
fn person<'state>(state: &'state State, id: &str, kind: &str) -> Option<&'state User> {
    state.world.users.iter().find(|user| match kind {
        "union_id" => user.union_id == id,
        "user_id" => user.user_id.as_deref() == Some(id),
        _ => user.open_id == id,
    })
}

fn kind<'query>(query: &'query Query, name: &'static str) -> Result<&'query str, Refusal> {
    match query.get(name).map(String::as_str) {
        None | Some("") => Ok("open_id"),
        Some(kind @ ("open_id" | "union_id" | "user_id")) => Ok(kind),
        Some(_) => Err(Refusal::field(name, "has an unknown value")),
    }
}

/// Outside of what the app may see of the contacts.
fn no_authority() -> Refusal {
    Refusal::new(41_050, "no user authority error")
}

/// `GET /open-apis/contact/v3/users/:user_id`
pub(crate) async fn user(
    Extracted(shared): Sim,
    Path(user_id): Path<String>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "user", &app_id, now_ms)?;
    let kind = kind(&query, "user_id_type")?;
    let user = person(&state, &user_id, kind).ok_or_else(no_authority)?;
    if state.world.app(&app_id).is_some_and(|app| app.tenant_key != user.tenant_key) {
        return Err(no_authority());
    }
    let user = json!({
        "open_id": user.open_id, "union_id": user.union_id, "name": user.name,
        "department_ids": user.departments,
    });
    Ok(success(&json!({ "user": user })))
}

/// `GET /open-apis/contact/v3/group/member_belong`: everything on one page, all groups of the
/// ordinary kind.
pub(crate) async fn groups(
    Extracted(shared): Sim,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "groups", &app_id, now_ms)?;
    let kind = kind(&query, "member_id_type")?;
    let id = query.get("member_id").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| Refusal::field("member_id", "is required"))?;
    let user = person(&state, id, kind).ok_or_else(no_authority)?;
    let groups = match request::number(&query, "group_type")? {
        None | Some(1) => user.groups.clone(),
        Some(2) => Vec::new(),
        Some(_) => return Err(Refusal::new(41_074, "invalid member_type")),
    };
    Ok(success(&json!({"group_list": groups, "has_more": false})))
}

/// `POST /open-apis/contact/v3/users/basic_batch`
pub(crate) async fn names(
    Extracted(shared): Sim,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "names", &app_id, now_ms)?;
    let kind = kind(&query, "user_id_type")?;
    let body = request::json_object(&headers, &body)?;
    let ids = body.get("user_ids").and_then(Value::as_array);
    let ids = ids.filter(|ids| (1..=NAMES_MAX).contains(&ids.len()));
    let ids = ids.ok_or_else(|| Refusal::field("user_ids", "has not 1 to 10 ids"))?;
    let known = ids.iter().filter_map(Value::as_str).filter_map(|id| {
        let user = person(&state, id, kind)?;
        Some(json!({"user_id": id, "name": user.name}))
    });
    let users: Vec<Value> = known.collect();
    Ok(success(&json!({ "users": users })))
}

/// `GET /open-apis/im/v1/chats/:chat_id`
pub(crate) async fn chat(
    Extracted(shared): Sim,
    Path(chat_id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "chat", &app_id, now_ms)?;
    let chat = state.world.chats.iter().find(|chat| chat.chat_id == chat_id);
    let chat = chat.ok_or_else(|| {
        Refusal::new(232_006, "Your request specifies a chat_id which is invalid.")
    })?;
    let mut data = json!({
        "name": chat.alias,
        "chat_mode": match chat.kind { ChatKind::P2p => "p2p", ChatKind::Group => "group" },
        "chat_type": "private",
        "user_count": chat.members.len().to_string(),
    });
    // The reduced answer of a chat that the bot is not in names no owner.
    let is_inside = chat.bots.contains(&app_id);
    if let (Some(owner), Some(data), true) = (&chat.owner, data.as_object_mut(), is_inside) {
        data.insert("owner_id_type".to_owned(), json!("open_id"));
        data.insert("owner_id".to_owned(), json!(owner));
    }
    Ok(success(&data))
}
