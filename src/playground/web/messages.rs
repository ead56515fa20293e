//! The messages of a chat, as a chat client shows them.

use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use super::rich::{self, Rich};
use super::view::{Part, View, avatar, civil, user_name};
use super::{card, emoji};
use crate::playground::request::Query;
use crate::playground::seen::{self, SeenMessage, SeenReaction};
use crate::playground::state::{Shared, State};
use crate::playground::world::World;

/// How many of the newest messages are shown.
pub(super) const SHOWN_MAX: usize = 300;
/// How many characters of a quoted message are shown.
const QUOTE_CHARS: usize = 60;

pub(super) async fn part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let mut state = shared.lock();
    let view = View::of(&query, &headers, &state.world);
    list(&mut state, &view).answer(&query)
}

/// The open chat; looking at it counts as reading it.
pub(super) fn list(state: &mut State, view: &View) -> Part {
    let total = state.world.order.get(&view.chat).map_or(0, Vec::len);
    if let Some(me) = state.world.user(&view.me).map(|me| me.open_id.clone()) {
        state.read.insert((me, view.chat.clone()), total);
    }
    let world = &state.world;
    let words = view.words();
    let ids = world.order.get(&view.chat).map_or(&[][..], Vec::as_slice);
    let skipped = total.saturating_sub(SHOWN_MAX);
    let content = html! {
        @if ids.is_empty() { (nothing(view)) }
        @if skipped > 0 { p class="day" { (words.earlier) } }
        @let shown = ids.iter().skip(skipped).filter_map(|id| world.messages.get(id));
        @let mut day = String::new();
        @for message in shown {
            // In the chat only the first message of a thread stands; the rest is in the thread.
            @if message.thread_id.is_none() || message.root_id.is_none() {
                @let today = civil(message.created_ms, "%Y-%m-%d");
                @if today != day { div class="day" { (today) } }
                ({ day = today; "" })
                (row(world, view, &seen::seen(world, message), true))
            }
        }
    };
    Part {
        id: "messages",
        address: view.address("/web/messages", &[]),
        trigger: "sse:changed",
        content,
    }
}

fn nothing(view: &View) -> Markup {
    let words = view.words();
    html! {
        div class="empty" data-test="empty" {
            h1 { (words.nothing_title) }
            p { (words.nothing_text) }
            div class="examples" {
                @for example in [words.example_1, words.example_2, words.example_3] {
                    button type="button" data-test="example" data-example=(example) { (example) }
                }
            }
        }
    }
}

/// One message with everything around it.
pub(super) fn row(world: &World, view: &View, seen: &SeenMessage, in_chat: bool) -> Markup {
    let name = display_name(world, seen);
    let is_mine = is_of(view, seen);
    let class = if is_mine { "message mine" } else { "message" };
    html! {
        article class=(class) data-message-id=(seen.message_id)
            data-from=(if seen.from_bot { "bot" } else { "user" })
            data-sender=(seen.sender) data-recalled[seen.recalled] {
            (avatar(name, seen.from_bot))
            div class="stack" {
                div class="head" {
                    span class="sender" { (name) }
                    time { (civil(seen.at_ms, "%H:%M:%S")) }
                    @if seen.edits > 0 && !seen.recalled { span data-test="edited" { (view.words().edited) } }
                }
                @if let Some(parent) = &seen.reply_to { (quote(world, view, parent)) }
                (body(world, view, seen))
                (reactions(&seen.reactions))
                (tools(world, view, seen, in_chat))
            }
        }
    }
}

fn quote(world: &World, view: &View, parent: &str) -> Markup {
    let Some(parent) = world.messages.get(parent) else {
        return html! {};
    };
    let seen = seen::seen(world, parent);
    html! { div class="quote" data-test="quote" { (view.words().answers_to) " " (display_name(world, &seen)) ": " (brief(view, &seen)) } }
}

/// Whether it is from whoever looks.
fn is_of(view: &View, seen: &SeenMessage) -> bool {
    !seen.from_bot && seen.sender == view.me
}

/// What people call the sender.
pub(super) fn display_name<'world>(world: &'world World, seen: &'world SeenMessage) -> &'world str {
    if seen.from_bot { &seen.sender } else { user_name(world, &seen.sender) }
}

/// The beginning of a message in one line.
pub(super) fn brief(view: &View, seen: &SeenMessage) -> String {
    let words = view.words();
    let text = match seen.msg_type.as_str() {
        _ if seen.recalled => words.recalled.to_owned(),
        "image" => format!("[{}]", words.image),
        "file" | "audio" | "media" => format!("[{}]", words.file),
        _ => seen.text.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let mut short: String = text.chars().take(QUOTE_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn body(world: &World, view: &View, seen: &SeenMessage) -> Markup {
    if seen.recalled {
        return html! { div class="bubble" { span class="gone" { (view.words().recalled) } } };
    }
    if let Some(shown) = &seen.card {
        return card::card(world, view, seen, shown);
    }
    let content: Value = serde_json::from_str(&seen.content).unwrap_or(Value::Null);
    let field = |name: &str| content.get(name).and_then(Value::as_str).unwrap_or_default();
    let address = |key: &str| format!("/web/file/{}/{key}", seen.message_id);
    html! {
        div class="bubble" data-test="text" {
            @match seen.msg_type.as_str() {
                "image" => {
                    @let address = address(field("image_key"));
                    a href=(address) target="_blank" { img class="picture" src=(address) alt=(view.words().image); }
                }
                "file" | "audio" | "media" => {
                    a class="file" href=(address(field("file_key"))) download {
                        @let name = field("file_name");
                        span { @if name.is_empty() { (view.words().file) } @else { (name) } }
                    }
                }
                _ if seen.from_bot => (Rich::of_text(world).markdown(&seen.text)),
                _ => (rich::plain(world, &seen.text)),
            }
        }
    }
}

fn reactions(reactions: &[SeenReaction]) -> Markup {
    html! {
        @if !reactions.is_empty() {
            div class="reactions" {
                @for reaction in reactions {
                    @let class = if reaction.emoji == "Typing" { "reaction typing" } else { "reaction" };
                    span class=(class) data-emoji=(reaction.emoji) title=(reaction.emoji) {
                        (emoji::picture(&reaction.emoji).unwrap_or(&reaction.emoji)) " " (reaction.by)
                    }
                }
            }
        }
    }
}

fn tools(world: &World, view: &View, seen: &SeenMessage, in_chat: bool) -> Markup {
    let is_mine = is_of(view, seen);
    let words = view.words();
    let id = seen.message_id.as_str();
    let post = |path: &str, more: &[(&str, &str)]| view.address(path, more);
    html! {
        div class="tools" {
            @if !seen.recalled {
                @if in_chat {
                    button type="button" data-reply=(id) data-quote=(brief(view, seen)) data-test="reply" { (words.reply) }
                }
                details class="menu" {
                    summary data-test="react" { (words.react) }
                    div class="pop" {
                        @for name in emoji::OFFERED {
                            button type="button" data-test="emoji" data-emoji=(name) title=(name)
                                hx-post=(post("/web/react", &[("message", id), ("emoji", name)]))
                                hx-target="#toasts" hx-swap="beforeend" { (emoji::picture(name).unwrap_or(name)) }
                        }
                    }
                }
                @if is_mine {
                    button type="button" data-test="recall" hx-post=(post("/web/recall", &[("message", id)]))
                        hx-target="#toasts" hx-swap="beforeend" { (words.recall) }
                }
            }
            @if in_chat {
                @let replies = thread_replies(world, seen);
                @let has_thread = seen.thread_id.is_some();
                @if has_thread || threads_allowed(world, seen) {
                    button type="button" data-test="thread" hx-get=(post("/web/thread", &[("root", id)]))
                        hx-target="#side" hx-swap="innerHTML" {
                        @if has_thread { (replies) " " (words.replies) } @else { (words.in_thread) }
                    }
                }
            }
            button type="button" data-test="path" hx-get=(post("/web/path", &[("message", id)]))
                hx-target="#side" hx-swap="innerHTML" { (words.path) }
        }
    }
}

fn threads_allowed(world: &World, seen: &SeenMessage) -> bool {
    !seen.recalled && world.chat(&seen.chat_id).is_some_and(|chat| chat.threads)
}

fn thread_replies(world: &World, seen: &SeenMessage) -> usize {
    if seen.thread_id.is_none() {
        return 0;
    }
    let all = world.messages_of(&seen.chat_id);
    all.filter(|message| message.thread_id == seen.thread_id && message.root_id.is_some()).count()
}
