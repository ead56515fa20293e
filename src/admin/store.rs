//! The store's upkeep.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;

use super::auth::Guard;
use super::routes::refused;
use crate::store::Sweeper;

/// An answer waits so long for the end of a sweep, which goes on without it.
const SWEEP_PATIENCE: Duration = Duration::from_secs(5);

struct Upkeep {
    sweeper: Arc<Sweeper>,
    guard: Guard,
}

/// The routes about the store.
pub fn store_router(sweeper: Arc<Sweeper>, guard: Guard) -> Router {
    Router::new()
        .route("/admin/api/store/expire", post(expire))
        .with_state(Arc::new(Upkeep { sweeper, guard }))
}

async fn expire(State(upkeep): State<Arc<Upkeep>>, headers: HeaderMap) -> Response {
    if let Err(status) = upkeep.guard.check(&headers) {
        return refused(status);
    }
    match upkeep.sweeper.sweep_now(SWEEP_PATIENCE).await {
        Ok(Some(swept)) => Json(json!({"done": true, "deleted": swept})).into_response(),
        Ok(None) => (StatusCode::ACCEPTED, Json(json!({"done": false}))).into_response(),
        Err(_error) => refused(StatusCode::SERVICE_UNAVAILABLE),
    }
}
