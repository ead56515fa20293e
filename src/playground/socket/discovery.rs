//! Where a client learns the address of its next connection (3.1).

use std::sync::Arc;

use axum::body::Body;
use axum::body::Bytes;
use axum::extract::State as Extracted;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::Refused;
use super::link::SERVICE_ID;
use crate::playground::server::Verbatim;
use crate::playground::settings::ClientConfig;
use crate::playground::state::Shared;

/// There is no id or no secret.
const NO_CREDENTIAL: i64 = 1_000_040_344;
const WRONG_SECRET: i64 = 1_000_040_345;
const UNKNOWN_APP: i64 = 1_000_040_346;
const BAD_HOST: i64 = 1_000_040_351;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Asked {
    #[serde(rename = "AppID")]
    app_id: String,
    app_secret: String,
}

/// `POST /callback/ws/endpoint`. Judged by the code alone.
pub(super) async fn discover(
    Extracted(shared): Extracted<Arc<Shared>>,
    extensions: Extensions,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked: Asked = serde_json::from_slice(&body).unwrap_or_default();
    let known = shared.lock().world.app(&asked.app_id).cloned();
    let client = known.as_ref().map(|app| app.long_connection.client).unwrap_or_default();
    let no = |code: i64, msg: &str| answer(StatusCode::OK, code, msg, "", client);
    if let Some(refused) = extensions.get::<Refused>() {
        let status = StatusCode::from_u16(refused.status).unwrap_or_default();
        return answer(status, refused.code, "a fault of the playground", "", client);
    }
    if asked.app_id.is_empty() || asked.app_secret.is_empty() {
        return no(NO_CREDENTIAL, "no credential");
    }
    let Some(app) = known else {
        return no(UNKNOWN_APP, "app_id is invalid");
    };
    if app.app_secret != asked.app_secret {
        return no(WRONG_SECRET, "app_secret is invalid");
    }
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return no(BAD_HOST, "the host is missing");
    };
    let now = shared.now();
    let (ticket, device_id) = {
        let mut guard = shared.lock();
        let state = &mut *guard;
        state.links.ticket(&app.app_id, client, &mut state.dice, now)
    };
    let url = format!(
        "ws://{host}/ws/v2?fpid=493&aid=552564&device_id={device_id}&access_key={key}\
         &service_id={SERVICE_ID}&ticket={ticket}",
        key = crate::playground::dice::stable_hex("access", &device_id),
    );
    answer(StatusCode::OK, 0, "", &url, client)
}

/// `data` is always an object with a configuration: some clients break without.
fn answer(status: StatusCode, code: i64, msg: &str, url: &str, client: ClientConfig) -> Response {
    let body = json!({
        "code": code,
        "msg": msg,
        "data": {"URL": url, "ClientConfig": client},
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response.extensions_mut().insert(Verbatim { code: Some(code) });
    response
}
