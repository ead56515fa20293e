//! The platform's side of the long connection (feishu-protocol.md section 3): discovery, upgrade,
//! frames, acknowledgements.
//!
//! An app may have up to fifty connections; each event goes over one of them, drawn at random. The
//! platform gives away a ticket for each connection, which works once and for a short while.

mod deliver;
mod discovery;
mod fragments;
mod frame;
mod link;
mod links;
mod upgrade;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};

pub(crate) use deliver::{FrameKind, deliver};
pub(crate) use links::Links;
pub use links::{Break, Connection};

use super::state::Shared;

/// How often connections are looked at while the platform ends them by itself.
const KEEP_TICK: Duration = Duration::from_millis(100);

/// What discovery and upgrade answer instead of doing their work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: i64,
}

/// Which connections are broken, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breaking {
    /// None: of every app.
    #[serde(default)]
    pub(crate) app_id: Option<String>,
    /// None: every one.
    #[serde(default)]
    pub(crate) device_id: Option<String>,
    pub(crate) how: Break,
}

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/callback/ws/endpoint", post(discovery::discover))
        .route("/ws/v2", get(upgrade::upgrade))
}

/// Ends connections that are idle or old, as the switch says, until the playground stops.
pub(crate) async fn keep(shared: Arc<Shared>) {
    let mut changes = shared.changes.subscribe();
    loop {
        changes.borrow_and_update();
        let now_ms = shared.now_ms();
        let goes_on = {
            let mut state = shared.lock();
            let end = state.switches.socket_end;
            state.links.end_old(end, now_ms)
        };
        tokio::select! {
            () = shared.tasks.cancellation().cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(KEEP_TICK), if goes_on => {}
        }
    }
}
