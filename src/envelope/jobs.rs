//! What runs by the clock, as operators see it.

use async_trait::async_trait;
use serde::Serialize;

use crate::base::BotName;

/// One schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobLine {
    /// Its name, unique within the bot.
    pub name: String,
    /// The bot.
    pub bot: BotName,
    /// The zone that its times are told in.
    pub timezone: String,
    /// When it is due next, RFC 3339.
    pub next_run: Option<String>,
    /// The last of its times that was run, RFC 3339.
    pub last_run: Option<String>,
    /// How many of its times were not run.
    pub missed: u64,
    /// Whether somebody holds it. Nobody can yet.
    pub paused: bool,
}

/// Whoever runs things by the clock.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Everything there is, in the order of the bots' files.
    async fn jobs(&self) -> Vec<JobLine>;
}
