//! Cards of schema 2.0: what people see of one, what is left of it in the history, its buttons
//! (feishu-protocol.md 2.3, 5.4, 5.5, 6). Whether a card is accepted is decided in `check`; how
//! its Markdown is read, in `visible`.

mod check;
mod visible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::world::World;
pub(crate) use check::{Author, check, locked, parse, shared};
use visible::Reader;
pub(crate) use visible::{Fence, at, code_span, entity, escaped, visible};

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
    /// Whether it stands inside of a panel that is folded.
    pub folded: bool,
}

/// A card as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenCard {
    /// The words of its header.
    pub title: String,
    /// The colour of its header.
    pub template: String,
    /// Its texts in order as people see them, without what is [`folded`](Self::folded). In Markdown
    /// entities are the characters that they stand for, except in code, and mentions of those who
    /// exist are `@name`; other marks stand as they were written.
    pub texts: Vec<String>,
    /// The texts of the panels that are not expanded, their titles among them, in order. People see
    /// such a title at once, and the rest once they open the panel; neither is what the message
    /// says.
    pub folded: Vec<String>,
    /// The names of those whom its texts mention, also those that are folded; each once.
    pub mentions: Vec<String>,
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
    /// A text, and whether it is Markdown.
    Text(&'card str, bool),
    Image(&'card str),
    Button(&'card Value),
    Table(&'card Value),
}

/// A part, and whether it belongs to a panel that is folded.
struct Placed<'card> {
    part: Part<'card>,
    is_folded: bool,
}

fn string<'card>(value: &'card Value, pointer: &str) -> &'card str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'card>(value: &'card Value, pointer: &str) -> &'card [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

fn parts<'card>(elements: &'card [Value], is_folded: bool, into: &mut Vec<Placed<'card>>) {
    for element in elements {
        let part = match string(element, "/tag") {
            "markdown" => Part::Text(string(element, "/content"), true),
            "div" => text_object(element, "/text"),
            "img" => Part::Image(string(element, "/img_key")),
            "button" => Part::Button(element),
            "table" => Part::Table(element),
            "collapsible_panel" => {
                let is_folded = is_folded || !is_expanded(element);
                into.push(Placed { part: text_object(element, "/header/title"), is_folded });
                parts(list(element, "/elements"), is_folded, into);
                continue;
            }
            "column_set" => {
                for column in list(element, "/columns") {
                    parts(list(column, "/elements"), is_folded, into);
                }
                continue;
            }
            _ => continue,
        };
        into.push(Placed { part, is_folded });
    }
}

/// Whether people see at once what a panel holds. A panel that says nothing of it is folded.
pub(crate) fn is_expanded(panel: &Value) -> bool {
    panel.get("expanded").and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a text object is Markdown.
pub(crate) fn is_markdown(text: &Value) -> bool {
    matches!(string(text, "/tag"), "lark_md" | "markdown")
}

fn text_object<'card>(element: &'card Value, pointer: &str) -> Part<'card> {
    let text = element.pointer(pointer).unwrap_or(&Value::Null);
    Part::Text(string(text, "/content"), is_markdown(text))
}

fn all_parts(card: &Value) -> Vec<Placed<'_>> {
    let mut found = Vec::new();
    parts(list(card, "/body/elements"), false, &mut found);
    found
}

fn behavior<'card>(button: &'card Value, kind: &str) -> Option<&'card Value> {
    list(button, "/behaviors").iter().find(|behavior| string(behavior, "/type") == kind)
}

fn button(index: usize, button: &Value, folded: bool) -> SeenButton {
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
        folded,
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

/// Which columns of a table hold Markdown.
pub(crate) fn markdown_columns(element: &Value) -> Vec<bool> {
    let is_markdown =
        |column: &Value| matches!(string(column, "/data_type"), "lark_md" | "markdown");
    list(element, "/columns").iter().map(is_markdown).collect()
}

/// A table in lines of text.
fn table_lines(element: &Value, reader: &mut Reader<'_>) -> String {
    let (heads, rows) = table(element);
    let columns = markdown_columns(element);
    let mut lines = vec![heads.join(" | ")];
    for row in rows {
        let cells = row.into_iter().zip(&columns);
        let cells = cells.map(|(cell, is_md)| if *is_md { reader.visible(&cell) } else { cell });
        lines.push(cells.collect::<Vec<_>>().join(" | "));
    }
    lines.join("\n")
}

impl Part<'_> {
    /// Its words, if it is a text or a table.
    fn words(&self, reader: &mut Reader<'_>) -> Option<String> {
        match self {
            Self::Text(text, true) => Some(reader.visible(text)),
            Self::Text(text, false) => Some((*text).to_owned()),
            Self::Table(table) => Some(table_lines(table, reader)),
            Self::Image(_) | Self::Button(_) => None,
        }
    }
}

/// A card as people of `world` see it.
pub(crate) fn seen(card: &Value, world: &World) -> SeenCard {
    let mut reader = Reader { world: Some(world), ..Reader::default() };
    let (mut texts, mut folded, mut buttons) = (Vec::new(), Vec::new(), Vec::new());
    for Placed { part, is_folded } in all_parts(card) {
        if let Part::Button(element) = part {
            buttons.push(button(buttons.len(), element, is_folded));
        }
        let place = if is_folded { &mut folded } else { &mut texts };
        place.extend(part.words(&mut reader));
    }
    SeenCard {
        title: string(card, "/header/title/content").to_owned(),
        template: string(card, "/header/template").to_owned(),
        texts,
        folded,
        mentions: reader.mentions,
        buttons,
        streaming: card.pointer("/config/streaming_mode") == Some(&Value::Bool(true)),
        json: card.clone(),
    }
}

impl SeenCard {
    /// What it says, a line each: title, texts, and the buttons in brackets. What is inside of
    /// folded panels is left out.
    pub(crate) fn text(&self) -> String {
        let title = Some(self.title.clone()).filter(|title| !title.is_empty());
        let buttons = self.buttons.iter().filter(|button| !button.folded);
        let buttons = buttons.map(|button| format!("[{}]", button.text));
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

/// What the history gives of a card: title and paragraphs, most of it lost. Mentions stand in it as
/// they were written.
pub(crate) fn flattened(card: &Value) -> Value {
    let mut reader = Reader::default();
    let paragraph = |Placed { part, .. }: Placed<'_>| match part {
        Part::Image(key) => json!([{"tag": "img", "image_key": key}]),
        Part::Button(element) => {
            json!([{"tag": "button", "text": string(element, "/text/content"), "type": "default"}])
        }
        Part::Text(..) | Part::Table(_) => {
            json!([{"tag": "text", "text": part.words(&mut reader).unwrap_or_default()}])
        }
    };
    let paragraphs: Vec<Value> = all_parts(card).into_iter().map(paragraph).collect();
    json!({"title": string(card, "/header/title/content"), "elements": paragraphs})
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
