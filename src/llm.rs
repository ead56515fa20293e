//! Language models behind one port.
//!
//! [`Model`] is all the engine sees: words in, words out, streamed. Dropping the call closes its
//! connection. Retries, breakers and fallbacks wrap a model and are models themselves.

mod port;

pub use port::{
    ChatMessage, Finish, LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink,
    ToolCall, ToolChoice, ToolSpec, Usage,
};
