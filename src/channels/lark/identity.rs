//! Who a bot is on the platform: learnt once, then known to the webhook, the client and readiness.
//!
//! Until the bot's own id is known nobody can tell whether a group message names it; the webhook
//! then leaves such messages to the platform's retries.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::bot::LarkBot;
use crate::base::{Backoff, Disposition, UserId};
use crate::task::TaskSet;
use crate::telemetry::Event;

/// The waits between failed attempts to learn an identity.
const LEARN_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// What is known about a bot's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityState {
    /// Not learnt yet.
    Unknown {
        /// Why the last attempt failed; `None` before the first.
        last_error: Option<String>,
    },
    /// The bot's own id.
    Known {
        /// Its id on the platform, valid for this app.
        open_id: UserId,
    },
    /// The platform refuses the bot's credentials; asked again now and then.
    Refused {
        /// What the platform said.
        error: String,
    },
}

/// The shared cell that holds an [`IdentityState`].
#[derive(Debug)]
pub struct Identity(RwLock<IdentityState>);

impl Default for Identity {
    fn default() -> Self {
        Self(RwLock::new(IdentityState::Unknown { last_error: None }))
    }
}

impl Identity {
    /// What is known now.
    pub fn state(&self) -> IdentityState {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bot's own id, once it is known.
    pub fn open_id(&self) -> Option<UserId> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            IdentityState::Known { open_id } => Some(open_id.clone()),
            IdentityState::Unknown { .. } | IdentityState::Refused { .. } => None,
        }
    }

    /// Notes a new state.
    pub(super) fn set(&self, state: IdentityState) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Starts the task that asks the platform who `bot` is, until it answers or the set is cancelled.
pub fn learn_identity(bot: Arc<LarkBot>, tasks: &TaskSet) {
    let cancel = tasks.cancellation().clone();
    tasks.spawn("learn_identity", async move {
        let mut failures: u32 = 0;
        while let Err(wait) = ask(&bot, failures).await {
            failures = failures.saturating_add(1);
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    });
}

/// One attempt; the error is how long to wait before the next.
async fn ask(bot: &LarkBot, failures: u32) -> Result<(), Duration> {
    let error = match bot.api().bot_info().await {
        Ok(info) => {
            bot.identity().set(IdentityState::Known { open_id: info.open_id });
            Event::BotReady { bot: bot.name().as_str() }.emit();
            return Ok(());
        }
        Err(error) => error,
    };
    Event::BotIdentityFailed { bot: bot.name().as_str(), error: &error }.emit();
    let backoff = LEARN_BACKOFF.after_failures(failures.saturating_add(1));
    let (state, asked) = match error.disposition() {
        Disposition::Retry { after } => {
            let last_error = Some(error.to_string());
            (IdentityState::Unknown { last_error }, after)
        }
        Disposition::Reject | Disposition::Fatal => {
            let error = error.to_string();
            (IdentityState::Refused { error }, None)
        }
    };
    bot.identity().set(state);
    Err(backoff.max(asked.unwrap_or_default()))
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
