//! What keeps the daemon from being ready.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::admin::Readiness;
use crate::channels::lark::{IdentityState, LarkBots};
use crate::store::Store;

/// Looks at the bots, the store and the drain.
pub(super) struct AppReadiness {
    pub(super) lark: Arc<LarkBots>,
    pub(super) not_started: Vec<String>,
    pub(super) store: Arc<dyn Store>,
    pub(super) drain: CancellationToken,
}

impl Readiness for AppReadiness {
    fn missing(&self) -> Vec<String> {
        let mut missing = self.not_started.clone();
        if !self.store.is_accepting() {
            missing.push("the store does not take anything: see the log".to_owned());
        }
        if self.drain.is_cancelled() {
            missing.push("the daemon is draining".to_owned());
        }
        for bot in self.lark.all() {
            let name = bot.name();
            match bot.identity().state() {
                IdentityState::Known { .. } => {}
                IdentityState::Unknown { last_error: None } => {
                    missing.push(format!("bot {name}: the platform was not reached yet"));
                }
                IdentityState::Unknown { last_error: Some(error) } => {
                    missing.push(format!("bot {name}: the platform cannot be reached: {error}"));
                }
                IdentityState::Refused { error } => {
                    missing.push(format!("bot {name}: the credentials are refused: {error}"));
                }
            }
        }
        missing
    }
}
