//! The port and its words.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::{Disposition, Origin};

/// A tool as a model is told about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What it does and when to use it. Never empty.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
}

/// A model's wish to have a tool run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, unique within the reply.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments. A string if the model wrote something that is not JSON.
    pub arguments: Value,
}

/// One message of the conversation with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    /// A person, or the engine speaking to the model.
    User {
        /// The text.
        text: String,
    },
    /// The model.
    Assistant {
        /// The text; empty if it only called tools.
        text: String,
        /// The calls, each answered by one `Tool` message behind it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of one call.
    Tool {
        /// The id of the call.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The result.
        text: String,
    },
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// At least one call.
    Required,
    /// No call.
    None,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Who the model is and what it should do.
    pub system: String,
    /// The conversation, oldest first, ending with a `User` or `Tool` message.
    pub messages: Vec<ChatMessage>,
    /// The tools that exist.
    pub tools: Vec<ToolSpec>,
    /// Whether they may be called.
    pub tool_choice: ToolChoice,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
    /// 0 is sober.
    pub temperature: f64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done, or called tools.
    Stop,
    /// It reached the longest reply.
    Length,
    /// The provider held the rest back.
    Filtered,
}

/// Tokens of one call, as the provider counts them; zero where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Tokens of the request that the provider had cached.
    pub cached: u64,
}

/// A model's reply. Text and calls may both be there, and both may be missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text; empty if it only called tools.
    pub text: String,
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
}

/// The kinds of failure that callers treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmErrorKind {
    /// 429.
    RateLimited,
    /// 5xx, or the provider says it is overloaded.
    Overloaded,
    /// No connection, or it broke.
    Network,
    /// No answer in time.
    Timeout,
    /// The stream ended before its end.
    CutOff,
    /// The conversation does not fit the model.
    ContextTooLong,
    /// 401, 403: the key is wrong.
    Unauthorised,
    /// Another 4xx: this request will never work.
    Rejected,
    /// The reply makes no sense.
    Malformed,
    /// The breaker is open: the provider was not asked.
    CircuitOpen,
}

/// A model call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct LlmError {
    /// Which kind of failure.
    pub kind: LlmErrorKind,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// For logs; holds no key and no prompt.
    pub text: String,
}

impl LlmError {
    /// What the caller should do.
    pub fn disposition(&self) -> Disposition {
        match self.kind {
            LlmErrorKind::RateLimited
            | LlmErrorKind::Overloaded
            | LlmErrorKind::Network
            | LlmErrorKind::Timeout
            | LlmErrorKind::CutOff
            | LlmErrorKind::Malformed => Disposition::Retry { after: self.retry_after },
            LlmErrorKind::ContextTooLong | LlmErrorKind::Rejected => Disposition::Reject,
            LlmErrorKind::Unauthorised | LlmErrorKind::CircuitOpen => Disposition::Fatal,
        }
    }

    /// Whose fault it is.
    pub fn origin(&self) -> Origin {
        Origin::Provider
    }
}

/// Gets the text of a reply as it streams in.
pub trait StreamSink: Send {
    /// More text, to be added behind what came before.
    fn text(&mut self, delta: &str);

    /// What came before is void, if anything did: the reply begins again.
    fn restart(&mut self);
}

/// A sink that lets everything go.
impl StreamSink for () {
    fn text(&mut self, _delta: &str) {}

    fn restart(&mut self) {}
}

/// A language model.
#[async_trait]
pub trait Model: Send + Sync {
    /// The name for `/status`, logs and the price list.
    fn name(&self) -> &str;

    /// How many tokens a request and its reply may have together; 0 if unknown.
    fn context_window(&self) -> u64;

    /// The names of the models that are not asked at the moment because they failed too often.
    fn resting(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks the model. Dropping the future closes the connection at once.
    async fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError>;
}
