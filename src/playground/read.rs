//! Reading: one message, and the history of a chat or thread.

use std::sync::Arc;

use axum::extract::{Path, Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::amend::find;
use super::limits::{PAGE_SIZE, PAGE_SIZE_DEFAULT};
use super::refusal::{Refusal, success};
use super::request::{self, Query};
use super::send::gateway_rate;
use super::state::{Shared, State};
use super::tokens::caller;
use super::wire;
use super::world::{Chat, Message};

/// `GET /open-apis/im/v1/messages/:message_id`: one item in an array; of a merged forward
/// everything it holds behind it.
pub(crate) async fn get(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "get", &app_id, now_ms)?;
    let (message, chat) = find(&state, &message_id)?;
    inside(&chat, &app_id)?;
    if message.recalled {
        return Err(Refusal::message_gone());
    }
    let whole = state.world.whole(&message);
    let items: Vec<Value> =
        whole.iter().map(|message| wire::listed_object(&state.world, message, &query)).collect();
    Ok(success(&json!({ "items": items })))
}

/// `GET /open-apis/im/v1/messages?container_id_type=chat|thread&container_id=…`
pub(crate) async fn list(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let app_id = caller(&state, &headers, shared.now())?;
    gateway_rate(&mut state, "list", &app_id, now_ms)?;
    let required = |name: &'static str| {
        let value = query.get(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| Refusal::field(name, "is required"))
    };
    let kind = required("container_id_type")?;
    let container_id = required("container_id")?;
    let (chat, threads) = match kind.as_str() {
        "chat" => (state.world.chats.iter().find(|chat| chat.chat_id == *container_id), None),
        "thread" => (chat_of_thread(&state, container_id), Some(container_id.as_str())),
        _ => return Err(Refusal::field("container_id_type", "has an unknown value")),
    };
    let chat = chat.ok_or_else(|| Refusal::parameter("invalid container_id"))?.clone();
    inside(&chat, &app_id)?;
    let range = range(&query, threads.is_some())?;
    let mut messages: Vec<&Message> = state
        .world
        .messages_of(&chat.chat_id)
        .filter(|message| listed(message, threads))
        .filter(|message| {
            range.0 <= message.created_ms / 1_000 && message.created_ms / 1_000 <= range.1
        })
        .collect();
    // A stable sort: messages of one millisecond stay in the order of arrival.
    messages.sort_by_key(|message| message.created_ms);
    match query.get("sort_type").map(String::as_str) {
        None | Some("" | "ByCreateTimeAsc") => {}
        Some("ByCreateTimeDesc") => messages.reverse(),
        Some(_) => return Err(Refusal::field("sort_type", "has an unknown value")),
    }
    page(&state, &query, &messages).map(|page| success(&page))
}

pub(crate) fn inside(chat: &Chat, app_id: &str) -> Result<(), Refusal> {
    if chat.dissolved {
        return Err(Refusal::new(232_009, "The chat was dissolved."));
    }
    if chat.bots.iter().any(|bot| bot == app_id) {
        return Ok(());
    }
    Err(Refusal::bot_outside())
}

fn chat_of_thread<'state>(state: &'state State, thread_id: &str) -> Option<&'state Chat> {
    let message = state
        .world
        .messages
        .values()
        .find(|message| message.thread_id.as_deref() == Some(thread_id))?;
    state.world.chat(&message.chat_id)
}

/// In a chat's history only the root of each thread stands; in a thread's, all of it.
fn listed(message: &Message, thread: Option<&str>) -> bool {
    match thread {
        Some(thread) => message.thread_id.as_deref() == Some(thread),
        None => message.thread_id.is_none() || message.root_id.is_none(),
    }
}

/// The first and last second that are asked for.
fn range(query: &Query, in_thread: bool) -> Result<(u64, u64), Refusal> {
    let start = request::number(query, "start_time")?;
    let end = request::number(query, "end_time")?;
    if in_thread && (start.is_some() || end.is_some()) {
        return Err(Refusal::parameter("a thread has no time range"));
    }
    let (start, end) = (start.unwrap_or(0), end.unwrap_or(u64::MAX));
    if start > end {
        return Err(Refusal::parameter("start_time is after end_time"));
    }
    Ok((start, end))
}

/// One page; the token names the last message of the page before.
fn page(state: &State, query: &Query, messages: &[&Message]) -> Result<Value, Refusal> {
    let size = request::number(query, "page_size")?.unwrap_or(PAGE_SIZE_DEFAULT.most);
    if size == 0 || size > PAGE_SIZE.most {
        return Err(Refusal::field("page_size", "is not within 1 and 50"));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let begin = match query.get("page_token").filter(|token| !token.is_empty()) {
        None => 0,
        Some(token) => {
            let last = token.strip_prefix("after-");
            let place =
                messages.iter().position(|message| last == Some(message.message_id.as_str()));
            place.ok_or_else(|| Refusal::parameter("invalid page_token"))? + 1
        }
    };
    let rest = messages.get(begin..).unwrap_or_default();
    let shown = rest.get(..size.min(rest.len())).unwrap_or_default();
    let has_more = rest.len() > shown.len();
    let items: Vec<Value> =
        shown.iter().map(|message| wire::listed_object(&state.world, message, query)).collect();
    let token = shown.last().filter(|_| has_more);
    let token = token.map_or(String::new(), |last| format!("after-{}", last.message_id));
    Ok(json!({"has_more": has_more, "page_token": token, "items": items}))
}
