use serde_json::json;

use super::*;
use crate::agent::ToolResult;
use crate::base::{BotName, ChatId};
use crate::envelope::{Channel, Destination, Form};
use crate::llm::{Finish, LlmErrorKind, ModelReply, ToolCall, Usage};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn entry(input: Input) -> JournalEntryV1 {
    JournalEntryV1::Input { input: Box::new(input) }
}

fn reply(tool: Option<&str>) -> ModelReply {
    let call = |name: &str| ToolCall {
        id: "c1".to_owned(),
        name: name.to_owned(),
        arguments: json!({"query": "a secret word"}),
    };
    ModelReply {
        text: "a secret word".to_owned(),
        calls: tool.map(call).into_iter().collect(),
        finish: Finish::Stop,
        usage: Usage { input: 120, output: 7, cached: 0 },
    }
}

#[test]
fn a_run_is_told_by_names_numbers_and_times_and_never_by_its_words() {
    let result = ToolResult {
        call_id: "c1".to_owned(),
        name: "search_knowledge".to_owned(),
        text: "a secret word".to_owned(),
        succeeded: false,
        is_news: false,
        sources: Vec::new(),
    };
    let failed = Input::ModelFailed {
        at: at(1_020),
        kind: LlmErrorKind::Timeout,
        text: "a secret word".to_owned(),
        retry_after: None,
        said: String::new(),
    };
    let entries = [
        entry(failed),
        entry(Input::ModelReplied { at: at(1_050), reply: reply(Some("search_knowledge")) }),
        JournalEntryV1::ToolStarted { call_id: "c1".to_owned() },
        entry(Input::ToolsFinished { at: at(1_090), results: vec![result] }),
        JournalEntryV1::Resumed { at: at(9_000) },
        entry(Input::Tick { at: at(9_001) }),
        entry(Input::ModelReplied { at: at(9_100), reply: reply(None) }),
    ];
    let steps = of_run(entries.into_iter(), at(1_000));
    let told: Vec<_> = steps.iter().map(|step| (step.title.as_str(), step.took_ms)).collect();
    let expected = [
        ("model failed", Some(20)),
        ("model replied", Some(30)),
        ("tools finished", Some(40)),
        ("resumed", Some(7_910)),
        ("model replied", Some(100)),
    ];
    assert_eq!(told, expected);
    assert_eq!(steps[1].detail, "asks for search_knowledge; 120 tokens in, 7 out");
    assert_eq!(steps[2].detail, "search_knowledge (failed)");
    let kept = serde_json::to_string(&steps).unwrap();
    assert!(!kept.contains("secret"), "{kept}");
}

#[test]
fn a_send_tells_how_it_ended_and_one_that_was_not_tried_nothing() {
    let destination = Destination::reply(
        BotName::new("b"),
        Channel::Lark,
        ChatId::new("oc_1"),
        MessageId::new("om_1"),
    );
    let text = "a secret word".to_owned();
    let send = SendV1 {
        operation: Operation::Reply { destination, text, form: Form::Text, card: None },
        uuid: "u".to_owned(),
        state: SendState::Confirmed,
        first_try_at: Some(at(500)),
        settled_at: Some(at(730)),
        doubtful: false,
        delivered_id: Some("om_9".to_owned()),
        reason: String::new(),
        cause: None,
        repeats: 0,
        refused: None,
    };
    let told = of_send(0, &send).unwrap();
    assert_eq!((told.title.as_str(), told.at, told.took_ms), ("sent", at(730), Some(230)));
    assert_eq!(told.detail, "part 1; om_9");
    let given_up = SendV1 {
        state: SendState::Abandoned,
        delivered_id: None,
        reason: "230002: the bot is not in the chat".to_owned(),
        ..send.clone()
    };
    let told = of_send(1, &given_up).unwrap();
    assert_eq!(told.title, "not sent");
    assert_eq!(told.detail, "part 2; 230002: the bot is not in the chat");
    assert_eq!(of_send(0, &SendV1 { first_try_at: None, ..send }), None);
}
