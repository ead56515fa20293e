//! A platform on loopback for the tests of client, outlet and identity.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::LarkApi;
use crate::base::ManualClock;
use crate::task::TaskSet;

pub(crate) const TOKEN_CALL: &str = "POST /open-apis/auth/v3/tenant_access_token/internal";

/// A request as the platform saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) token: String,
    pub(crate) body: Value,
}

/// What the platform answers: status, headers, body. No status: no answer at all.
type Scripted = (u16, Vec<(&'static str, &'static str)>, String);

#[derive(Default)]
struct Inner {
    seen: Vec<Seen>,
    script: HashMap<String, VecDeque<Scripted>>,
    tokens: u64,
}

/// A platform on loopback that issues numbered tokens and answers by script, else with success.
#[derive(Clone)]
pub(crate) struct Platform {
    inner: Arc<Mutex<Inner>>,
    pub(crate) url: String,
    tasks: TaskSet,
}

impl Drop for Platform {
    fn drop(&mut self) {
        if Arc::strong_count(&self.inner) <= 2 {
            self.tasks.cancellation().cancel();
        }
    }
}

impl Platform {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Mutex::new(Inner::default()));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        let tasks = TaskSet::new("test", CancellationToken::new());
        let cancel = tasks.cancellation().clone();
        tasks.spawn("platform", async move {
            let serve = IntoFuture::into_future(axum::serve(listener, router));
            tokio::select! {
                _ = serve => {}
                () = cancel.cancelled() => {}
            }
        });
        Self { inner, url, tasks }
    }

    /// Queues an answer for the next request whose method and path are `what`.
    pub(crate) fn on(&self, what: &str, status: u16, body: &Value) {
        self.raw(what, status, Vec::new(), body.to_string());
    }

    pub(crate) fn raw(
        &self,
        what: &str,
        status: u16,
        headers: Vec<(&'static str, &'static str)>,
        body: String,
    ) {
        let mut inner = self.inner.lock().unwrap();
        let queue = inner.script.entry(what.to_owned()).or_default();
        queue.push_back((status, headers, body));
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.lock().unwrap().seen.clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        let matches = |seen: &&Seen| format!("{} {}", seen.method, seen.path) == what;
        self.seen().iter().filter(matches).count()
    }

    pub(crate) fn api(&self, clock: &ManualClock) -> LarkApi {
        super::bot(&self.url, clock).api().clone()
    }
}

async fn answer(State(inner): State<Arc<Mutex<Inner>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().to_string();
    let what = format!("{} {path}", parts.method);
    let token = parts
        .headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned())
        .unwrap_or_default();
    let (status, headers, body) = {
        let mut inner = inner.lock().unwrap();
        inner.seen.push(Seen {
            method: parts.method.to_string(),
            path,
            token,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        });
        let scripted = inner.script.get_mut(&what).and_then(VecDeque::pop_front);
        scripted.unwrap_or_else(|| {
            let body = if what == TOKEN_CALL {
                inner.tokens += 1;
                json!({
                    "code": 0, "msg": "ok", "expire": 7200,
                    "tenant_access_token": format!("t-{}", inner.tokens),
                })
            } else {
                json!({"code": 0, "data": {"message_id": "om_new", "reaction_id": "r_new"}})
            };
            (200, Vec::new(), body.to_string())
        })
    };
    if status == 0 {
        std::future::pending::<()>().await;
    }
    let status = axum::http::StatusCode::from_u16(status).unwrap();
    let mut response = (status, body).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}
