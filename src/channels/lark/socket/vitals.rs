//! Whether a connection lives. Pure: what was heard and the time in, what to do out.
//!
//! Everything is measured on the clock of the day: it goes on while the machine sleeps, and a
//! connection that slept through is not to be trusted.

use std::time::Duration;

use crate::base::Timestamp;

/// So long after a ping was due, something must have been heard, of whatever kind.
const SILENCE_MARGIN: Duration = Duration::from_secs(30);
/// Between two looks the clock moves on by a second or so; this much says that the machine slept,
/// or that the clock was put right.
const JUMP: Duration = Duration::from_secs(30);

/// The life signs of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vitals {
    last_look: Timestamp,
    heard_at: Timestamp,
    /// `None` before the first.
    pinged_at: Option<Timestamp>,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulse {
    /// Nothing.
    Fine,
    /// It is time for a ping, which counts as sent.
    Ping,
    /// Nobody is there any more.
    Silent,
    /// Time has jumped.
    Jumped,
}

impl Vitals {
    /// A connection that stands since `now`.
    pub(super) const fn new(now: Timestamp) -> Self {
        Self { last_look: now, heard_at: now, pinged_at: None }
    }

    /// Something came in, whatever it was.
    pub(super) fn heard(&mut self, now: Timestamp) {
        self.heard_at = now;
    }

    /// A look at the connection, every second or so.
    pub(super) fn look(&mut self, now: Timestamp, ping_interval: Duration) -> Pulse {
        let moved = now.since(self.last_look).max(self.last_look.since(now));
        self.last_look = now;
        if moved > JUMP {
            return Pulse::Jumped;
        }
        if now.since(self.heard_at) > ping_interval.saturating_add(SILENCE_MARGIN) {
            return Pulse::Silent;
        }
        if self.pinged_at.is_some_and(|pinged_at| now.since(pinged_at) < ping_interval) {
            return Pulse::Fine;
        }
        self.pinged_at = Some(now);
        Pulse::Ping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(120);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_760_000_000_000).after(Duration::from_secs(seconds))
    }

    /// What every look says that says something, with its second; one look a second.
    fn watch(vitals: &mut Vitals, seconds: std::ops::Range<u64>) -> Vec<(u64, Pulse)> {
        let looks = seconds.map(|second| (second, vitals.look(at(second), INTERVAL)));
        looks.filter(|(_, pulse)| *pulse != Pulse::Fine).collect()
    }

    #[test]
    fn the_first_ping_goes_out_at_once_and_the_others_at_their_interval() {
        let mut vitals = Vitals::new(at(0));
        assert_eq!(watch(&mut vitals, 0..121), [(0, Pulse::Ping), (120, Pulse::Ping)]);
        // A shorter interval holds at once.
        vitals.heard(at(121));
        assert_eq!(vitals.look(at(125), Duration::from_secs(5)), Pulse::Ping);
    }

    #[test]
    fn nothing_heard_for_an_interval_and_thirty_seconds_is_the_end() {
        let mut vitals = Vitals::new(at(0));
        let pings = [(0, Pulse::Ping), (120, Pulse::Ping)];
        assert_eq!(watch(&mut vitals, 0..151), pings);
        assert_eq!(vitals.look(at(151), INTERVAL), Pulse::Silent);
    }

    #[test]
    fn whatever_is_heard_keeps_the_connection() {
        let mut vitals = Vitals::new(at(0));
        for second in 0..3600 {
            if second % 90 == 0 {
                vitals.heard(at(second));
            }
            let pulse = vitals.look(at(second), INTERVAL);
            assert!(matches!(pulse, Pulse::Fine | Pulse::Ping), "{second}: {pulse:?}");
        }
    }

    #[test]
    fn a_clock_that_jumps_either_way_is_the_end() {
        for other in [at(100), at(3600)] {
            let mut vitals = Vitals::new(at(1000));
            assert_eq!(vitals.look(at(1000), INTERVAL), Pulse::Ping);
            assert_eq!(vitals.look(other, INTERVAL), Pulse::Jumped);
        }
        let mut vitals = Vitals::new(at(1000));
        assert_eq!(vitals.look(at(990), INTERVAL), Pulse::Ping, "a clock may be put right a bit");
    }
}
