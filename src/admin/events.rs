//! The failed turns: listed, and done again.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;

use super::auth::Guard;
use super::routes::{problem, refused};
use crate::base::TurnId;
use crate::envelope::{Failures, InletError, ReplayError};

/// Failed turns of one answer at most; the next page begins behind the last.
const PAGE_ROWS_MAX: usize = 50;
/// When a full line is worth another try, in seconds.
const BUSY_RETRY_SECONDS: &str = "5";

struct Events {
    failures: Arc<dyn Failures>,
    guard: Guard,
}

/// The routes about failed turns.
pub fn events_router(failures: Arc<dyn Failures>, guard: Guard) -> Router {
    Router::new()
        .route("/admin/api/events/failed", get(failed))
        .route("/admin/api/events/failed/{turn}/replay", post(replay))
        .with_state(Arc::new(Events { failures, guard }))
}

#[derive(Deserialize)]
struct Page {
    after: Option<String>,
}

async fn failed(
    State(events): State<Arc<Events>>,
    Query(page): Query<Page>,
    headers: HeaderMap,
) -> Response {
    if let Err(status) = events.guard.check(&headers) {
        return refused(status);
    }
    let after = page.after.as_deref().map(TurnId::parse);
    if after == Some(None) {
        return problem(StatusCode::BAD_REQUEST, "bad_request");
    }
    match events.failures.failed(after.flatten(), PAGE_ROWS_MAX).await {
        Ok(page) => Json(page).into_response(),
        Err(_unavailable) => refused(StatusCode::SERVICE_UNAVAILABLE),
    }
}

async fn replay(
    State(events): State<Arc<Events>>,
    Path(turn): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Err(status) = events.guard.check(&headers) {
        return refused(status);
    }
    let Some(turn) = TurnId::parse(&turn) else {
        return problem(StatusCode::NOT_FOUND, "not_found");
    };
    match events.failures.replay(turn).await {
        Ok(replayed) => Json(replayed).into_response(),
        Err(ReplayError::Unknown) => problem(StatusCode::NOT_FOUND, "not_found"),
        Err(ReplayError::Busy) => {
            let retry = [(header::RETRY_AFTER, BUSY_RETRY_SECONDS)];
            (retry, problem(StatusCode::TOO_MANY_REQUESTS, "busy")).into_response()
        }
        Err(ReplayError::NotTaken(error)) => match error {
            InletError::UnknownBot(_) => problem(StatusCode::CONFLICT, "unknown_bot"),
            InletError::Draining => problem(StatusCode::SERVICE_UNAVAILABLE, "draining"),
            InletError::Unavailable(_) => refused(StatusCode::SERVICE_UNAVAILABLE),
        },
    }
}
