//! The path drawer: verdict and reason, then every step in the order of time.

use std::sync::Arc;

use axum::extract::{Query as Queried, State as Extracted};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::path::{self, Entry, Side, Silence, Told, Way};
use super::view::{Part, View, civil, empty, shown};
use super::words::Words;
use crate::playground::request::Query;
use crate::playground::state::Shared;

pub(super) async fn part(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    headers: HeaderMap,
) -> Response {
    let view = View::of(&query, &headers, &shared.lock().world);
    let message = query.get("message").map_or("", String::as_str);
    let Some(way) = path::gather(&shared, message).await else {
        return empty();
    };
    let words = view.words();
    let part = Part {
        id: "way",
        address: view.address("/web/path", &[("message", message)]),
        trigger: "sse:changed throttle:500ms, every 3s",
        content: content(words, message, &way),
    };
    if query.contains_key("have") {
        return part.answer(&query);
    }
    let whole = html! {
        div class="sidehead" { (words.path_title) button type="button" data-close aria-label=(words.close) { "✕" } }
        div class="scroll" data-test="path-view" { (part.markup()) }
    };
    shown(whole.0)
}

fn content(words: &Words, message: &str, way: &Way) -> Markup {
    html! {
        @if way.origin != message { p class="legend" { (words.of_question) } }
        @match &way.told {
            Ok(told) => (verdict(words, told)),
            Err(Silence::Unknown) => { div class="note" data-test="no-daemon" { (words.no_daemon) } }
            Err(Silence::Failed(why)) => {
                div class="note" data-test="daemon-silent" { (words.daemon_silent) " (" (why) ")" }
            }
        }
        @if way.entries.is_empty() { p class="legend" { (words.nothing_seen) } }
        ol class="path" { @for entry in &way.entries { (step(words, entry)) } }
    }
}

fn verdict(words: &Words, told: &Told) -> Markup {
    let class = match told.verdict.as_str() {
        "answered" => "verdict answered",
        "failed" | "error" | "lost" | "refused" => "verdict bad",
        _ => "verdict",
    };
    html! {
        div class=(class) data-test="verdict" {
            b { @if told.verdict.is_empty() { (words.unknown_verdict) } @else { (told.verdict) } }
            @if !told.reason.is_empty() { p data-test="reason" { (told.reason) } }
            @if let Some(turn) = &told.turn { p { code { (turn) } } }
        }
    }
}

fn step(words: &Words, entry: &Entry) -> Markup {
    let (side, name) = match entry.side {
        Side::Push => ("push", words.side_push),
        Side::Daemon => ("daemon", words.side_daemon),
        Side::Call => ("call", words.side_call),
    };
    html! {
        li class={ (side) @if entry.is_bad { " bad" } } data-side=(side) data-kind=(entry.kind) {
            div class="when" {
                time { (civil(entry.at_ms, "%H:%M:%S%.3f")) }
                @if let Some(took) = entry.took_ms { span { (took) " ms" } }
                span class="kind" { (name) @if !entry.kind.is_empty() { " · " (entry.kind) } }
            }
            div class="what" { (entry.title) }
            @if !entry.detail.is_empty() { div class="more" { (entry.detail) } }
        }
    }
}
