//! What a caller should do about an error, and how long to wait before trying again.

use std::time::Duration;

/// What the caller of a failed operation should do. Retry loops read only this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Try again, not before this span; `None`: the caller's own backoff.
    Retry {
        /// What the other side asked for.
        after: Option<Duration>,
    },
    /// This request will never succeed; others may.
    Reject,
    /// Nothing of this kind will succeed until an operator acts.
    Fatal,
}

/// Where an error comes from; decides whose fault a message to people says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The chat platform.
    Platform,
    /// The model provider.
    Provider,
    /// The person who asked.
    User,
    /// Larkspur itself or its machine.
    Internal,
}

/// Where the other side names a wait, one's own grows up to this alone.
const NAMED_GROWS_TO: Duration = Duration::from_secs(5);

/// Exponential backoff with a ceiling: `first`, `2 * first`, `4 * first`, … at most `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// A backoff from `first` up to `most`.
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most }
    }

    /// The wait where the other side may have named one. Its word counts; but one that says "at
    /// once" again and again is not asked ever faster, and not ever slower either.
    pub fn after_word(&self, named: Option<Duration>, failures: u32) -> Duration {
        let own = self.after_failures(failures);
        named.map_or(own, |named| named.max(own.min(NAMED_GROWS_TO)))
    }

    /// The wait after the given number of failures (1 is the first failure).
    pub fn after_failures(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_ceiling() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let waits: Vec<u64> = (1..=6).map(|n| backoff.after_failures(n).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff.after_failures(u32::MAX), Duration::from_secs(10));
    }

    #[test]
    fn a_wait_that_was_named_counts_and_one_of_nothing_grows_a_little() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let waits = |named: Option<u64>| -> Vec<u64> {
            let named = named.map(Duration::from_secs);
            (1..=5).map(|failures| backoff.after_word(named, failures).as_secs()).collect()
        };
        assert_eq!(waits(None), [1, 2, 4, 8, 10]);
        assert_eq!(waits(Some(0)), [1, 2, 4, 5, 5]);
        assert_eq!(waits(Some(3)), [3, 3, 4, 5, 5]);
        assert_eq!(waits(Some(60)), [60; 5]);
    }
}
