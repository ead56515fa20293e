//! A playground on a clock that the test moves, an app that receives events, a plain client.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use larkspur::base::{ManualClock, Timestamp};
use larkspur::playground::{Playground, Settings};
use larkspur::task::TaskSet;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Long enough for a loaded machine; nothing waits that long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn playground() -> Playground {
    playground_with(Settings { seed: Some(7), time_scale: 0, ..Settings::default() }).await
}

pub(crate) async fn playground_with(settings: Settings) -> Playground {
    let clock = ManualClock::at(Timestamp::from_millis(1_760_000_000_000));
    Playground::start(settings, CancellationToken::new(), Arc::new(clock)).await.unwrap()
}

/// What a call answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
    pub(crate) text: String,
}

/// The body of an answer.
pub(crate) async fn bytes_of(response: &mut reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

impl Reply {
    pub(crate) async fn of(mut response: reqwest::Response) -> Result<Self, reqwest::Error> {
        let text = String::from_utf8(bytes_of(&mut response).await?).unwrap();
        Ok(Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            json: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        })
    }

    pub(crate) fn code(&self) -> i64 {
        self.json["code"].as_i64().unwrap_or(-1)
    }

    pub(crate) fn data(&self, pointer: &str) -> &str {
        let value = self.json["data"].pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

/// A client of the platform API.
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) token: String,
}

pub(crate) fn http() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::ClientBuilder::new()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .retry(reqwest::retry::never())
        .build()
        .unwrap()
}

impl Client {
    pub(crate) fn anonymous(sim: &Playground) -> Self {
        Self { http: http(), base: sim.base_url(), token: String::new() }
    }

    pub(crate) async fn of(sim: &Playground) -> Self {
        let mut client = Self::anonymous(sim);
        client.token = client.new_token().await;
        client
    }

    pub(crate) async fn new_token(&self) -> String {
        let body = serde_json::json!({
            "app_id": "cli_a1b2c3d4e5f60718", "app_secret": "playground-app-secret",
        });
        let reply =
            self.call("POST", "/open-apis/auth/v3/tenant_access_token/internal", Some(&body)).await;
        assert_eq!(reply.code(), 0, "{}", reply.text);
        reply.json["tenant_access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.try_call(method, path, body).await.unwrap()
    }

    pub(crate) async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, reqwest::Error> {
        let url = format!("{}{path}", self.base);
        let mut request = self.http.request(method.parse().unwrap(), url);
        if !self.token.is_empty() {
            request = request.header("Authorization", format!("Bearer {}", self.token));
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        Reply::of(request.send().await?).await
    }

    pub(crate) async fn send(&self, chat_id: &str, text: &str, uuid: &str) -> Reply {
        let body = text_message(chat_id, text, uuid);
        let path = "/open-apis/im/v1/messages?receive_id_type=chat_id";
        self.call("POST", path, Some(&body)).await
    }

    pub(crate) async fn reply(&self, message_id: &str, text: &str) -> Reply {
        let path = format!("/open-apis/im/v1/messages/{message_id}/reply");
        self.call("POST", &path, Some(&text_message("", text, ""))).await
    }
}

pub(crate) fn text_message(chat_id: &str, text: &str, uuid: &str) -> Value {
    let content = serde_json::json!({"text": text}).to_string();
    serde_json::json!({
        "receive_id": chat_id, "msg_type": "text", "content": content, "uuid": uuid,
    })
}

/// One request that the app received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

#[derive(Default)]
struct Inbox {
    received: Mutex<Vec<Received>>,
    statuses: Mutex<VecDeque<u16>>,
    challenge: Mutex<Option<String>>,
    answer: Mutex<Option<String>>,
    gate: tokio::sync::RwLock<()>,
}

/// An app that receives events and answers as a script says, then 200.
pub(crate) struct App {
    inbox: Arc<Inbox>,
    tasks: TaskSet,
    pub(crate) url: String,
}

impl App {
    pub(crate) async fn answering(statuses: &[u16]) -> Self {
        let inbox = Arc::new(Inbox::default());
        inbox.statuses.lock().unwrap().extend(statuses);
        let router =
            axum::Router::new().route("/events", post(receive)).with_state(Arc::clone(&inbox));
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = tokio::net::TcpListener::bind(local).await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let tasks = TaskSet::new("test app", CancellationToken::new());
        let cancel = tasks.cancellation().clone();
        tasks.spawn("serve", async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                _ended = IntoFuture::into_future(axum::serve(listener, router)) => {}
            }
        });
        Self { inbox, tasks, url }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.inbox.received.lock().unwrap().clone()
    }

    /// Answers handshakes with this challenge, whatever was asked.
    pub(crate) fn answer_challenge_with(&self, challenge: &str) {
        *self.inbox.challenge.lock().unwrap() = Some(challenge.to_owned());
    }
}

impl App {
    /// Answers everything but handshakes with this.
    pub(crate) fn answer_with(&self, answer: &Value) {
        *self.inbox.answer.lock().unwrap() = Some(answer.to_string());
    }

    /// Answers nothing until what this gives is dropped.
    pub(crate) async fn hold(&self) -> tokio::sync::RwLockWriteGuard<'_, ()> {
        self.inbox.gate.write().await
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.tasks.cancellation().cancel();
    }
}

async fn receive(
    State(inbox): State<Arc<Inbox>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let body = String::from_utf8(body.to_vec()).unwrap();
    inbox.received.lock().unwrap().push(Received { headers, body: body.clone() });
    drop(inbox.gate.read().await);
    let status = inbox.statuses.lock().unwrap().pop_front().unwrap_or(200);
    let forced = inbox.challenge.lock().unwrap().clone();
    let event = opened(&body);
    let answer = match (forced, event["challenge"].as_str()) {
        (Some(forced), _) => serde_json::json!({"challenge": forced}).to_string(),
        (None, Some(challenge)) => serde_json::json!({"challenge": challenge}).to_string(),
        (None, None) => inbox.answer.lock().unwrap().clone().unwrap_or_else(|| "{}".to_owned()),
    };
    (StatusCode::from_u16(status).unwrap(), answer)
}

pub(crate) const ENCRYPT_KEY: &str = "kX9fQ2mB7rT4vZ1nC6wL3pHd";

/// The event inside a pushed body.
pub(crate) fn opened(body: &str) -> Value {
    let outer: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let Some(sealed) = outer["encrypt"].as_str() else {
        return outer;
    };
    let plain = larkspur::playground::crypt::open(ENCRYPT_KEY, sealed).unwrap();
    serde_json::from_str(&plain).unwrap()
}
