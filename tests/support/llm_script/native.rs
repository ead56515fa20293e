//! Turns in the shape of Anthropic's and Gemini's streams: all events but the last, and the last.

use serde_json::{Value, json};

use super::captured::Captured;
use super::wire::{CHUNK_CHARS, Completion};

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(CHUNK_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// An event of Anthropic's.
fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

pub(crate) fn anthropic(turn: &Completion<'_>, request: &Captured) -> (Vec<String>, String) {
    let usage = turn.usage(request);
    let mut events = vec![
        event(&json!({"type": "message_start", "message": {
            "id": format!("msg_{}", request.number), "type": "message", "role": "assistant",
            "model": request.model(), "content": [], "stop_reason": null,
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": 1},
        }})),
        event(&json!({"type": "ping"})),
    ];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(event(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        for delta in deltas {
            events.push(event(
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(event(&json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !turn.text.is_empty() {
        let deltas = pieces(turn.text).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (number, call) in turn.calls.iter().enumerate() {
        let id = format!("toolu_{}_{number}", request.number);
        let deltas = pieces(&call.arguments).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        let start = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        block(start, deltas.collect());
    }
    let reason = match turn.finish {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        _ => "end_turn",
    };
    events.push(event(&json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": usage["completion_tokens"]},
    })));
    (events, event(&json!({"type": "message_stop"})))
}

/// Gemini's streams have no mark at their end: the last piece names the reason.
pub(crate) fn gemini(turn: &Completion<'_>, request: &Captured) -> (Vec<String>, String) {
    let counted = turn.usage(request);
    let usage = json!({
        "promptTokenCount": counted["prompt_tokens"],
        "candidatesTokenCount": counted["completion_tokens"],
        "totalTokenCount": counted["total_tokens"],
    });
    let event = |candidate: Value| {
        let data = json!({
            "candidates": [candidate], "usageMetadata": usage, "modelVersion": request.model(),
        });
        format!("data: {data}\r\n\r\n")
    };
    let parts = |parts: Value| json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let mut events: Vec<String> =
        pieces(turn.text).into_iter().map(|piece| event(parts(json!([{"text": piece}])))).collect();
    let mut reason = if turn.finish == "length" { "MAX_TOKENS" } else { "STOP" };
    let mut calls = Vec::new();
    for call in turn.calls {
        // Arguments that are not JSON never leave the provider.
        match serde_json::from_str::<Value>(&call.arguments) {
            Ok(args) => calls.push(json!({"functionCall": {"name": call.name, "args": args}})),
            Err(_) => reason = "MALFORMED_FUNCTION_CALL",
        }
    }
    if !calls.is_empty() {
        events.push(event(parts(calls.into())));
    }
    (events, event(json!({"finishReason": reason, "index": 0})))
}
