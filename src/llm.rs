//! Language models behind one port.
//!
//! [`Model`] is all the engine sees: words in, words out, streamed. Dropping the call closes its
//! connection. [`ProviderModel`] speaks to a real provider, [`OfflineModel`] answers from the
//! knowledge base without one. The wrappers are models themselves: [`ResilientModel`] repeats what
//! may pass and leaves a broken provider alone, [`FallbackModel`] asks the next in a row.

mod breaker;
mod failure;
mod fallback;
mod offline;
mod port;
mod provider;
mod resilient;
mod wire;

pub use fallback::FallbackModel;
pub use offline::OfflineModel;
pub use port::{
    ChatMessage, Finish, LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink,
    ToolCall, ToolChoice, ToolSpec, Usage,
};
pub use provider::{ProviderModel, ProviderSettings};
pub use resilient::{Gate, ResilientModel, RetryRules};
pub use wire::WireFormat;
