//! The signals that end the process in order.

use tokio::signal::unix::{SignalKind, signal};

/// Returns at SIGTERM or SIGINT. A machine without signals never ends this way.
pub async fn terminated() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
