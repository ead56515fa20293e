//! What stands in one line: links, emphasis, code, mentions, entities.

use maud::{Markup, html};

use super::Rich;
use crate::playground::card::{at, code_span, entity, escaped, visible};

/// In longer lines no marks are looked for: it would take too long.
const LINE_BYTES_MAX: usize = 4_000;
/// Marks deeper inside of each other than this are text.
const DEPTH_MAX: usize = 8;

/// A piece of text that was drawn, and what follows it.
type Drawn<'text> = Option<(Markup, &'text str)>;

/// What the marks around a text make of it.
#[derive(Clone, Copy)]
enum Emphasis {
    Bold,
    Italic,
    Both,
    Struck,
}

const EMPHASES: [(&str, Emphasis); 7] = [
    ("***", Emphasis::Both),
    ("**", Emphasis::Bold),
    ("__", Emphasis::Bold),
    ("~~", Emphasis::Struck),
    ("*", Emphasis::Italic),
    ("_", Emphasis::Italic),
    ("___", Emphasis::Both),
];

/// Tags that are left out; the words inside of them stay.
const LEFT_OUT: [&str; 4] = ["<font", "</font>", "<text_tag", "</text_tag>"];

/// Draws the text of one line.
#[derive(Clone, Copy)]
pub(super) struct Pen<'world> {
    rich: Rich<'world>,
    is_markdown: bool,
    /// Whether this is the text of a link, in which no other can be.
    in_link: bool,
    depth: usize,
}

impl<'world> Pen<'world> {
    pub(super) fn new(rich: Rich<'world>, is_markdown: bool) -> Self {
        Self { rich, is_markdown, in_link: false, depth: 0 }
    }

    pub(super) fn line(self, text: &str) -> Markup {
        if text.len() <= LINE_BYTES_MAX {
            return self.draw(text);
        }
        let text =
            if self.has_entities() { visible(text, self.rich.world) } else { text.to_owned() };
        html! { (text) }
    }

    fn has_entities(self) -> bool {
        self.is_markdown && self.rich.is_card
    }

    fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    fn draw(self, text: &str) -> Markup {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let here = rest;
            if let Some((piece, tail)) = self.piece(rest, before) {
                let words = std::mem::take(&mut plain);
                pieces.push(html! { (words) (piece) });
                rest = tail;
            } else {
                let (letter, tail) = self.letter(rest).unwrap_or((first, ""));
                plain.push(letter);
                rest = tail;
            }
            before = here.strip_suffix(rest).and_then(|drawn| drawn.chars().next_back());
        }
        html! { @for piece in &pieces { (piece) } (plain) }
    }

    /// The letter at the beginning of `text`.
    fn letter(self, text: &str) -> Option<(char, &str)> {
        let mut letters = text.chars();
        let first = letters.next()?;
        let more = letters.as_str();
        let special = match first {
            '\\' if self.is_markdown => escaped(more),
            '&' if self.has_entities() => entity(text),
            _ => None,
        };
        Some(special.unwrap_or((first, more)))
    }

    /// What begins with a mark or is a link; `before` is the letter in front of it.
    fn piece(self, text: &str, before: Option<char>) -> Drawn<'_> {
        if self.depth > DEPTH_MAX {
            return None;
        }
        match text.chars().next()? {
            'h' => self.bare_link(text),
            _ if !self.is_markdown => None,
            '`' => code(text),
            '*' | '_' | '~' => self.emphasis(text, before),
            '[' => self.link(text),
            '<' => self.tag(text),
            _ => None,
        }
    }

    fn bare_link(self, text: &str) -> Drawn<'_> {
        if self.in_link || !is_web(text) {
            return None;
        }
        let ends =
            |letter: char| letter.is_whitespace() || "<>\"')]}，。；！？）】、".contains(letter);
        let (address, tail) = text.split_at_checked(text.find(ends).unwrap_or(text.len()))?;
        let address = self.address(address);
        Some((link(&address, &html! { (address) }), tail))
    }

    /// An address, its entities read.
    fn address(self, address: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(address.len()), address);
        while let Some(first) = rest.chars().next() {
            let read = entity(rest).filter(|_| self.has_entities());
            let (letter, tail) =
                read.unwrap_or_else(|| (first, rest.strip_prefix(first).unwrap_or_default()));
            out.push(letter);
            rest = tail;
        }
        out
    }

    fn emphasis(self, text: &str, before: Option<char>) -> Drawn<'_> {
        let found = EMPHASES.iter().find_map(|(mark, emphasis)| {
            let (inner, tail) = enclosed(text, mark, before)?;
            Some((*emphasis, inner, tail))
        });
        let (emphasis, inner, tail) = found?;
        let inner = self.inner().draw(inner);
        let drawn = match emphasis {
            Emphasis::Bold => html! { b { (inner) } },
            Emphasis::Italic => html! { i { (inner) } },
            Emphasis::Both => html! { b { i { (inner) } } },
            Emphasis::Struck => html! { s { (inner) } },
        };
        Some((drawn, tail))
    }

    fn link(self, text: &str) -> Drawn<'_> {
        let (words, tail) = text.strip_prefix('[')?.split_once("](")?;
        if self.in_link || words.is_empty() || words.contains('[') {
            return None;
        }
        let (address, tail) = in_brackets(tail)?;
        // What follows the address is its title.
        let address = self.address(address.split_whitespace().next()?);
        let words = Self { in_link: true, ..self.inner() }.draw(words);
        is_web(&address).then(|| (link(&address, &words), tail))
    }

    fn tag(self, text: &str) -> Drawn<'_> {
        if let Some((ids, tail)) = at(text).filter(|_| self.rich.is_card) {
            let names = ids.iter().map(|id| self.rich.world.called(id).unwrap_or(id));
            let names: Vec<String> = names.map(|name| format!("@{name}")).collect();
            return Some((html! { b { (names.join(" ")) } }, tail));
        }
        let (name, tail) = text.split_once('>')?;
        if LEFT_OUT.iter().any(|tag| text.starts_with(tag)) {
            return Some((html! {}, tail));
        }
        let inner = name.strip_prefix('<')?;
        if matches!(inner, "br" | "br/" | "br /") {
            return Some((html! { br; }, tail));
        }
        if self.in_link || !is_web(inner) || inner.contains(char::is_whitespace) {
            return None;
        }
        let address = self.address(inner);
        Some((link(&address, &html! { (address) }), tail))
    }
}

fn is_web(address: &str) -> bool {
    address.starts_with("http://") || address.starts_with("https://")
}

fn link(address: &str, words: &Markup) -> Markup {
    html! { a href=(address) target="_blank" rel="noopener noreferrer nofollow" { (words) } }
}

/// Code; or marks that nothing closes, as they are.
fn code(text: &str) -> Drawn<'_> {
    let (span, tail) = code_span(text)?;
    let inner = span.trim_matches('`');
    if inner.is_empty() {
        return Some((html! { (span) }, tail));
    }
    let bare = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
    let inner = bare.filter(|inner| !inner.trim().is_empty()).unwrap_or(inner);
    Some((html! { code { (inner) } }, tail))
}

/// The text between two marks of exactly that length, and what follows. A mark stands close to
/// its text, and one of `_` not inside of a word.
fn enclosed<'text>(
    text: &'text str,
    mark: &str,
    before: Option<char>,
) -> Option<(&'text str, &'text str)> {
    let letter = mark.chars().next()?;
    let in_word = |near: Option<char>| letter == '_' && near.is_some_and(char::is_alphanumeric);
    let inner = text.strip_prefix(mark)?;
    if inner.starts_with(char::is_whitespace) || inner.starts_with(letter) || in_word(before) {
        return None;
    }
    for (place, _) in inner.match_indices(mark) {
        let (words, closing) = inner.split_at_checked(place)?;
        let tail = closing.strip_prefix(mark)?;
        let is_close = !words.ends_with(char::is_whitespace) && !words.ends_with(['\\', letter]);
        let is_whole = !tail.starts_with(letter) && !in_word(tail.chars().next());
        if !words.is_empty() && is_close && is_whole {
            return Some((words, tail));
        }
    }
    None
}

/// What stands before the bracket that closes, and what follows it.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let mut open = 1_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            let (inner, tail) = text.split_at_checked(place)?;
            return Some((inner, tail.strip_prefix(')')?));
        }
    }
    None
}
