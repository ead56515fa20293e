//! The signals that end the process in order.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

/// Catches SIGTERM and SIGINT from the call on; the future returns at the first of them. Made
/// before anything is opened, so that no signal finds the process without it.
///
/// # Errors
/// The machine does not let the process catch signals.
pub fn termination() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
