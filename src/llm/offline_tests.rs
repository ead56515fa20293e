//! The offline answerer in the engine's place.

use serde_json::Value;

use super::*;
use crate::llm::ToolSpec;

#[derive(Default)]
struct Pieces(Vec<String>);

impl StreamSink for Pieces {
    fn text(&mut self, delta: &str) {
        self.0.push(delta.to_owned());
    }

    fn restart(&mut self) {}
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::User { text: text.to_owned() }
}

fn result(name: &str, text: &str) -> ChatMessage {
    ChatMessage::Tool {
        call_id: "offline_1".to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

fn request(messages: Vec<ChatMessage>) -> ModelRequest {
    ModelRequest {
        system: String::new(),
        messages,
        tools: vec![ToolSpec {
            name: SEARCH_TOOL.to_owned(),
            description: "searches".to_owned(),
            parameters: json!({}),
        }],
        tool_choice: ToolChoice::Auto,
        max_tokens: 100,
        temperature: 0.0,
    }
}

async fn ask(request: &ModelRequest) -> (ModelReply, Vec<String>) {
    let mut pieces = Pieces::default();
    let reply = OfflineModel::new().complete(request, &mut pieces).await;
    (reply.unwrap(), pieces.0)
}

const HITS: &str = r#"{"hits":[
    {"id":"a","title":"Alpha","excerpt":"First\nline.","source":"a.md"},
    {"id":"b","title":"","excerpt":"","source":""},
    {"id":"c","title":"Gamma","excerpt":"x","source":"zh/c.md"},
    {"id":"d","title":"Delta","excerpt":"x","source":"d.md"}]}"#;

#[tokio::test]
async fn it_searches_for_the_last_question_first() {
    let earlier = vec![user("old"), result(SEARCH_TOOL, HITS), user("怎么发布？")];
    let (reply, pieces) = ask(&request(earlier)).await;
    assert_eq!(reply.text, "");
    assert_eq!(reply.calls[0].name, "search_knowledge");
    assert_eq!(reply.calls[0].arguments["query"], "怎么发布？");
    assert!(pieces.is_empty());
}

#[tokio::test]
async fn it_words_the_hits_with_id_and_source_in_the_language_of_the_question() {
    let asked = vec![user("how to?"), result(SEARCH_TOOL, HITS)];
    let (reply, pieces) = ask(&request(asked)).await;
    assert!(reply.calls.is_empty());
    assert_eq!(
        reply.text,
        "The knowledge base has this:\n\n**1. Alpha** [a] (a.md)\nFirst\nline.\n\n\
         **2. b** [b]\n\n**3. Gamma** [c] (zh/c.md)\nx"
    );
    assert!(pieces.len() > 1);
    assert_eq!(pieces.concat(), reply.text);
    let framed = format!("<tool_output>\n{HITS}\n</tool_output>");
    let (reply, _) = ask(&request(vec![user("怎么做"), result(SEARCH_TOOL, &framed)])).await;
    assert!(reply.text.starts_with("在知识库中找到以下内容："), "{}", reply.text);
    assert!(reply.text.contains("[a]（a.md）"), "{}", reply.text);
}

#[tokio::test]
async fn a_cut_result_gives_the_hits_that_are_whole() {
    let cut: String = HITS.chars().take(90).collect();
    let (reply, _) = ask(&request(vec![user("how?"), result(SEARCH_TOOL, &cut)])).await;
    assert!(reply.text.contains("[a] (a.md)"), "{}", reply.text);
}

#[tokio::test]
async fn nothing_found_or_no_way_to_search_is_said_plainly() {
    let nothing = "The knowledge base has nothing about “how?”.";
    for text in [r#"{"hits":[]}"#, "error: failed", "", r#"{"hits":"no"}"#, "{\"hits\""] {
        let (reply, _) = ask(&request(vec![user("how?"), result(SEARCH_TOOL, text)])).await;
        assert_eq!(reply.text, nothing, "{text}");
    }
    let mut without_tool = request(vec![user("how?")]);
    without_tool.tools.clear();
    assert_eq!(ask(&without_tool).await.0.text, nothing);
    let mut forbidden = request(vec![user("how?")]);
    forbidden.tool_choice = ToolChoice::None;
    assert_eq!(ask(&forbidden).await.0.text, nothing);
    let long = "很长的问题".repeat(100);
    let (reply, _) = ask(&request(vec![user(&long), result(SEARCH_TOOL, "")])).await;
    assert!(reply.text.chars().count() < 100, "{}", reply.text);
}

#[tokio::test]
async fn an_empty_conversation_is_answered_too() {
    let (reply, _) = ask(&request(Vec::new())).await;
    assert!(reply.calls.is_empty() && !reply.text.is_empty());
    let arguments: Value = call("x").calls[0].arguments.clone();
    assert_eq!(arguments["limit"], 3);
}
