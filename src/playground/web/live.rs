//! The event stream: says that something changed, nothing more. What changed is fetched; so a
//! stream that broke off and came back has lost nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State as Extracted;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::watch;

use crate::playground::state::Shared;

const CHANGED: &[u8] = b"retry: 1000\nevent: changed\ndata: \n\n";
/// A comment: shows both ends that the connection lives.
const QUIET: &[u8] = b": quiet\n\n";
const QUIET_AFTER: Duration = Duration::from_secs(15);
/// Changes that come close together are told once.
const GATHER: Duration = Duration::from_millis(40);

struct Listener {
    shared: Arc<Shared>,
    changes: watch::Receiver<u64>,
    is_new: bool,
}

pub(super) async fn events(Extracted(shared): Extracted<Arc<Shared>>) -> Response {
    let changes = shared.changes.subscribe();
    let listener = Listener { shared, changes, is_new: true };
    let mut response = Response::new(Body::from_stream(stream::unfold(listener, next)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn next(mut listener: Listener) -> Option<(Result<Bytes, Infallible>, Listener)> {
    if std::mem::take(&mut listener.is_new) {
        return Some((Ok(Bytes::from_static(CHANGED)), listener));
    }
    let cancel = listener.shared.tasks.cancellation().clone();
    let said = tokio::select! {
        () = cancel.cancelled() => return None,
        () = tokio::time::sleep(QUIET_AFTER) => QUIET,
        changed = listener.changes.changed() => {
            changed.ok()?;
            tokio::time::sleep(GATHER).await;
            listener.changes.borrow_and_update();
            CHANGED
        }
    };
    Some((Ok(Bytes::from_static(said)), listener))
}
