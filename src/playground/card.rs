//! Cards of schema 2.0: what people see of one, what is left of it in the history, its buttons
//! (feishu-protocol.md 2.3, 5.4, 5.5, 6). Whether a card is accepted is decided in `check`.

mod check;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use check::{Author, check, locked, parse, shared};

/// A button of a card as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenButton {
    /// Its place among the buttons of the card, from 0.
    pub index: usize,
    /// What stands on it.
    pub text: String,
    /// Its `name`.
    pub name: Option<String>,
    /// Its `element_id`.
    pub element_id: Option<String>,
    /// The value of its callback; `None`: pressing it calls nobody.
    pub value: Option<Value>,
    /// The page that it opens.
    pub url: Option<String>,
    /// Whether it cannot be pressed.
    pub disabled: bool,
}

/// A card as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenCard {
    /// The words of its header.
    pub title: String,
    /// The colour of its header.
    pub template: String,
    /// Its texts in order, as they were written.
    pub texts: Vec<String>,
    /// Its buttons in order.
    pub buttons: Vec<SeenButton>,
    /// Whether its texts are still being streamed.
    pub streaming: bool,
    /// The whole card as it was sent.
    pub json: Value,
}

/// Which button of a card is meant: its place from 0, or its `name` or `element_id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CardButton {
    /// The place among the buttons.
    Place(usize),
    /// The `name` or the `element_id`.
    Name(String),
}

/// A part of a card's body, in the order in which people see it.
enum Part<'card> {
    Text(&'card str),
    Image(&'card str),
    Button(&'card Value),
    Table(&'card Value),
}

fn string<'card>(value: &'card Value, pointer: &str) -> &'card str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'card>(value: &'card Value, pointer: &str) -> &'card [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

fn parts<'card>(elements: &'card [Value], into: &mut Vec<Part<'card>>) {
    for element in elements {
        match string(element, "/tag") {
            "markdown" => into.push(Part::Text(string(element, "/content"))),
            "div" => into.push(Part::Text(string(element, "/text/content"))),
            "img" => into.push(Part::Image(string(element, "/img_key"))),
            "button" => into.push(Part::Button(element)),
            "table" => into.push(Part::Table(element)),
            "collapsible_panel" => {
                into.push(Part::Text(string(element, "/header/title/content")));
                parts(list(element, "/elements"), into);
            }
            "column_set" => {
                for column in list(element, "/columns") {
                    parts(list(column, "/elements"), into);
                }
            }
            _ => {}
        }
    }
}

fn all_parts(card: &Value) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    parts(list(card, "/body/elements"), &mut found);
    found
}

fn behavior<'card>(button: &'card Value, kind: &str) -> Option<&'card Value> {
    list(button, "/behaviors").iter().find(|behavior| string(behavior, "/type") == kind)
}

fn button(index: usize, button: &Value) -> SeenButton {
    let own = |pointer: &str| Some(string(button, pointer).to_owned()).filter(|id| !id.is_empty());
    let value = behavior(button, "callback")
        .map(|callback| callback.get("value").cloned().unwrap_or_else(|| json!({})));
    SeenButton {
        index,
        text: string(button, "/text/content").to_owned(),
        name: own("/name"),
        element_id: own("/element_id"),
        value,
        url: behavior(button, "open_url").map(|open| string(open, "/default_url").to_owned()),
        disabled: button.get("disabled").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// The heads of a table's columns, and its rows in their order.
pub(crate) fn table(element: &Value) -> (Vec<String>, Vec<Vec<String>>) {
    let columns = list(element, "/columns");
    let head = |column: &Value| {
        let (shown, name) = (string(column, "/display_name"), string(column, "/name"));
        if shown.is_empty() { name } else { shown }.to_owned()
    };
    let cell = |row: &Value, column: &Value| match row.get(string(column, "/name")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let rows = list(element, "/rows").iter();
    let rows = rows.map(|row| columns.iter().map(|column| cell(row, column)).collect());
    (columns.iter().map(head).collect(), rows.collect())
}

/// A table in lines of text.
fn table_lines(element: &Value) -> String {
    let (heads, rows) = table(element);
    let lines = std::iter::once(heads).chain(rows).map(|cells| cells.join(" | "));
    lines.collect::<Vec<_>>().join("\n")
}

/// A card as people see it.
pub(crate) fn seen(card: &Value) -> SeenCard {
    let parts = all_parts(card);
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some((*text).to_owned()),
        Part::Table(table) => Some(table_lines(table)),
        Part::Image(_) | Part::Button(_) => None,
    });
    let buttons = parts.iter().filter_map(|part| match part {
        Part::Button(element) => Some(*element),
        Part::Text(_) | Part::Image(_) | Part::Table(_) => None,
    });
    SeenCard {
        title: string(card, "/header/title/content").to_owned(),
        template: string(card, "/header/template").to_owned(),
        texts: texts.collect(),
        buttons: buttons.enumerate().map(|(index, element)| button(index, element)).collect(),
        streaming: card.pointer("/config/streaming_mode") == Some(&Value::Bool(true)),
        json: card.clone(),
    }
}

impl SeenCard {
    /// Its words, a line each: title, texts, and the buttons in brackets.
    pub(crate) fn text(&self) -> String {
        let title = Some(self.title.clone()).filter(|title| !title.is_empty());
        let buttons = self.buttons.iter().map(|button| format!("[{}]", button.text));
        let lines = title.into_iter().chain(self.texts.iter().cloned()).chain(buttons);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The button that somebody means.
    pub(crate) fn button(&self, wanted: &CardButton) -> Option<&SeenButton> {
        self.buttons.iter().find(|button| match wanted {
            CardButton::Place(index) => button.index == *index,
            CardButton::Name(name) => {
                button.name.as_ref() == Some(name) || button.element_id.as_ref() == Some(name)
            }
        })
    }
}

/// What the history gives of a card: title and paragraphs, most of it lost.
pub(crate) fn flattened(card: &Value) -> Value {
    let paragraphs: Vec<Value> = all_parts(card)
        .iter()
        .map(|part| match part {
            Part::Text(text) => json!([{"tag": "text", "text": text}]),
            Part::Table(table) => json!([{"tag": "text", "text": table_lines(table)}]),
            Part::Image(key) => json!([{"tag": "img", "image_key": key}]),
            Part::Button(element) => {
                json!([{"tag": "button", "text": string(element, "/text/content"), "type": "default"}])
            }
        })
        .collect();
    json!({"title": string(card, "/header/title/content"), "elements": paragraphs})
}
