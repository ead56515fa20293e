//! The beginning of a text without its markup, for the list of chats and for notifications.

use super::neutralise;
use crate::base::limit::ellipsis;

/// At most `chars` characters in one line.
pub(in crate::channels::lark) fn summary(text: &str, chars: usize) -> String {
    let mut words = String::new();
    for line in text.lines().filter(|line| !is_markup(line)) {
        let line = line.trim_start_matches(['#', '>', ' ', '\t']);
        words.push_str(&without_targets(line).replace(['*', '`'], ""));
        words.push(' ');
        if words.chars().count() > chars {
            break;
        }
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    ellipsis(&neutralise(&words.join(" ")), chars)
}

/// Fences, rules and the second lines of tables say nothing.
fn is_markup(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("```")
        || line.starts_with("~~~")
        || (!line.is_empty() && line.chars().all(|letter| matches!(letter, '|' | ':' | '-' | ' ')))
}

/// Links by their words.
fn without_targets(line: &str) -> String {
    let mut words = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("](") {
        let Some((_target, after)) = behind.split_once(')') else { break };
        match before.rsplit_once('[') {
            Some((text, label)) => {
                words.push_str(text.strip_suffix('!').unwrap_or(text));
                words.push_str(label);
            }
            None => words.push_str(before),
        }
        rest = after;
    }
    words.push_str(rest);
    words
}
