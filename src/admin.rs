//! What operators ask: is it alive, is it ready, what happened, what became of a message.
//!
//! `/healthz` and `/readyz` are open; everything else needs the admin token, whatever address a
//! request comes from: behind a tunnel every address looks like this machine.

mod auth;
mod events;
mod jobs;
mod links;
mod routes;
mod store;

pub use auth::Guard;
pub use events::events_router;
pub use jobs::jobs_router;
pub use routes::{Metrics, Readiness, router};
pub use store::{Upkeep, store_router};
