//! What a call does with the card of an entity, as values; carrying it out is pure.

use serde_json::Value;

use super::entity::mode;
use crate::playground::refusal::Refusal;
use crate::playground::request;
use crate::playground::wire::overlay;

/// An element that cannot be read.
const BAD_ELEMENT: i64 = 300_312;
const NO_ELEMENT: i64 = 300_313;
/// It cannot stand there.
const BAD_PLACE: i64 = 300_314;
const NO_TEXT: i64 = 300_310;

/// Where new elements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Before,
    After,
    End,
}

/// One change of a card.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operation {
    Replace(Value),
    Settings(Value),
    Add { place: Place, target: Option<String>, elements: Vec<Value> },
    Put { id: String, element: Value },
    Patch { id: String, partial: Value },
    Delete { id: String },
    Content { id: String, text: String },
}

impl Operation {
    pub(super) fn add(place: &str, target: Option<&str>, elements: Value) -> Result<Self, Refusal> {
        let place = match place {
            "insert_before" => Place::Before,
            "insert_after" => Place::After,
            "append" => Place::End,
            _ => return Err(Refusal::field("type", "has an unknown value")),
        };
        if target.is_none() && place != Place::End {
            return Err(Refusal::field("target_element_id", "is required"));
        }
        match elements {
            Value::Array(elements) if elements.is_empty() => Err(super::empty("elements")),
            Value::Array(elements) => {
                Ok(Self::Add { place, target: target.map(str::to_owned), elements })
            }
            _ => Err(Refusal::field("elements", "is not an array")),
        }
    }

    /// What this says of streaming.
    pub(super) fn wanted_mode(&self) -> Option<bool> {
        match self {
            Self::Replace(card) | Self::Settings(card) => mode(card),
            Self::Add { .. }
            | Self::Put { .. }
            | Self::Patch { .. }
            | Self::Delete { .. }
            | Self::Content { .. } => None,
        }
    }
}

/// The operations of a batch, in order.
pub(super) fn batch(actions: &Value) -> Result<Vec<Operation>, Refusal> {
    let Value::Array(actions) = actions else {
        return Err(Refusal::field("actions", "is not an array"));
    };
    if actions.is_empty() {
        return Err(super::empty("actions"));
    }
    let mut operations = Vec::new();
    for action in actions {
        read(action, &mut operations)?;
    }
    Ok(operations)
}

fn read(action: &Value, into: &mut Vec<Operation>) -> Result<(), Refusal> {
    let Some(Value::Object(params)) = action.get("params") else {
        return Err(Refusal::field("params", "is no object"));
    };
    let inner = |name: &'static str| {
        params.get(name).cloned().ok_or_else(|| Refusal::field(name, "is required"))
    };
    let id = || request::string(params, "element_id").map(str::to_owned);
    match action.get("action").and_then(Value::as_str).unwrap_or_default() {
        "partial_update_setting" => into.push(Operation::Settings(inner("settings")?)),
        "add_elements" => {
            let target = request::optional_string(params, "target_element_id")?;
            let place = request::string(params, "type")?;
            into.push(Operation::add(place, target, inner("elements")?)?);
        }
        "delete_elements" => {
            let Value::Array(ids) = inner("element_ids")? else {
                return Err(Refusal::field("element_ids", "is not an array"));
            };
            let ids = ids.iter().filter_map(Value::as_str);
            into.extend(ids.map(|id| Operation::Delete { id: id.to_owned() }));
        }
        "update_element" => into.push(Operation::Put { id: id()?, element: inner("element")? }),
        "partial_update_element" => {
            into.push(Operation::Patch { id: id()?, partial: inner("partial_element")? });
        }
        _ => return Err(Refusal::field("action", "has an unknown value")),
    }
    Ok(())
}

/// Carries an operation out. Whether the card that comes of it is a good one is not looked at here.
pub(super) fn apply(card: &mut Value, operation: Operation) -> Result<(), Refusal> {
    match operation {
        Operation::Replace(new) => *card = new,
        Operation::Settings(settings) => change_settings(card, &settings)?,
        Operation::Add { place, target, elements } => {
            add(card, place, target.as_deref(), elements)?;
        }
        Operation::Put { id, element } => *found(card, &id)? = object(element)?,
        Operation::Patch { id, partial } => {
            let element = found(card, &id)?;
            overlay(element, &object(partial)?);
        }
        Operation::Delete { id } => {
            let (list, index) = place_of(card, &id)?;
            list.remove(index);
        }
        Operation::Content { id, text } => {
            let element = found(card, &id)?;
            let place = match element.get("tag").and_then(Value::as_str) {
                Some("markdown") => element.get_mut("content"),
                Some("div") => element.pointer_mut("/text/content"),
                _ => None,
            };
            let place = place.ok_or_else(|| Refusal::new(NO_TEXT, "not a text element"))?;
            *place = Value::String(text);
        }
    }
    Ok(())
}

fn object(element: Value) -> Result<Value, Refusal> {
    if element.is_object() {
        return Ok(element);
    }
    Err(Refusal::new(BAD_ELEMENT, "the element is no object"))
}

fn change_settings(card: &mut Value, settings: &Value) -> Result<(), Refusal> {
    let known = ["config", "card_link"];
    let members = settings.as_object().filter(|members| !members.is_empty());
    let members = members.ok_or_else(|| Refusal::field("settings", "is no object"))?;
    if members.keys().any(|name| !known.contains(&name.as_str())) {
        return Err(Refusal::field("settings", "has an unknown member"));
    }
    overlay(card, settings);
    Ok(())
}

fn add(
    card: &mut Value,
    place: Place,
    target: Option<&str>,
    elements: Vec<Value>,
) -> Result<(), Refusal> {
    if let (Place::End, Some(target)) = (place, target) {
        let inner = found(card, target)?.get_mut("elements").and_then(Value::as_array_mut);
        let inner = inner.ok_or_else(|| Refusal::new(BAD_PLACE, "the target holds no elements"))?;
        inner.extend(elements);
        return Ok(());
    }
    let (list, index) = if let Some(target) = target {
        let (list, index) = place_of(card, target)?;
        (list, index + usize::from(place == Place::After))
    } else {
        let root = card.pointer_mut("/body/elements").and_then(Value::as_array_mut);
        let root = root.ok_or_else(|| Refusal::new(BAD_PLACE, "the card has no body"))?;
        let end = root.len();
        (root, end)
    };
    list.splice(index..index, elements);
    Ok(())
}

/// The list in which an element stands, and its place there.
fn place_of<'card>(
    card: &'card mut Value,
    id: &str,
) -> Result<(&'card mut Vec<Value>, usize), Refusal> {
    let missing = || Refusal::new(NO_ELEMENT, format!("there is no element {id}"));
    let body = card.get("body").ok_or_else(missing)?;
    let (pointer, index) = search(body, "/body", id).ok_or_else(missing)?;
    let list = card.pointer_mut(&pointer).and_then(Value::as_array_mut).ok_or_else(missing)?;
    Ok((list, index))
}

fn found<'card>(card: &'card mut Value, id: &str) -> Result<&'card mut Value, Refusal> {
    let (list, index) = place_of(card, id)?;
    let missing = || Refusal::new(NO_ELEMENT, format!("there is no element {id}"));
    list.get_mut(index).ok_or_else(missing)
}

fn search(holder: &Value, pointer: &str, id: &str) -> Option<(String, usize)> {
    for name in ["elements", "columns"] {
        let list = holder.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let pointer = format!("{pointer}/{name}");
        for (index, element) in list.iter().enumerate() {
            if element.get("element_id").and_then(Value::as_str) == Some(id) {
                return Some((pointer, index));
            }
            let deeper = search(element, &format!("{pointer}/{index}"), id);
            if deeper.is_some() {
                return deeper;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn card() -> Value {
        let inner = json!({"tag": "markdown", "element_id": "in", "content": "i"});
        json!({"body": {"elements": [
            {"tag": "markdown", "element_id": "a", "content": "a"},
            {"tag": "column_set", "columns": [
                {"tag": "column", "element_id": "col", "elements": [inner]},
            ]},
        ]}})
    }

    fn ids(value: &Value, into: &mut Vec<String>) {
        for name in ["elements", "columns"] {
            for element in value[name].as_array().into_iter().flatten() {
                into.extend(element["element_id"].as_str().map(str::to_owned));
                ids(element, into);
            }
        }
    }

    fn after(actions: &Value) -> Result<String, i64> {
        let mut card = card();
        for operation in batch(actions).map_err(|refusal| refusal.code)? {
            apply(&mut card, operation).map_err(|refusal| refusal.code)?;
        }
        let mut found = Vec::new();
        ids(&card["body"], &mut found);
        Ok(found.join(" "))
    }

    #[test]
    fn elements_come_and_go_where_the_call_says() {
        let new = json!([{"tag": "hr", "element_id": "n"}]);
        let add = |place: &str, target: Option<&str>| {
            json!([{"action": "add_elements",
                "params": {"type": place, "target_element_id": target, "elements": new}}])
        };
        let remove =
            |id: &str| json!([{"action": "delete_elements", "params": {"element_ids": [id]}}]);
        let put = json!([{"action": "update_element",
            "params": {"element_id": "in", "element": {"tag": "hr", "element_id": "out"}}}]);
        let table = [
            (add("append", None), Ok("a col in n")),
            (add("append", Some("col")), Ok("a col in n")),
            (add("insert_before", Some("in")), Ok("a col n in")),
            (add("insert_after", Some("a")), Ok("a n col in")),
            (add("append", Some("a")), Err(BAD_PLACE)),
            (add("insert_after", Some("x")), Err(NO_ELEMENT)),
            (add("insert_after", None), Err(99_992_402)),
            (add("beside", None), Err(99_992_402)),
            (remove("in"), Ok("a col")),
            (remove("x"), Err(NO_ELEMENT)),
            (put, Ok("a col out")),
            (json!([]), Err(300_307)),
            (json!([{"action": "explode", "params": {}}]), Err(99_992_402)),
        ];
        for (actions, expected) in table {
            assert_eq!(after(&actions), expected.map(str::to_owned), "{actions}");
        }
    }

    #[test]
    fn only_texts_take_a_text() {
        let content = |id: &str| Operation::Content { id: id.to_owned(), text: "new".to_owned() };
        let mut card = card();
        apply(&mut card, content("in")).unwrap();
        assert_eq!(
            card.pointer("/body/elements/1/columns/0/elements/0/content"),
            Some(&json!("new"))
        );
        assert_eq!(apply(&mut card, content("col")).unwrap_err().code, NO_TEXT);
    }
}
