//! The left column: who I am, my chats, and making more of both.

use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::messages::{brief, display_name};
use super::view::{Part, View, avatar, chat_name, small_avatar};
use crate::playground::request::Query;
use crate::playground::seen;
use crate::playground::state::{Shared, State};
use crate::playground::world::{Chat, ChatKind};

pub(super) async fn part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let state = shared.lock();
    let view = View::of(&query, &headers, &state.world);
    list(&state, &view).answer(&query)
}

/// My chats, the one with the newest message first.
pub(super) fn list(state: &State, view: &View) -> Part {
    let me = state.world.user(&view.me).map(|me| me.open_id.clone()).unwrap_or_default();
    let mut mine: Vec<&Chat> = state
        .world
        .chats
        .iter()
        .filter(|chat| chat.members.contains(&me) && !chat.dissolved)
        .collect();
    let newest = |chat: &&Chat| {
        state.world.messages_of(&chat.chat_id).next_back().map_or(0, |last| last.created_ms)
    };
    mine.sort_by_key(|chat| std::cmp::Reverse(newest(chat)));
    let content = html! {
        h2 { (view.words().chats) }
        @for chat in mine { (entry(state, view, chat, &me)) }
    };
    Part { id: "chats", address: view.address("/web/chats", &[]), trigger: "sse:changed", content }
}

fn entry(state: &State, view: &View, chat: &Chat, me: &str) -> Markup {
    let name = chat_name(&state.world, chat);
    let is_open = chat.chat_id == view.chat;
    let total = state.world.order.get(&chat.chat_id).map_or(0, Vec::len);
    let read = state.read.get(&(me.to_owned(), chat.chat_id.clone())).copied().unwrap_or(0);
    let unread = if is_open { 0 } else { total.saturating_sub(read) };
    let last = state.world.messages_of(&chat.chat_id).next_back();
    let last = last.map(|last| seen::seen(&state.world, last));
    let class = if is_open { "chat on" } else { "chat" };
    html! {
        a class=(class) href=(view.with_chat(&chat.chat_id).address("/", &[]))
            data-chat=(chat.chat_id) data-alias=(chat.alias) {
            (avatar(&name, chat.kind == ChatKind::P2p))
            div class="what" {
                div class="name" { (name) }
                div class="last" { @if let Some(last) = last { (display_name(&state.world, &last)) ": " (brief(view, &last)) } }
            }
            @if unread > 0 { span class="unread" data-test="unread" { (unread) } }
        }
    }
}

/// Who I am, and who else I could be.
pub(super) fn people(state: &State, view: &View) -> Markup {
    let words = view.words();
    html! {
        div {
            h2 { (words.i_am) }
            div class="people" {
                @for user in &state.world.users {
                    @let is_me = user.alias == view.me;
                    @let class = if is_me { "person on" } else { "person" };
                    a class=(class) href=(view.with_me(&user.alias).address("/", &[]))
                        data-user=(user.alias) aria-current=[is_me.then_some("true")] {
                        (small_avatar(&user.name)) (user.name)
                    }
                }
            }
        }
    }
}

pub(super) fn makers(state: &State, view: &View) -> Markup {
    let words = view.words();
    let others = state.world.users.iter().filter(|user| user.alias != view.me);
    html! {
        div {
            details {
                summary data-test="new-chat" { (words.new_chat) }
                form hx-post=(view.address("/web/chats", &[("kind", "p2p")])) hx-target="#toasts" hx-swap="beforeend" {
                    button type="submit" data-test="make-private" { (words.private_chat) }
                }
                form hx-post=(view.address("/web/chats", &[("kind", "group")])) hx-target="#toasts" hx-swap="beforeend" {
                    input type="text" name="name" placeholder=(words.group_name) aria-label=(words.group_name) required maxlength="40";
                    div class="checks" {
                        (words.members) ":"
                        @for user in others {
                            label { input type="checkbox" name="member" value=(user.alias) checked; " " (user.name) }
                        }
                    }
                    button type="submit" data-test="make-group" { (words.make_group) }
                }
            }
            details {
                summary data-test="new-user" { (words.new_user) }
                form hx-post=(view.address("/web/users", &[])) hx-target="#toasts" hx-swap="beforeend" {
                    input type="text" name="name" placeholder=(words.user_name) aria-label=(words.user_name) required maxlength="40";
                    button type="submit" data-test="make-user" { (words.make) }
                }
            }
        }
    }
}
