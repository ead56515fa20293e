//! A scripted model server for tests over real HTTP: OpenAI's chat completions, plain and streamed,
//! and the streams of Anthropic's messages and of Gemini.
//!
//! Rules decide each request; every request is kept and checked against what a provider demands
//! of a conversation. Include it with
//! `#[cfg(test)] #[path = "../support/llm_script.rs"] mod llm_script;` (without the `cfg` the lints
//! do not see that it is a test).

#![expect(dead_code, reason = "each test target uses another part of this module")]

#[path = "llm_script/captured.rs"]
mod captured;
#[path = "llm_script/checks.rs"]
mod checks;
#[path = "llm_script/formats.rs"]
mod formats;
#[path = "llm_script/native.rs"]
mod native;
#[path = "llm_script/script.rs"]
mod script;
#[path = "llm_script/server.rs"]
mod server;
#[path = "llm_script/wire.rs"]
mod wire;

#[expect(unused_imports, reason = "each test target uses other names, and none the last")]
pub(crate) use self::{
    captured::{Captured, text_of},
    formats::Format,
    script::{Latency, Mode, Rule, ToolCall, Turn, When},
    server::ModelServer,
    wire::END as UNUSED_NAME,
};

/// Used by no target, so that the expectation at the top holds in one that uses everything.
const USED_BY_NONE: () = ();
