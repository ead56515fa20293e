//! Buttons: what stands on them and what pressing them does.

use serde_json::Value;

use super::tags::{BUTTON_SIZES, BUTTON_TYPES};
use super::{Flaw, NOT_PARSED, known_only, list, plain_text, refused, string};

const CALLBACK: &[&str] = &["type", "value"];
const OPEN_URL: &[&str] = &["type", "default_url", "pc_url", "ios_url", "android_url"];
const CONFIRM: &[&str] = &["title", "text"];

pub(super) fn button(element: &Value) -> Result<(), Flaw> {
    plain_text(element, "text")?;
    for (name, known) in [("type", &BUTTON_TYPES[..]), ("size", &BUTTON_SIZES[..])] {
        let chosen = element.get(name).map(|value| value.as_str().unwrap_or("?"));
        if let Some(strange) = chosen.filter(|chosen| !known.contains(chosen)) {
            return Err(refused(NOT_PARSED, format!("unknown button {name} {strange}")));
        }
    }
    if element.get("disabled").is_some_and(|disabled| !disabled.is_boolean()) {
        return Err(refused(NOT_PARSED, "disabled is not a boolean"));
    }
    if element.get("form_action_type").is_some() {
        return Err(refused(NOT_PARSED, "form_action_type stands in a form only"));
    }
    if let Some(confirm) = element.get("confirm") {
        known_only(confirm, "confirm", CONFIRM, &[])?;
        plain_text(confirm, "title")?;
        plain_text(confirm, "text")?;
    }
    if element.get("behaviors").is_some_and(|behaviors| !behaviors.is_array()) {
        return Err(refused(NOT_PARSED, "behaviors is not an array"));
    }
    list(element, "/behaviors").iter().try_for_each(behavior)
}

fn behavior(behavior: &Value) -> Result<(), Flaw> {
    match string(behavior, "/type") {
        "callback" => {
            known_only(behavior, "behavior", CALLBACK, &[])?;
            let value = behavior.get("value");
            if !value.is_some_and(|value| value.is_object() || value.is_string()) {
                return Err(refused(NOT_PARSED, "a callback has no value"));
            }
        }
        "open_url" => {
            known_only(behavior, "behavior", OPEN_URL, &[])?;
            let url = string(behavior, "/default_url");
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Err(refused(NOT_PARSED, format!("invalid url {url}")));
            }
        }
        other => return Err(refused(NOT_PARSED, format!("unknown behavior {other}"))),
    }
    Ok(())
}
