//! The operators' routes.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use serde_json::json;

use super::auth::Guard;
use super::links;
use crate::base::MessageId;
use crate::envelope::{Control, InletError, Links};
use crate::telemetry::{CallMeter, Counters};

/// Says how the daemon is.
pub trait Readiness: Send + Sync {
    /// What keeps it from being ready, one sentence a cause; empty: nothing.
    fn missing(&self) -> Vec<String>;
    /// What does not, but calls for a person, one sentence each.
    fn degraded(&self) -> Vec<String>;
}

/// What `/metrics` shows.
#[derive(Clone)]
pub struct Metrics {
    /// How often each event happened.
    pub counters: Counters,
    /// Calls to platforms.
    pub calls: CallMeter,
    /// The connections of bots.
    pub links: Arc<dyn Links>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

struct Operators {
    readiness: Arc<dyn Readiness>,
    control: Arc<dyn Control>,
    metrics: Metrics,
    guard: Guard,
}

/// The routes of operators.
pub fn router(
    readiness: Arc<dyn Readiness>,
    control: Arc<dyn Control>,
    metrics: Metrics,
    guard: Guard,
) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(numbers))
        .route("/admin/api/why/{message}", get(why))
        .route("/admin/api/path/{message}", get(path))
        .with_state(Arc::new(Operators { readiness, control, metrics, guard }))
}

async fn readyz(State(operators): State<Arc<Operators>>) -> Response {
    let mut lines = operators.readiness.missing();
    let status = if lines.is_empty() {
        lines.push("ready".to_owned());
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    lines.extend(operators.readiness.degraded().iter().map(|line| format!("degraded: {line}")));
    (status, format!("{}\n", lines.join("\n"))).into_response()
}

async fn numbers(State(operators): State<Arc<Operators>>, headers: HeaderMap) -> Response {
    if let Err(status) = operators.guard.check(&headers) {
        return refused(status);
    }
    let Metrics { counters, calls, links } = &operators.metrics;
    let links = links::render(&links.links());
    format!("{}{}{links}", counters.render(), calls.render()).into_response()
}

async fn why(
    State(operators): State<Arc<Operators>>,
    Path(message): Path<String>,
    headers: HeaderMap,
) -> Response {
    let message = MessageId::new(message);
    answered(&operators, &headers, operators.control.why(&message)).await
}

async fn path(
    State(operators): State<Arc<Operators>>,
    Path(message): Path<String>,
    headers: HeaderMap,
) -> Response {
    let message = MessageId::new(message);
    answered(&operators, &headers, operators.control.path(&message)).await
}

/// What the daemon says to an operator; nobody else has it asked.
async fn answered<T: Serialize>(
    operators: &Operators,
    headers: &HeaderMap,
    asking: impl Future<Output = Result<T, InletError>>,
) -> Response {
    if let Err(status) = operators.guard.check(headers) {
        return refused(status);
    }
    match asking.await {
        Ok(answer) => Json(answer).into_response(),
        Err(_unavailable) => refused(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// A refusal of the guard, or of a daemon that cannot answer now.
pub(super) fn refused(status: StatusCode) -> Response {
    let code = match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "foreign_host",
        _ => "unavailable",
    };
    problem(status, code)
}

/// A problem with a stable code.
pub(super) fn problem(status: StatusCode, code: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body =
        json!({"type": "about:blank", "title": title, "status": status.as_u16(), "code": code});
    let content_type = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, content_type, body.to_string()).into_response()
}
