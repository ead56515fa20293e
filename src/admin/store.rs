//! The store's upkeep.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use super::auth::Guard;
use super::routes::{problem, refused};
use crate::base::Clock;
use crate::store::{Exporter, Store, StoreError, Sweeper};
use crate::telemetry::Event;

/// An answer waits so long for the end of a sweep, which goes on without it.
const SWEEP_PATIENCE: Duration = Duration::from_secs(5);

/// What the routes about the store work with.
pub struct Upkeep {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The retention.
    pub sweeper: Arc<Sweeper>,
    /// Who may ask.
    pub guard: Guard,
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Upkeep").field("sweeper", &self.sweeper).finish_non_exhaustive()
    }
}

/// The routes about the store.
pub fn store_router(upkeep: Upkeep) -> Router {
    Router::new()
        .route("/admin/api/store/expire", post(expire))
        .route("/admin/api/store/export", get(export))
        .with_state(Arc::new(upkeep))
}

/// A copy of the store, as it is made. If that fails in the middle the connection breaks, and the
/// copy lacks its end.
async fn export(State(upkeep): State<Arc<Upkeep>>, headers: HeaderMap) -> Response {
    if let Err(status) = upkeep.guard.check(&headers) {
        return refused(status);
    }
    let exporter = match Exporter::begin(&upkeep.store, upkeep.clock.now()).await {
        Ok(exporter) => exporter,
        Err(StoreError::Copying) => return problem(StatusCode::SERVICE_UNAVAILABLE, "copying"),
        Err(_error) => return refused(StatusCode::SERVICE_UNAVAILABLE),
    };
    let lines = futures_util::stream::try_unfold(exporter, |mut exporter| async {
        let next = exporter.next().await.inspect_err(|error| {
            Event::SideEffectFailed { what: "store_export", error }.emit();
        })?;
        Ok::<_, StoreError>(next.map(|lines| (lines, exporter)))
    });
    let content_type = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (content_type, Body::from_stream(lines)).into_response()
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
