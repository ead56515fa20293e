//! Text as people read it: line breaks, links, and the Markdown that bots write. Everything that
//! is not recognised stands as it was written, escaped.

mod inline;

use maud::{Markup, html};

use crate::playground::card::Fence;
use crate::playground::world::World;
use inline::Pen;

/// Quotations deeper inside of each other than this are lines of text.
const DEPTH_MAX: usize = 8;
/// Lists deeper inside of each other than this are not moved further in.
const INDENT_MAX: usize = 6;
/// Headings of a lower level than this are no larger than the text.
const LARGE_LEVEL: usize = 3;

/// Draws texts of one kind.
#[derive(Clone, Copy)]
pub(super) struct Rich<'world> {
    /// Whose names are known.
    world: &'world World,
    /// Whether entities and mentions are read, as only a card has them.
    is_card: bool,
}

/// A block that was drawn, and the lines that follow it.
type Block<'text> = Option<(Markup, &'text [&'text str])>;

/// Text of a person: lines and links.
pub(super) fn plain(world: &World, text: &str) -> Markup {
    let rich = Rich { world, is_card: false };
    html! { @for line in text.lines() { div class="line" { (rich.inline(line, false)) } } }
}

impl<'world> Rich<'world> {
    /// The texts of a card.
    pub(super) fn of_card(world: &'world World) -> Self {
        Self { world, is_card: true }
    }

    /// The text of a bot that is not in a card.
    pub(super) fn of_text(world: &'world World) -> Self {
        Self { world, is_card: false }
    }

    /// Text that stands in one cell of a table.
    pub(super) fn cell(self, text: &str, is_markdown: bool) -> Markup {
        html! {
            @for (index, line) in text.lines().enumerate() {
                @if index > 0 { br; }
                (self.inline(line, is_markdown))
            }
        }
    }

    /// The common Markdown.
    pub(super) fn markdown(self, text: &str) -> Markup {
        let lines: Vec<&str> = text.lines().collect();
        self.blocks(&lines, 0)
    }

    fn inline(self, text: &str, is_markdown: bool) -> Markup {
        Pen::new(self, is_markdown).line(text)
    }

    fn blocks(self, lines: &[&str], depth: usize) -> Markup {
        let mut rest = lines;
        let mut blocks = Vec::new();
        while let Some((block, more)) = self.next_block(rest, depth) {
            blocks.push(block);
            rest = more;
        }
        html! { @for block in &blocks { (block) } }
    }

    fn next_block<'text>(self, lines: &'text [&'text str], depth: usize) -> Block<'text> {
        let (first, after) = lines.split_first()?;
        let trimmed = first.trim_start();
        let begins = |line: &&&str, mark: char| line.trim_start().starts_with(mark);
        if trimmed.starts_with('|') {
            let length = lines.iter().take_while(|line| begins(line, '|')).count();
            let (rows, more) = lines.split_at_checked(length)?;
            return Some((self.table(rows), more));
        }
        if trimmed.starts_with('>') && depth < DEPTH_MAX {
            let length = lines.iter().take_while(|line| begins(line, '>')).count();
            let (cited, more) = lines.split_at_checked(length)?;
            let bare = |line: &&'text str| {
                let line = line.trim_start();
                let line = line.strip_prefix('>').unwrap_or(line);
                line.strip_prefix(' ').unwrap_or(line)
            };
            let cited: Vec<&str> = cited.iter().map(bare).collect();
            return Some((html! { div class="cite" { (self.blocks(&cited, depth + 1)) } }, more));
        }
        if let Some(fence) = Fence::opened(first) {
            let length = after.iter().take_while(|line| !fence.is_closed_by(line)).count();
            let (code, more) = after.split_at_checked(length)?;
            let code = without_indent(code, first.len() - trimmed.len());
            return Some((html! { pre { code { (code) } } }, more.get(1..).unwrap_or_default()));
        }
        Some((self.line(first), after))
    }

    fn line(self, line: &str) -> Markup {
        let trimmed = line.trim();
        if is_rule(trimmed) {
            return html! { hr; };
        }
        let heading = trimmed.trim_start_matches('#');
        let level = trimmed.len() - heading.len();
        if (1..=6).contains(&level) && heading.starts_with(' ') {
            let class = if level > LARGE_LEVEL { "h small" } else { "h" };
            return html! { div class=(class) { (self.inline(heading.trim(), true)) } };
        }
        if let Some((sign, item)) = item(trimmed) {
            let indent = (line.len() - line.trim_start().len()) / 2;
            let indent = indent.min(INDENT_MAX);
            let class = if indent == 0 { "li".to_owned() } else { format!("li in{indent}") };
            return html! { div class=(class) { (sign) " " (self.inline(item, true)) } };
        }
        html! { div class="line" { (self.inline(line, true)) } }
    }

    fn table(self, rows: &[&str]) -> Markup {
        let is_rule =
            |row: &&&str| row.contains('-') && row.chars().all(|mark| "|-: ".contains(mark));
        html! {
            table {
                @for (index, row) in rows.iter().filter(|row| !is_rule(row)).enumerate() {
                    tr {
                        @for cell in cells(row) {
                            @if index == 0 { th { (self.inline(&cell, true)) } }
                            @else { td { (self.inline(&cell, true)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The lines of a block of code without the spaces in front of its fence.
fn without_indent(lines: &[&str], indent: usize) -> String {
    let bare = lines.iter().map(|line| {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces.min(indent)..).unwrap_or(line)
    });
    bare.collect::<Vec<_>>().join("\n")
}

fn is_rule(line: &str) -> bool {
    let marks: String = line.split_whitespace().collect();
    let is_all = |mark: char| marks.chars().all(|one| one == mark);
    marks.len() >= 3 && (is_all('-') || is_all('*') || is_all('_'))
}

/// The sign of an item of a list, and its text.
fn item(line: &str) -> Option<(&str, &str)> {
    let (sign, text) = line.split_once(' ')?;
    if matches!(sign, "-" | "*" | "+") {
        return Some(("•", text));
    }
    let digits = sign.strip_suffix(['.', ')'])?;
    let is_number =
        (1..=9).contains(&digits.len()) && digits.bytes().all(|one| one.is_ascii_digit());
    is_number.then_some((sign, text))
}

/// The cells of a row. A bar behind a backslash is one of the text.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    let mut cells: Vec<String> = Vec::new();
    let mut goes_on = false;
    for part in row.split('|') {
        match cells.last_mut() {
            Some(last) if goes_on => {
                last.pop();
                last.push('|');
                last.push_str(part);
            }
            _ => cells.push(part.to_owned()),
        }
        goes_on = part.ends_with('\\');
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
#[path = "rich_tests.rs"]
mod tests;
