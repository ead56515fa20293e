//! The server: it captures, checks, decides, answers, and notices who hangs up.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use larkspur::base::{Clock, SystemClock, Timestamp};
use larkspur::task::TaskSet;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::captured::Captured;
use super::checks::violations;
use super::formats::{Format, from_anthropic, from_gemini};
use super::script::{Latency, Mode, Rule, ToolCall, Turn, decide};
use super::wire::Completion;

/// How many requests are kept whole; of those before the newest ones the bodies are dropped.
const WHOLE_MAX: usize = 1_000;

struct Inner {
    rules: Vec<Rule>,
    latency: Latency,
    chunk_pause: Duration,
    models: Vec<String>,
    requests: Vec<Captured>,
    violations: Vec<String>,
    aborted: Vec<Timestamp>,
    running: usize,
    running_most: usize,
}

struct Shared {
    inner: Mutex<Inner>,
    changes: watch::Sender<u64>,
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let outcome = change(&mut self.inner.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        outcome
    }
}

/// A running model server. It ends when it is dropped.
pub(crate) struct ModelServer {
    shared: Arc<Shared>,
    tasks: TaskSet,
    address: SocketAddr,
}

impl ModelServer {
    /// A server in one mode.
    pub(crate) async fn start(mode: Mode) -> Self {
        Self::with_rules(vec![Rule::always(mode)]).await
    }

    /// A server whose rules decide request by request.
    pub(crate) async fn with_rules(rules: Vec<Rule>) -> Self {
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                rules,
                latency: Latency::Fixed(Duration::ZERO),
                chunk_pause: Duration::ZERO,
                models: Vec::new(),
                requests: Vec::new(),
                violations: Vec::new(),
                aborted: Vec::new(),
                running: 0,
                running_most: 0,
            }),
            changes: watch::Sender::new(0),
        });
        let router = axum::Router::new()
            .route("/v1/chat/completions", post(complete_chat))
            .route("/v1/messages", post(complete_anthropic))
            .route("/v1beta/models/{call}", post(complete_gemini))
            .layer(axum::extract::DefaultBodyLimit::max(64 << 20))
            .with_state(Arc::clone(&shared));
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = tokio::net::TcpListener::bind(local).await.unwrap();
        let address = listener.local_addr().unwrap();
        let tasks = TaskSet::new("model", CancellationToken::new());
        let cancel = tasks.cancellation().clone();
        tasks.spawn("serve", async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                _ended = IntoFuture::into_future(axum::serve(listener, router)) => {}
            }
        });
        Self { shared, tasks, address }
    }

    /// The base of the API, with a slash at its end: `http://127.0.0.1:40123/v1/`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// The base for another format.
    pub(crate) fn base_url_of(&self, format: Format) -> String {
        match format {
            Format::Chat | Format::Anthropic => self.base_url(),
            Format::Gemini => format!("http://{}/v1beta/", self.address),
        }
    }

    /// Replaces all rules by one mode.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.set_rules(vec![Rule::always(mode)]);
    }

    pub(crate) fn set_rules(&self, rules: Vec<Rule>) {
        self.shared.change(|inner| inner.rules = rules);
    }

    pub(crate) fn set_latency(&self, latency: Latency) {
        self.shared.change(|inner| inner.latency = latency);
    }

    /// The wait between the chunks of a stream.
    pub(crate) fn set_chunk_pause(&self, pause: Duration) {
        self.shared.change(|inner| inner.chunk_pause = pause);
    }

    /// The only models that requests may name; none: all.
    pub(crate) fn allow_models(&self, models: &[&str]) {
        let models = models.iter().map(|model| (*model).to_owned()).collect();
        self.shared.change(|inner| inner.models = models);
    }

    pub(crate) fn requests(&self) -> Vec<Captured> {
        self.shared.inner.lock().unwrap().requests.clone()
    }

    /// The last request; there must be one.
    pub(crate) fn last_request(&self) -> Captured {
        self.requests().pop().expect("a request")
    }

    /// When clients hung up before they had the whole answer.
    pub(crate) fn aborted(&self) -> Vec<Timestamp> {
        self.shared.inner.lock().unwrap().aborted.clone()
    }

    /// The most requests that were at work at the same time.
    pub(crate) fn running_most(&self) -> usize {
        self.shared.inner.lock().unwrap().running_most
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.shared.inner.lock().unwrap().violations.clone()
    }

    /// Fails the test if any request broke a rule of the conversation.
    pub(crate) fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// Waits for at least `count` requests; false if `patience` ran out.
    pub(crate) async fn wait_for_requests(&self, count: usize, patience: Duration) -> bool {
        self.wait(patience, |inner| inner.requests.len() >= count).await
    }

    /// Waits for at least `count` hang-ups; false if `patience` ran out.
    pub(crate) async fn wait_for_aborted(&self, count: usize, patience: Duration) -> bool {
        self.wait(patience, |inner| inner.aborted.len() >= count).await
    }

    async fn wait(&self, patience: Duration, ready: impl Fn(&Inner) -> bool) -> bool {
        let mut changes = self.shared.changes.subscribe();
        let search = async {
            loop {
                changes.borrow_and_update();
                if ready(&self.shared.inner.lock().unwrap()) {
                    return;
                }
                changes.changed().await.expect("the server is alive");
            }
        };
        tokio::time::timeout(patience, search).await.is_ok()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.tasks.cancellation().cancel();
    }
}

/// Counts a request as aborted unless its answer was given to the end.
struct InFlight {
    shared: Arc<Shared>,
    finished: bool,
}

impl InFlight {
    fn begin(shared: Arc<Shared>) -> Self {
        shared.change(|inner| {
            inner.running += 1;
            inner.running_most = inner.running_most.max(inner.running);
        });
        Self { shared, finished: false }
    }

    fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let finished = self.finished;
        self.shared.change(|inner| {
            inner.running -= 1;
            if !finished {
                inner.aborted.push(SystemClock::default().now());
            }
        });
    }
}

async fn complete_chat(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    complete(shared, Format::Chat, headers, &body, |body| (body.clone(), Vec::new())).await
}

async fn complete_anthropic(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let has_version = headers.get("anthropic-version").is_some_and(|value| value == "2023-06-01");
    let retell = |body: &Value| {
        let (retold, mut wrong) = from_anthropic(body);
        if !has_version {
            wrong.push("no version".to_owned());
        }
        (retold, wrong)
    };
    complete(shared, Format::Anthropic, headers, &body, retell).await
}

async fn complete_gemini(
    State(shared): State<Arc<Shared>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(model) = call.strip_suffix(":streamGenerateContent") else {
        return json_answer(404, &json!({"error": {"code": 404}}), None);
    };
    complete(shared, Format::Gemini, headers, &body, |body| from_gemini(model, body)).await
}

async fn complete(
    shared: Arc<Shared>,
    format: Format,
    headers: HeaderMap,
    body: &Bytes,
    retell: impl FnOnce(&Value) -> (Value, Vec<String>),
) -> Response {
    let Ok(raw) = serde_json::from_slice::<Value>(body) else {
        shared.change(|inner| inner.violations.push("a body that is not JSON".to_owned()));
        return json_answer(400, &json!({"error": {"message": "not JSON"}}), None);
    };
    let (body, wrong) = retell(&raw);
    let authorization = headers.get(format.key_header()).and_then(|value| value.to_str().ok());
    let authorization = authorization.map(str::to_owned);
    let guard = InFlight::begin(Arc::clone(&shared));
    let (request, mut turn, wait, pause) = shared.change(|inner| {
        let number = inner.requests.len();
        let request = Captured { number, format, body, raw, authorization };
        inner.violations.extend(wrong.iter().map(|what| format!("request {number}: {what}")));
        inner.violations.extend(violations(&request, &inner.models));
        inner.requests.push(request.clone());
        if let Some(old) = number.checked_sub(WHOLE_MAX) {
            inner.requests[old].body = Value::Null;
            inner.requests[old].raw = Value::Null;
        }
        let turn = decide(&mut inner.rules, &request);
        (request, turn, inner.latency.of(number), inner.chunk_pause)
    });
    tokio::time::sleep(wait).await;
    while let Turn::Later(wait, then) = turn {
        tokio::time::sleep(wait).await;
        turn = *then;
    }
    answer(&request, turn, pause, guard).await
}

async fn answer(request: &Captured, turn: Turn, pause: Duration, guard: InFlight) -> Response {
    let (text, calls, finish) = match turn {
        Turn::Fail { status, body, retry_after_s } => {
            guard.finish();
            let (status, body) = request.format.failure(status, &body, retry_after_s);
            // Gemini has no such header.
            let header = retry_after_s.filter(|_| request.format != Format::Gemini);
            return json_answer(status, &body, header);
        }
        Turn::Stall => std::future::pending().await,
        Turn::StallAfter(_) if !request.stream() => std::future::pending().await,
        Turn::StallAfter(text) => return unfinished(request, &text, Step::Stall, guard),
        Turn::Cut(text) => return unfinished(request, &text, Step::Cut, guard),
        Turn::FailAfter(text) => {
            let error = Step::Send(request.format.error_event());
            return unfinished(request, &text, error, guard);
        }
        Turn::Text(text) => (text, Vec::new(), "stop"),
        Turn::Truncated(text) => (text, Vec::new(), "length"),
        Turn::Empty | Turn::Later(..) => (String::new(), Vec::new(), "stop"),
        Turn::Calls { text, calls } => (text, calls, "tool_calls"),
        Turn::Malformed(name) => {
            let arguments = r#"{"query": "unfini"#.to_owned();
            (String::new(), vec![ToolCall { name, arguments }], "tool_calls")
        }
    };
    let completion = Completion { text: &text, calls: &calls, finish };
    if !request.stream() {
        guard.finish();
        return json_answer(200, &completion.whole(request), None);
    }
    let mut steps = VecDeque::new();
    let (events, end) = completion.events(request);
    for event in events {
        steps.push_back(Step::Send(event));
        steps.push_back(Step::Pause(pause));
    }
    steps.push_back(Step::Send(end));
    streamed(steps, guard)
}

/// The beginning of a text and then `end`.
fn unfinished(request: &Captured, text: &str, end: Step, guard: InFlight) -> Response {
    let completion = Completion { text, calls: &[], finish: "stop" };
    let mut chunks: VecDeque<String> = if request.stream() {
        completion.events(request).0.into()
    } else {
        let whole = completion.whole(request).to_string();
        VecDeque::from([whole, String::new()])
    };
    if request.format == Format::Chat {
        let half = chunks.len().saturating_sub(1);
        chunks.truncate(half);
    }
    if !request.stream() {
        let cut = chunks.pop_front().unwrap_or_default();
        let half = cut.chars().count() / 2;
        chunks.push_back(cut.chars().take(half).collect());
    }
    let mut steps: VecDeque<Step> = chunks.into_iter().map(Step::Send).collect();
    // A moment, so that what came before is on the wire.
    steps.push_back(Step::Pause(Duration::from_millis(20)));
    steps.push_back(end);
    streamed(steps, guard)
}

enum Step {
    Send(String),
    Pause(Duration),
    Stall,
    Cut,
}

fn streamed(steps: VecDeque<Step>, guard: InFlight) -> Response {
    let body = stream::unfold((steps, Some(guard)), |(mut steps, mut guard)| async move {
        loop {
            match steps.pop_front() {
                None => return None,
                Some(Step::Send(text)) => {
                    // A client may hang up as soon as it has the end mark: that is no abort.
                    if steps.is_empty()
                        && let Some(guard) = guard.take()
                    {
                        guard.finish();
                    }
                    return Some((Ok(text), (steps, guard)));
                }
                Some(Step::Pause(pause)) if pause.is_zero() => {}
                Some(Step::Pause(pause)) => tokio::time::sleep(pause).await,
                Some(Step::Stall) => std::future::pending().await,
                Some(Step::Cut) => {
                    if let Some(guard) = guard.take() {
                        guard.finish();
                    }
                    steps.clear();
                    let broken = io::Error::new(io::ErrorKind::ConnectionReset, "cut on purpose");
                    return Some((Err(broken), (steps, guard)));
                }
            }
        }
    });
    let mut response = Response::new(Body::from_stream(body));
    let content_type = "text/event-stream".parse().unwrap();
    response.headers_mut().insert("content-type", content_type);
    response
}

fn json_answer(status: u16, body: &Value, retry_after_s: Option<u64>) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    let headers = response.headers_mut();
    headers.insert("content-type", "application/json".parse().unwrap());
    if let Some(seconds) = retry_after_s {
        headers.insert("retry-after", seconds.into());
    }
    response
}
