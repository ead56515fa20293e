//! Which times of a schedule are to be run now. Nothing here reads a clock or a store.

use std::time::Duration;

use crate::base::Timestamp;
use crate::bots::{Misfire, MisfireWord, Timetable};

/// A time is run late by no fault of ours (a busy machine, a start) within this; it is no misfire.
const ON_TIME: Duration = Duration::from_secs(60);
/// Of missed times each of which is to be run, so many at most: the latest.
const MADE_UP_MAX: usize = 24;
/// So many times that are out of reach are counted; of more it is only known that there were more.
const MISSED_COUNTED_MAX: u64 = 1000;
/// A clock that is set back by more than this was wrong before: the schedule begins anew. By less,
/// it waits until the clock is there again.
const SET_BACK_MAX: Duration = Duration::from_secs(26 * 3600);

/// What is to be done about a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The times to run, in order.
    pub(super) run: Vec<Timestamp>,
    /// How many times were not run and will not be.
    pub(super) missed: u64,
    /// Everything up to here is decided.
    pub(super) until: Timestamp,
    /// The next time.
    pub(super) next: Option<Timestamp>,
}

/// Decides about the times behind `last`, which was the last one decided about, up to `now`.
pub(super) fn due(timetable: &Timetable, misfire: Misfire, last: Timestamp, now: Timestamp) -> Due {
    if last > now {
        let until = if last.since(now) > SET_BACK_MAX { now } else { last };
        return Due { run: Vec::new(), missed: 0, until, next: timetable.next_after(until) };
    }
    let (reach, most) = match misfire.policy {
        MisfireWord::Skip => (ON_TIME, 1),
        MisfireWord::Once => (misfire.within, 1),
        MisfireWord::All => (misfire.within, MADE_UP_MAX),
    };
    let reached_from = now.before(reach);
    let mut until = last;
    let mut missed = 0;
    let mut next = timetable.next_after(until);
    while let Some(time) = next.filter(|time| *time < reached_from) {
        missed += 1;
        let is_enough = missed == MISSED_COUNTED_MAX;
        until = if is_enough { reached_from.before(Duration::from_millis(1)) } else { time };
        next = timetable.next_after(until);
    }
    // A timetable has one time a minute at most, so these are not more than the minutes reached.
    let mut run = Vec::new();
    while let Some(time) = next.filter(|time| *time <= now) {
        run.push(time);
        until = time;
        next = timetable.next_after(until);
    }
    let surplus = run.len().saturating_sub(most);
    run.drain(..surplus);
    missed = missed.saturating_add(u64::try_from(surplus).unwrap_or(u64::MAX));
    Due { run, missed, until, next }
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
