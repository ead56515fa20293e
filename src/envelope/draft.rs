//! A message that grows while the answer is being made: what it shows, and how it is addressed.

use serde::{Deserialize, Serialize};

use crate::base::limit::is_blank;

/// What a growing message shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// What stands above the steps, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What was done so far, a line each, in Markdown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What is said so far, Markdown as models write it.
    pub text: String,
}

impl Draft {
    /// Whether there is nothing to be seen in it.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && is_blank(&self.text)
    }
}

/// One change of a growing message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// Which message: what was said when it was prepared.
    pub growth: String,
    /// Greater than that of every change before: what arrives late changes nothing.
    pub sequence: u32,
}

/// A process has so many sequence numbers for one message: enough for a change each second of a day.
const SEQUENCES_PER_LIFE: u32 = 100_000;

impl Growing {
    /// The `number`th change, from one, of the process that had `lives` before it.
    pub fn new(growth: &str, lives: u32, number: u32) -> Self {
        let sequence = lives.saturating_mul(SEQUENCES_PER_LIFE).saturating_add(number);
        Self { growth: growth.to_owned(), sequence }
    }

    /// The change behind all others of the processes so far.
    pub fn last(growth: &str, lives: u32) -> Self {
        Self::new(growth, lives.saturating_add(1), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_counts_above_those_before_it_and_the_last_change_above_all() {
        let of = |lives, number| Growing::new("c", lives, number).sequence;
        assert!(of(0, 1) > 0);
        assert!(of(0, SEQUENCES_PER_LIFE - 1) < of(1, 1));
        assert!(of(1, SEQUENCES_PER_LIFE - 1) < Growing::last("c", 1).sequence);
        assert!(Growing::last("c", 0).sequence < of(1, 1), "a later life may go on");
        assert!(Growing::last("c", 10_000).sequence < i32::MAX.unsigned_abs());
    }
}
