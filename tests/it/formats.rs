//! What every provider's format must do, against the scripted server over real HTTP.

use std::time::Duration;

use larkspur::base::Secret;
use larkspur::llm::{
    ChatMessage, Finish, LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, ProviderModel,
    ProviderSettings, StreamSink, ToolCall, ToolChoice, ToolSpec, WireFormat,
};
use larkspur::net::HttpFactory;
use serde_json::json;

use crate::llm_script::{Format, Mode, ModelServer, ToolCall as ScriptedCall, Turn};

const ALL: [Format; 3] = [Format::Chat, Format::Anthropic, Format::Gemini];

fn wire_format(format: Format) -> WireFormat {
    match format {
        Format::Chat => WireFormat::ChatCompletions,
        Format::Anthropic => WireFormat::Anthropic,
        Format::Gemini => WireFormat::Gemini,
    }
}

fn settings(server: &ModelServer, format: Format) -> ProviderSettings {
    ProviderSettings {
        name: "main".to_owned(),
        format: wire_format(format),
        // A name at which a careless client would take a suffix off.
        model: "some-model-high".to_owned(),
        base_url: server.base_url_of(format),
        api_key: Some(Secret::new("k3y")),
        timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(30),
        context_window: 0,
    }
}

fn request(messages: Vec<ChatMessage>) -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("what {name} does"),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    };
    ModelRequest {
        system: "Be kind.".to_owned(),
        messages,
        tools: vec![tool("search"), tool("read")],
        tool_choice: ToolChoice::Auto,
        max_tokens: 321,
        temperature: 0.5,
    }
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::User { text: text.to_owned() }
}

fn result(call: &ToolCall, text: &str) -> ChatMessage {
    let (call_id, name) = (call.id.clone(), call.name.clone());
    ChatMessage::Tool { call_id, name, text: text.to_owned() }
}

#[derive(Default)]
struct Heard(Vec<String>);

impl StreamSink for Heard {
    fn text(&mut self, delta: &str) {
        self.0.push(delta.to_owned());
    }

    fn restart(&mut self) {
        self.0.clear();
    }
}

/// One question to a server that answers with `turn`.
async fn ask(format: Format, turn: Turn) -> (Result<ModelReply, LlmError>, String) {
    let server = ModelServer::start(Mode::script([turn])).await;
    let model = ProviderModel::new(settings(&server, format), &HttpFactory::default()).unwrap();
    let mut heard = Heard::default();
    let outcome = model.complete(&request(vec![user("你好")]), &mut heard).await;
    server.assert_clean();
    (outcome, heard.0.concat())
}

#[tokio::test]
async fn text_streams_in_and_the_reply_has_all_of_it_with_its_usage() {
    for format in ALL {
        let words = "你好，这是一个比较长的回答 with more than one piece.";
        let server = ModelServer::start(Mode::script([Turn::text(words)])).await;
        let model = ProviderModel::new(settings(&server, format), &HttpFactory::default()).unwrap();
        let mut heard = Heard::default();
        let asked = request(vec![user("hi"), assistant("hello", vec![]), user("你好")]);
        let reply = model.complete(&asked, &mut heard).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), (words, Finish::Stop), "{format:?}");
        assert_eq!(heard.0.concat(), words);
        assert!(heard.0.len() > 2, "{format:?}: in pieces");
        assert!(reply.usage.input > 0 && reply.usage.output > 0, "{format:?}: {:?}", reply.usage);
        assert!(reply.calls.is_empty());
        server.assert_clean();
        let sent = server.last_request();
        assert_eq!(sent.format, format);
        assert_eq!(sent.model(), "some-model-high", "{format:?}");
        assert_eq!((sent.system(), sent.last_user()), ("Be kind.".into(), "你好".into()));
        assert_eq!(sent.messages().len(), 4);
        assert_eq!((sent.max_tokens(), sent.temperature()), (Some(321), Some(0.5)));
        assert_eq!(sent.tools(), ["search", "read"]);
        assert_eq!(sent.body["tools"][1]["function"]["description"], "what read does");
        assert_eq!(sent.body["tools"][0]["function"]["parameters"]["type"], "object");
        assert!(sent.authorization.unwrap().ends_with("k3y"));
    }
}

fn assistant(text: &str, calls: Vec<ToolCall>) -> ChatMessage {
    ChatMessage::Assistant { text: text.to_owned(), calls }
}

#[tokio::test]
async fn rounds_of_parallel_calls_and_their_results_are_understood() {
    for format in ALL {
        let search = |query: &str| ScriptedCall::new("search", &json!({"query": query}));
        let read = ScriptedCall::new("read", &json!({}));
        let server = ModelServer::start(Mode::script([
            Turn::Calls {
                text: "Let me look.".to_owned(),
                calls: vec![search("a"), search("b"), read],
            },
            Turn::calls(vec![search("c")]),
            Turn::text("done"),
        ]))
        .await;
        let model = ProviderModel::new(settings(&server, format), &HttpFactory::default()).unwrap();
        let mut messages = vec![user("question")];
        for round in [3, 1] {
            let reply = model.complete(&request(messages.clone()), &mut ()).await.unwrap();
            assert_eq!(reply.calls.len(), round, "{format:?}");
            let mut ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), round, "{format:?}: each call has an id of its own");
            if round == 3 {
                assert_eq!(reply.text, "Let me look.");
                assert_eq!(reply.calls[1].name, "search");
                assert_eq!(reply.calls[1].arguments, json!({"query": "b"}), "{format:?}");
                assert_eq!(reply.calls[2].arguments, json!({}), "{format:?}");
            }
            messages.push(assistant(&reply.text, reply.calls.clone()));
            for (call, number) in reply.calls.iter().zip(1..) {
                messages.push(result(call, &format!("result {number}")));
            }
        }
        messages.push(user("(the last round)"));
        let reply = model.complete(&request(messages), &mut ()).await.unwrap();
        assert_eq!(reply.text, "done");
        server.assert_clean();
        let requests = server.requests();
        assert_eq!(requests[1].fresh_results(), ["result 1", "result 2", "result 3"]);
        assert_eq!(requests[2].messages().len(), 9, "{format:?}");
        assert_eq!(requests[2].last_user(), "(the last round)");
    }
}

#[tokio::test]
async fn a_conversation_that_another_model_began_is_taken_over() {
    // Ids as the others make them: not plain, too long, used in two rounds.
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "search".to_owned(),
        arguments: json!("{broken"),
    };
    let long = "x".repeat(65);
    let mut messages = vec![user("question")];
    for ids in [["call#search#0", long.as_str()], ["call#search#0", "call_1"]] {
        messages.push(assistant("", ids.map(call).to_vec()));
        messages.extend(ids.map(|id| result(&call(id), id)));
    }
    for format in ALL {
        let server = ModelServer::start(Mode::Echo).await;
        let model = ProviderModel::new(settings(&server, format), &HttpFactory::default()).unwrap();
        model.complete(&request(messages.clone()), &mut ()).await.unwrap();
        server.assert_clean();
        let sent = server.last_request();
        let ids = sent.messages().iter().filter_map(|message| message["tool_call_id"].as_str());
        assert!(ids.clone().all(|id| id.len() <= 40), "{format:?}");
        assert_eq!(sent.fresh_results(), ["call#search#0", "call_1"]);
    }
}

#[tokio::test]
async fn the_choice_of_tools_is_told() {
    for format in ALL {
        for (choice, word) in [
            (ToolChoice::Auto, "auto"),
            (ToolChoice::Required, "required"),
            (ToolChoice::None, "none"),
        ] {
            let server = ModelServer::start(Mode::Lazy).await;
            let model =
                ProviderModel::new(settings(&server, format), &HttpFactory::default()).unwrap();
            let asked = ModelRequest { tool_choice: choice, ..request(vec![user("x")]) };
            model.complete(&asked, &mut ()).await.unwrap();
            assert_eq!(server.last_request().tool_choice(), Some(&json!(word)), "{format:?}");
        }
    }
}

#[tokio::test]
async fn a_reply_that_reached_the_cap_says_so_and_an_empty_one_is_empty() {
    for format in ALL {
        let (reply, _) = ask(format, Turn::Truncated("and so on".to_owned())).await;
        assert_eq!(reply.unwrap().finish, Finish::Length, "{format:?}");
        let (reply, _) = ask(format, Turn::Empty).await;
        let reply = reply.unwrap();
        assert!(reply.text.is_empty() && reply.calls.is_empty(), "{format:?}");
    }
    for format in [Format::Chat, Format::Anthropic] {
        let (reply, _) = ask(format, Turn::Malformed("search".to_owned())).await;
        let arguments = reply.unwrap().calls.remove(0).arguments;
        assert!(arguments.is_string(), "{format:?}: {arguments}");
    }
    // This provider keeps the broken call to itself.
    let (reply, _) = ask(Format::Gemini, Turn::Malformed("search".to_owned())).await;
    assert!(reply.unwrap().calls.is_empty());
}

#[tokio::test]
async fn every_failure_has_its_kind() {
    for format in ALL {
        for (turn, kind, retry_s) in [
            (Turn::rate_limited(Some(7)), LlmErrorKind::RateLimited, Some(7)),
            (Turn::rate_limited(None), LlmErrorKind::RateLimited, None),
            (Turn::unauthorized(), LlmErrorKind::Unauthorised, None),
            (Turn::context_length(), LlmErrorKind::ContextTooLong, None),
            (Turn::server_error(), LlmErrorKind::Overloaded, None),
            (Turn::overloaded(), LlmErrorKind::Overloaded, None),
            (bad_request(), LlmErrorKind::Rejected, None),
        ] {
            let (outcome, heard) = ask(format, turn.clone()).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.kind, kind, "{format:?} {turn:?}: {error}");
            assert_eq!(error.retry_after.map(|wait| wait.as_secs()), retry_s, "{format:?}");
            assert!(heard.is_empty());
            let sentence = ["quota", "Overloaded", "key not", "too long"];
            assert!(sentence.iter().all(|words| !error.text.contains(words)), "{}", error.text);
        }
    }
}

fn bad_request() -> Turn {
    let error = json!({"message": "bad", "type": "invalid_request_error", "code": "bad_tool"});
    Turn::Fail { status: 400, body: json!({"error": error}), retry_after_s: None }
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_holds_an_error_is_no_reply() {
    for format in ALL {
        let half = || "half an answer that".to_owned();
        let (outcome, heard) = ask(format, Turn::Cut(half())).await;
        assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::CutOff, "{format:?}");
        assert_eq!(heard, half(), "{format:?}");
        let (outcome, heard) = ask(format, Turn::FailAfter(half())).await;
        assert_eq!(outcome.unwrap_err().kind, LlmErrorKind::Overloaded, "{format:?}");
        assert_eq!(heard, half(), "{format:?}");
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    for format in ALL {
        let server = ModelServer::start(Mode::Echo).await;
        let settings = ProviderSettings { api_key: None, ..settings(&server, format) };
        let model = ProviderModel::new(settings, &HttpFactory::default()).unwrap();
        let reply = model.complete(&request(vec![user("x")]), &mut ()).await.unwrap();
        assert_eq!(reply.text, "answer to: x", "{format:?}");
        assert_eq!(server.last_request().authorization, None, "{format:?}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn thinking_that_would_have_to_be_sent_back_is_not_asked_for() {
    let server = ModelServer::start(Mode::Echo).await;
    for (format, model) in
        [(WireFormat::DeepSeek, "deepseek-v4"), (WireFormat::Anthropic, "claude-sonnet-5")]
    {
        let settings =
            ProviderSettings { format, model: model.to_owned(), ..settings(&server, Format::Chat) };
        let model = ProviderModel::new(settings, &HttpFactory::default()).unwrap();
        model.complete(&request(vec![user("x")]), &mut ()).await.unwrap();
        assert_eq!(server.last_request().raw["thinking"], json!({"type": "disabled"}));
    }
    assert_eq!(server.last_request().temperature(), None, "that one takes only its own");
}
