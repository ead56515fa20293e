//! When to connect again. Pure: what happened and how the dice fell in, a wait out.
//!
//! A bot never gives up, however many tries the server allows: whoever repairs the server, the
//! network or the app's secret need not know that there is somebody to restart.

use std::time::Duration;

use super::config::ClientConfig;
use crate::base::{Backoff, BotName, Timestamp};

/// The waits between failed tries, each spread over its whole length; the server's own interval is
/// their ceiling where it is lower.
const FAILED: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(600));
/// The waits between tries that the platform refuses: it helps nobody to ask every second.
const REFUSED: Backoff = Backoff::new(Duration::from_secs(60), Duration::from_secs(300));
/// No wait is shorter, but for the one after a sleep.
const WAIT_MIN: Duration = Duration::from_millis(100);
/// A connection that lasted so long has stood; one that did not counts as a failed try.
const STOOD: Duration = Duration::from_secs(60);

/// How a try to be connected ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// There was no connection.
    Failed,
    /// The platform refuses this app.
    Refused,
    /// There was one, for this long.
    Lost(Duration),
    /// The machine slept, or the clock was put right: it is nobody's fault.
    Jumped,
}

/// The waits of one bot.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    failures: u32,
    refusals: u32,
    dice: Dice,
}

impl Pace {
    /// For the bots of one platform and the daemons of one moment the waits differ.
    pub(super) fn new(bot: &BotName, now: Timestamp) -> Self {
        Self { failures: 0, refusals: 0, dice: Dice::new(bot.as_str(), now) }
    }

    /// How long to wait before the next try.
    pub(super) fn wait(&mut self, ended: Ended, config: &ClientConfig) -> Duration {
        if ended != Ended::Refused {
            self.refusals = 0;
        }
        match ended {
            Ended::Jumped => {
                self.failures = 0;
                Duration::ZERO
            }
            Ended::Refused => {
                self.refusals = self.refusals.saturating_add(1);
                let half = REFUSED.after_failures(self.refusals) / 2;
                half.saturating_add(self.dice.below(half))
            }
            Ended::Failed => self.after_failure(config),
            // Whoever was connected comes back at some moment of the span that the server gives:
            // all of its clients are on their way.
            Ended::Lost(lasted) if lasted >= STOOD => {
                self.failures = 0;
                self.dice.below(config.reconnect_nonce).max(WAIT_MIN)
            }
            Ended::Lost(_) => {
                let spread = self.dice.below(config.reconnect_nonce);
                spread.max(self.after_failure(config))
            }
        }
    }

    fn after_failure(&mut self, config: &ClientConfig) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let most = FAILED.after_failures(self.failures).min(config.reconnect_interval);
        self.dice.below(most).max(WAIT_MIN)
    }
}

/// Numbers that differ from bot to bot and from start to start; no secret hangs on them.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn new(name: &str, now: Timestamp) -> Self {
        let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(now.as_millis(), fold))
    }

    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A span from nothing up to `most`, in milliseconds.
    fn below(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.next() % most.saturating_add(1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Ended = Ended::Lost(Duration::from_secs(3600));

    fn pace(name: &str) -> Pace {
        Pace::new(&BotName::new(name), Timestamp::from_millis(1_760_000_000_000))
    }

    fn seconds(interval: u64, nonce: u64) -> ClientConfig {
        ClientConfig {
            reconnect_interval: Duration::from_secs(interval),
            reconnect_nonce: Duration::from_secs(nonce),
            ..ClientConfig::default()
        }
    }

    /// The longest and the shortest of many first waits, each another bot's.
    fn spread(config: &ClientConfig, ended: &[Ended]) -> (Duration, Duration) {
        let waits = (0..2000).map(|bot| {
            let mut pace = pace(&format!("bot-{bot}"));
            ended.iter().fold(Duration::ZERO, |_before, ended| pace.wait(*ended, config))
        });
        let waits: Vec<Duration> = waits.collect();
        (*waits.iter().min().unwrap(), *waits.iter().max().unwrap())
    }

    fn is_about(found: Duration, seconds: u64) -> bool {
        let expected = Duration::from_secs(seconds);
        found <= expected && found >= expected.mul_f64(0.97)
    }

    #[test]
    fn after_a_loss_the_bots_come_back_all_over_the_span_of_the_server() {
        let (shortest, longest) = spread(&seconds(120, 30), &[LONG]);
        assert!(shortest < Duration::from_secs(1) && is_about(longest, 30), "{longest:?}");
    }

    #[test]
    fn the_waits_double_up_to_the_interval_of_the_server_and_never_end() {
        let table = [(1, 1), (2, 2), (3, 4), (5, 16), (7, 64), (8, 120), (400, 120)];
        for (tries, most) in table {
            let (shortest, longest) = spread(&seconds(120, 30), &vec![Ended::Failed; tries]);
            assert!(is_about(longest, most), "{tries}: {longest:?}");
            let tenth = Duration::from_secs(most) / 10;
            assert!(shortest >= WAIT_MIN && shortest <= tenth.max(WAIT_MIN), "{shortest:?}");
        }
        let (_, longest) = spread(&seconds(5, 0), &[Ended::Failed; 9]);
        assert!(is_about(longest, 5), "{longest:?}");
    }

    #[test]
    fn refusals_are_minutes_apart() {
        for (times, most) in [(1, 60), (2, 120), (3, 240), (4, 300), (50, 300)] {
            let (shortest, longest) = spread(&seconds(1, 0), &vec![Ended::Refused; times]);
            assert!(is_about(longest, most), "{times}: {longest:?}");
            assert!(shortest >= Duration::from_secs(most / 2), "{times}: {shortest:?}");
        }
        // Whatever else happens in between begins the row anew.
        let mixed = [Ended::Refused, Ended::Refused, Ended::Failed, Ended::Refused];
        assert!(is_about(spread(&seconds(1, 0), &mixed).1, 60));
    }

    #[test]
    fn connections_that_never_last_are_failures_and_those_that_stood_are_not() {
        let short = Ended::Lost(Duration::from_secs(59));
        let (_, longest) = spread(&seconds(120, 0), &[short; 5]);
        assert!(is_about(longest, 16), "{longest:?}");
        let (_, longest) = spread(&seconds(120, 0), &[short, short, LONG, Ended::Failed]);
        assert!(is_about(longest, 1), "{longest:?}");
        assert_eq!(spread(&seconds(120, 0), &[LONG]), (WAIT_MIN, WAIT_MIN));
    }

    #[test]
    fn nobody_waits_after_a_sleep() {
        let (_, longest) = spread(&seconds(120, 30), &[Ended::Failed, Ended::Jumped]);
        assert_eq!(longest, Duration::ZERO);
    }
}
