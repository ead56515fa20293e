//! The whole page: head, chats, the open chat, and room for a thread or a path.

use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::composer::composer;
use super::view::{View, chat_name, document, shown};
use super::words::Language;
use super::{chats, messages, status};
use crate::playground::request::Query;
use crate::playground::state::{Shared, State};

pub(super) async fn page(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let links = shared.surroundings().links.clone();
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let view = View::of(&query, &headers, &state.world);
    let is_open = if view.chat.is_empty() { "closed" } else { "open" };
    let talk = talk(&mut state, &view);
    let body = html! {
        body hx-ext="sse" sse-connect="/web/events" {
            (head(&view, &links, now_ms))
            (status::bar(&state, &view, now_ms).markup())
            main class=(is_open) {
                aside class="chats" {
                    (chats::people(&state, &view))
                    @if !view.me.is_empty() { (chats::list(&state, &view).markup()) }
                    (chats::makers(&state, &view))
                }
                (talk)
                aside class="side" id="side" {}
            }
            div id="toasts" role="status" aria-live="polite" {}
            template id="lost" { div class="toast error" data-test="toast" { (view.words().lost) } }
            template id="large" { div class="toast error" data-test="toast" { (view.words().too_large) } }
        }
    };
    shown(document(&view, &body).0)
}

fn head(view: &View, links: &[(String, String)], now_ms: u64) -> Markup {
    let words = view.words();
    let is_web = |address: &str| {
        ["http://", "https://", "file://"].iter().any(|scheme| address.starts_with(scheme))
    };
    html! {
        header class="top" {
            span class="brand" {
                img src="/web/assets/favicon.svg" alt=""; (words.title)
                span class="tag" { (words.tagline) }
            }
            (status::time(view, now_ms))
            nav {
                @for (name, address) in links {
                    @if is_web(address) { a href=(address) target="_blank" rel="noopener" data-test="link" { (name) } }
                    @else { span data-test="link" title=(address) { (name) ": " code { (address) } } }
                }
                @for (language, name) in [(Language::Chinese, "中文"), (Language::English, "English")] {
                    @if language != view.language {
                        a href=(view.with_language(language).address("/", &[])) data-test="language" { (name) }
                    }
                }
            }
        }
    }
}

fn talk(state: &mut State, view: &View) -> Markup {
    let words = view.words();
    if view.me.is_empty() {
        return html! {
            section class="talk" {
                div class="empty" {
                    h1 { (words.start_title) }
                    p { (words.start_text) }
                    button class="primary" type="button" data-test="start"
                        hx-post=(view.address("/web/start", &[])) hx-target="#toasts" hx-swap="beforeend" { (words.start) }
                }
            }
        };
    }
    let Some(chat) = state.world.chat(&view.chat).cloned() else {
        return html! { section class="talk" { div class="empty" { p { (words.choose) } } } };
    };
    let list = messages::list(state, view);
    let members = chat.members.iter().filter_map(|member| state.world.user(member));
    let members: Vec<&str> = members.map(|user| user.name.as_str()).collect();
    html! {
        section class="talk" data-open-chat=(chat.chat_id) {
            div class="title" {
                a class="back" href=(view.with_chat("").address("/", &[])) { (words.back) }
                span { (chat_name(&state.world, &chat)) }
                small { (members.join(", ")) }
            }
            div class="scroll" id="scroll" data-scroll { (list.markup()) }
            (composer(state, view, None))
        }
    }
}
