//! Cards as text: their title, and what can be read in their body.
//!
//! A card comes in one of three shapes: flattened by the platform to paragraphs of nodes, as the
//! JSON it was made of, or as that JSON in a string. Buttons and inputs are named by their words.

use serde_json::Value;

use super::mention::Named;
use super::{Rendered, one_line, trim};
use crate::envelope::{Attachment, AttachmentKind};

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 120;
/// Elements deeper inside each other than this are left out.
const DEPTH_MAX: usize = 12;
/// At most this many pieces of text are taken.
const PIECES_MAX: usize = 400;
/// The first line of a card without a title.
pub(in crate::channels::lark) const UNTITLED: &str = "[card]";
/// What the platform says in the place of a card that it cannot flatten.
const NOT_FLATTENED: &str = "请升级至最新版本客户端";

/// Members in which elements stand inside of elements, in the order in which they are read.
const INSIDE: [&str; 13] = [
    "header",
    "title",
    "subtitle",
    "body",
    "elements",
    "columns",
    "fields",
    "text",
    "extra",
    "actions",
    "rows",
    "placeholder",
    "content",
];

pub(super) fn render(content: &Value, named: &[Named]) -> Rendered {
    let inner = content.get("json_card").and_then(Value::as_str);
    let inner: Option<Value> = inner.and_then(|card| serde_json::from_str(card).ok());
    let card = inner.as_ref().unwrap_or(content);
    let mut reader = Reader { named, ..Reader::default() };
    let (title, body) = match card.get("title") {
        // Flattened: the title is a text of its own.
        Some(Value::String(title)) => (title.clone(), card.get("elements")),
        _ => (header(card), Some(card)),
    };
    if let Some(body) = body {
        reader.read(body, 0);
    }
    let title = one_line(&title, TITLE_CHARS_MAX);
    let head = if title.is_empty() { UNTITLED.to_owned() } else { format!("[card: {title}]") };
    let text = reader.text();
    let body = trim(&text);
    let body = body.strip_prefix(title.as_str()).map_or(body, trim);
    let text = if body.is_empty() || body.starts_with(NOT_FLATTENED) {
        head
    } else {
        format!("{head}\n{body}")
    };
    Rendered { text, attachments: reader.attachments, ..Rendered::default() }
}

fn header(card: &Value) -> String {
    let title = card.pointer("/header/title/content").and_then(Value::as_str);
    title.unwrap_or_default().to_owned()
}

#[derive(Default)]
struct Reader<'a> {
    named: &'a [Named],
    lines: Vec<String>,
    /// Pieces of a line that is not complete yet.
    line: String,
    pieces: usize,
    attachments: Vec<Attachment>,
}

impl Reader<'_> {
    fn text(&mut self) -> String {
        self.end_line();
        self.lines.join("\n")
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    fn piece(&mut self, text: &str) {
        if self.pieces < PIECES_MAX {
            self.pieces += 1;
            self.line.push_str(text);
        }
    }

    fn read(&mut self, value: &Value, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        match value {
            Value::Array(items) => {
                let is_line = items.iter().all(Value::is_object);
                for item in items {
                    self.read(item, depth + 1);
                }
                if is_line {
                    self.end_line();
                }
            }
            Value::Object(_) => self.element(value, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn element(&mut self, element: &Value, depth: usize) {
        let field = |name: &str| element.get(name).and_then(Value::as_str).unwrap_or("");
        match field("tag") {
            "a" => {
                let (text, href) = (field("text"), field("href"));
                self.piece(&if href.is_empty() || text == href {
                    text.to_owned()
                } else {
                    format!("[{text}]({href})")
                });
            }
            "text" => self.piece(field("text")),
            "at" => {
                let key = field("user_id");
                let named = self.named.iter().find(|named| named.key == key);
                let name = [field("user_name"), key.trim_start_matches('@')]
                    .into_iter()
                    .find(|name| !name.is_empty());
                let written = || format!("@{}", one_line(name.unwrap_or(""), TITLE_CHARS_MAX));
                self.piece(&named.map_or_else(written, |named| named.shown(None)));
            }
            "img" => {
                self.piece("[image]");
                let key = [field("image_key"), field("img_key")].concat();
                if !key.is_empty() {
                    self.attachments.push(Attachment::of(AttachmentKind::Image, &key));
                }
            }
            "hr" => self.piece("---"),
            "markdown" | "plain_text" | "lark_md" => self.piece(field("content")),
            "button" => {
                self.piece("[");
                self.inside(element, depth);
                self.piece("]");
                return;
            }
            _ => self.inside(element, depth),
        }
        if matches!(field("tag"), "markdown" | "div" | "img" | "hr" | "note" | "column") {
            self.end_line();
        }
    }

    fn inside(&mut self, element: &Value, depth: usize) {
        for name in INSIDE {
            match element.get(name) {
                // Flattened elements have plain texts where the JSON of a card has objects.
                Some(Value::String(text)) => self.piece(text),
                Some(value) => self.read(value, depth + 1),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(card: &Value) -> String {
        render(card, &[]).text
    }

    #[test]
    fn a_flattened_card_keeps_its_lines_and_links() {
        let card = json!({"title": "Release", "elements": [
            [{"tag": "text", "text": "Version 3 is "}, {"tag": "a", "text": "here", "href": "https://x.example/3"}],
            [{"tag": "img", "image_key": "img_1"}],
            [{"tag": "button", "text": {"tag": "plain_text", "content": "Roll back"}}],
        ]});
        let rendered = render(&card, &[]);
        assert_eq!(
            rendered.text,
            "[card: Release]\nVersion 3 is [here](https://x.example/3)\n[image]\n[Roll back]"
        );
        assert_eq!(rendered.attachments, [Attachment::of(AttachmentKind::Image, "img_1")]);
    }

    #[test]
    fn the_json_of_a_card_is_read_in_both_generations() {
        let second = json!({"schema": "2.0", "header": {"title": {"tag": "plain_text", "content": "T"}},
        "body": {"elements": [
            {"tag": "markdown", "content": "**hi**"},
            {"tag": "column_set", "columns": [
                {"tag": "column", "elements": [{"tag": "markdown", "content": "left"}]},
                {"tag": "column", "elements": [{"tag": "markdown", "content": "right"}]},
            ]},
        ]}});
        assert_eq!(shown(&second), "[card: T]\n**hi**\nleft\nright");
        let wrapped = json!({"json_card": second.to_string(), "card_schema": 2});
        assert_eq!(shown(&wrapped), shown(&second));
        let first = json!({"header": {"title": {"content": "T"}}, "elements": [
            {"tag": "div", "text": {"tag": "lark_md", "content": "body"}},
            {"tag": "action", "actions": [{"tag": "button", "text": {"content": "OK", "tag": "plain_text"}}]},
        ]});
        assert_eq!(shown(&first), "[card: T]\nbody\n[OK]");
    }

    #[test]
    fn a_card_that_shows_nothing_is_still_named() {
        let degraded = json!({"title": "", "elements": [[
            {"tag": "text", "text": "请升级至最新版本客户端,以查看内容"}
        ]]});
        assert_eq!(shown(&degraded), "[card]");
        assert_eq!(shown(&json!({})), "[card]");
        assert_eq!(shown(&json!({"json_card": "no json"})), "[card]");
    }

    #[test]
    fn a_card_of_any_depth_comes_to_an_end() {
        let mut card = json!({"tag": "markdown", "content": "core"});
        for _ in 0..100 {
            card = json!({"tag": "div", "elements": [card]});
        }
        assert_eq!(shown(&json!({"elements": [card]})), "[card]");
    }
}
