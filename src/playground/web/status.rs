//! The simulator's time in the head of the page, and pushes that fail under it.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::view::{Part, View, civil};
use crate::playground::push::{PushKind, PushRecord};
use crate::playground::request::Query;
use crate::playground::state::{Shared, State};
use crate::playground::world::App;

/// How many failed pushes are shown.
const SHOWN_MAX: usize = 3;
/// How many of the newest pushes are looked through.
const LOOKED_AT_MAX: usize = 1_000;
/// How long a push that is not tried again is shown.
const SHOWN_MS: u64 = 10 * 60 * 1_000;
/// How many characters of an answer are shown.
const ANSWER_CHARS: usize = 200;

pub(super) async fn part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let state = shared.lock();
    let view = View::of(&query, &headers, &state.world);
    bar(&state, &view, shared.now_ms()).answer(&query)
}

/// The events whose newest try failed, newest first.
pub(super) fn failures(state: &State, now_ms: u64) -> Vec<&PushRecord> {
    let mut known = HashSet::new();
    let newest = state.pushes.iter().rev().take(LOOKED_AT_MAX);
    let newest = newest.filter(|push| matches!(push.kind, PushKind::Ladder | PushKind::Event));
    newest
        .filter(|push| known.insert((push.event_id.as_str(), push.app_id.as_str())))
        .filter(|push| !push.delivered())
        .filter(|push| {
            push.next_try_at_ms.is_some() || now_ms.saturating_sub(push.at_ms) < SHOWN_MS
        })
        .collect()
}

pub(super) fn bar(state: &State, view: &View, now_ms: u64) -> Part {
    let words = view.words();
    let failures = failures(state, now_ms);
    let is_deaf = !state.world.apps.iter().any(App::is_reachable);
    let content = html! {
        @if is_deaf { div class="trouble" data-test="no-app" { (words.no_app) } }
        @for failure in failures.iter().take(SHOWN_MAX) { (trouble(view, failure)) }
        @if failures.len() > SHOWN_MAX { div class="trouble bad" { "+" (failures.len() - SHOWN_MAX) } }
    };
    Part {
        id: "status",
        address: view.address("/web/status", &[]),
        trigger: "sse:changed, every 5s",
        content,
    }
}

/// The simulator's time alone, so that nobody's click meets a button that is just replaced.
pub(super) async fn clock_part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let view = View::of(&query, &headers, &shared.lock().world);
    clock(&view, shared.now_ms()).answer(&query)
}

fn clock(view: &View, now_ms: u64) -> Part {
    Part {
        id: "clock",
        address: view.address("/web/clock", &[]),
        trigger: "sse:changed, every 1s",
        content: html! { time data-test="time" { (civil(now_ms, "%Y-%m-%d %H:%M:%S")) } },
    }
}

/// The simulator's time and what moves it on.
pub(super) fn time(view: &View, now_ms: u64) -> Markup {
    let words = view.words();
    let steps = [("minute", words.minute), ("hour", words.hour), ("nine", words.nine)];
    html! {
        div class="clock" {
            span { (words.now) }
            (clock(view, now_ms).markup())
            @for (by, name) in steps {
                button type="button" data-test={ "advance-" (by) } hx-swap="none"
                    hx-post=(view.address("/web/time", &[("by", by)])) { (name) }
            }
        }
    }
}

fn trouble(view: &View, push: &PushRecord) -> Markup {
    let words = view.words();
    let answer: String = push.answer.chars().take(ANSWER_CHARS).collect();
    html! {
        div class="trouble bad" data-test="push-failed" {
            b { (words.push_failed) }
            code { (push.url) }
            span {
                @match push.answered() { Some(status) => (status), None => (words.no_answer) }
                " · #" (push.attempt)
                @if let Some(next) = push.next_try_at_ms { " · " (words.next_try) " " (civil(next, "%H:%M:%S")) }
            }
            code { (answer) }
        }
    }
}
