//! The scripted model server itself.

use std::time::Duration;

use serde_json::{Value, json};

use crate::llm_script::{Latency, Mode, ModelServer, Rule, ToolCall, Turn, When};
use crate::support::{PATIENCE, http};

fn request(text: &str, stream: bool) -> Value {
    json!({
        "model": "test-model", "max_tokens": 100, "stream": stream,
        "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": text},
        ],
        "tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}],
    })
}

async fn ask(model: &ModelServer, body: &Value) -> Result<(u16, String), reqwest::Error> {
    let url = format!("{}chat/completions", model.base_url());
    let mut response = http().post(url).json(body).send().await?;
    let mut answer = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        answer.extend_from_slice(&chunk);
    }
    Ok((response.status().as_u16(), String::from_utf8(answer).unwrap()))
}

async fn answer(model: &ModelServer, text: &str) -> Value {
    let (_, body) = ask(model, &request(text, false)).await.unwrap();
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn it_echoes_plain_and_streamed() {
    let model = ModelServer::start(Mode::Echo).await;
    model.allow_models(&["test-model"]);
    let whole = answer(&model, "你好 world").await;
    assert_eq!(whole["choices"][0]["message"]["content"], "answer to: 你好 world");
    let (status, body) = ask(&model, &request("你好 world", true)).await.unwrap();
    assert_eq!(status, 200);
    let events: Vec<&str> = body.split("\n\n").filter(|event| !event.is_empty()).collect();
    assert_eq!(events.last(), Some(&"data: [DONE]"));
    let chunks: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "answer to: 你好 world");
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].is_number());
    assert_eq!(model.requests().len(), 2);
    assert_eq!(model.last_request().tools(), ["search"]);
    assert_eq!(model.last_request().system(), "be kind");
    assert!(model.aborted().is_empty());
    model.assert_clean();
}

#[tokio::test]
async fn a_script_is_followed_and_then_the_next_rule_decides() {
    let rules = vec![
        Rule::when(When::UserSays("secret".to_owned()), Mode::Lazy),
        Rule::always(Mode::script([
            Turn::call("search", &json!({"query": "x"})),
            Turn::rate_limited(Some(7)),
            Turn::context_length(),
            Turn::server_error(),
            Turn::Malformed("search".to_owned()),
            Turn::Empty,
            Turn::text("late").later(Duration::from_millis(10)),
        ])),
    ];
    let model = ModelServer::with_rules(rules).await;
    assert_eq!(answer(&model, "a secret").await["choices"][0]["message"]["content"], "ok");
    let call = answer(&model, "go").await;
    let function = &call["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(
        (&function["name"], &function["arguments"]),
        (&json!("search"), &json!(r#"{"query":"x"}"#))
    );
    assert_eq!(call["choices"][0]["finish_reason"], "tool_calls");
    for status in [429, 400, 500] {
        assert_eq!(ask(&model, &request("go", true)).await.unwrap().0, status);
    }
    let bad = answer(&model, "go").await;
    let arguments = &bad["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert!(serde_json::from_str::<Value>(arguments.as_str().unwrap()).is_err());
    assert_eq!(answer(&model, "go").await["choices"][0]["message"]["content"], "");
    assert_eq!(answer(&model, "go").await["choices"][0]["message"]["content"], "late");
    assert_eq!(answer(&model, "go").await["choices"][0]["message"]["content"], "answer to: go");
}

#[tokio::test]
async fn cut_streams_break_and_hang_ups_are_noticed() {
    let model = ModelServer::start(Mode::script([
        Turn::Cut("half of".to_owned()),
        Turn::Cut("half of".to_owned()),
        Turn::Stall,
        Turn::StallAfter("beginning".to_owned()),
    ]))
    .await;
    assert!(ask(&model, &request("x", true)).await.is_err());
    assert!(ask(&model, &request("x", false)).await.is_err());
    assert!(model.aborted().is_empty());
    for count in 1..=2 {
        let body = request("x", true);
        let hung_up = tokio::time::timeout(Duration::from_millis(200), ask(&model, &body));
        assert!(hung_up.await.is_err());
        assert!(model.wait_for_aborted(count, PATIENCE).await, "{count}");
    }
}

#[tokio::test]
async fn an_obedient_model_calls_and_reports() {
    let model = ModelServer::start(Mode::Obedient).await;
    let called = answer(&model, "please\ncall search {\"query\":\"a\"}\ncall search {}").await;
    assert_eq!(called["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(), 2);
    let mut body = request("call search {}", false);
    let messages = body["messages"].as_array_mut().unwrap();
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}});
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": "found it"}));
    let (_, reported) = ask(&model, &body).await.unwrap();
    assert!(reported.contains("results: found it"), "{reported}");
    assert_eq!(answer(&model, "say hello").await["choices"][0]["message"]["content"], "hello");
    model.assert_clean();
}

#[tokio::test]
async fn an_obstinate_model_never_stops_and_a_random_one_repeats_itself_by_seed() {
    let model = ModelServer::start(Mode::Obstinate(ToolCall::new("search", &json!({})))).await;
    model.set_latency(Latency::Random {
        seed: 1,
        least: Duration::ZERO,
        most: Duration::from_millis(5),
    });
    for _ in 0..3 {
        assert_eq!(answer(&model, "x").await["choices"][0]["finish_reason"], "tool_calls");
    }
    let mut runs = Vec::new();
    for _ in 0..2 {
        let model = ModelServer::start(Mode::Random { seed: 3, failures_per_mille: 300 }).await;
        let mut outcomes = Vec::new();
        for _ in 0..30 {
            let outcome = ask(&model, &request("x", true)).await;
            outcomes.push(outcome.map_err(|_broken| ()));
        }
        runs.push(outcomes);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn broken_conversations_are_found() {
    let model = ModelServer::start(Mode::Lazy).await;
    model.allow_models(&["other-model"]);
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}});
    let body = json!({
        "model": "test-model",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "user", "content": "y"},
            {"role": "tool", "tool_call_id": "c2", "content": "z"},
        ],
        "tool_choice": "none",
    });
    ask(&model, &body).await.unwrap();
    let found = model.violations().join("\n");
    for what in [
        "the first message is not the system's",
        "model `test-model` is not allowed",
        "no output cap",
        "call `c1` has no result",
        "result `c2` without its call",
        "a tool choice without tools",
    ] {
        assert!(found.contains(what), "{what}: {found}");
    }
}
