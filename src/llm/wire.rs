//! Between the port's words and the genai crate's. Pure.

use std::collections::{HashMap, HashSet};

use genai::Headers;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage as WireMessage, ChatOptions, ChatRequest, ContentPart, MessageContent,
    ReasoningEffort, StopReason, StreamEnd, Tool, ToolCall as WireCall, ToolChoice as WireChoice,
    ToolResponse, Usage as WireUsage,
};
use genai::resolver::AuthData;
use serde_json::{Value, json};
use url::Url;

use super::port::{ChatMessage, Finish, ModelRequest, ToolCall, ToolChoice, ToolSpec, Usage};

/// Beginnings of model names that refuse any temperature but their own.
const FIXED_TEMPERATURE: &[&str] = &[
    "gpt-5",
    "gpt-6",
    "o1",
    "o3",
    "o4",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-5",
    "claude-fable",
    "claude-mythos",
];
/// The version of Anthropic's messages, which a request must name.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// The longest id of a call that all providers take, in bytes.
const CALL_ID_BYTES_MAX: usize = 40;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// OpenAI's chat completions, which most servers offer.
    ChatCompletions,
    /// The same with DeepSeek's switch for thinking, which must be off: its thoughts would have to
    /// be sent back.
    DeepSeek,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

impl WireFormat {
    pub(super) const fn adapter(self) -> AdapterKind {
        match self {
            Self::ChatCompletions => AdapterKind::OpenAI,
            Self::DeepSeek => AdapterKind::DeepSeek,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
        }
    }

    /// A choice is always made: without one the library would take a model name ending in `-high`
    /// or `-none` apart and ask for another model.
    const fn reasoning(self) -> ReasoningEffort {
        match self {
            // A budget is not sent to such servers, but `Zero` would be.
            Self::ChatCompletions => ReasoningEffort::Budget(0),
            // Off where it can be switched off, else as the model likes.
            Self::DeepSeek | Self::Anthropic | Self::Gemini => ReasoningEffort::Zero,
        }
    }
}

/// How to ask a server without a key: the whole address and the headers beside the usual ones.
pub(super) fn keyless(
    format: WireFormat,
    base: &Url,
    model: &str,
) -> Result<AuthData, url::ParseError> {
    let (path, headers) = match format {
        WireFormat::ChatCompletions | WireFormat::DeepSeek => {
            ("chat/completions".to_owned(), Headers::default())
        }
        WireFormat::Anthropic => {
            ("messages".to_owned(), Headers::from(("anthropic-version", ANTHROPIC_VERSION)))
        }
        WireFormat::Gemini => (format!("models/{model}:streamGenerateContent"), Headers::default()),
    };
    let mut url = base.join(&path)?;
    match format {
        WireFormat::Gemini => url.set_query(Some("alt=sse")),
        _ => url.set_query(base.query()),
    }
    Ok(AuthData::RequestOverride { url: url.to_string(), headers })
}

/// Whether a stream broke off, though the library reports its end. Only Gemini's streams have no
/// mark at their end; their last piece names a reason.
pub(super) fn is_made_up(format: WireFormat, end: &StreamEnd) -> bool {
    format == WireFormat::Gemini && end.captured_stop_reason.is_none()
}

/// The conversation as it is sent.
pub(super) fn request(request: &ModelRequest) -> ChatRequest {
    let mut ids = CallIds::default();
    let mut messages: Vec<WireMessage> = Vec::with_capacity(request.messages.len());
    let mut results: Vec<ContentPart> = Vec::new();
    for message in &request.messages {
        if let ChatMessage::Tool { call_id, name, text } = message {
            let result = ToolResponse::new(ids.answered(call_id), text.as_str());
            results.push(ContentPart::ToolResponse(result.with_fn_name(name.as_str())));
            continue;
        }
        messages.extend(together(&mut results));
        messages.push(match message {
            ChatMessage::User { text } | ChatMessage::Tool { text, .. } => {
                WireMessage::user(text.as_str())
            }
            ChatMessage::Assistant { text, calls } => assistant(text, calls, &mut ids),
        });
    }
    messages.extend(together(&mut results));
    let mut wire = ChatRequest::from_messages(messages);
    if !request.system.is_empty() {
        wire = wire.with_system(request.system.as_str());
    }
    if !request.tools.is_empty() {
        wire = wire.with_tools(request.tools.iter().map(tool));
    }
    wire
}

/// The results of one round in one message: two providers want them so, and for the others the
/// library takes them apart.
fn together(results: &mut Vec<ContentPart>) -> Option<WireMessage> {
    let round = std::mem::take(results);
    (!round.is_empty()).then(|| WireMessage::tool(MessageContent::from_parts(round)))
}

fn assistant(text: &str, calls: &[ToolCall], ids: &mut CallIds) -> WireMessage {
    ids.begin_round();
    let said = (!text.is_empty()).then(|| ContentPart::Text(text.to_owned()));
    let called = calls.iter().map(|call| {
        let id = ids.called(&call.id);
        ContentPart::ToolCall(wire_call(id, call))
    });
    let parts: Vec<ContentPart> = said.into_iter().chain(called).collect();
    WireMessage::assistant(MessageContent::from_parts(parts))
}

/// The ids of calls, as every provider takes them: short, plain, and none twice in a conversation.
/// The model that made them may be another one, whose ids are unique within a reply only.
#[derive(Default)]
struct CallIds {
    used: HashSet<String>,
    round: HashMap<String, String>,
}

impl CallIds {
    fn begin_round(&mut self) {
        self.round.clear();
    }

    fn called(&mut self, id: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_fine = !id.is_empty() && id.len() <= CALL_ID_BYTES_MAX && id.chars().all(is_plain);
        let mut sent = id.to_owned();
        let mut number = self.used.len();
        while !is_fine && sent == id || self.used.contains(&sent) {
            number += 1;
            sent = format!("call_{number}");
        }
        self.used.insert(sent.clone());
        self.round.insert(id.to_owned(), sent.clone());
        sent
    }

    fn answered(&self, id: &str) -> String {
        self.round.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }
}

fn wire_call(call_id: String, call: &ToolCall) -> WireCall {
    // Servers parse past arguments and refuse the whole request if they are no object.
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "invalid_arguments": other }),
    };
    WireCall {
        call_id,
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
pub(super) fn options(request: &ModelRequest, format: WireFormat, model: &str) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_max_tokens(request.max_tokens)
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_reasoning_effort(format.reasoning());
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
        Some(StopReason::ContentFilter(_)) => Finish::Filtered,
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
