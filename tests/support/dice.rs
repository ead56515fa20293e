//! Seeded random numbers. The moments of the kills follow from them, what runs beside does not,
//! so a seed brings a run back only roughly.

use std::time::Duration;

use larkspur::base::{Clock, SystemClock};

/// A small generator (`SplitMix64`).
pub(crate) struct Dice(u64);

impl From<u64> for Dice {
    fn from(seed: u64) -> Self {
        Self(seed)
    }
}

impl Dice {
    /// From the environment variable `LARKSPUR_CRASH_SEED`, else from the clock. Prints the seed.
    #[expect(clippy::disallowed_methods, reason = "a seed is set from outside of the test")]
    pub(crate) fn seeded(test: &str) -> Self {
        let set = std::env::var("LARKSPUR_CRASH_SEED").ok();
        let seed = match set {
            Some(seed) => seed.parse().unwrap(),
            None => SystemClock::default().now().as_millis(),
        };
        println!("{test}: LARKSPUR_CRASH_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Less than `end`.
    pub(crate) fn size_below(&mut self, end: usize) -> usize {
        usize::try_from(self.below(u64::try_from(end).unwrap())).unwrap()
    }

    /// Up to `most`, in microseconds.
    pub(crate) fn moment(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap();
        Duration::from_micros(self.below(most + 1))
    }
}
