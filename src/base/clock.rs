//! Time is passed, never taken: everything that needs "now" holds a [`Clock`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch, UTC. Never negative.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch and the nanoseconds beside them.
    pub(crate) fn parts(self) -> (u64, u32) {
        let nanos = u32::try_from(self.0 % 1000).unwrap_or(0) * 1_000_000;
        (self.0 / 1000, nanos)
    }

    /// The time from `earlier` to here; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// This point moved on by `span`, at most to the end of time.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// This point moved back by `span`, at most to the epoch.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, with milliseconds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(millis) {
            Ok(time) => write!(formatter, "{time:.3}"),
            Err(_beyond_the_calendar) => write!(formatter, "{}ms", self.0),
        }
    }
}

/// The source of "now".
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock, moved by a fixed offset (zero outside of tests).
#[derive(Debug, Default)]
pub struct SystemClock {
    offset_ms: i64,
}

impl SystemClock {
    /// The machine's clock plus `offset_ms` milliseconds.
    pub fn with_offset(offset_ms: i64) -> Self {
        Self { offset_ms }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let millis = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        Timestamp(millis.saturating_add_signed(self.offset_ms))
    }
}

/// A clock that moves only when told to. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    millis: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn at(start: Timestamp) -> Self {
        let millis = i64::try_from(start.as_millis()).unwrap_or(i64::MAX);
        Self { millis: Arc::new(AtomicI64::new(millis)) }
    }

    /// Moves the clock on.
    pub fn advance(&self, span: Duration) {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Puts the clock at `time`, earlier or later.
    pub fn set(&self, time: Timestamp) {
        let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        self.millis.store(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(self.millis.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_rfc_3339() {
        let time = Timestamp::from_millis(1_760_000_000_123);
        assert_eq!(time.to_string(), "2025-10-09T08:53:20.123Z");
    }

    #[test]
    fn differences_never_go_below_zero_and_sums_never_wrap() {
        let early = Timestamp::from_millis(5);
        let late = Timestamp::from_millis(9);
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(late.after(Duration::MAX), Timestamp::from_millis(u64::MAX));
        assert_eq!(early.before(Duration::from_secs(1)), Timestamp::from_millis(0));
    }

    #[test]
    fn clones_of_a_manual_clock_share_its_time() {
        let clock = ManualClock::at(Timestamp::from_millis(100));
        let other = clock.clone();
        other.advance(Duration::from_millis(50));
        assert_eq!(clock.now(), Timestamp::from_millis(150));
    }
}
