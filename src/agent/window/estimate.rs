//! How many tokens a text takes, without the provider's own tables.
//!
//! Four ASCII characters or one and a third others make a token, and a fifth is added for safety.
//! Quotes and brackets take more of them, so JSON counts twice.

use serde_json::Value;

use crate::agent::run::Source;
use crate::llm::{ChatMessage, ToolSpec};

/// What a message takes beside its text.
const MESSAGE_TOKENS: u64 = 4;
/// The context of a model that does not tell its own.
const CONTEXT_UNKNOWN: u64 = 32_000;

/// How much of a model's context a run's conversation may take, in tokens. The rest is for the system
/// prompt, the tools and the reply.
pub(in crate::agent) fn history_budget(context: u64, source: Source) -> u64 {
    let context = if context == 0 { CONTEXT_UNKNOWN } else { context };
    let is_system = source == Source::System;
    let (system, user) = match context {
        400_000.. => (48_000, 36_000),
        200_000.. => (32_000, 24_000),
        64_000.. => (24_000, 20_000),
        16_000.. => (14_000, 12_000),
        _ => (context.saturating_mul(75) / 100, context.saturating_mul(65) / 100),
    };
    if is_system { system } else { user }
}

/// The estimate of a text.
pub(in crate::agent) fn text_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let all = text.chars().count();
    let hundredths = count(ascii) * 30 + count(all - ascii) * 90;
    hundredths.div_ceil(100)
}

fn json_tokens(text: &str) -> u64 {
    text_tokens(text) * 2
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The estimate of the descriptions of tools.
pub(in crate::agent) fn specs_tokens(specs: &[ToolSpec]) -> u64 {
    let one = |spec: &ToolSpec| {
        text_tokens(&spec.name)
            + text_tokens(&spec.description)
            + json_tokens(&spec.parameters.to_string())
    };
    specs.iter().map(one).sum()
}

/// The estimate of a message.
pub(super) fn message_tokens(message: &ChatMessage) -> u64 {
    MESSAGE_TOKENS
        + match message {
            ChatMessage::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| {
                    text_tokens(&call.name) + json_tokens(&arguments_text(&call.arguments))
                });
                text_tokens(text) + calls.sum::<u64>()
            }
            ChatMessage::Tool { text, .. } if is_like_json(text) => json_tokens(text),
            ChatMessage::User { text } | ChatMessage::Tool { text, .. } => text_tokens(text),
        }
}

pub(super) fn messages_tokens(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(message_tokens).sum()
}

fn arguments_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

fn is_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}
