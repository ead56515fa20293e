//! What a growing message shows: a pure account of what the run told.

use std::borrow::Borrow;

use crate::agent::clean_growing_answer;
use crate::base::limit::ellipsis;
use crate::base::{Aside, Locale, Say};
use crate::envelope::Draft;
use crate::llm::ToolCall;

/// Of what a tool was called with so many characters are shown.
const ARGUMENT_CHARS_MAX: usize = 60;
/// Of what was said before a call.
const SAID_CHARS_MAX: usize = 500;

/// The account.
#[derive(Debug)]
pub(super) struct Script {
    locale: Locale,
    steps: Vec<String>,
    /// How many of them are calls.
    calls: usize,
    /// The tool of the last step.
    last: String,
    said: String,
}

impl Script {
    /// With the calls that were made before.
    pub(super) fn new(locale: Locale, calls: impl Iterator<Item = impl Borrow<ToolCall>>) -> Self {
        let mut script =
            Self { locale, steps: Vec::new(), calls: 0, last: String::new(), said: String::new() };
        calls.for_each(|call| script.step(call.borrow()));
        script
    }

    /// More is said.
    pub(super) fn says(&mut self, delta: &str) {
        self.said.push_str(delta);
    }

    /// What was said is void.
    pub(super) fn takes_back(&mut self) {
        self.said.clear();
    }

    /// Tools are called; what was said before was no answer but stays among the steps.
    pub(super) fn acts(&mut self, calls: &[ToolCall]) {
        let said = in_line(&clean_growing_answer(&std::mem::take(&mut self.said)), SAID_CHARS_MAX);
        self.steps.extend(Some(said).filter(|said| !said.is_empty()));
        for call in calls {
            self.step(call);
        }
    }

    fn step(&mut self, call: &ToolCall) {
        self.calls += 1;
        self.last.clone_from(&call.name);
        let argument = argument(call).map(|argument| format!(" {argument}"));
        self.steps.push(format!("`{}`{}", call.name, argument.unwrap_or_default()));
    }

    /// What is to be seen now; empty: nothing.
    pub(super) fn draft(&self) -> Draft {
        let steps = self.calls;
        let title = match steps {
            0 => String::new(),
            _ => Say::Aside(Aside::Steps { steps, last: self.last.clone() }).text(self.locale),
        };
        Draft { title, steps: self.steps.clone(), text: clean_growing_answer(&self.said) }
    }
}

/// The first words that a tool was called with, in one line.
fn argument(call: &ToolCall) -> Option<String> {
    let words = call.arguments.as_object()?.values().find_map(|value| value.as_str())?;
    Some(in_line(&words.replace('`', "'"), ARGUMENT_CHARS_MAX)).filter(|line| !line.is_empty())
}

fn in_line(words: &str, most: usize) -> String {
    ellipsis(&words.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: serde_json::Value) -> ToolCall {
        ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments }
    }

    #[test]
    fn what_was_said_before_a_step_stays_among_the_steps() {
        let mut script = Script::new(Locale::EnUs, std::iter::empty::<ToolCall>());
        assert!(script.draft().is_empty());
        script.says("Let me look");
        assert_eq!(script.draft().text, "Let me look");
        script.acts(&[call("search", json!({"limit": 3, "query": "how\n to `deploy`"}))]);
        let draft = script.draft();
        assert_eq!(draft.text, "");
        assert_eq!(draft.steps, ["Let me look", "`search` how to 'deploy'"]);
        assert_eq!(draft.title, "1 step: search");
        script.acts(&[call("read", json!({}))]);
        script.says("On Fr");
        script.takes_back();
        script.says("On Tuesdays");
        let draft = script.draft();
        assert_eq!((draft.title.as_str(), draft.text.as_str()), ("2 steps: read", "On Tuesdays"));
    }

    #[test]
    fn a_run_taken_up_again_shows_what_it_did_before() {
        let before = [call("search", json!({"query": "x".repeat(100)}))];
        let draft = Script::new(Locale::ZhCn, before.iter()).draft();
        assert!(draft.steps[0].chars().count() < 100 && draft.steps[0].ends_with('…'));
    }
}
