//! Between the port's words and the genai crate's. Pure.

use genai::chat::{
    ChatMessage as WireMessage, ChatOptions, ChatRequest, ContentPart, MessageContent,
    ReasoningEffort, StopReason, Tool, ToolCall as WireCall, ToolChoice as WireChoice,
    ToolResponse, Usage as WireUsage,
};
use serde_json::{Value, json};

use super::port::{ChatMessage, Finish, ModelRequest, ToolCall, ToolChoice, ToolSpec, Usage};

/// Beginnings of model names that refuse any temperature but their own.
const FIXED_TEMPERATURE: &[&str] = &["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// The conversation as it is sent.
pub(super) fn request(request: &ModelRequest) -> ChatRequest {
    let messages = request.messages.iter().map(message).collect();
    let mut wire = ChatRequest::from_messages(messages);
    if !request.system.is_empty() {
        wire = wire.with_system(request.system.as_str());
    }
    if !request.tools.is_empty() {
        wire = wire.with_tools(request.tools.iter().map(tool));
    }
    wire
}

fn message(message: &ChatMessage) -> WireMessage {
    match message {
        ChatMessage::User { text } => WireMessage::user(text.as_str()),
        ChatMessage::Assistant { text, calls } => {
            let said = (!text.is_empty()).then(|| ContentPart::Text(text.clone()));
            let called = calls.iter().map(|call| ContentPart::ToolCall(wire_call(call)));
            WireMessage::assistant(MessageContent::from_parts(
                said.into_iter().chain(called).collect::<Vec<_>>(),
            ))
        }
        ChatMessage::Tool { call_id, text, .. } => {
            ToolResponse::new(call_id.as_str(), text.as_str()).into()
        }
    }
}

fn wire_call(call: &ToolCall) -> WireCall {
    // Servers parse past arguments and refuse the whole request if they are no object.
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "invalid_arguments": other }),
    };
    WireCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: arguments,
        thought_signatures: None,
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.as_str())
        .with_description(spec.description.as_str())
        .with_schema(spec.parameters.clone())
}

/// The options of a call. The longest reply is always told, since defaults differ wildly.
pub(super) fn options(request: &ModelRequest, model: &str) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_max_tokens(request.max_tokens)
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        // A budget is not sent to OpenAI-compatible servers. Without one the library would take
        // a model name ending in `-high` or `-none` apart and ask for another model.
        .with_reasoning_effort(ReasoningEffort::Budget(0));
    if !FIXED_TEMPERATURE.iter().any(|begin| model.starts_with(begin)) {
        options = options.with_temperature(request.temperature);
    }
    if !request.tools.is_empty() {
        options = options.with_tool_choice(match request.tool_choice {
            ToolChoice::Auto => WireChoice::Auto,
            ToolChoice::Required => WireChoice::Required,
            ToolChoice::None => WireChoice::None,
        });
    }
    options
}

/// The calls of a reply, each with an id that no other has.
pub(super) fn calls(wire: Vec<WireCall>) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::with_capacity(wire.len());
    for call in wire {
        let arguments = match call.fn_arguments {
            Value::String(text) if text.trim().is_empty() => json!({}),
            other => other,
        };
        // A provider that counts from one leaves a torso of the first call in place zero.
        calls.retain(|known| known.id != call.call_id || !known.arguments.is_string());
        let number = calls.len() + 1;
        let taken = calls.iter().any(|known| known.id == call.call_id);
        let id = if taken || call.call_id.is_empty() {
            format!("call_{number}_{}", call.fn_name)
        } else {
            call.call_id
        };
        calls.push(ToolCall { id, name: call.fn_name, arguments });
    }
    calls
}

/// Why the model stopped.
pub(super) fn finish(reason: Option<&StopReason>) -> Finish {
    match reason {
        Some(StopReason::MaxTokens(_)) => Finish::Length,
        _ => Finish::Stop,
    }
}

/// What the call cost.
pub(super) fn usage(wire: Option<&WireUsage>) -> Usage {
    let count = |number: Option<i32>| number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    wire.map(|wire| Usage {
        input: count(wire.prompt_tokens),
        output: count(wire.completion_tokens),
        cached: count(
            wire.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens),
        ),
    })
    .unwrap_or_default()
}
