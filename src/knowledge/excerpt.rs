//! The passage of a recipe that answers a query best, short enough for a list.

use crate::base::limit::{ellipsis, prefix_chars};

/// The longest excerpt, in characters.
pub(super) const EXCERPT_CHARS_MAX: usize = 240;

/// The passage of `body` around the line with the most of `surfaces` (words in lower case, each
/// with its weight). Starts with the body's beginning if no line has any.
pub(super) fn excerpt(body: &str, title: &str, surfaces: &[(String, f32)]) -> String {
    let lines: Vec<String> =
        body.lines().map(plain_line).filter(|line| !line.is_empty() && line != title).collect();
    let weight = |line: &String| -> f32 {
        let line = line.to_lowercase();
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
    let mut passage = String::new();
    for line in lines.iter().skip(best.0) {
        let room = EXCERPT_CHARS_MAX.saturating_sub(passage.chars().count() + 1);
        if passage.is_empty() {
            passage = window(line, surfaces);
        } else if line.chars().count() <= room {
            passage.push(' ');
            passage.push_str(line);
        } else {
            break;
        }
    }
    ellipsis(&passage, EXCERPT_CHARS_MAX)
}

/// The line without Markdown's marks for headings, lists, quotes and code fences.
fn plain_line(line: &str) -> String {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") {
        return String::new();
    }
    if line.starts_with('|') {
        return table_row(line);
    }
    let line = line.trim_start_matches(['#', '>', '*', '-', '+', ' ']);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
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
        assert_eq!(passage, "Set the Encrypt Key in the console. Then publish.");
        assert!(excerpt(body, "T", &[]).starts_with("Intro"));
        assert_eq!(excerpt("", "T", &surfaces(&["x"])), "");
    }

    #[test]
    fn tables_read_like_lists() {
        let body = "| command | effect |\n|---|---|\n| `/ping` | answers |";
        assert_eq!(excerpt(body, "T", &surfaces(&["/ping"])), "`/ping`: answers;");
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
