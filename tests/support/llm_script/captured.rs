//! A request as the server received it, with typed access to its parts.

use serde_json::Value;

use super::formats::Format;

/// One request for a completion.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    /// Counted from 0 in the order of arrival.
    pub(crate) number: usize,
    /// What the client speaks.
    pub(crate) format: Format,
    /// The whole body, in the words of chat completions.
    pub(crate) body: Value,
    /// The whole body as it came.
    pub(crate) raw: Value,
    /// The header that carries the key.
    pub(crate) authorization: Option<String>,
}

impl Captured {
    pub(crate) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub(crate) fn stream(&self) -> bool {
        self.body["stream"].as_bool().unwrap_or(false)
    }

    pub(crate) fn wants_usage(&self) -> bool {
        let wanted = &self.body["stream_options"]["include_usage"];
        wanted.as_bool().unwrap_or(false)
    }

    pub(crate) fn temperature(&self) -> Option<f64> {
        self.body["temperature"].as_f64()
    }

    /// `max_tokens` or its newer name.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let newer = &self.body["max_completion_tokens"];
        self.body["max_tokens"].as_u64().or_else(|| newer.as_u64())
    }

    pub(crate) fn tool_choice(&self) -> Option<&Value> {
        self.body.get("tool_choice")
    }

    pub(crate) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of the tools on offer.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    /// The text of the first message of a role; empty if there is none.
    pub(crate) fn first(&self, role: &str) -> String {
        let found = self.messages().iter().find(|message| message["role"] == role);
        found.map_or_else(String::new, text_of)
    }

    /// The text of the last message of a role; empty if there is none.
    pub(crate) fn last(&self, role: &str) -> String {
        let found = self.messages().iter().rfind(|message| message["role"] == role);
        found.map_or_else(String::new, text_of)
    }

    pub(crate) fn system(&self) -> String {
        self.first("system")
    }

    pub(crate) fn last_user(&self) -> String {
        self.last("user")
    }

    /// The tool results after the last message that is none, in order.
    pub(crate) fn fresh_results(&self) -> Vec<String> {
        let messages = self.messages().iter().rev();
        let mut results: Vec<String> =
            messages.take_while(|message| message["role"] == "tool").map(text_of).collect();
        results.reverse();
        results
    }

    /// How many messages hold this text anywhere.
    pub(crate) fn count_containing(&self, text: &str) -> usize {
        let messages = self.messages().iter();
        messages.filter(|message| text_of(message).contains(text)).count()
    }
}

/// The text of a message, whether its content is a string or a list of parts.
pub(crate) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
