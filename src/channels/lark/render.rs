//! Markdown as the platform shows it: cards, posts, the preview of a chat.
//!
//! The platform's Markdown is `CommonMark` with tags of its own, so the source stays as it was
//! written and only what would be read otherwise is edited: tags that nobody meant, links it
//! refuses, mentions, pictures. Tables become elements of their own. No word is ever left out.
//! Source: protocol page, sections 5.5 and 6.

mod cost;
mod inline;
mod outline;
mod plain;
mod table;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Value, json};

pub(super) use cost::cost;
use inline::{Style, inline};
use outline::Outline;
pub(super) use plain::summary;

use super::api::neutralise;
use crate::base::UserId;

/// The platform takes so many tables in a card, and half-finished ones only as Markdown.
const TABLES_MAX: usize = 5;
const MARKDOWN_TABLES_MAX: usize = 3;

/// Who and what may stand in a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// People by the names that stand behind an `@`.
    pub people: &'a [(String, UserId)],
    /// The platform's keys of pictures, by their addresses.
    pub pictures: &'a [(String, String)],
}

/// A text as elements of a card's body; none for a blank one.
pub(super) fn elements(text: &str, known: Known<'_>) -> Vec<Value> {
    let text = &printable(text);
    let outline = Outline::of(text);
    let mut elements = Vec::new();
    let mut from = 0;
    let mut tables = 0;
    for table in outline.tables.iter().filter(|table| !table.is_nested) {
        if tables == TABLES_MAX {
            break;
        }
        if let Some(element) = table::element(slice(text, &table.range), known) {
            elements.extend(markdown(text, from..table.range.start, (&outline, known)));
            elements.push(element);
            from = table.range.end;
            tables += 1;
        }
    }
    elements.extend(markdown(text, from..text.len(), (&outline, known)));
    elements
}

/// A part of a text as an element; its tables as code.
fn markdown(
    text: &str,
    range: Range<usize>,
    (outline, known): (&Outline, Known<'_>),
) -> Option<Value> {
    let content = edited(text, range, outline, (Style::Card, known), 0);
    let content = content.trim_matches('\n');
    (!content.trim().is_empty()).then(|| json!({"tag": "markdown", "content": content}))
}

/// A text in one piece, for an element that grows: it may end anywhere.
pub(super) fn streamed(text: &str, known: Known<'_>) -> String {
    let text = &printable(text);
    let outline = Outline::of(text);
    edited(text, 0..text.len(), &outline, (Style::Card, known), MARKDOWN_TABLES_MAX)
}

/// The addresses of the pictures in a text, each once.
pub(super) fn pictures(text: &str) -> Vec<String> {
    let outline = Outline::of(text);
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("![") {
        let is_code = outline.code.iter().any(|code| code.contains(&at));
        let target = text.get(at..).and_then(inline::picture).filter(|_| !is_code);
        let target = target.filter(|url| found.iter().all(|known| known != url));
        found.extend(target.map(str::to_owned));
    }
    found
}

/// A text as the Markdown of a post, which knows neither headings nor tables.
pub(super) fn post_markdown(text: &str, known: Known<'_>) -> String {
    let text = &printable(text);
    edited(text, 0..text.len(), &Outline::of(text), (Style::Post, known), 0)
}

/// A part of a text with everything edited that must be: of its tables the first `tables` stay
/// Markdown, others become code.
fn edited(
    text: &str,
    range: Range<usize>,
    outline: &Outline,
    (style, known): (Style, Known<'_>),
    tables: usize,
) -> String {
    let mut shown = String::with_capacity(range.len() + range.len() / 8);
    let mut from = range.start;
    let mut tables_left = tables;
    for (part, is_code) in outline.fixed_within(&range) {
        shown.push_str(&inline(slice(text, &(from..part.start)), style, known));
        let source = slice(text, &part);
        if is_code {
            shown.push_str(&neutralise(source));
        } else if tables_left > 0 {
            tables_left -= 1;
            shown.push_str(&inline(source, style, known));
        } else {
            shown.push_str(&table::as_code(source));
        }
        from = part.end;
    }
    shown.push_str(&inline(slice(text, &(from..range.end)), style, known));
    shown
}

fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

/// Control characters that no client shows become visible, line ends are all of one kind.
fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let shown = |letter: char| match letter {
        '\r' => '\n',
        letter if letter.is_control() && !matches!(letter, '\n' | '\t') => {
            char::REPLACEMENT_CHARACTER
        }
        letter => letter,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
