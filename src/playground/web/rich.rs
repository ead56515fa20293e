//! Text as people read it: line breaks, links, and the Markdown that bots write. Everything that
//! is not recognised stands as it was written, escaped.

use maud::{Markup, html};

/// Longer lines are shown as they are: looking for marks in them would take too long.
const LINE_BYTES_MAX: usize = 4_000;

/// Text of a person: lines and links.
pub(super) fn plain(text: &str) -> Markup {
    html! { @for line in text.lines() { div class="line" { (inline(line, false)) } } }
}

/// Text that stands in one cell of a table.
pub(super) fn cell(text: &str, is_markdown: bool) -> Markup {
    html! {
        @for (index, line) in text.lines().enumerate() {
            @if index > 0 { br; }
            (inline(line, is_markdown))
        }
    }
}

/// Text of a bot: the common Markdown.
pub(super) fn markdown(text: &str) -> Markup {
    let lines: Vec<&str> = text.lines().collect();
    let mut rest = lines.as_slice();
    let mut blocks = Vec::new();
    while let Some((block, more)) = next_block(rest) {
        blocks.push(block);
        rest = more;
    }
    html! { @for block in &blocks { (block) } }
}

fn next_block<'text>(lines: &'text [&'text str]) -> Option<(Markup, &'text [&'text str])> {
    let (first, after) = lines.split_first()?;
    let trimmed = first.trim_start();
    if trimmed.starts_with("```") {
        let is_end = |line: &&str| line.trim_start().starts_with("```");
        let length = after.iter().take_while(|line| !is_end(line)).count();
        let (code, more) = after.split_at_checked(length)?;
        let block = html! { pre { code { (code.join("\n")) } } };
        return Some((block, more.get(1..).unwrap_or_default()));
    }
    if trimmed.starts_with('|') {
        let length = lines.iter().take_while(|line| line.trim_start().starts_with('|')).count();
        let (rows, more) = lines.split_at_checked(length)?;
        return Some((table(rows), more));
    }
    Some((line(first), after))
}

fn line(line: &str) -> Markup {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if trimmed.len() >= 3 && (trimmed.chars().all(|mark| mark == '-') || trimmed == "***") {
        return html! { hr; };
    }
    let heading = trimmed.trim_start_matches('#');
    if heading.len() < trimmed.len() && heading.starts_with(' ') {
        return html! { div class="h" { (inline(heading.trim(), true)) } };
    }
    if let Some(cited) = trimmed.strip_prefix("> ") {
        return html! { div class="cite" { (inline(cited, true)) } };
    }
    let item = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("* "));
    if let Some(item) = item {
        return html! { div class="li" { (" ".repeat(indent)) "• " (inline(item, true)) } };
    }
    html! { div class="line" { (inline(line, true)) } }
}

fn table(rows: &[&str]) -> Markup {
    let cells = |row: &str| -> Vec<String> {
        row.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let is_rule = |row: &&&str| row.contains('-') && row.chars().all(|mark| "|-: ".contains(mark));
    html! {
        table {
            @for (index, row) in rows.iter().filter(|row| !is_rule(row)).enumerate() {
                tr {
                    @for cell in cells(row) {
                        @if index == 0 { th { (inline(&cell, true)) } }
                        @else { td { (inline(&cell, true)) } }
                    }
                }
            }
        }
    }
}

fn inline(text: &str, is_markdown: bool) -> Markup {
    if text.len() > LINE_BYTES_MAX {
        return html! { (text) };
    }
    let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while !rest.is_empty() {
        let found = bare_link(rest).or_else(|| is_markdown.then(|| mark(rest)).flatten());
        if let Some((piece, tail)) = found {
            let before = std::mem::take(&mut plain);
            pieces.push(html! { (before) (piece) });
            rest = tail;
        } else {
            let mut letters = rest.chars();
            plain.extend(letters.next());
            rest = letters.as_str();
        }
    }
    html! { @for piece in &pieces { (piece) } (plain) }
}

fn is_web(address: &str) -> bool {
    address.starts_with("http://") || address.starts_with("https://")
}

fn link(address: &str, words: &str) -> Markup {
    html! { a href=(address) target="_blank" rel="noopener noreferrer nofollow" { (words) } }
}

fn bare_link(text: &str) -> Option<(Markup, &str)> {
    if !is_web(text) {
        return None;
    }
    let ends = |letter: char| letter.is_whitespace() || "<>\"')]}，。；！？）】、".contains(letter);
    let (address, tail) = text.split_at_checked(text.find(ends).unwrap_or(text.len()))?;
    Some((link(address, address), tail))
}

/// A mark at the beginning of `text`, and what follows it.
fn mark(text: &str) -> Option<(Markup, &str)> {
    let between = |open: &str, close: &str| {
        let (inner, tail) = text.strip_prefix(open)?.split_once(close)?;
        (!inner.is_empty()).then_some((inner, tail))
    };
    if let Some((code, tail)) = between("`", "`") {
        return Some((html! { code { (code) } }, tail));
    }
    if let Some((bold, tail)) = between("**", "**") {
        return Some((html! { b { (inline(bold, true)) } }, tail));
    }
    if let Some((struck, tail)) = between("~~", "~~") {
        return Some((html! { s { (struck) } }, tail));
    }
    if let Some((words, tail)) = between("[", "](") {
        let (address, tail) = tail.split_once(')')?;
        return (is_web(address) && !words.contains('[')).then(|| (link(address, words), tail));
    }
    if let Some((person, tail)) = between("<at id=", ">") {
        let tail = tail.strip_prefix("</at>").unwrap_or(tail);
        return Some((html! { b { "@" (person.trim_matches(['"', '\''])) } }, tail));
    }
    // Colours are left out; their words stay.
    if let Some((_colour, tail)) = between("<font", ">") {
        return Some((html! {}, tail));
    }
    text.strip_prefix("</font>").map(|tail| (html! {}, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hostile_is_text_and_what_is_meant_is_markup() {
        let script = "<script>alert(1)</script>";
        let table = [
            ("**a** `b`", "<b>a</b> <code>b</code>"),
            ("[x](https://e.org/?a=1&b=2)", "href=\"https://e.org/?a=1&amp;b=2\""),
            ("see https://e.org/x.", ">https://e.org/x.</a>"),
            ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
            ("[x](data:text/html,1)", "[x](data:text/html,1)"),
            ("<img src=x onerror=1>", "&lt;img src=x onerror=1&gt;"),
            ("https://e.org/\"onmouseover=1", "href=\"https://e.org/\" "),
            ("|a|b|\n|--|--|\n|1|<i>|", "<td>&lt;i&gt;</td>"),
            ("```\n<b>\n```\nx", "<pre><code>&lt;b&gt;</code></pre>"),
            ("- one", "• one"),
            ("## H", "<div class=\"h\">H</div>"),
        ];
        for (text, expected) in table {
            let shown = markdown(text).0;
            assert!(shown.contains(expected), "{text}: {shown}");
        }
        for around in ["", "**", "`", "# ", "> ", "- ", "|", "```\n", "<at id="] {
            let shown = markdown(&format!("{around}{script}")).0;
            assert!(!shown.contains("<script"), "{shown}");
        }
        assert!(!plain("**a**").0.contains("<b>"));
    }
}
