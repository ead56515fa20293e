//! A thread beside the chat: its messages, and where one answers in it.

use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;

use super::composer::composer;
use super::messages::row;
use super::view::{Part, View, empty, shown};
use crate::playground::request::Query;
use crate::playground::seen;
use crate::playground::state::Shared;

pub(super) async fn part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let state = shared.lock();
    let view = View::of(&query, &headers, &state.world);
    let root = query.get("root").and_then(|root| state.world.messages.get(root));
    let Some(root) = root.filter(|root| root.chat_id == view.chat) else {
        return empty();
    };
    let all = state.world.messages_of(&view.chat).filter(|message| {
        let is_inside = root.thread_id.is_some() && message.thread_id == root.thread_id;
        is_inside || message.message_id == root.message_id
    });
    let content = html! {
        @for message in all { (row(&state.world, &view, &seen::seen(&state.world, message), false)) }
    };
    let part = Part {
        id: "thread",
        address: view.address("/web/thread", &[("root", &root.message_id)]),
        trigger: "sse:changed",
        content,
    };
    if query.contains_key("have") {
        return part.answer(&query);
    }
    let words = view.words();
    let whole = html! {
        div class="sidehead" { (words.thread) button type="button" data-close aria-label=(words.close) { "✕" } }
        div class="scroll" id="thread-scroll" data-scroll data-test="thread-view" { (part.markup()) }
        (composer(&state, &view, Some(&root.message_id)))
    };
    shown(whole.0)
}
