//! The passage of a recipe that answers a query best, short enough for a list.

use crate::base::limit::{ellipsis, prefix_chars};

/// The longest excerpt, in characters.
pub(super) const EXCERPT_CHARS_MAX: usize = 320;
/// What stands before code and behind it.
const FENCE_LINE: &str = "```\n";
/// What stands before the line that answers best takes at most so many of them.
const LEAD_CHARS_MAX: usize = 160;

/// The passage of `body` around the line with the most of `surfaces` (words in lower case, each
/// with its weight), line by line. Starts with the body's beginning if no line has any; within a
/// list it starts with the list, or says with dots that it does not.
pub(super) fn excerpt(body: &str, title: &str, surfaces: &[(String, f32)]) -> String {
    let lines: Vec<Line> = lines_of(body).filter(|line| line.text != title).collect();
    let best = heaviest(&lines, surfaces);
    let start = beginning(&lines, best);
    let mut passage = String::new();
    if lines.get(start).is_some_and(|line| line.is_item) && is_inside_a_list(&lines, start) {
        passage.push_str("…\n");
    }
    let (mut is_first, mut is_code) = (true, false);
    for line in lines.iter().skip(start) {
        // What a fence takes is not counted: it is no word.
        let room = EXCERPT_CHARS_MAX.saturating_sub(passage.chars().count() + 1);
        let text = if is_first { window(&line.text, surfaces) } else { line.text.clone() };
        if !is_first && text.chars().count() > room {
            break;
        }
        if !is_first {
            passage.push('\n');
        }
        if line.is_code != is_code {
            passage.push_str(FENCE_LINE);
            is_code = line.is_code;
        }
        passage.push_str(&text);
        is_first = false;
    }
    let mut passage = ellipsis(&passage, EXCERPT_CHARS_MAX);
    if is_code {
        passage.push('\n');
        passage.push_str(FENCE_LINE.trim_end());
    }
    passage
}

/// The lines of a text that hold words.
fn lines_of(body: &str) -> impl Iterator<Item = Line> {
    let mut is_code = false;
    body.lines().filter_map(move |line| {
        let begins = line.trim_start();
        if begins.starts_with("```") || begins.starts_with("~~~") {
            is_code = !is_code;
            return None;
        }
        let line = if is_code { Line::of_code(line) } else { Line::of(line) };
        (!line.text.trim().is_empty()).then_some(line)
    })
}

/// The first of the lines with the most weight.
fn heaviest(lines: &[Line], surfaces: &[(String, f32)]) -> usize {
    let weight = |line: &Line| -> f32 {
        let line = line.text.to_lowercase();
        let found = surfaces.iter().filter(|(word, _)| line.contains(word));
        found.map(|(_, weight)| weight).sum()
    };
    let mut best = (0, 0.0);
    for (index, line) in lines.iter().enumerate() {
        let weight = weight(line);
        if weight > best.1 {
            best = (index, weight);
        }
    }
    best.0
}

/// Where to start so that `best` is understood: with its list and the line that introduces it, if
/// that leaves enough room.
fn beginning(lines: &[Line], best: usize) -> usize {
    let items = lines.iter().take(best + 1).rev().take_while(|line| line.is_item).count();
    if items == 0 {
        return best;
    }
    let first = (best + 1).saturating_sub(items);
    let chars = |from: usize| -> usize {
        let lines = lines.iter().take(best).skip(from);
        lines.map(|line| line.text.chars().count() + 1).sum()
    };
    let introduced = first.saturating_sub(1);
    [introduced, first].into_iter().find(|from| chars(*from) <= LEAD_CHARS_MAX).unwrap_or(best)
}

fn is_inside_a_list(lines: &[Line], start: usize) -> bool {
    start.checked_sub(1).and_then(|before| lines.get(before)).is_some_and(|line| line.is_item)
}

/// A line as it is shown.
struct Line {
    text: String,
    /// An item of a list, its mark kept, or a row of a table.
    is_item: bool,
    /// It is shown within a fence.
    is_code: bool,
}

impl Line {
    fn of_code(line: &str) -> Self {
        Self { text: line.trim_end().to_owned(), is_item: false, is_code: true }
    }

    /// The line without Markdown's marks for headings and quotes.
    fn of(line: &str) -> Self {
        let line = line.trim();
        if line.starts_with('|') {
            return Self { text: table_row(line), is_item: true, is_code: false };
        }
        let text = line.trim_start_matches(['#', '>', ' ']);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_item = ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark))
            || text.split_once(". ").is_some_and(|(number, _)| {
                !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
            });
        Self { text, is_item, is_code: false }
    }
}

/// The cells of a row; nothing for the line of dashes below the head.
fn table_row(line: &str) -> String {
    if line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
        return String::new();
    }
    let cells = line.split('|').map(str::trim);
    let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    format!("{};", cells.join(": "))
}

/// The line itself if it fits, else the part of it that begins a little before the first word.
fn window(line: &str, surfaces: &[(String, f32)]) -> String {
    const BEFORE_CHARS: usize = 60;
    if line.chars().count() <= EXCERPT_CHARS_MAX {
        return line.to_owned();
    }
    let lower = line.to_lowercase();
    let first =
        surfaces.iter().filter_map(|(word, _)| lower.find(word.as_str())).min().unwrap_or(0);
    // Lower case may have another length in bytes, hardly in characters.
    let position = lower.get(..first).unwrap_or_default().chars().count();
    let start = position.saturating_sub(BEFORE_CHARS);
    if start == 0 {
        return ellipsis(line, EXCERPT_CHARS_MAX);
    }
    let rest: String = line.chars().skip(start).collect();
    let kept = prefix_chars(&rest, EXCERPT_CHARS_MAX - 2);
    let dots = if kept.len() < rest.len() { "…" } else { "" };
    format!("…{kept}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surfaces(words: &[&str]) -> Vec<(String, f32)> {
        words.iter().map(|word| ((*word).to_owned(), 1.0)).collect()
    }

    #[test]
    fn the_passage_begins_with_the_line_that_has_the_most_words() {
        let body =
            "# T\n\nIntro about keys.\n\n- Set the Encrypt Key in the console.\n- Then publish.";
        let passage = excerpt(body, "T", &surfaces(&["encrypt", "key"]));
        assert_eq!(
            passage,
            "Intro about keys.\n- Set the Encrypt Key in the console.\n- Then publish."
        );
        assert!(excerpt(body, "T", &[]).starts_with("Intro"));
        assert_eq!(excerpt("", "T", &surfaces(&["x"])), "");
    }

    #[test]
    fn a_passage_from_the_middle_of_a_long_list_says_so() {
        let items: Vec<String> = (1..9).map(|n| format!("{n}. {}", "x".repeat(60))).collect();
        let body = format!("Steps:\n{}\n9. press the needle\n10. done", items.join("\n"));
        assert_eq!(excerpt(&body, "T", &surfaces(&["needle"])), "…\n9. press the needle\n10. done");
        let short = "Steps:\n1. take it\n2. press the needle";
        assert_eq!(excerpt(short, "T", &surfaces(&["needle"])), short);
    }

    #[test]
    fn code_keeps_its_fences_and_its_indentation() {
        let body = "# T\n\nPut this in:\n\n```toml\n[a]\n  needle = 1\n```\n\nThen start.";
        let code = "```\n[a]\n  needle = 1\n```\nThen start.";
        assert_eq!(excerpt(body, "T", &surfaces(&["put"])), format!("Put this in:\n{code}"));
        let open = "Use:\n~~~\n  needle";
        assert_eq!(excerpt(open, "T", &surfaces(&["needle"])), "```\n  needle\n```");
    }

    #[test]
    fn tables_read_like_lists() {
        let body = "| command | effect |\n|---|---|\n| `/ping` | answers |";
        assert_eq!(
            excerpt(body, "T", &surfaces(&["/ping"])),
            "command: effect;\n`/ping`: answers;"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let body = format!("{}needle{}", "前".repeat(500), "后".repeat(500));
        let passage = excerpt(&body, "T", &surfaces(&["needle"]));
        assert!(passage.contains("needle"), "{passage}");
        assert_eq!(passage.chars().count(), EXCERPT_CHARS_MAX);
        assert!(passage.starts_with('…') && passage.ends_with('…'));
    }
}
