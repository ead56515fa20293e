//! The answer of a run that cannot give one itself.

use super::run::CallLog;
use crate::base::{Locale, Say, limit};

/// Of each observation, the forced summary sees this many characters.
const OBSERVATION_CHARS_MAX: usize = 1500;
/// All observations together, newest kept.
const OBSERVATIONS_CHARS_MAX: usize = 12_000;
/// Of each observation, people see this many characters when no model can word it.
const SYNTHETIC_CHARS_MAX: usize = 400;

/// What was called, one line each, for the model.
pub(super) fn call_list(log: &[CallLog]) -> String {
    let lines: Vec<String> = log
        .iter()
        .map(|call| format!("- {} {}", call.tool, limit::ellipsis(&call.arguments, 200)))
        .collect();
    if lines.is_empty() { "- nothing".to_owned() } else { lines.join("\n") }
}

/// What was found, newest kept, for the model.
pub(super) fn observations(log: &[CallLog]) -> String {
    let mut kept = Vec::new();
    let mut room = OBSERVATIONS_CHARS_MAX;
    for call in log.iter().rev().filter(|call| call.succeeded) {
        let text = limit::ellipsis(&call.observation, OBSERVATION_CHARS_MAX.min(room));
        room = room.saturating_sub(text.chars().count());
        kept.push(format!("- {}: {text}", call.tool));
        if room == 0 {
            break;
        }
    }
    kept.reverse();
    if kept.is_empty() { "- nothing".to_owned() } else { kept.join("\n") }
}

/// The same for people, when no model can be asked.
pub(super) fn synthetic(log: &[CallLog], locale: Locale) -> String {
    let found: Vec<String> = log
        .iter()
        .filter(|call| call.succeeded && call.is_news)
        .map(|call| format!("• {}", limit::ellipsis(call.observation.trim(), SYNTHETIC_CHARS_MAX)))
        .collect();
    if found.is_empty() {
        return Say::SyntheticNothing.text(locale);
    }
    format!("{}\n{}", Say::SyntheticHead.text(locale), found.join("\n"))
}
