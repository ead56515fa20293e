//! Waiting for one's turn: the effects around `Pace`. One limiter serves all bots of a daemon,
//! since a group's limit is shared by the bots in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::pace::{Key, Pace};
use crate::base::{Clock, Timestamp};

/// Who would wait longer is told to come again, so that a drain or a person who says "stop" does
/// not wait as well.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Who has waited that long in vain comes again after this.
const LATER: Duration = Duration::from_millis(500);
/// How often the clock is looked at while somebody waits: a new caller may be due earlier than
/// those before it.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(5);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(50);
/// When the queue is full.
const FULL_WAIT: Duration = Duration::from_secs(5);

/// The limiter of all apps. Clones share it.
#[derive(Clone, Debug)]
pub struct Limiter {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    /// Whoever holds it looks at the clock for everybody in the queue.
    keeper: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    pace: Pace,
    callers: HashMap<u64, oneshot::Sender<()>>,
}

/// Leaves the queue when whoever waits goes away.
struct Place<'a> {
    limiter: &'a Limiter,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        if state.callers.remove(&self.number).is_some() {
            state.pace.leave(self.number);
        }
    }
}

impl Limiter {
    /// A limiter before its first call.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default(), keeper: Arc::default() }
    }

    /// Waits until a call under `keys` may go. The error says how long that would take, if it is
    /// too long to stand and wait.
    pub(super) async fn pass(&self, keys: Vec<Key>) -> Result<(), Duration> {
        let (number, mut called) = self.join(keys)?;
        let place = Place { limiter: self, number };
        self.let_go(self.clock.now());
        let passed = async {
            tokio::select! {
                biased;
                _ = &mut called => {}
                _guard = self.keep(number) => {}
            }
        };
        let in_time = tokio::time::timeout(WAIT_MAX, passed).await.is_ok();
        let still_waits = self.lock().callers.contains_key(&number);
        drop(place);
        if in_time || !still_waits { Ok(()) } else { Err(LATER) }
    }

    fn join(&self, keys: Vec<Key>) -> Result<(u64, oneshot::Receiver<()>), Duration> {
        let mut state = self.lock();
        let wait = state.pace.wait(&keys, self.clock.now());
        if wait > WAIT_MAX {
            return Err(wait);
        }
        let number = state.pace.join(keys).ok_or(FULL_WAIT)?;
        let (call, called) = oneshot::channel();
        state.callers.insert(number, call);
        Ok((number, called))
    }

    /// Looks at the clock, for everybody, until `number` was let go.
    async fn keep(&self, number: u64) {
        let _keeper = self.keeper.lock().await;
        loop {
            let now = self.clock.now();
            self.let_go(now);
            let wait = {
                let state = self.lock();
                if !state.callers.contains_key(&number) {
                    return;
                }
                state.pace.next_wait(now)
            };
            let wait = wait.unwrap_or_default().clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX);
            tokio::time::sleep(wait).await;
        }
    }

    fn let_go(&self, now: Timestamp) {
        let mut state = self.lock();
        for number in state.pace.step(now) {
            if let Some(call) = state.callers.remove(&number) {
                // Who went away meanwhile has left its room unused, which does no harm.
                call.send(()).unwrap_or_default();
            }
        }
    }

    /// The platform wants nothing more under `key` for so long.
    pub(super) fn close(&self, key: Key, wait: Duration) {
        let now = self.clock.now();
        self.lock().pace.close(key, now, wait);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
