//! What runs by the clock.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use super::auth::Guard;
use super::routes::refused;
use crate::envelope::Jobs;

struct Clockwork {
    jobs: Arc<dyn Jobs>,
    guard: Guard,
}

/// The route about schedules.
pub fn jobs_router(jobs: Arc<dyn Jobs>, guard: Guard) -> Router {
    let route = Router::new().route("/admin/api/jobs", get(list));
    route.with_state(Arc::new(Clockwork { jobs, guard }))
}

async fn list(State(clockwork): State<Arc<Clockwork>>, headers: HeaderMap) -> Response {
    match clockwork.guard.check(&headers) {
        Ok(()) => Json(json!({"jobs": clockwork.jobs.jobs().await})).into_response(),
        Err(status) => refused(status),
    }
}
