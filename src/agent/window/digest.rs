//! What is said of the rounds that went: what was done, not what was found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::limit::ellipsis;
use crate::llm::{ChatMessage, ToolCall};

/// So many calls are listed, the newest.
const CALLS_MAX: usize = 20;
/// The longest arguments of a call that are repeated, in characters.
const ARGUMENTS_CHARS_MAX: usize = 100;
/// What people said meanwhile is kept up to this length each, in characters.
const SAID_CHARS_MAX: usize = 1000;
/// The beginning of the name of every tool that submits something.
const SUBMIT: &str = "submit_";
/// The longest title that is listed, in characters.
const TITLE_CHARS_MAX: usize = 120;

/// What stands for the messages that went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    rounds: usize,
    results: usize,
    exchanges: usize,
    calls: Vec<String>,
    counts: BTreeMap<String, usize>,
    /// What was submitted: to be known to the end of the run, so that nothing is submitted twice.
    titles: Vec<String>,
    /// What people said while the run worked. Their words are never left out.
    said: Vec<String>,
}

impl Digest {
    /// Takes up messages of the run that go.
    pub(super) fn take_up(&mut self, removed: &[ChatMessage]) {
        for message in removed {
            match message {
                ChatMessage::User { text } => self.said.push(ellipsis(text, SAID_CHARS_MAX)),
                ChatMessage::Assistant { calls, .. } => {
                    self.rounds += usize::from(!calls.is_empty());
                    for call in calls {
                        self.call(call);
                    }
                }
                ChatMessage::Tool { .. } => self.results += 1,
            }
        }
        let too_many = self.calls.len().saturating_sub(CALLS_MAX);
        self.calls.drain(..too_many);
    }

    /// Takes up earlier exchanges that go.
    pub(super) fn forget(&mut self, messages: usize) {
        self.exchanges += messages;
    }

    fn call(&mut self, call: &ToolCall) {
        *self.counts.entry(call.name.clone()).or_default() += 1;
        let arguments = ellipsis(&call.arguments.to_string(), ARGUMENTS_CHARS_MAX);
        self.calls.push(format!("- {} {arguments}", call.name));
        if call.name.starts_with(SUBMIT) {
            let field = |name: &str| call.arguments.get(name).and_then(Value::as_str);
            let title = field("title").or_else(|| field("category")).unwrap_or("untitled");
            let title = ellipsis(title, TITLE_CHARS_MAX);
            if !self.titles.contains(&title) {
                self.titles.push(title);
            }
        }
    }

    /// What stands before the history that is left; `None` while none of it went.
    pub(super) fn of_history(&self) -> Option<String> {
        let count = self.exchanges;
        (count > 0)
            .then(|| format!("[{count} earlier messages of this conversation are left out.]"))
    }

    /// What stands for rounds that went, for the model; `None` while none did.
    pub(super) fn text(&self) -> Option<String> {
        let mut lines = Vec::new();
        if self.rounds > 0 || self.results > 0 {
            let counts: Vec<String> =
                self.counts.iter().map(|(name, count)| format!("{name} x{count}")).collect();
            lines.push(format!(
                "[Earlier work on this question is left out here: {} rounds with {} results ({}). The \
                 last calls among them:]",
                self.rounds,
                self.results,
                counts.join(", ")
            ));
            lines.extend(self.calls.iter().cloned());
        }
        if !self.titles.is_empty() {
            lines.push(format!("[Submitted so far: {}]", self.titles.join("; ")));
        }
        lines.extend(self.said.iter().map(|text| format!("[The person also said:] {text}")));
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
