//! What every request must satisfy, whatever the test is about.

use std::collections::HashSet;

use serde_json::Value;

use super::captured::Captured;

/// What is wrong with a request; empty if nothing is.
pub(crate) fn violations(request: &Captured, models: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let first = request.messages().first().map(|message| &message["role"]);
    if first.is_none_or(|role| role != "system" && role != "developer") {
        found.push(format!("the first message is not the system's: {first:?}"));
    }
    if !models.is_empty() && !models.iter().any(|model| model == request.model()) {
        found.push(format!("model `{}` is not allowed", request.model()));
    }
    if request.max_tokens().is_none_or(|tokens| tokens == 0) {
        found.push("no output cap".to_owned());
    }
    let mut names = HashSet::new();
    for name in request.tools() {
        if !names.insert(name) {
            found.push(format!("tool `{name}` is offered twice"));
        }
    }
    if request.tool_choice().is_some() && names.is_empty() {
        found.push("a tool choice without tools".to_owned());
    }
    pairs(request.messages(), &mut found);
    found.into_iter().map(|what| format!("request {}: {what}", request.number)).collect()
}

/// Each call is answered once, before anything else is said; each answer has its call.
fn pairs(messages: &[Value], found: &mut Vec<String>) {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.iter().position(|call| *call == id) {
                Some(index) => drop(open.remove(index)),
                None => found.push(format!("message {place}: result `{id}` without its call")),
            }
            continue;
        }
        unanswered(&mut open, place, found);
        if !matches!(role, "system" | "developer" | "user" | "assistant") {
            found.push(format!("message {place}: role `{role}`"));
        }
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || !seen.insert(id) {
                found.push(format!("message {place}: call id `{id}` is empty or used twice"));
            }
            open.push(id);
        }
        let silent = message["content"].is_null() && calls.is_empty();
        if silent {
            found.push(format!("message {place}: neither content nor calls"));
        }
    }
    unanswered(&mut open, messages.len(), found);
}

fn unanswered(open: &mut Vec<&str>, place: usize, found: &mut Vec<String>) {
    for id in open.drain(..) {
        found.push(format!("before message {place}: call `{id}` has no result"));
    }
}
