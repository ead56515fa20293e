use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::llm::{Finish, ToolCall, ToolSpec};

/// A model that answers from a list and counts.
struct Listed {
    name: &'static str,
    lines: Mutex<VecDeque<Result<ModelReply, LlmErrorKind>>>,
}

#[async_trait]
impl Model for Listed {
    fn name(&self) -> &str {
        self.name
    }

    fn context_window(&self) -> u64 {
        0
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let line = self.lines.lock().unwrap().pop_front().expect("the list is long enough");
        sink.text(self.name);
        let text = self.name.to_owned();
        line.map_err(|kind| LlmError { kind, retry_after: None, text })
    }
}

fn listed(
    name: &'static str,
    lines: impl IntoIterator<Item = Result<ModelReply, LlmErrorKind>>,
) -> Arc<dyn Model> {
    Arc::new(Listed { name, lines: Mutex::new(lines.into_iter().collect()) })
}

fn says(text: &str) -> ModelReply {
    let usage = Usage { input: 10, output: 1, cached: 0 };
    ModelReply { text: text.to_owned(), calls: Vec::new(), finish: Finish::Stop, usage }
}

fn question() -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "x".to_owned(),
        parameters: json!({}),
    };
    ModelRequest {
        system: String::new(),
        messages: vec![
            ChatMessage::User { text: "earlier".to_owned() },
            ChatMessage::Assistant { text: "answer".to_owned(), calls: Vec::new() },
            ChatMessage::User { text: "how do we deploy?".to_owned() },
        ],
        tools: vec![tool("search_knowledge"), tool("other")],
        tool_choice: ToolChoice::Auto,
        max_tokens: 1,
        temperature: 0.0,
    }
}

/// The conversation after the model called a tool.
fn round(request: &ModelRequest, call: ToolCall) -> ModelRequest {
    let mut next = request.clone();
    let (call_id, name) = (call.id.clone(), call.name.clone());
    next.messages.push(ChatMessage::Assistant { text: String::new(), calls: vec![call] });
    next.messages.push(ChatMessage::Tool { call_id, name, text: "{\"hits\":[]}".to_owned() });
    next
}

use LlmErrorKind::{CircuitOpen, Overloaded, RateLimited, Rejected, Unauthorised};

async fn kind(
    first: LlmErrorKind,
    second: LlmErrorKind,
    request: &ModelRequest,
) -> Option<LlmErrorKind> {
    let model = FallbackModel::new(listed("a", [Err(first)]), vec![listed("b", [Err(second)])]);
    model.complete(request, &mut ()).await.err().map(|error| error.kind)
}

#[tokio::test]
async fn the_next_model_is_asked_when_one_fails_whatever_the_reason() {
    for reason in [CircuitOpen, Overloaded, RateLimited, Rejected, Unauthorised] {
        let model = FallbackModel::new(
            listed("a", [Err(reason), Ok(says("main"))]),
            vec![listed("b", [Err(reason)]), listed("c", [Ok(says("third"))])],
        );
        let reply = model.complete(&question(), &mut ()).await.unwrap();
        assert_eq!(reply.text, "third");
        let reply = model.complete(&question(), &mut ()).await.unwrap();
        assert_eq!(reply.text, "main", "each call begins with the first");
    }
}

#[tokio::test]
async fn text_of_a_model_that_failed_is_void_when_the_next_begins() {
    #[derive(Default)]
    struct Heard(String);
    impl StreamSink for Heard {
        fn text(&mut self, delta: &str) {
            self.0.push_str(delta);
        }

        fn restart(&mut self) {
            self.0.push('|');
        }
    }
    let mut heard = Heard::default();
    let model =
        FallbackModel::new(listed("a", [Err(Overloaded)]), vec![listed("b", [Ok(says("x"))])]);
    model.complete(&question(), &mut heard).await.unwrap();
    assert_eq!(heard.0, "a|b");
}

#[tokio::test]
async fn of_two_failures_the_more_hopeful_is_told() {
    let request = question();
    for (first, second, told) in [
        (Overloaded, Unauthorised, Overloaded),
        (Unauthorised, RateLimited, RateLimited),
        (Rejected, Unauthorised, Rejected),
        (CircuitOpen, Unauthorised, Unauthorised),
        (CircuitOpen, Overloaded, Overloaded),
        (Overloaded, RateLimited, Overloaded),
    ] {
        assert_eq!(kind(first, second, &request).await, Some(told), "{first:?}, {second:?}");
    }
}

#[tokio::test]
async fn an_empty_reply_is_tried_once_on_the_next_model_and_paid() {
    let model = FallbackModel::new(
        listed("a", [Ok(says(" ")), Ok(says("")), Ok(says(""))]),
        vec![listed("b", [Ok(says("full")), Err(Overloaded), Ok(says(""))]), listed("c", [])],
    );
    let reply = model.complete(&question(), &mut ()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input), ("full", 20));
    for _ in 0..2 {
        let reply = model.complete(&question(), &mut ()).await.unwrap();
        assert!(is_empty(&reply), "one retry and no more");
    }
}

#[tokio::test]
async fn when_all_rest_the_offline_answerer_begins_the_run_and_ends_it() {
    let model =
        FallbackModel::new(listed("a", [Err(CircuitOpen)]), vec![listed("b", [Err(CircuitOpen)])]);
    let request = question();
    let mut reply = model.complete(&request, &mut ()).await.unwrap();
    let call = reply.calls.remove(0);
    assert_eq!(call.name, "search_knowledge");
    // The models are not even asked: their lists are used up.
    let reply = model.complete(&round(&request, call), &mut ()).await.unwrap();
    assert!(reply.text.starts_with("(The model is not available"), "{}", reply.text);
    assert!(reply.text.contains("nothing about"), "{}", reply.text);
}

#[tokio::test]
async fn the_offline_answerer_never_steps_into_a_run_that_a_model_has_begun() {
    let call = ToolCall { id: "c1".to_owned(), name: "other".to_owned(), arguments: json!({}) };
    let begun = round(&question(), call);
    let mut nudged = begun.clone();
    nudged.messages.push(ChatMessage::User { text: "go on".to_owned() });
    // The forced summary is one question without tools.
    let mut summary = question();
    summary.tools.clear();
    summary.tool_choice = ToolChoice::None;
    let mut withheld = question();
    withheld.tool_choice = ToolChoice::None;
    for request in [begun, nudged, summary, withheld] {
        assert_eq!(kind(CircuitOpen, CircuitOpen, &request).await, Some(CircuitOpen));
    }
    assert_eq!(kind(CircuitOpen, CircuitOpen, &question()).await, None);
    assert_eq!(kind(Overloaded, CircuitOpen, &question()).await, Some(Overloaded), "not all rest");
}
