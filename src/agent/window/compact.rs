//! The levels of compaction.

use super::{Compaction, CompactionLevel, Window, message_tokens};
use crate::base::limit::prefix_chars;
use crate::llm::ChatMessage;

/// Shares of the budget, in thousandths, at which each level begins.
const RESULTS_FROM: u64 = 600;
const ROUNDS_FROM: u64 = 800;
const MOST_FROM: u64 = 950;
/// What is over this is cut even where it must never go.
const ALL: u64 = 1000;
/// Early history goes until no more than this is used.
const HISTORY_LEAVES: u64 = 600;
/// A result longer than this is cut, in characters ...
const RESULT_CHARS_LONG: usize = 2000;
/// ... to this.
const RESULT_CHARS_KEPT: usize = 500;
/// What must never go is cut to this at least, in characters.
const PROTECTED_CHARS_LEAST: usize = 100;

impl Window {
    /// Makes room if there is need; called once a round, before the model is asked.
    pub(in crate::agent) fn compact(&mut self, iteration: u32) {
        if self.usage() >= RESULTS_FROM && self.usage() < ROUNDS_FROM {
            self.apply(CompactionLevel::Results, iteration);
        }
        if self.usage() >= ROUNDS_FROM && self.usage() < MOST_FROM {
            self.apply(CompactionLevel::Rounds, iteration);
        }
        if self.usage() >= MOST_FROM {
            self.apply(CompactionLevel::Most, iteration);
        }
        if self.usage() > ALL {
            self.apply(CompactionLevel::Protected, iteration);
        }
    }

    /// Makes all the room there is: the provider says that the conversation is too long. Whether
    /// that changed anything.
    pub(in crate::agent) fn squeeze(&mut self, iteration: u32) -> bool {
        let before = self.log.len();
        self.apply(CompactionLevel::Most, iteration);
        if self.log.len() == before {
            self.budget = self.tokens() / 2;
            self.apply(CompactionLevel::Protected, iteration);
        }
        self.log.len() > before
    }

    fn apply(&mut self, level: CompactionLevel, iteration: u32) {
        let before = self.tokens();
        let removed = match level {
            CompactionLevel::Results => self.cut_results(),
            CompactionLevel::Rounds => self.keep_rounds(2),
            CompactionLevel::Most => self.keep_rounds(1) + self.forget_history(),
            CompactionLevel::Protected => self.cut_protected(),
        };
        let after = self.tokens();
        if after < before {
            self.log.push(Compaction { iteration, level, before, after, removed });
        }
    }

    /// Where the last `rounds` rounds of tools begin; `None` if there are not so many.
    fn begin_of(&self, rounds: usize) -> Option<usize> {
        let is_round = |message: &ChatMessage| matches!(message, ChatMessage::Assistant { calls, .. } if !calls.is_empty());
        let begins = self.since.iter().enumerate().filter(|(_, message)| is_round(message));
        begins.map(|(at, _)| at).rev().nth(rounds.saturating_sub(1))
    }

    /// Cuts long results before the last round. Nothing goes.
    fn cut_results(&mut self) -> usize {
        let last = self.begin_of(1).unwrap_or(0);
        for message in self.since.iter_mut().take(last) {
            if let ChatMessage::Tool { text, .. } = message
                && let Some(cut) = cut(text, RESULT_CHARS_LONG, RESULT_CHARS_KEPT)
            {
                *text = cut;
            }
        }
        0
    }

    /// Keeps the last rounds; what came before them goes into the digest.
    fn keep_rounds(&mut self, rounds: usize) -> usize {
        let Some(begin) = self.begin_of(rounds) else { return 0 };
        let removed: Vec<ChatMessage> = self.since.drain(..begin).collect();
        self.digest.take_up(&removed);
        removed.len()
    }

    /// Leaves out the oldest exchanges, as many as it takes.
    fn forget_history(&mut self) -> usize {
        let mut going = 0;
        let room = self.budget.saturating_mul(HISTORY_LEAVES) / 1000;
        let mut used = self.tokens();
        for message in &self.history {
            if used <= room {
                break;
            }
            used =
                used.saturating_sub(message_tokens(message).saturating_mul(self.correction) / 1000);
            going += 1;
        }
        // An exchange is a question and its answer: never the answer alone.
        let rest = self.history.iter().skip(going);
        going += rest.take_while(|message| !matches!(message, ChatMessage::User { .. })).count();
        self.history.drain(..going);
        self.digest.forget(going);
        going
    }

    /// Cuts the longest of what must never go, again and again, until all of it fits.
    fn cut_protected(&mut self) -> usize {
        // Each step halves the longest text: of n characters there are at most log2(n) for each.
        for _ in 0..256 {
            if self.usage() <= ALL {
                break;
            }
            let texts = self.history.iter_mut().chain(&mut self.pinned).chain(&mut self.since);
            let longest = texts.map(text_of).max_by_key(|text| text.len());
            let Some(text) = longest else { break };
            let chars = text.chars().count();
            let kept = (chars / 2).max(PROTECTED_CHARS_LEAST);
            let Some(cut) = cut(text, PROTECTED_CHARS_LEAST + CUT_MARK_CHARS, kept) else { break };
            *text = cut;
        }
        0
    }
}

fn text_of(message: &mut ChatMessage) -> &mut String {
    match message {
        ChatMessage::User { text }
        | ChatMessage::Assistant { text, .. }
        | ChatMessage::Tool { text, .. } => text,
    }
}

/// What a mark takes at most, in characters.
const CUT_MARK_CHARS: usize = 60;

/// A text longer than `long` cut to `kept` characters, with a mark that tells its length.
fn cut(text: &str, long: usize, kept: usize) -> Option<String> {
    let (original, body) = match text.rsplit_once("\n[cut: the whole has ") {
        // Cut before: the mark tells the first length.
        Some((body, mark)) if mark.len() < CUT_MARK_CHARS => {
            let number = mark.split(' ').next().and_then(|number| number.parse().ok());
            (number.unwrap_or_else(|| text.chars().count()), body)
        }
        _ => (text.chars().count(), text),
    };
    if text.chars().count() <= long || body.chars().count() <= kept {
        return None;
    }
    Some(format!("{}\n[cut: the whole has {original} characters]", prefix_chars(body, kept)))
}
