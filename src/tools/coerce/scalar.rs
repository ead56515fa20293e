//! Values without parts: what they may be turned into, and their bounds.

use serde_json::{Number, Value};

/// `value` as the schema wants it; the error says what is expected.
pub(super) fn fit(schema: &Value, value: &Value) -> Result<Value, String> {
    let typed = types(schema)
        .find_map(|kind| exact(kind, value))
        .or_else(|| types(schema).find_map(|kind| turned(kind, value)));
    let typed = match typed {
        Some(typed) => typed,
        None if types(schema).next().is_none() => value.clone(),
        None => return Err(expectation(schema)),
    };
    let chosen = choose(schema, typed).ok_or_else(|| expectation(schema))?;
    if in_bounds(schema, &chosen) { Ok(chosen) } else { Err(expectation(schema)) }
}

/// Whether the schema has a place for null.
pub(super) fn allows_null(schema: &Value) -> bool {
    types(schema).any(|kind| kind == "null")
}

/// In words: what the schema wants.
pub(super) fn expectation(schema: &Value) -> String {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        let listed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return format!("one of {}", listed.join(", "));
    }
    let kinds: Vec<&str> = types(schema).collect();
    let kind = if kinds.is_empty() { "a value".to_owned() } else { kinds.join(" or ") };
    let bound = |name: &str| schema.get(name).map(Value::to_string);
    let numbers = span(bound("minimum"), bound("maximum"), "");
    let length = span(bound("minLength"), bound("maxLength"), " characters");
    format!("{kind}{numbers}{length}")
}

/// In words: how many there may be.
pub(super) fn count_expectation(schema: &Value, least: &str, most: &str, what: &str) -> String {
    let bound = |name: &str| schema.get(name).map(Value::to_string);
    format!("an array of {what}{}", span(bound(least), bound(most), ""))
}

/// Whether a count is within the named bounds.
pub(super) fn count_fits(schema: &Value, least: &str, most: &str, count: usize) -> bool {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    bound(least).is_none_or(|least| count >= least) && bound(most).is_none_or(|most| count <= most)
}

fn span(least: Option<String>, most: Option<String>, unit: &str) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}{unit}"),
        (Some(least), None) => format!(" of at least {least}{unit}"),
        (None, Some(most)) => format!(" of at most {most}{unit}"),
        (None, None) => String::new(),
    }
}

fn types(schema: &Value) -> impl Iterator<Item = &str> {
    let kind = schema.get("type");
    let one = kind.and_then(Value::as_str);
    let several = kind.and_then(Value::as_array).into_iter().flatten();
    one.into_iter().chain(several.filter_map(Value::as_str))
}

/// The value itself, if it is of that type already.
fn exact(kind: &str, value: &Value) -> Option<Value> {
    let fits = match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    };
    fits.then(|| value.clone())
}

/// The value in another type, where that can only mean one thing.
fn turned(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("integer", Value::Number(number)) => whole(number),
        ("integer", Value::String(text)) => {
            let text = text.trim();
            text.parse::<i64>()
                .map(Value::from)
                .ok()
                .or_else(|| whole(&Number::from_f64(text.parse().ok()?)?))
        }
        ("number", Value::String(text)) => {
            let text = text.trim();
            let integer = text.parse::<i64>().map(Value::from).ok();
            integer.or_else(|| Number::from_f64(text.parse().ok()?).map(Value::Number))
        }
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

/// `5.0` as 5; `None` if there is a fraction or the number is beyond 64 bits.
fn whole(number: &Number) -> Option<Value> {
    let float = number.as_f64()?;
    if float.fract() != 0.0 {
        return None;
    }
    format!("{float:.0}").parse::<i64>().map(Value::from).ok()
}

/// The member of the enum that is meant: itself, or the only one that differs by case.
fn choose(schema: &Value, value: Value) -> Option<Value> {
    let Some(allowed) = schema.get("enum").and_then(Value::as_array) else {
        return Some(value);
    };
    if allowed.contains(&value) {
        return Some(value);
    }
    let wanted = value.as_str()?.trim();
    let mut near = allowed
        .iter()
        .filter(|member| member.as_str().is_some_and(|member| member.eq_ignore_ascii_case(wanted)));
    match (near.next(), near.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

fn in_bounds(schema: &Value, value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
            bound("minimum").is_none_or(|least| number >= least)
                && bound("maximum").is_none_or(|most| number <= most)
        }
        Value::String(text) => {
            let count = text.chars().count();
            count_fits(schema, "minLength", "maxLength", count)
        }
        _ => true,
    }
}
