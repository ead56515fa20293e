//! The provider against a scripted server on a real socket.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::llm::{ChatMessage, Finish, ToolCall, ToolChoice, ToolSpec, Usage};
use crate::task::TaskSet;

/// What the server does with a request.
#[derive(Clone)]
enum Script {
    /// This status with this body and headers.
    Answer(u16, &'static str, Vec<(&'static str, &'static str)>),
    /// An event stream of these pieces, then its regular end.
    Stream(Vec<Vec<u8>>),
    /// An event stream of these pieces, then the connection breaks.
    Break(Vec<Vec<u8>>),
    /// An event stream of these pieces, then silence; the token fires when the client is gone.
    Stall(Vec<Vec<u8>>, CancellationToken),
}

struct Server {
    address: SocketAddr,
    heard: Heard,
    tasks: TaskSet,
}

type Heard = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// Fires its token when it is dropped.
struct Gone(CancellationToken);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn answer(
    State((script, heard)): State<(Script, Heard)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request = serde_json::from_slice(&body).unwrap();
    heard.lock().unwrap().push((headers, request));
    let event_stream = Response::builder().header("content-type", "text/event-stream");
    let good = |pieces: Vec<Vec<u8>>| {
        stream::iter(pieces).map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)))
    };
    match script {
        Script::Answer(status, body, headers) => {
            let response = Response::builder().status(status);
            let response = headers
                .into_iter()
                .fold(response, |response, (name, value)| response.header(name, value));
            response.body(Body::from(body)).unwrap()
        }
        Script::Stream(pieces) => event_stream.body(Body::from_stream(good(pieces))).unwrap(),
        Script::Break(pieces) => {
            // The pause lets the pieces out before the connection is torn down.
            let end = stream::once(async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(std::io::Error::other("broken on purpose"))
            });
            let body = Body::from_stream(good(pieces).chain(end));
            event_stream.body(body).unwrap()
        }
        Script::Stall(pieces, gone) => {
            let guard = Gone(gone);
            let silence = stream::once(async move {
                let _guard = &guard;
                std::future::pending().await
            });
            let body = Body::from_stream(good(pieces).chain(silence));
            event_stream.body(body).unwrap()
        }
    }
}

async fn serve(script: Script) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Heard::default();
    let router = Router::new()
        .route("/base/v1/chat/completions", post(answer))
        .route("/base/v1/models/{call}", post(answer))
        .with_state((script, Arc::clone(&heard)));
    let tasks = TaskSet::new("test", CancellationToken::new());
    tasks.spawn("server", async move {
        axum::serve(listener, router).await.unwrap();
    });
    Server { address, heard, tasks }
}

fn model_at(address: SocketAddr, timeout: Duration) -> ProviderModel {
    let settings = ProviderSettings {
        name: "main".to_owned(),
        format: WireFormat::ChatCompletions,
        model: "test-model-high".to_owned(),
        base_url: format!("http://{address}/base/v1"),
        api_key: Some(Secret::new("k3y")),
        timeout,
        idle_timeout: timeout,
        context_window: 1000,
    };
    ProviderModel::new(settings, &HttpFactory::default()).unwrap()
}

fn request() -> ModelRequest {
    ModelRequest {
        system: "Be kind.".to_owned(),
        messages: vec![ChatMessage::User { text: "你好".to_owned() }],
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_tokens: 321,
        temperature: 0.5,
    }
}

#[derive(Default)]
struct Pieces(Vec<String>);

impl StreamSink for Pieces {
    fn text(&mut self, delta: &str) {
        self.0.push(delta.to_owned());
    }

    fn restart(&mut self) {
        self.0.clear();
    }
}

/// One question to a server with that script.
async fn ask(script: Script) -> (Result<ModelReply, LlmError>, Vec<String>) {
    let server = serve(script).await;
    let model = model_at(server.address, Duration::from_secs(10));
    let mut pieces = Pieces::default();
    let outcome = model.complete(&request(), &mut pieces).await;
    (outcome, pieces.0)
}

fn event(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn delta(delta: &Value) -> Vec<u8> {
    event(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

fn finish(reason: &str) -> Vec<u8> {
    event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
}

fn tool_delta(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Vec<u8> {
    let mut call = json!({ "index": index, "function": { "arguments": arguments } });
    if let (Some(id), Some(name)) = (id, name) {
        call["id"] = id.into();
        call["function"]["name"] = name.into();
    }
    delta(&json!({ "tool_calls": [call] }))
}

fn done() -> Vec<u8> {
    b"data: [DONE]\n\n".to_vec()
}

fn usage() -> Vec<u8> {
    event(&json!({ "choices": [], "usage": {
        "prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
        "prompt_tokens_details": { "cached_tokens": 8 }
    } }))
}

#[tokio::test]
async fn text_streams_to_the_sink_and_the_reply_holds_all_of_it() {
    let whole = [
        delta(&json!({ "role": "assistant", "content": "" })),
        delta(&json!({ "content": "你好" })),
        b": comment\n\n".to_vec(),
        delta(&json!({ "content": ", you" })),
        finish("length"),
        usage(),
        done(),
    ]
    .concat();
    // Cut inside a character and inside an event.
    let character = "好".as_bytes();
    let middle = whole.windows(3).position(|part| part == character).unwrap();
    let halves = vec![whole[..=middle].to_vec(), whole[middle + 1..].to_vec()];
    let (reply, pieces) = ask(Script::Stream(halves)).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "你好, you");
    assert_eq!(pieces, ["你好", ", you"]);
    assert_eq!(reply.finish, Finish::Length);
    let counted = Usage { input: 12, output: 5, cached: 8 };
    assert_eq!(reply.usage, counted);
    assert!(reply.calls.is_empty());
}

#[tokio::test]
async fn a_reply_that_the_provider_holds_back_is_not_taken_for_a_whole_one() {
    let begun = vec![delta(&json!({ "content": "half" })), finish("content_filter"), done()];
    let (reply, _pieces) = ask(Script::Stream(begun)).await;
    assert_eq!(reply.unwrap().finish, Finish::Filtered);
}

#[tokio::test]
async fn a_reply_without_line_ends_is_given_up_before_it_takes_all_the_time() {
    let mut pieces = vec![b"data: ".to_vec()];
    pieces.extend((0..800).map(|_| vec![b'x'; 1 << 16]));
    let server = serve(Script::Stream(pieces)).await;
    let model = model_at(server.address, Duration::from_secs(30));
    let error = model.complete(&request(), &mut Pieces::default()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.text.as_str()),
        (LlmErrorKind::Malformed, "the reply does not come in events")
    );
    let heard = server.heard.lock().unwrap();
    assert!(!heard[0].0.contains_key("accept-encoding"), "nothing is to be packed");
}

#[tokio::test]
async fn tool_calls_are_put_together_from_their_deltas() {
    let (reply, pieces) = ask(Script::Stream(vec![
        tool_delta(0, Some("a"), Some("search"), ""),
        tool_delta(1, Some("b"), Some("read"), "{\"id\":"),
        tool_delta(0, None, None, "{\"query\":\"x"),
        tool_delta(0, None, None, "\"}"),
        tool_delta(1, None, None, "1"),
        tool_delta(2, Some(""), Some("now"), ""),
        finish("tool_calls"),
        done(),
    ]))
    .await;
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
    };
    let expected = [
        call("a", "search", json!({ "query": "x" })),
        call("b", "read", json!("{\"id\":1")),
        call("call_3_now", "now", json!({})),
    ];
    let reply = reply.unwrap();
    assert_eq!(reply.calls, expected);
    assert_eq!(reply.finish, Finish::Stop);
    assert!(pieces.is_empty());
}

#[tokio::test]
async fn the_request_says_what_the_engine_said() {
    let server = serve(Script::Stream(vec![delta(&json!({ "content": "ok" })), done()])).await;
    let model = model_at(server.address, Duration::from_secs(10));
    let mut asked = request();
    let called =
        |arguments: Value| ToolCall { id: "c1".to_owned(), name: "search".to_owned(), arguments };
    asked.messages.extend([
        ChatMessage::Assistant { text: String::new(), calls: vec![called(json!({ "q": 1 }))] },
        ChatMessage::Tool {
            call_id: "c1".to_owned(),
            name: "search".to_owned(),
            text: "found".to_owned(),
        },
        ChatMessage::Assistant { text: "hm".to_owned(), calls: vec![called(json!("{broken"))] },
    ]);
    asked.tools = vec![ToolSpec {
        name: "search".to_owned(),
        description: "Searches.".to_owned(),
        parameters: json!({ "type": "object", "properties": {} }),
    }];
    asked.tool_choice = ToolChoice::Required;
    model.complete(&asked, &mut ()).await.unwrap();
    let heard = server.heard.lock().unwrap();
    let (headers, sent) = &heard[0];
    assert_eq!(headers["authorization"], "Bearer k3y");
    assert_eq!(sent["model"], "test-model-high");
    assert_eq!(sent.get("reasoning_effort"), None);
    assert_eq!(sent["max_tokens"], 321);
    assert_eq!(sent["temperature"], 0.5);
    assert_eq!(sent["stream_options"], json!({ "include_usage": true }));
    assert_eq!(sent["tool_choice"], "required");
    assert_eq!(sent["tools"][0]["function"]["name"], "search");
    assert_eq!(sent["tools"][0]["function"]["description"], "Searches.");
    let messages = sent["messages"].as_array().unwrap();
    assert_eq!(messages[0], json!({ "role": "system", "content": "Be kind." }));
    assert_eq!(messages[1], json!({ "role": "user", "content": "你好" }));
    assert_eq!(messages[2]["tool_calls"][0]["id"], "c1");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"q\":1}");
    let answered = json!({ "role": "tool", "content": "found", "tool_call_id": "c1" });
    assert_eq!(messages[3], answered);
    let broken = messages[4]["tool_calls"][0]["function"]["arguments"].as_str();
    let broken: Value = serde_json::from_str(broken.unwrap()).unwrap();
    assert_eq!(broken, json!({ "invalid_arguments": "{broken" }));
}

#[tokio::test]
async fn without_a_key_no_authorization_is_sent() {
    let server = serve(Script::Stream(vec![done()])).await;
    let mut settings = model_at(server.address, Duration::from_secs(10)).settings;
    settings.api_key = None;
    settings.base_url.push('/');
    let model = ProviderModel::new(settings, &HttpFactory::default()).unwrap();
    let mut asked = request();
    asked.tool_choice = ToolChoice::None;
    model.complete(&asked, &mut ()).await.unwrap();
    let heard = server.heard.lock().unwrap();
    assert_eq!(heard[0].0.get("authorization"), None);
    assert_eq!(heard[0].1.get("tool_choice"), None, "no tools, no choice");
}

#[tokio::test]
async fn refusals_have_their_kinds() {
    let context = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.",
        "type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    for (status, body, kind) in [
        (400, context, LlmErrorKind::ContextTooLong),
        (400, "{\"error\":{\"code\":\"bad\"}}", LlmErrorKind::Rejected),
        (401, "{}", LlmErrorKind::Unauthorised),
        (403, "nope", LlmErrorKind::Unauthorised),
        (404, "<html>", LlmErrorKind::Rejected),
        (302, "", LlmErrorKind::Rejected),
        (500, "", LlmErrorKind::Overloaded),
        (503, "[]", LlmErrorKind::Overloaded),
        (529, "{}", LlmErrorKind::Overloaded),
    ] {
        let (outcome, _) = ask(Script::Answer(status, body, Vec::new())).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(error.text.contains(&status.to_string()), "{}", error.text);
        assert_eq!(error.retry_after, None);
    }
    let wait = vec![("retry-after", "7")];
    let (outcome, _) = ask(Script::Answer(429, "{}", wait)).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_stream_without_its_end_is_cut_off() {
    let said = || vec![delta(&json!({ "content": "half" }))];
    for script in [Script::Stream(said()), Script::Break(said())] {
        let (outcome, pieces) = ask(script).await;
        assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::CutOff);
        assert_eq!(pieces, ["half"]);
    }
}

#[tokio::test]
async fn a_gemini_stream_without_its_last_piece_is_cut_off() {
    let piece = |reason: Value| {
        let content = json!({ "parts": [{ "text": "half" }], "role": "model" });
        event(&json!({ "candidates": [{ "content": content, "finishReason": reason }] }))
    };
    let whole = vec![piece(Value::Null), piece("STOP".into())];
    for (pieces, kind) in [
        (whole.clone(), None),
        (whole[..1].to_vec(), Some(LlmErrorKind::CutOff)),
        (vec![b"<html></html>".to_vec()], Some(LlmErrorKind::Malformed)),
        (vec![event(&json!({ "promptFeedback": {} }))], Some(LlmErrorKind::Malformed)),
    ] {
        let server = serve(Script::Stream(pieces)).await;
        let mut settings = model_at(server.address, Duration::from_secs(10)).settings;
        settings.format = WireFormat::Gemini;
        let model = ProviderModel::new(settings, &HttpFactory::default()).unwrap();
        let outcome = model.complete(&request(), &mut ()).await;
        assert_eq!(outcome.err().map(|error| error.kind), kind);
    }
}

#[tokio::test]
async fn garbage_is_malformed_and_nothing_behind_it_counts() {
    let bad_event = vec![
        delta(&json!({ "content": "a" })),
        b"data: {broken\n\n".to_vec(),
        delta(&json!({ "content": "b" })),
        done(),
    ];
    let (outcome, pieces) = ask(Script::Stream(bad_event)).await;
    assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::Malformed);
    assert_eq!(pieces, ["a"]);
    let page = "<html><body>Welcome</body></html>";
    for body in [page, "", "{\"choices\":[]}"] {
        let (outcome, _) = ask(Script::Answer(200, body, Vec::new())).await;
        assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::Malformed, "{body}");
    }
}

#[tokio::test]
async fn an_error_within_the_stream_ends_the_call() {
    let error = json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } });
    let (outcome, _) = ask(Script::Stream(vec![event(&error), done()])).await;
    assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::RateLimited);
}

#[tokio::test]
async fn a_stalled_stream_times_out_and_its_connection_is_closed() {
    let gone = CancellationToken::new();
    let said = vec![delta(&json!({ "content": "wait" }))];
    let server = serve(Script::Stall(said, gone.clone())).await;
    let model = model_at(server.address, Duration::from_millis(300));
    let mut pieces = Pieces::default();
    let error = model.complete(&request(), &mut pieces).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Timeout);
    assert_eq!(pieces.0, ["wait"]);
    gone.cancelled().await;
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up_before_the_whole_time_is_over() {
    for said in [Vec::new(), vec![delta(&json!({ "content": "wait" }))]] {
        let gone = CancellationToken::new();
        let server = serve(Script::Stall(said.clone(), gone.clone())).await;
        let mut settings = model_at(server.address, Duration::from_secs(600)).settings;
        settings.idle_timeout = Duration::from_millis(200);
        let model = ProviderModel::new(settings, &HttpFactory::default()).unwrap();
        let error = model.complete(&request(), &mut ()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Timeout, "{said:?}");
        gone.cancelled().await;
    }
}

#[tokio::test]
async fn dropping_the_call_closes_its_connection() {
    struct Heard(CancellationToken);
    impl StreamSink for Heard {
        fn text(&mut self, _delta: &str) {
            self.0.cancel();
        }

        fn restart(&mut self) {}
    }
    let (gone, heard) = (CancellationToken::new(), CancellationToken::new());
    let said = vec![delta(&json!({ "content": "go" }))];
    let server = serve(Script::Stall(said, gone.clone())).await;
    let model = model_at(server.address, Duration::from_secs(60));
    let asked = request();
    let mut sink = Heard(heard.clone());
    let dropped = heard.run_until_cancelled(model.complete(&asked, &mut sink)).await;
    assert!(dropped.is_none());
    // The server's body is dropped when it notices; the time limit only bounds a failing test.
    let noticed = tokio::time::timeout(Duration::from_secs(5), gone.cancelled()).await;
    assert!(noticed.is_ok(), "the server still holds the connection");
    assert_eq!(server.tasks.len(), 1);
}

#[tokio::test]
async fn a_refused_connection_is_a_network_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = model_at(address, Duration::from_secs(10));
    let error = model.complete(&request(), &mut ()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Network);
}

#[test]
fn a_bad_address_is_refused_and_the_key_is_never_shown() {
    let mut settings = model_at(([127, 0, 0, 1], 1).into(), Duration::from_secs(1)).settings;
    let model = ProviderModel::new(settings.clone(), &HttpFactory::default()).unwrap();
    assert!(!format!("{model:?}").contains("k3y"));
    for bad in ["", "api.example.com/v1", "ftp://example.com", "http://"] {
        bad.clone_into(&mut settings.base_url);
        let error = ProviderModel::new(settings.clone(), &HttpFactory::default());
        assert_eq!(error.unwrap_err().kind, LlmErrorKind::Rejected, "{bad}");
    }
}
