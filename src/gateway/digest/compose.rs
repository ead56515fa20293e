//! Which recipes are news, and the card that tells them. Nothing is read here.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::told::Told;
use crate::base::catalogue::DigestSay;
use crate::base::limit::ellipsis;
use crate::base::{Locale, Say, Timestamp};
use crate::envelope::{Block, ButtonPress, Card, Recipe, RecipeMark};

/// A section shows at most so many recipes.
pub(super) const SECTION_RECIPES_MAX: usize = 10;
/// The longest title and id that are shown, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// The recipes that a digest is about, the newest first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News<'a> {
    pub(super) new: Vec<&'a RecipeMark>,
    pub(super) changed: Vec<&'a RecipeMark>,
    /// All that wait, whether or not they were told of.
    pub(super) waiting: Vec<&'a RecipeMark>,
    /// Whether any of them was not told of.
    pub(super) is_any: bool,
    pub(super) total: usize,
}

impl<'a> News<'a> {
    /// What was not told of. Without anything told, what is there is known.
    pub(super) fn since(told: Option<&Told>, recipes: &'a [RecipeMark]) -> Self {
        let mut news = Self::of(recipes);
        for recipe in recipes {
            let before = told.map(|told| told.content_of(&recipe.id));
            let is_new = before == Some(None);
            let is_changed = before.flatten().is_some_and(|content| content != recipe.content);
            news.is_any |= is_new || is_changed;
            match recipe.is_waiting {
                true => news.waiting.push(recipe),
                false if is_new => news.new.push(recipe),
                false if is_changed => news.changed.push(recipe),
                false => {}
            }
        }
        news.sorted()
    }

    /// What was changed since a moment, by its own word or its file's.
    pub(super) fn recent(since: Timestamp, recipes: &'a [RecipeMark]) -> Self {
        let mut news = Self::of(recipes);
        let (waiting, others): (Vec<_>, Vec<_>) =
            recipes.iter().partition(|recipe| recipe.is_waiting);
        news.waiting = waiting;
        news.changed = others.into_iter().filter(|recipe| recipe.updated_at >= since).collect();
        news.is_any = !news.changed.is_empty() || !news.waiting.is_empty();
        news.sorted()
    }

    fn of(recipes: &'a [RecipeMark]) -> Self {
        let total = recipes.len();
        Self { new: vec![], changed: vec![], waiting: vec![], is_any: false, total }
    }

    fn sorted(mut self) -> Self {
        for list in [&mut self.new, &mut self.changed, &mut self.waiting] {
            list.sort_by_key(|recipe| (Reverse(recipe.updated_at), recipe.id.as_str()));
        }
        self
    }
}

/// Some recipes below a heading.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) heading: DigestSay,
    /// Those that are shown.
    pub(super) recipes: Vec<Recipe>,
    /// How many are not.
    pub(super) more: usize,
}

/// How a digest is worded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wording<'a> {
    pub(super) locale: Locale,
    /// The page of a recipe; empty: it has none.
    pub(super) page: &'a str,
}

impl Wording<'_> {
    fn say(self, say: DigestSay) -> String {
        Say::Digest(say).text(self.locale)
    }

    /// The whole digest of a time, in local time.
    pub(super) fn card(self, when: String, sections: &[Section], total: usize) -> Card {
        let mut blocks: Vec<Block> = sections
            .iter()
            .filter(|section| !section.recipes.is_empty())
            .map(|section| Block::Markdown { text: self.section(section) })
            .collect();
        if blocks.is_empty() {
            blocks.push(Block::Markdown { text: self.say(DigestSay::Nothing) });
        }
        blocks.push(Block::Divider);
        blocks.push(Block::Markdown { text: self.say(DigestSay::Total { recipes: total }) });
        let is_answered = |recipe: &&Recipe| matches!(&*recipe.status, "active" | "evolving");
        let mut told = sections.iter().flat_map(|section| &section.recipes);
        if let Some(recipe) = told.find(is_answered) {
            let text = self.say(DigestSay::Ask { title: shown(&recipe.title) });
            blocks.push(Block::Button { label: text.clone(), press: ButtonPress::Ask { text } });
        }
        Card::new(self.say(DigestSay::Title { when }), blocks)
    }

    fn section(self, section: &Section) -> String {
        let mut text = self.say(section.heading.clone());
        for recipe in &section.recipes {
            text.push_str("\n- ");
            text.push_str(&self.entry(recipe));
        }
        if section.more > 0 {
            // Writing to a string does not fail.
            write!(text, "\n{}", self.say(DigestSay::More { count: section.more }))
                .unwrap_or_default();
        }
        text
    }

    fn entry(self, recipe: &Recipe) -> String {
        let title = shown(&recipe.title);
        let title = match self.page {
            "" => title,
            page => format!("[{title}]({})", page.replace("{path}", &encoded(&recipe.source))),
        };
        match recipe.status.as_str() {
            "active" => format!("{title} ({})", shown(&recipe.id)),
            status => format!("{title} ({}, {})", shown(&recipe.id), shown(status)),
        }
    }
}

/// One line that ends no link and is no markup.
fn shown(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = |letter: char| match letter {
        '[' => Some('('),
        ']' => Some(')'),
        '<' => Some('‹'),
        '>' => Some('›'),
        '*' | '`' | '~' => None,
        other => Some(other),
    };
    ellipsis(&one_line.chars().filter_map(plain).collect::<String>(), SHOWN_CHARS_MAX)
}

/// A path as a URL has it; what might end a link is written in another way, too.
fn encoded(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string does not fail.
            _other => write!(encoded, "%{byte:02X}").unwrap_or_default(),
        }
    }
    encoded
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
