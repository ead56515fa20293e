//! The composition root: settings in, a running daemon out.
//!
//! The only place that names concrete engines, channels and models together. It wires and does
//! nothing else: read [`App::run`] for the life of the process.

mod ask;
mod build;
mod drain;
mod hooks;
mod models;
mod readiness;
mod run;
mod server;
mod unfinished;
mod upkeep;
mod usage;

pub use crate::store::{Compacted, CopyError, Remains, StoreError};
pub use ask::{Answer, ask};
pub use build::{AppError, TestSupport};
pub use drain::termination;
pub use run::{App, Bound};
pub use server::serve;
pub use unfinished::OpenTurns;
pub use upkeep::{
    Restored, StoreReport, accept_loss, compact, export_stopped, remains, repair, restore,
    verify_copy,
};
