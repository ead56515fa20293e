//! The request that becomes a long connection (3.2).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query as Queried, Request, State as Extracted};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::links::Denied;
use super::{Refused, link};
use crate::playground::limits::SOCKET_CONNECTIONS;
use crate::playground::request::Query;
use crate::playground::server::Verbatim;
use crate::playground::state::Shared;
use crate::playground::switches::SocketRetries;

/// The platform does not take this client.
const FORBIDDEN: u16 = 403;
/// The platform does not take this client now: the code says why.
const REJECTED: u16 = 514;

/// `GET /ws/v2?fpid=…&device_id=…&service_id=…&ticket=…`
pub(super) async fn upgrade(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    mut request: Request,
) -> Response {
    if let Some(refused) = request.extensions().get::<Refused>() {
        return reject(refused.status, refused.code, "a fault of the playground");
    }
    let Some(accept) = accept_key(request.headers()) else {
        return reject(StatusCode::BAD_REQUEST.as_u16(), 0, "not an upgrade to a WebSocket");
    };
    let field = |name: &str| query.get(name).map_or("", String::as_str);
    let now = shared.now();
    let opened = {
        let mut guard = shared.lock();
        let state = &mut *guard;
        let opened = state.links.open(field("ticket"), field("device_id"), now);
        if let Ok((id, _)) = &opened
            && state.switches.socket_retries == SocketRetries::OnConnect
        {
            let app_id = state.links.get_mut(*id).map(|link| link.shown.app_id.clone());
            let retries = state.retries.iter_mut();
            for retry in retries.filter(|retry| Some(&retry.delivery.app_id) == app_id.as_ref()) {
                retry.due = now;
            }
        }
        opened
    };
    let (id, orders) = match opened {
        Ok(opened) => opened,
        Err(Denied::Ticket) => return reject(FORBIDDEN, 0, "the ticket is not valid"),
        Err(Denied::TooMany) => {
            return reject(REJECTED, SOCKET_CONNECTIONS.code, "too many connections");
        }
    };
    let upgraded = hyper::upgrade::on(&mut request);
    shared.tasks.spawn("link", link::run(Arc::clone(&shared), id, upgraded, orders));
    shared.changed();
    accepted(&accept)
}

/// The answer to the key of a request that wants a WebSocket.
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let has = |name: HeaderName, word: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    let is_meant = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_meant)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()
}

fn accepted(accept: &HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept.clone());
    response.extensions_mut().insert(Verbatim { code: Some(0) });
    response
}

fn reject(status: u16, code: i64, why: &'static str) -> Response {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("handshake-status"), HeaderValue::from(status));
    headers.insert(HeaderName::from_static("handshake-msg"), HeaderValue::from_static(why));
    headers.insert(HeaderName::from_static("handshake-autherrcode"), HeaderValue::from(code));
    let code = if code == 0 { i64::from(status) } else { code };
    response.extensions_mut().insert(Verbatim { code: Some(code) });
    response
}
