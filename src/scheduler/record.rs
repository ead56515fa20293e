//! What is kept of a schedule.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::bots::ScheduleDefinition;
use crate::store::{Kept, Shelf};

/// How far a schedule is, under `<bot>/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ScheduleV1 {
    /// Since when it is known.
    pub(super) known_since: Timestamp,
    /// The times it had then, as the bot's file writes them. With other times it begins anew.
    pub(super) times: String,
    /// Everything up to here is decided.
    pub(super) until: Timestamp,
    /// The last time that was run.
    #[serde(default)]
    pub(super) last_run: Option<Timestamp>,
    /// How many were not.
    #[serde(default)]
    pub(super) missed: u64,
}

impl Kept for ScheduleV1 {
    const SHELF: Shelf = Shelf::Schedule;
}

impl ScheduleV1 {
    /// The record of a schedule at `now`, made of what was kept of it. Nothing is made up for
    /// what lies before it, or these times of it, were there.
    pub(super) fn taken_up(
        kept: Option<Self>,
        schedule: &ScheduleDefinition,
        now: Timestamp,
    ) -> Self {
        let times = format!("{} | {}", schedule.cron, schedule.timezone);
        match kept {
            Some(kept) if kept.times == times => kept,
            Some(kept) => Self { times, until: now, ..kept },
            None => Self { known_since: now, times, until: now, last_run: None, missed: 0 },
        }
    }
}
