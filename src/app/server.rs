//! The HTTP server: accepts connections, bounds them in number and time, ends them when it is told.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::task::TaskSet;

/// At most this many connections are open; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 16_384;
/// Headers of one request together, in bytes.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// After a failure to accept (no file descriptors left) the server waits this long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `tasks` are cancelled; connections at work then finish their request.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    request_timeout: Duration,
    tasks: TaskSet,
) {
    let end = tasks.cancellation().clone();
    let router =
        router.layer(middleware::from_fn(move |request: Request, next: Next| async move {
            within(request_timeout, request, next).await
        }));
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = tokio::select! {
            () = end.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (router, end) = (router.clone(), end.clone());
        tasks.spawn("connection", async move {
            connection(stream, router, request_timeout, end).await;
            drop(place);
        });
    }
}

/// The whole of a request, its body included, has to be done in time.
async fn within(timeout: Duration, request: Request, next: Next) -> Response {
    match tokio::time::timeout(timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_elapsed) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

async fn connection(
    stream: TcpStream,
    router: Router,
    header_timeout: Duration,
    end: CancellationToken,
) {
    // Answers are small: waiting to fill a packet only delays them.
    stream.set_nodelay(true).unwrap_or_default();
    let service = TowerToHyperService::new(router);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    // A broken connection is the peer's affair: it sends again what was not acknowledged.
    tokio::select! {
        result = &mut serving => drop(result),
        () = end.cancelled() => {
            serving.as_mut().graceful_shutdown();
            drop(serving.await);
        }
    }
}
