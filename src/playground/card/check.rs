//! Whether the platform accepts a card: schema 2.0 with its known tags and properties, their
//! limits, and ids that exist.
//!
//! Where the fact sheet gives no code of its own, the refusal is that of a card which cannot be
//! parsed (200621). Tags of schema 2.0 that the playground cannot show are refused likewise.

mod button;
mod table;
mod tags;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::visible::prose;
use super::{list, string};
use crate::playground::limits::{
    CARD_DEPTH, CARD_ELEMENTS, CARD_ID_CHARS, CARD_MD_TABLES, Limit, MD_TABLES,
};
use crate::playground::refusal::Refusal;
use crate::playground::switches::{MarkdownTables, Switches};
use crate::playground::world::World;
use tags::{COMMON, PANEL_HEADER, TAGS};

/// The card cannot be built; which way stands in the sentence.
const NOT_BUILT: i64 = 230_099;
/// The card of an entity cannot be built.
const BAD_ENTITY: i64 = 200_220;
const TOO_MUCH: i64 = 11_310;
const NO_PERSON: i64 = 100_290;
/// The key of another app's file. As a code of its own, not behind `ErrCode`.
const NOT_OWNED: i64 = 230_017;
const NO_IMAGE: i64 = 200_570;
const NOT_PARSED: i64 = 200_621;
const OLD_TAG: i64 = 200_861;
const TABLE_ROWS: i64 = 200_914;
const TABLE_COLUMNS: i64 = 200_915;
const SAME_ID: i64 = 300_301;
const NOT_SHARED: i64 = 300_302;
const OLD_SCHEMA: i64 = 300_303;
const TOO_MANY: i64 = 300_305;

const COLOURS: [&str; 13] = [
    "blue",
    "wathet",
    "turquoise",
    "green",
    "yellow",
    "orange",
    "red",
    "carmine",
    "violet",
    "purple",
    "indigo",
    "grey",
    "default",
];
const CARD: &[&str] = &["schema", "config", "card_link", "header", "body"];
const CONFIG: &[&str] = &[
    "streaming_mode",
    "streaming_config",
    "summary",
    "locales",
    "enable_forward",
    "update_multi",
    "width_mode",
    "use_custom_translation",
    "enable_forward_interaction",
    "style",
];
const STREAMING: &[&str] = &["print_frequency_ms", "print_step", "print_strategy"];
const HEADER: &[&str] =
    &["title", "subtitle", "text_tag_list", "i18n_text_tag_list", "template", "icon", "padding"];
const BODY: &[&str] = &[
    "direction",
    "padding",
    "horizontal_spacing",
    "horizontal_align",
    "vertical_spacing",
    "vertical_align",
    "elements",
];
/// Tags of schema 1.0 that 2.0 has no more.
const OLD_TAGS: [&str; 2] = ["action", "note"];

/// What is wrong with a card. Messages and card entities say it under different codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// What stands behind `ErrCode`.
    code: i64,
    /// The code of a call that makes or changes an entity.
    entity: i64,
    why: String,
}

impl Flaw {
    /// As the sending of a message says it.
    pub(crate) fn in_message(&self) -> Refusal {
        let Self { code, why, .. } = self;
        if *code == NOT_OWNED {
            return Refusal::new(NOT_OWNED, why.as_str());
        }
        let sentence =
            format!("Failed to create card content, ext=ErrCode: {code}; ErrMsg: {why}; ");
        Refusal::new(NOT_BUILT, sentence)
    }

    /// As the calls on card entities say it.
    pub(crate) fn in_entity(&self) -> Refusal {
        Refusal::new(self.entity, format!("ErrCode: {}; ErrMsg: {}; ", self.code, self.why))
    }
}

fn refused(code: i64, why: impl std::fmt::Display) -> Flaw {
    let entity = if matches!(code, SAME_ID | NOT_SHARED) { code } else { BAD_ENTITY };
    Flaw { code, entity, why: why.to_string() }
}

fn within(limit: Limit, count: usize, code: i64, what: &str) -> Result<(), Flaw> {
    if limit.refuses(count) {
        return Err(refused(code, format!("{what} over limit {}", limit.most)));
    }
    Ok(())
}

/// Who sends a card, and the world that decides about it.
#[derive(Clone, Copy)]
pub(crate) struct Author<'world> {
    pub(crate) world: &'world World,
    pub(crate) switches: Switches,
    pub(crate) app_id: &'world str,
}

impl Author<'_> {
    /// Whether a key is of a file that this app uploaded; `None`: there is no such key.
    pub(crate) fn owns(&self, key: &str) -> Option<bool> {
        let upload = self.world.uploads.get(key)?;
        Some(upload.app_id.as_deref() == Some(self.app_id))
    }
}

/// The JSON of a card.
pub(crate) fn parse(text: &str) -> Result<Value, Flaw> {
    serde_json::from_str(text)
        .map_err(|error| refused(NOT_PARSED, format!("parse card json err: {error}")))
}

/// Whether a card can be shown.
pub(crate) fn check(author: Author<'_>, card: &Value) -> Result<(), Flaw> {
    if string(card, "/schema") != "2.0" {
        let why = "only schema 2.0 is simulated by this playground";
        return Err(Flaw { entity: OLD_SCHEMA, ..refused(NOT_PARSED, why) });
    }
    known_only(card, "card", CARD, &[])?;
    if let Some(config) = card.get("config") {
        check_config(config)?;
    }
    if let Some(header) = card.get("header") {
        check_header(header)?;
    }
    let body = card.get("body").ok_or_else(|| refused(NOT_PARSED, "card has no body"))?;
    known_only(body, "body", BODY, &[])?;
    let Some(Value::Array(elements)) = body.get("elements") else {
        return Err(refused(NOT_PARSED, "body has no elements"));
    };
    within(CARD_ELEMENTS, tagged(body), TOO_MUCH, "element exceeds the limit: elements")
        .map_err(|flaw| Flaw { entity: TOO_MANY, ..flaw })?;
    let mut checker = Checker { author, ids: BTreeSet::new(), markdown_tables: 0, tables: 0 };
    elements.iter().try_for_each(|element| checker.element(element, 1))
}

fn check_config(config: &Value) -> Result<(), Flaw> {
    known_only(config, "config", CONFIG, &[])?;
    if config.get("update_multi") == Some(&Value::Bool(false)) {
        return Err(refused(NOT_SHARED, "update_multi can only be true"));
    }
    for name in ["streaming_mode", "update_multi", "enable_forward"] {
        if config.get(name).is_some_and(|flag| !flag.is_boolean()) {
            return Err(refused(NOT_PARSED, format!("{name} is not a boolean")));
        }
    }
    let Some(streaming) = config.get("streaming_config") else {
        return Ok(());
    };
    known_only(streaming, "streaming_config", STREAMING, &[])?;
    let strategy = string(streaming, "/print_strategy");
    if !matches!(strategy, "" | "fast" | "delay") {
        return Err(refused(NOT_PARSED, format!("unknown print_strategy {strategy}")));
    }
    Ok(())
}

/// A message's card is changed only if both the old and the new one say that they are shared.
pub(crate) fn shared(card: &Value) -> Result<(), Refusal> {
    if card.pointer("/config/update_multi") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    Err(refused(NOT_SHARED, "update_multi is not true").in_message())
}

/// Somebody has pressed something in the card, and the answer is not here yet.
pub(crate) fn locked() -> Refusal {
    refused(TOO_MUCH, "the card is locked by an ongoing interaction").in_message()
}

fn check_header(header: &Value) -> Result<(), Flaw> {
    known_only(header, "header", HEADER, &[])?;
    plain_text(header, "title")?;
    let template = string(header, "/template");
    if !template.is_empty() && !COLOURS.contains(&template) {
        return Err(refused(NOT_PARSED, format!("unknown header template {template}")));
    }
    Ok(())
}

fn members<'card>(value: &'card Value, what: &str) -> Result<&'card Map<String, Value>, Flaw> {
    value.as_object().ok_or_else(|| refused(NOT_PARSED, format!("{what} is not an object")))
}

/// Schema 2.0 refuses properties that it does not know.
fn known_only(value: &Value, what: &str, own: &[&str], more: &[&str]) -> Result<(), Flaw> {
    let known = |name: &str| own.contains(&name) || more.contains(&name);
    match members(value, what)?.keys().find(|name| !known(name)) {
        Some(stray) => {
            Err(refused(NOT_PARSED, format!("unknown property, property: {stray}, path: {what}")))
        }
        None => Ok(()),
    }
}

/// The text object under `name`, which must hold a `content`.
fn plain_text(element: &Value, name: &str) -> Result<(), Flaw> {
    let text = element.get(name).unwrap_or(&Value::Null);
    let tag = string(text, "/tag");
    let is_text = matches!(tag, "plain_text" | "lark_md");
    if is_text && text.get("content").is_some_and(Value::is_string) {
        return Ok(());
    }
    Err(refused(NOT_PARSED, format!("{name} is no text object")))
}

/// How many components there are, those inside others among them.
fn tagged(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(tagged).sum(),
        Value::Object(members) => {
            usize::from(members.contains_key("tag")) + members.values().map(tagged).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

struct Checker<'world> {
    author: Author<'world>,
    ids: BTreeSet<String>,
    markdown_tables: usize,
    tables: usize,
}

impl Checker<'_> {
    fn element(&mut self, element: &Value, depth: usize) -> Result<(), Flaw> {
        within(CARD_DEPTH, depth, NOT_PARSED, "nesting")?;
        members(element, "element")?;
        let tag = string(element, "/tag");
        if OLD_TAGS.contains(&tag) {
            return Err(refused(
                OLD_TAG,
                format!(
                    "cards of schema V2 no longer support this capability; unsupported tag {tag}"
                ),
            ));
        }
        let Some((_, own)) = TAGS.iter().find(|(known, _)| *known == tag) else {
            return Err(refused(NOT_PARSED, format!("not support tag: {tag}")));
        };
        known_only(element, tag, own, COMMON)?;
        self.id(element)?;
        match tag {
            "markdown" => self.markdown(element),
            "div" => plain_text(element, "text")
                .and_then(|()| self.people(string(element, "/text/content"))),
            "img" => self.image(string(element, "/img_key")),
            "button" => button::button(element),
            "column_set" => self.columns(element, depth),
            "table" => self.table(element, depth),
            "collapsible_panel" => self.panel(element, depth),
            "column" => Err(refused(NOT_PARSED, "a column stands in a column_set")),
            _ => Ok(()),
        }
    }

    fn id(&mut self, element: &Value) -> Result<(), Flaw> {
        let Some(id) = element.get("element_id") else {
            return Ok(());
        };
        let id = id.as_str().unwrap_or_default();
        let begins = id.chars().next().is_some_and(|first| first.is_ascii_alphabetic());
        let plain =
            id.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if !begins || !plain || CARD_ID_CHARS.refuses(id.len()) {
            return Err(refused(NOT_PARSED, format!("invalid element_id {id}")));
        }
        if !self.ids.insert(id.to_owned()) {
            return Err(refused(SAME_ID, format!("duplicate element_id {id}")));
        }
        Ok(())
    }

    fn markdown(&mut self, element: &Value) -> Result<(), Flaw> {
        let Some(Value::String(text)) = element.get("content") else {
            return Err(refused(NOT_PARSED, "markdown has no content"));
        };
        let prose = prose(text);
        let tables = prose.lines().filter(|line| is_table_rule(line)).count();
        self.markdown_tables += tables;
        match self.author.switches.markdown_tables {
            MarkdownTables::Card => {
                within(CARD_MD_TABLES, self.markdown_tables, TOO_MUCH, "card table number")?;
            }
            MarkdownTables::Component => within(MD_TABLES, tables, TOO_MUCH, "card table number")?,
        }
        for key in after_each(&prose, "![").filter_map(|rest| rest.split_once("](")) {
            let key = key.1.split(')').next().unwrap_or_default();
            self.image(key)?;
        }
        self.people(text)
    }

    /// Every `<at id=…>` must name somebody.
    fn people(&self, text: &str) -> Result<(), Flaw> {
        for rest in after_each(text, "<at id=") {
            let id = rest.split('>').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
            if id != "all" && self.author.world.called(id).is_none() {
                return Err(refused(NO_PERSON, format!("invalid user id {id}")));
            }
        }
        Ok(())
    }

    fn image(&self, key: &str) -> Result<(), Flaw> {
        match self.author.owns(key) {
            Some(true) => Ok(()),
            Some(false) => Err(refused(NOT_OWNED, format!("image {key} is not the bot's own"))),
            None => Err(refused(NO_IMAGE, format!("invalid image keys: {key}"))),
        }
    }

    fn columns(&mut self, element: &Value, depth: usize) -> Result<(), Flaw> {
        for column in list(element, "/columns") {
            let own = TAGS.iter().find(|(tag, _)| *tag == "column").map_or(&[][..], |(_, own)| own);
            if string(column, "/tag") != "column" {
                return Err(refused(NOT_PARSED, "a column_set holds columns only"));
            }
            known_only(column, "column", own, COMMON)?;
            self.id(column)?;
            for inner in list(column, "/elements") {
                self.element(inner, depth + 1)?;
            }
        }
        Ok(())
    }

    fn panel(&mut self, element: &Value, depth: usize) -> Result<(), Flaw> {
        let header = element.get("header").unwrap_or(&Value::Null);
        known_only(header, "header", PANEL_HEADER, &[])?;
        let is_markdown = string(header, "/title/tag") == "markdown"
            && header.pointer("/title/content").is_some_and(Value::is_string);
        if !is_markdown {
            plain_text(header, "title")?;
        }
        if element.get("expanded").is_some_and(|expanded| !expanded.is_boolean()) {
            return Err(refused(NOT_PARSED, "expanded is not a boolean"));
        }
        let Some(Value::Array(inner)) = element.get("elements") else {
            return Err(refused(NOT_PARSED, "a collapsible_panel has no elements"));
        };
        inner.iter().try_for_each(|inner| self.element(inner, depth + 1))
    }
}

/// What follows each occurrence of `mark`.
fn after_each<'text>(text: &'text str, mark: &'text str) -> impl Iterator<Item = &'text str> {
    text.split(mark).skip(1)
}

/// The line under the head of a table: dashes between bars.
fn is_table_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains('|') && line.contains("--") && line.chars().all(|one| "|-: ".contains(one))
}
