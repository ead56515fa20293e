//! Language models behind one port.
//!
//! [`Model`] is all the engine sees: words in, words out, streamed. Dropping the call closes its
//! connection. A wrapper (a breaker, a fallback) would be a model itself; there is none yet.
//! [`ProviderModel`] speaks to a real provider, [`OfflineModel`] answers from the knowledge base
//! without one.

mod failure;
mod offline;
mod port;
mod provider;
mod wire;

pub use offline::OfflineModel;
pub use port::{
    ChatMessage, Finish, LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink,
    ToolCall, ToolChoice, ToolSpec, Usage,
};
pub use provider::{ProviderModel, ProviderSettings};
