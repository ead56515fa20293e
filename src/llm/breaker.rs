//! When a model that fails again and again is left alone. Pure: the time comes with each question.
//!
//! Closed, calls go through and failures in a row are counted. At the limit it opens: no call goes
//! through until the rest is over. Then a single call is let through as a probe, and what becomes
//! of it decides. A call that was given up, or refused for its own sake, says nothing.

use std::time::Duration;

use crate::base::Timestamp;

/// So many failures in a row open the breaker.
const FAILURES_MAX: u32 = 5;
/// How long it stays open the first time; each time without a success between doubles it.
const REST_FIRST: Duration = Duration::from_secs(30);
/// The longest it stays open.
const REST_MAX: Duration = Duration::from_secs(300);

#[derive(Debug)]
enum State {
    Closed,
    Open { until: Timestamp },
    Probing,
}

/// The breaker of one model.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    failures: u32,
    rest: Duration,
}

/// The right to make one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticket {
    /// One of many.
    Usual,
    /// The one that decides.
    Probe,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed, failures: 0, rest: REST_FIRST }
    }
}

impl Breaker {
    /// Asks for a call.
    ///
    /// # Errors
    /// How long to leave the model alone; zero while a probe is under way.
    pub(super) fn enter(&mut self, now: Timestamp) -> Result<Ticket, Duration> {
        match self.state {
            State::Closed => Ok(Ticket::Usual),
            State::Open { until } if rests(until, now) => Err(until.since(now)),
            State::Open { .. } => {
                self.state = State::Probing;
                Ok(Ticket::Probe)
            }
            State::Probing => Err(Duration::ZERO),
        }
    }

    /// Whether a call would be refused.
    pub(super) fn is_resting(&self, now: Timestamp) -> bool {
        match self.state {
            State::Closed => false,
            State::Open { until } => rests(until, now),
            State::Probing => true,
        }
    }

    /// A call succeeded. Returns whether that closed the breaker.
    pub(super) fn succeeded(&mut self) -> bool {
        let was_closed = matches!(self.state, State::Closed);
        *self = Self::default();
        !was_closed
    }

    /// A call failed for good. Returns for how long that opened the breaker, if it did.
    pub(super) fn failed(&mut self, ticket: Ticket, now: Timestamp) -> Option<Duration> {
        match (&self.state, ticket) {
            (State::Closed, _) => {
                self.failures += 1;
                (self.failures >= FAILURES_MAX).then(|| self.open(now))
            }
            (State::Probing, Ticket::Probe) => Some(self.open(now)),
            // Begun before it opened: known already.
            (State::Open { .. }, _) | (State::Probing, Ticket::Usual) => None,
        }
    }

    /// A call ended without saying anything about the model. A probe can then be made anew.
    pub(super) fn left(&mut self, ticket: Ticket, now: Timestamp) {
        if ticket == Ticket::Probe && matches!(self.state, State::Probing) {
            self.state = State::Open { until: now };
        }
    }

    fn open(&mut self, now: Timestamp) -> Duration {
        let rest = self.rest;
        self.state = State::Open { until: now.after(rest) };
        self.rest = rest.saturating_mul(2).min(REST_MAX);
        rest
    }
}

/// A clock that was put back must not make a rest longer than it can be.
fn rests(until: Timestamp, now: Timestamp) -> bool {
    now < until && until.since(now) <= REST_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + seconds * 1000)
    }

    fn opened(now: Timestamp) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            let ticket = breaker.enter(now).unwrap();
            breaker.failed(ticket, now);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_a_success_between_starts_the_count_anew() {
        let mut breaker = Breaker::default();
        for round in 0..2 {
            for _ in 0..4 {
                assert_eq!(breaker.failed(Ticket::Usual, at(0)), None, "round {round}");
            }
            assert_eq!(breaker.enter(at(0)), Ok(Ticket::Usual));
            assert!(!breaker.succeeded(), "it was closed");
        }
        for _ in 0..4 {
            breaker.failed(Ticket::Usual, at(0));
        }
        assert_eq!(breaker.failed(Ticket::Usual, at(0)), Some(Duration::from_secs(30)));
        assert_eq!(breaker.enter(at(10)), Err(Duration::from_secs(20)));
        assert!(breaker.is_resting(at(29)) && !breaker.is_resting(at(30)));
    }

    #[test]
    fn a_single_probe_decides_what_becomes_of_it() {
        let mut breaker = opened(at(0));
        assert_eq!(breaker.enter(at(30)), Ok(Ticket::Probe));
        assert_eq!(breaker.enter(at(30)), Err(Duration::ZERO), "one at a time");
        assert!(breaker.succeeded());
        assert_eq!(breaker.enter(at(30)), Ok(Ticket::Usual));
    }

    #[test]
    fn every_failed_probe_doubles_the_rest_up_to_five_minutes() {
        let mut breaker = opened(at(0));
        let mut now = at(30);
        let mut rests = Vec::new();
        for _ in 0..5 {
            let ticket = breaker.enter(now).unwrap();
            let rest = breaker.failed(ticket, now).unwrap();
            rests.push(rest.as_secs());
            now = now.after(rest);
        }
        assert_eq!(rests, [60, 120, 240, 300, 300]);
        breaker.enter(now).unwrap();
        breaker.succeeded();
        for _ in 0..4 {
            breaker.failed(Ticket::Usual, now);
        }
        assert_eq!(breaker.failed(Ticket::Usual, now), Some(REST_FIRST), "all is forgotten");
    }

    #[test]
    fn a_probe_that_says_nothing_can_be_made_anew() {
        let mut breaker = opened(at(0));
        let ticket = breaker.enter(at(30)).unwrap();
        breaker.left(ticket, at(31));
        assert_eq!(breaker.enter(at(31)), Ok(Ticket::Probe));
    }

    #[test]
    fn a_clock_that_is_put_back_does_not_prolong_the_rest() {
        let mut breaker = opened(at(86_400));
        assert!(breaker.enter(at(86_410)).is_err());
        assert_eq!(breaker.enter(at(0)), Ok(Ticket::Probe));
    }

    #[test]
    fn calls_that_began_before_it_opened_change_nothing_when_they_fail() {
        let mut breaker = opened(at(0));
        assert_eq!(breaker.failed(Ticket::Usual, at(5)), None);
        assert_eq!(breaker.enter(at(30)), Ok(Ticket::Probe), "the rest is no longer for it");
        assert_eq!(breaker.failed(Ticket::Usual, at(31)), None, "the probe alone decides");
        breaker.left(Ticket::Usual, at(31));
        assert_eq!(breaker.enter(at(31)), Err(Duration::ZERO));
    }
}
