//! Long connections: what clients are told, what is open, what breaks.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Extracted};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, read, shown};
use crate::playground::people::PlaygroundError;
use crate::playground::settings::{LongConnection, Transport};
use crate::playground::socket::Breaking;
use crate::playground::state::Shared;
use crate::playground::verbs;
use crate::playground::wire::overlay;

type Sim = Extracted<Arc<Shared>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTransport {
    transport: Transport,
}

pub(crate) async fn set_transport(
    Extracted(shared): Sim,
    Path(app): Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: NewTransport = read(&body)?;
    verbs::set_transport(&shared, &app, wanted.transport)?;
    shown(&json!({}))
}

pub(crate) async fn long_connection(Extracted(shared): Sim, Path(app): Path<String>) -> Answer {
    shown(&verbs::app(&shared, Some(&app))?.long_connection)
}

/// Changes what is named; `null` puts it back to its default.
pub(crate) async fn change_long_connection(
    Extracted(shared): Sim,
    Path(app): Path<String>,
    body: Bytes,
) -> Answer {
    let patch: Value = read(&body)?;
    let mut merged = json!(verbs::app(&shared, Some(&app))?.long_connection);
    overlay(&mut merged, &patch);
    let settings: LongConnection =
        serde_json::from_value(merged).map_err(|error| PlaygroundError::Bad(error.to_string()))?;
    verbs::set_long_connection(&shared, &app, settings)?;
    shown(&settings)
}

pub(crate) async fn connections(Extracted(shared): Sim) -> Answer {
    shown(&shared.lock().links.shown())
}

pub(crate) async fn break_connections(Extracted(shared): Sim, body: Bytes) -> Answer {
    let wanted: Breaking = read(&body)?;
    let (app_id, device_id) = (wanted.app_id.as_deref(), wanted.device_id.as_deref());
    let broken = shared.lock().links.break_all(app_id, device_id, wanted.how);
    shared.changed();
    shown(&json!({"broken": broken}))
}
