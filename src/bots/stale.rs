//! What becomes of messages that arrive late.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::base::parse;
use crate::base::problem::Problems;

/// With less, every message would be late.
const AFTER_LEAST: Duration = Duration::from_secs(1);
/// Shorter than this, a clock that is a little ahead already makes messages late.
const AFTER_MIN: Duration = Duration::from_secs(60);

/// When a message is late, and what becomes of it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StaleRule {
    /// It is late if it was sent longer ago than this when it arrives.
    #[serde(deserialize_with = "duration")]
    pub after: Duration,
    /// What becomes of it.
    pub then: StaleWord,
}

/// What becomes of a late message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleWord {
    /// It is answered, with a line that says how old it is.
    #[default]
    Annotate,
    /// It is not answered; its sender is told once.
    Drop,
    /// Several of one sender that wait together are answered as one, with that line.
    Merge,
}

impl Default for StaleRule {
    fn default() -> Self {
        Self { after: Duration::from_secs(600), then: StaleWord::default() }
    }
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    parse::duration(&text).map_err(serde::de::Error::custom)
}

pub(super) fn check(rule: &StaleRule, problems: &mut Problems<'_>) {
    if rule.after < AFTER_LEAST {
        let text = "it is at least \"1s\": every message would be late";
        problems.error("groups.stale.after", text);
    } else if rule.after < AFTER_MIN {
        let text = "clocks differ, and the platform takes its time; better at least \"1m\"";
        problems.warn("groups.stale.after", text);
    }
}
