//! How fast the platform may be called: who goes now, and who waits how long.
//!
//! `Pace` is the pure part: a queue of callers, in order of arrival, and what went lately. A caller
//! goes as soon as every limit that its call falls under has room; nobody overtakes another who
//! waits for the same chat or message, and who waits for a chat takes no room from other chats.
//! What the platform itself said ("not before …") closes a limit for everybody.
//!
//! It stays below the platform's limits on its own; a refusal for speed is the exception that
//! comes when other programs use the same app or group.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use super::transport::Endpoint;
use crate::base::Timestamp;

/// What a limit holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// One method of one app.
    Method,
    /// One group, whatever bot speaks, or one person's private chat.
    Place,
    /// One message that is changed.
    Message,
}

/// So many calls in any span of this length.
#[derive(Clone, Copy, Debug)]
struct Rate {
    scope: Scope,
    most: usize,
    span: Duration,
}

const fn rate(scope: Scope, most: usize, seconds: u64) -> Rate {
    Rate { scope, most, span: Duration::from_secs(seconds) }
}

/// The comment beside each row names the section of the protocol description it comes from.
#[rustfmt::skip]
const RATES: [Rate; 4] = [
    rate(Scope::Method, 50, 1),     // 5.3: 50/s of one API, app and tenant
    rate(Scope::Method, 1000, 60),  // 5.3: 1000/min of the same
    rate(Scope::Place, 5, 1),       // 5.3: 5/s of a user; 5/s of a group, shared by all its bots
    rate(Scope::Message, 5, 1),     // 5.1: 5/s of a message that is changed
];

/// Two calls may arrive this much closer together than they left.
const JITTER: Duration = Duration::from_millis(100);
/// At most this many callers wait.
const WAITING_MAX: usize = 10_000;
/// Beyond this many windows those in which nothing happened lately are let go.
const WINDOWS_KEPT: usize = 4096;

/// What a call counts against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// One method of one app.
    Method(String, Endpoint),
    /// A chat or a person.
    Place(String),
    /// A message that is changed.
    Message(String),
}

impl Key {
    const fn scope(&self) -> Scope {
        match self {
            Self::Method(..) => Scope::Method,
            Self::Place(_) => Scope::Place,
            Self::Message(_) => Scope::Message,
        }
    }

    fn rates(&self) -> impl Iterator<Item = Rate> {
        let scope = self.scope();
        RATES.into_iter().filter(move |rate| rate.scope == scope)
    }

    /// Order is kept among callers for the same place or message; methods are shared by all.
    const fn keeps_order(&self) -> bool {
        !matches!(self, Self::Method(..))
    }
}

/// What went lately under one key.
#[derive(Debug, Default)]
struct Window {
    /// When calls went, oldest first.
    gone: VecDeque<Timestamp>,
    /// Since when and until when the platform wants no more.
    closed: Option<(Timestamp, Timestamp)>,
}

impl Window {
    /// When the next call may go; at `now` or before: at once.
    fn opens_at(&self, key: &Key, now: Timestamp) -> Timestamp {
        // A clock that was put back must not close anything for as long as it was put back.
        let closed = self.closed.filter(|(since, _)| *since <= now).map(|(_, until)| until);
        let opens = key.rates().filter_map(|rate| {
            let nth = self.gone.len().checked_sub(rate.most)?;
            let first = self.gone.get(nth).filter(|first| **first <= now)?;
            Some(first.after(rate.span + JITTER))
        });
        opens.chain(closed).max().unwrap_or_default()
    }

    fn note(&mut self, key: &Key, now: Timestamp) {
        self.gone.push_back(now);
        let kept = key.rates().map(|rate| rate.most).max().unwrap_or_default();
        let surplus = self.gone.len().saturating_sub(kept);
        self.gone.drain(..surplus);
    }

    fn is_idle(&self, key: &Key, now: Timestamp) -> bool {
        let longest = key.rates().map(|rate| rate.span + JITTER).max().unwrap_or_default();
        let last = self.gone.back().is_none_or(|last| last.after(longest) <= now);
        last && self.closed.is_none_or(|(since, until)| until <= now || since > now)
    }
}

/// A caller in the queue.
#[derive(Debug)]
struct Waiter {
    number: u64,
    keys: Vec<Key>,
}

/// The queue and the windows.
#[derive(Debug, Default)]
pub(super) struct Pace {
    windows: HashMap<Key, Window>,
    waiting: VecDeque<Waiter>,
    last_number: u64,
}

impl Pace {
    /// Joins the queue; the number says who goes. `None` if the queue is full.
    pub(super) fn join(&mut self, keys: Vec<Key>) -> Option<u64> {
        if self.waiting.len() >= WAITING_MAX {
            return None;
        }
        self.last_number += 1;
        self.waiting.push_back(Waiter { number: self.last_number, keys });
        Some(self.last_number)
    }

    /// Leaves the queue without going.
    pub(super) fn leave(&mut self, number: u64) {
        self.waiting.retain(|waiter| waiter.number != number);
    }

    /// Lets go whoever may go now, in order.
    pub(super) fn step(&mut self, now: Timestamp) -> Vec<u64> {
        let mut held: HashSet<Key> = HashSet::new();
        let mut going = Vec::new();
        let mut staying = VecDeque::new();
        for waiter in std::mem::take(&mut self.waiting) {
            let is_held = waiter.keys.iter().any(|key| held.contains(key));
            if !is_held && self.opens_at(&waiter.keys, now) <= now {
                for key in &waiter.keys {
                    self.windows.entry(key.clone()).or_default().note(key, now);
                }
                going.push(waiter.number);
            } else {
                held.extend(waiter.keys.iter().filter(|key| key.keeps_order()).cloned());
                staying.push_back(waiter);
            }
        }
        self.waiting = staying;
        if self.windows.len() > WINDOWS_KEPT {
            self.windows.retain(|key, window| !window.is_idle(key, now));
        }
        going
    }

    /// How long a call under these keys waits at least, were it the next.
    pub(super) fn wait(&self, keys: &[Key], now: Timestamp) -> Duration {
        self.opens_at(keys, now).since(now)
    }

    /// How long until somebody in the queue may go; `None` if nobody waits.
    pub(super) fn next_wait(&self, now: Timestamp) -> Option<Duration> {
        self.waiting.iter().map(|waiter| self.wait(&waiter.keys, now)).min()
    }

    /// The platform wants nothing more under `key` for so long.
    pub(super) fn close(&mut self, key: Key, now: Timestamp, wait: Duration) {
        let window = self.windows.entry(key).or_default();
        let until = now.after(wait);
        let later = window.closed.filter(|(since, known)| *since <= now && *known > until);
        window.closed = later.or(Some((now, until)));
    }

    fn opens_at(&self, keys: &[Key], now: Timestamp) -> Timestamp {
        let windows = keys.iter().filter_map(|key| Some((key, self.windows.get(key)?)));
        windows.map(|(key, window)| window.opens_at(key, now)).max().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
