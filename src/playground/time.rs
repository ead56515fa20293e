//! The simulator's clock: a base clock that can be sped up, stopped and moved forward.
//!
//! Everything the platform counts in (token lifetimes, the retry ladder, the hour of a `uuid`,
//! rate windows, time stamps) is counted here. How long a peer may take to answer is not: that is
//! real time, or a fast clock would time out every healthy peer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::base::{Clock, Timestamp};

#[derive(Clone, Copy, Debug)]
struct Anchor {
    base: Timestamp,
    shown: Timestamp,
    scale: u32,
}

/// A clock that shows `scale` milliseconds for each of its base clock, plus what it was moved by.
#[derive(Debug)]
pub(crate) struct SimClock {
    base: Arc<dyn Clock>,
    anchor: Mutex<Anchor>,
}

impl SimClock {
    pub(crate) fn new(base: Arc<dyn Clock>, scale: u32) -> Self {
        let now = base.now();
        let anchor = Anchor { base: now, shown: now, scale };
        Self { base, anchor: Mutex::new(anchor) }
    }

    /// The base clock's time, for measuring how long peers took.
    pub(crate) fn base_now(&self) -> Timestamp {
        self.base.now()
    }

    pub(crate) fn scale(&self) -> u32 {
        self.anchor().scale
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.reanchor(|anchor| anchor.shown = anchor.shown.after(span));
    }

    pub(crate) fn set_scale(&self, scale: u32) {
        self.reanchor(|anchor| anchor.scale = scale);
    }

    fn anchor(&self) -> Anchor {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reanchor(&self, change: impl FnOnce(&mut Anchor)) {
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.base.now();
        anchor.shown = shown_at(*anchor, base);
        anchor.base = base;
        change(&mut anchor);
    }
}

fn shown_at(anchor: Anchor, base: Timestamp) -> Timestamp {
    let passed = base.since(anchor.base);
    anchor.shown.after(passed.saturating_mul(anchor.scale))
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        shown_at(self.anchor(), self.base.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ManualClock;

    #[test]
    fn a_sped_up_clock_keeps_what_it_showed_when_its_speed_changes() {
        let base = ManualClock::at(Timestamp::from_millis(1_000));
        let clock = SimClock::new(Arc::new(base.clone()), 10);
        base.advance(Duration::from_millis(5));
        assert_eq!(clock.now(), Timestamp::from_millis(1_050));
        clock.set_scale(0);
        base.advance(Duration::from_millis(500));
        assert_eq!(clock.now(), Timestamp::from_millis(1_050));
        clock.advance(Duration::from_millis(7));
        assert_eq!(clock.now(), Timestamp::from_millis(1_057));
    }
}
