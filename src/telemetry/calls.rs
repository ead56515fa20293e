//! Counts calls to platforms by app, method and month (of UTC), since platforms sell them by the
//! month. Whoever calls counts; whoever keeps the counts over a restart takes them from here and
//! puts them back. A counter, not a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::Timestamp;

/// The length of a month's name, such as `2025-10`.
const MONTH_BYTES: usize = 7;
/// So many months stay in memory; the store has the others.
const MONTHS_MAX: usize = 2;

/// The calls of one app in one month, by method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonthOfCalls {
    /// Such as `2025-10`.
    pub month: String,
    /// The app that called.
    pub app: String,
    /// How often each method was called.
    pub calls: BTreeMap<String, u64>,
}

type Key = (String, String);

#[derive(Debug, Default)]
struct Counts {
    /// By month and app, then by method.
    counts: BTreeMap<Key, BTreeMap<String, u64>>,
    /// What was counted and not taken yet.
    fresh: BTreeSet<Key>,
}

/// The counts of one daemon. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CallMeter {
    counts: Arc<Mutex<Counts>>,
}

impl CallMeter {
    /// Counts one call of `method` by `app`.
    pub fn count(&self, app: &str, method: &str, at: Timestamp) {
        let key = (month_of(at), app.to_owned());
        let mut counts = self.lock();
        let methods = counts.counts.entry(key.clone()).or_default();
        match methods.get_mut(method) {
            Some(calls) => *calls += 1,
            None => {
                methods.insert(method.to_owned(), 1);
            }
        }
        if !counts.fresh.contains(&key) {
            counts.fresh.insert(key);
        }
    }

    /// Adds what was counted before the restart.
    pub fn restore(&self, kept: MonthOfCalls) {
        let mut counts = self.lock();
        let methods = counts.counts.entry((kept.month, kept.app)).or_default();
        for (method, calls) in kept.calls {
            *methods.entry(method).or_insert(0) += calls;
        }
    }

    /// What has changed since the last time, as totals; months long past are forgotten here.
    pub fn take_fresh(&self) -> Vec<MonthOfCalls> {
        let mut counts = self.lock();
        let fresh = std::mem::take(&mut counts.fresh);
        let taken = fresh.into_iter().filter_map(|key| {
            let calls = counts.counts.get(&key)?.clone();
            Some(MonthOfCalls { month: key.0, app: key.1, calls })
        });
        let taken = taken.collect();
        let months: BTreeSet<&String> = counts.counts.keys().map(|(month, _)| month).collect();
        let oldest = months.iter().rev().nth(MONTHS_MAX - 1).map(|month| (**month).clone());
        if let Some(oldest) = oldest {
            counts.counts.retain(|(month, _), _| *month >= oldest);
        }
        taken
    }

    /// Puts back what was taken and could not be kept.
    pub fn put_back(&self, taken: Vec<MonthOfCalls>) {
        let mut counts = self.lock();
        for MonthOfCalls { month, app, .. } in taken {
            counts.fresh.insert((month, app));
        }
    }

    /// All calls in the month of `at`.
    pub fn in_month_of(&self, at: Timestamp) -> u64 {
        let month = month_of(at);
        let counts = self.lock();
        let rows = counts.counts.iter().filter(|((row, _), _)| *row == month);
        rows.flat_map(|(_, methods)| methods.values()).sum()
    }

    /// The counts in Prometheus text format.
    pub fn render(&self) -> String {
        let mut text = "# TYPE larkspur_platform_calls_total counter\n".to_owned();
        for ((month, app), methods) in &self.lock().counts {
            for (method, calls) in methods {
                text.push_str(&format!(
                    "larkspur_platform_calls_total{{app=\"{}\",method=\"{method}\",\
                     month=\"{month}\"}} {calls}\n",
                    label(app)
                ));
            }
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The month of a moment, such as `2025-10`, in UTC.
pub fn month_of(at: Timestamp) -> String {
    let mut text = at.to_string();
    text.truncate(MONTH_BYTES);
    text
}

/// What somebody configured, as the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const OCTOBER: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    fn later(days: u64) -> Timestamp {
        OCTOBER.after(Duration::from_secs(days * 86_400))
    }

    #[test]
    fn calls_are_counted_by_app_method_and_month() {
        let meter = CallMeter::default();
        meter.count("cli_1", "create_message", OCTOBER);
        meter.count("cli_1", "create_message", OCTOBER);
        meter.count("cli_2", "bot_info", OCTOBER);
        meter.count("cli_1", "create_message", later(31));
        assert_eq!(meter.in_month_of(OCTOBER), 3);
        assert_eq!(meter.in_month_of(later(31)), 1);
        assert_eq!(
            meter.render(),
            "# TYPE larkspur_platform_calls_total counter\n\
             larkspur_platform_calls_total{app=\"cli_1\",method=\"create_message\",month=\"2025-10\"} 2\n\
             larkspur_platform_calls_total{app=\"cli_2\",method=\"bot_info\",month=\"2025-10\"} 1\n\
             larkspur_platform_calls_total{app=\"cli_1\",method=\"create_message\",month=\"2025-11\"} 1\n"
        );
    }

    #[test]
    fn what_is_taken_is_the_total_and_only_what_changed() {
        let meter = CallMeter::default();
        let kept = MonthOfCalls {
            month: "2025-10".to_owned(),
            app: "cli_1".to_owned(),
            calls: BTreeMap::from([("bot_info".to_owned(), 5)]),
        };
        meter.restore(kept);
        assert!(meter.take_fresh().is_empty(), "what was kept is kept already");
        meter.count("cli_1", "bot_info", OCTOBER);
        let taken = meter.take_fresh();
        assert_eq!(taken[0].calls["bot_info"], 6);
        assert!(meter.take_fresh().is_empty());
        meter.put_back(taken);
        assert_eq!(meter.take_fresh().len(), 1);
    }

    #[test]
    fn months_long_past_leave_the_memory() {
        let meter = CallMeter::default();
        for month in 0..24 {
            meter.count("cli_1", "bot_info", later(month * 31));
            meter.take_fresh();
        }
        assert_eq!(meter.render().lines().count(), 1 + MONTHS_MAX);
    }
}
