//! People's names, kept for a day. Whoever asks has the id and can do without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::api::LarkApi;
use super::content::one_line;
use crate::base::{Clock, Disposition, Timestamp, UserId};

/// How long a name is kept, and for how long nobody is asked about after the app may not.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// After a failure that may pass, the same name is not asked for again before this.
const PAUSE: Duration = Duration::from_secs(60);
/// So many names are kept; then all are forgotten, which costs no more than asking again.
const NAMES_MAX: usize = 4096;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The names that one app has asked for.
#[derive(Debug)]
pub(super) struct Names {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    names: HashMap<UserId, Known>,
    /// Until when the app need not ask: it lacks the right.
    closed_until: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Known {
    name: Option<String>,
    until: Timestamp,
}

impl Names {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// The name of a person; `None` if it cannot be found out.
    pub(super) async fn of(&self, api: &LarkApi, user: &UserId) -> Option<String> {
        // Only these two kinds of ids are known to name a person.
        if !["ou_", "on_"].iter().any(|kind| user.as_str().starts_with(kind)) {
            return None;
        }
        if let Some(known) = self.known(user) {
            return known.name;
        }
        let (name, span) = match api.user_name(user).await {
            Ok(name) => (name.map(|name| one_line(&name, NAME_CHARS_MAX)), DAY),
            Err(error) => match error.disposition() {
                Disposition::Fatal => {
                    self.lock().closed_until = Some(self.clock.now().after(DAY));
                    return None;
                }
                Disposition::Reject => (None, DAY),
                Disposition::Retry { .. } => (None, PAUSE),
            },
        };
        let name = name.filter(|name| !name.is_empty());
        let until = self.clock.now().after(span);
        let mut state = self.lock();
        if state.names.len() >= NAMES_MAX {
            state.names.clear();
        }
        state.names.insert(user.clone(), Known { name: name.clone(), until });
        name
    }

    /// What is known without asking, if only that asking is in vain.
    fn known(&self, user: &UserId) -> Option<Known> {
        let now = self.clock.now();
        let state = self.lock();
        let known = state.names.get(user).filter(|known| known.until > now).cloned();
        let closed = state.closed_until.filter(|until| *until > now);
        known.or_else(|| closed.map(|until| Known { name: None, until }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
