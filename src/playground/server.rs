//! The HTTP server: connections, faults, log ids, the record of calls.
//!
//! The accept loop is our own, because a fault must be able to close a connection without an
//! answer, which a framework's server does not offer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::{delete, get, patch, post, put};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use super::faults::{Endpoint, FaultAction};
use super::refusal::Refusal;
use super::send::Slow;
use super::socket::Refused;
use super::state::{CallRecord, Shared};
use super::switches::ErrorStatus;
use super::{
    amend, callbacks, cardkit, contact, control, reactions, read, resources, send, socket, tokens,
    uploads, web,
};

/// The largest request body that is read at all.
const BODY_BYTES_MAX: usize = 4 << 20;
/// How many tasks (connections, lanes, retries) there may be before connections are turned away.
const TASKS_MAX: usize = 20_000;
/// How long an accept loop waits after the system refused it a socket.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is dropped on purpose")]
struct Dropped;

/// Marks an answer whose bytes stand as they are: those a fault has given, and those of the long
/// connection, which have a form of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verbatim {
    /// The platform's code, if it is known.
    pub(crate) code: Option<i64>,
}

/// The platform's endpoints, and the control API beside them.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/open-apis/auth/v3/tenant_access_token/internal", post(tokens::issue))
        .route("/open-apis/bot/v3/info", get(tokens::bot_info))
        .route("/open-apis/im/v1/messages", post(send::send).get(read::list))
        .route(
            "/open-apis/im/v1/messages/{message_id}",
            get(read::get).put(amend::edit).patch(amend::change_card).delete(amend::recall),
        )
        .route("/open-apis/im/v1/messages/{message_id}/reply", post(send::reply))
        .route(
            "/open-apis/im/v1/messages/{message_id}/reactions",
            post(reactions::add).get(reactions::list),
        )
        .route(
            "/open-apis/im/v1/messages/{message_id}/reactions/{reaction_id}",
            delete(reactions::remove),
        )
        .route("/open-apis/im/v1/chats/{chat_id}", get(contact::chat))
        .route("/open-apis/contact/v3/users/{user_id}", get(contact::user))
        .route("/open-apis/contact/v3/users/basic_batch", post(contact::names))
        .route("/open-apis/contact/v3/group/member_belong", get(contact::groups))
        .route(
            "/open-apis/im/v1/messages/{message_id}/resources/{file_key}",
            get(resources::download),
        )
        .merge(card_entities())
        .merge(uploads::router())
        .nest("/sim/v1", control::router().layer(from_fn(web::guard::known_host_only)))
        .merge(socket::router())
        .merge(web::router())
        .fallback(async || Refusal::path_unknown())
        .method_not_allowed_fallback(async || Refusal::path_unknown())
        .layer(axum::extract::DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(shared)
}

fn card_entities() -> Router<Arc<Shared>> {
    const CARDS: &str = "/open-apis/cardkit/v1/cards";
    Router::new()
        .route("/open-apis/interactive/v1/card/update", post(callbacks::update))
        .route(CARDS, post(cardkit::create))
        .route(&format!("{CARDS}/{{card_id}}"), put(cardkit::update))
        .route(&format!("{CARDS}/{{card_id}}/settings"), patch(cardkit::settings))
        .route(&format!("{CARDS}/{{card_id}}/batch_update"), post(cardkit::batch))
        .route(&format!("{CARDS}/{{card_id}}/elements"), post(cardkit::add))
        .route(
            &format!("{CARDS}/{{card_id}}/elements/{{element_id}}"),
            put(cardkit::replace_element)
                .patch(cardkit::patch_element)
                .delete(cardkit::delete_element),
        )
        .route(
            &format!("{CARDS}/{{card_id}}/elements/{{element_id}}/content"),
            put(cardkit::content),
        )
}

/// Takes connections until the playground stops.
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    let router = router(Arc::clone(&shared));
    let cancel = shared.tasks.cancellation().clone();
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            accepted = listener.accept() => match accepted {
                // Beyond the limit a connection is closed at once, which callers must survive anyway.
                Ok((stream, _peer)) => if shared.tasks.len() < TASKS_MAX {
                    let connection = connection(Arc::clone(&shared), router.clone(), stream);
                    shared.tasks.spawn("connection", connection);
                }
                Err(_out_of_sockets) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

async fn connection(shared: Arc<Shared>, router: Router, stream: TcpStream) {
    let cancel = shared.tasks.cancellation().clone();
    let service = service_fn(move |request: Request<Incoming>| {
        answer(Arc::clone(&shared), router.clone(), request.map(Body::new))
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        () = cancel.cancelled() => {}
        // A peer that went away, or a connection dropped on purpose: nobody is left to tell.
        _ended = serving => {}
    }
}

async fn answer(
    shared: Arc<Shared>,
    router: Router,
    request: Request<Body>,
) -> Result<Response<Body>, Dropped> {
    let Some(endpoint) = Endpoint::of(request.method(), request.uri().path()) else {
        return Ok(finish(run(router, request).await, "").await);
    };
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let (fault, log_id) = {
        let mut guard = shared.lock();
        let state = &mut *guard;
        let fault = state.faults.draw(endpoint, &mut state.dice);
        (fault, state.dice.hex())
    };
    let ((uuid, sequence), request) = marked(endpoint, request).await;
    let began = shared.clock.base_now();
    let mut call = CallRecord {
        at_ms: shared.now_ms(),
        took_ms: 0,
        method: request.method().to_string(),
        endpoint,
        path,
        uuid,
        sequence,
        status: 0,
        code: 0,
        fault: fault.is_some(),
    };
    let (outcome, hidden) = act(router, endpoint, request, fault).await;
    call.code = hidden;
    if let Some(response) = &outcome {
        call.status = response.status().as_u16();
        call.code = code_of(response);
    }
    let took = shared.clock.base_now().since(began).as_millis();
    call.took_ms = u64::try_from(took).unwrap_or(u64::MAX);
    shared.lock().record_call(call);
    shared.changed();
    match outcome {
        Some(response) => {
            let mut response = finish(response, &log_id).await;
            settle_status(&mut response, shared.lock().switches.error_status);
            Ok(response)
        }
        None => Err(Dropped),
    }
}

/// What is answered, if anything, and the code of work whose answer nobody gets.
async fn act(
    router: Router,
    endpoint: Endpoint,
    mut request: Request<Body>,
    fault: Option<FaultAction>,
) -> (Option<Response<Body>>, i64) {
    let outcome = match fault {
        None | Some(FaultAction::Socket { .. }) => Some(run(router, request).await),
        // These two have answers of their own form.
        Some(FaultAction::Refuse { status, code, .. })
            if matches!(endpoint, Endpoint::Discovery | Endpoint::Upgrade) =>
        {
            request.extensions_mut().insert(Refused { status, code });
            Some(run(router, request).await)
        }
        Some(FaultAction::Refuse { status, code, reset_s }) => Some(refuse(status, code, reset_s)),
        Some(FaultAction::Answer { status, body }) => Some(garbled(status, body)),
        Some(FaultAction::Drop) => None,
        Some(FaultAction::DropAfter) => return (None, code_of(&run(router, request).await)),
        Some(FaultAction::Garble { status, body }) => {
            run(router, request).await;
            Some(garbled(status, body))
        }
        Some(FaultAction::Slow { ms }) if matches!(endpoint, Endpoint::Send | Endpoint::Reply) => {
            request.extensions_mut().insert(Slow(Duration::from_millis(ms)));
            Some(run(router, request).await)
        }
        Some(FaultAction::Slow { ms } | FaultAction::Delay { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Some(run(router, request).await)
        }
    };
    (outcome, 0)
}

async fn run(router: Router, request: Request<Body>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The `uuid` and the `sequence` in the body of a call, and the request as it was.
async fn marked(
    endpoint: Endpoint,
    request: Request<Body>,
) -> ((Option<String>, Option<i64>), Request<Body>) {
    if !endpoint.is_marked() {
        return ((None, None), request);
    }
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let fields: Option<Value> = serde_json::from_slice(&body).ok();
    let field = |name: &str| fields.as_ref().and_then(|fields| fields.get(name));
    let uuid = field("uuid").and_then(Value::as_str).map(str::to_owned);
    let sequence = field("sequence").and_then(Value::as_i64);
    ((uuid, sequence), Request::from_parts(head, Body::from(body)))
}

fn garbled(status: u16, body: String) -> Response<Body> {
    let mut garbled = Response::new(Body::from(body));
    *garbled.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    garbled.extensions_mut().insert(Verbatim { code: None });
    garbled
}

fn refuse(status: u16, code: i64, reset_s: Option<u64>) -> Response<Body> {
    let mut refusal = Refusal::new(code, "a fault of the playground")
        .with_status(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    refusal.reset_s = reset_s;
    refusal.into_response()
}

fn code_of(response: &Response<Body>) -> i64 {
    if let Some(code) = response.extensions().get::<Verbatim>().and_then(|known| known.code) {
        return code;
    }
    let refusal = response.extensions().get::<Refusal>();
    let other = i64::from(!response.status().is_success()) * 9_499;
    refusal.map_or(other, |refusal| refusal.code)
}

/// Which HTTP status a refusal has is documented for few; its code and headers stay.
fn settle_status(response: &mut Response<Body>, error_status: ErrorStatus) {
    if error_status == ErrorStatus::Ok && response.extensions().get::<Refusal>().is_some() {
        *response.status_mut() = match response.status() {
            StatusCode::TOO_MANY_REQUESTS => StatusCode::BAD_REQUEST,
            status if status.is_client_error() => StatusCode::OK,
            status => status,
        };
    }
}

/// Puts in the log id, and the body of a refusal.
async fn finish(mut response: Response<Body>, log_id: &str) -> Response<Body> {
    let refusal = response.extensions().get::<Refusal>().cloned();
    // The framework's own refusals (a bad query, a body beyond the limit) are plain text.
    let is_verbatim = response.extensions().get::<Verbatim>().is_some();
    let foreign = refusal.is_none()
        && !is_verbatim
        && response.status().is_client_error()
        && !log_id.is_empty();
    if foreign {
        let body = std::mem::replace(response.body_mut(), Body::empty());
        let text = to_bytes(body, 4096).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let refusal = Refusal::new(9_499, format!("Bad Request: {text}"));
        write_refusal(&mut response, &refusal, log_id);
    }
    if let Some(refusal) = refusal {
        write_refusal(&mut response, &refusal, log_id);
    }
    if let Ok(value) = HeaderValue::from_str(log_id)
        && !log_id.is_empty()
    {
        response.headers_mut().insert("x-tt-logid", value);
    }
    response
}

fn write_refusal(response: &mut Response<Body>, refusal: &Refusal, log_id: &str) {
    *response.body_mut() = Body::from(refusal.body(log_id).to_string());
    let headers = response.headers_mut();
    headers.remove("content-length");
    headers.insert("content-type", HeaderValue::from_static("application/json; charset=utf-8"));
}
