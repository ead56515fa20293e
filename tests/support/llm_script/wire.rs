//! Turns in the shape of chat completions, whole and in chunks.

use serde_json::{Value, json};

use super::captured::Captured;
use super::formats::Format;
use super::native;
use super::script::ToolCall;

/// How many characters go into one chunk of a stream.
pub(crate) const CHUNK_CHARS: usize = 8;

/// An answer that is not an error.
pub(crate) struct Completion<'turn> {
    pub(crate) text: &'turn str,
    pub(crate) calls: &'turn [ToolCall],
    pub(crate) finish: &'static str,
}

impl Completion<'_> {
    pub(crate) fn usage(&self, request: &Captured) -> Value {
        let prompt = request.body["messages"].to_string().len() / 4;
        let calls: usize = self.calls.iter().map(|call| call.arguments.len() + 8).sum();
        let completion = (self.text.len() + calls) / 4 + 1;
        json!({
            "prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": prompt + completion,
        })
    }

    fn calls(&self, request: &Captured) -> Vec<Value> {
        let calls = self.calls.iter().enumerate();
        calls
            .map(|(index, call)| {
                json!({
                    "id": format!("call_{}_{index}", request.number), "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                })
            })
            .collect()
    }

    /// The whole answer.
    pub(crate) fn whole(&self, request: &Captured) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["tool_calls"] = Value::Array(self.calls(request));
            if self.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        json!({
            "id": format!("chatcmpl-{}", request.number), "object": "chat.completion",
            "created": 1_760_000_000, "model": request.model(),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}],
            "usage": self.usage(request),
        })
    }

    /// The answer in the events of a stream: all but the last, and the last, which ends it.
    pub(crate) fn events(&self, request: &Captured) -> (Vec<String>, String) {
        match request.format {
            Format::Chat => (self.chunks(request), END.to_owned()),
            Format::Anthropic => native::anthropic(self, request),
            Format::Gemini => native::gemini(self, request),
        }
    }

    fn chunks(&self, request: &Captured) -> Vec<String> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        let characters: Vec<char> = self.text.chars().collect();
        for piece in characters.chunks(CHUNK_CHARS) {
            deltas.push(json!({"content": piece.iter().collect::<String>()}));
        }
        for (index, mut call) in self.calls(request).into_iter().enumerate() {
            let arguments = call["function"]["arguments"].take();
            let arguments: Vec<char> = arguments.as_str().unwrap().chars().collect();
            call["index"] = json!(index);
            call["function"]["arguments"] = json!("");
            deltas.push(json!({"tool_calls": [call]}));
            for piece in arguments.chunks(CHUNK_CHARS) {
                let piece: String = piece.iter().collect();
                let delta = json!({"index": index, "function": {"arguments": piece}});
                deltas.push(json!({"tool_calls": [delta]}));
            }
        }
        let mut events: Vec<String> = deltas
            .into_iter()
            .map(|delta| {
                event(
                    request,
                    &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
                    &Value::Null,
                )
            })
            .collect();
        let end = json!([{"index": 0, "delta": {}, "finish_reason": self.finish}]);
        events.push(event(request, &end, &Value::Null));
        if request.wants_usage() {
            events.push(event(request, &json!([]), &self.usage(request)));
        }
        events
    }
}

/// The last event of a stream.
pub(crate) const END: &str = "data: [DONE]\n\n";

fn event(request: &Captured, choices: &Value, usage: &Value) -> String {
    let chunk = json!({
        "id": format!("chatcmpl-{}", request.number), "object": "chat.completion.chunk",
        "created": 1_760_000_000, "model": request.model(), "choices": choices, "usage": usage,
    });
    format!("data: {chunk}\n\n")
}
