//! Reads a recipe file: the front matter between `---` lines and the Markdown behind it.
//!
//! The front matter is the small part of YAML that people write there: scalars, `[a, b]` lists,
//! dash lists, block texts, comments. Keys nobody knows are passed over with what belongs to them.

use crate::base::Timestamp;

/// The longest id, in characters.
const ID_CHARS_MAX: usize = 120;
/// The longest title that is kept, in characters.
const TITLE_CHARS_MAX: usize = 200;
/// How many tags, and how many triggers, are kept.
const LIST_ITEMS_MAX: usize = 50;

/// What a recipe file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The id; the file's stem if the file names none.
    pub(super) id: String,
    /// The title; the first heading or the stem if the file names none.
    pub(super) title: String,
    /// `rule`, `pattern` or `fact`.
    pub(super) kind: String,
    /// In lower case; `active` if the file names none.
    pub(super) status: String,
    /// Free words.
    pub(super) tags: Vec<String>,
    /// The questions and situations the recipe is for.
    pub(super) trigger: Vec<String>,
    /// When it was last changed, as far as the file says.
    pub(super) updated: Option<Timestamp>,
    /// The Markdown.
    pub(super) body: String,
}

/// Why a file is no recipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Defect {
    #[error("the front matter has no closing `---`")]
    Unclosed,
    #[error("line {line} of the front matter is neither `key: value` nor a list item")]
    Line { line: usize },
    #[error("the id is empty, has control characters or is longer than {ID_CHARS_MAX} characters")]
    Id,
}

/// Reads the text of the file whose name without ending is `stem`.
pub(super) fn parse(text: &str, stem: &str) -> Result<Page, Defect> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text)?;
    let mut page = Page {
        id: stem.to_owned(),
        kind: "fact".to_owned(),
        status: "active".to_owned(),
        body: body.trim().to_owned(),
        ..Page::default()
    };
    for (key, values) in entries(&front)? {
        page.set(&key, values);
    }
    if page.title.is_empty() {
        page.title = String::from(heading(&page.body).unwrap_or(stem));
    }
    page.title = crate::base::limit::ellipsis(&page.title, TITLE_CHARS_MAX);
    let id_fits = !page.id.is_empty()
        && page.id.chars().count() <= ID_CHARS_MAX
        && !page.id.chars().any(char::is_control);
    if id_fits { Ok(page) } else { Err(Defect::Id) }
}

impl Page {
    fn set(&mut self, key: &str, mut values: Vec<String>) {
        let first = values.first().cloned().unwrap_or_default();
        let lower = first.to_lowercase();
        match key {
            "id" => self.id = first,
            "title" => self.title = first,
            "kind" if !first.is_empty() => self.kind = lower,
            "status" if !first.is_empty() => self.status = lower,
            "tags" | "trigger" => {
                values.retain(|value| !value.is_empty());
                values.truncate(LIST_ITEMS_MAX);
                if key == "tags" {
                    self.tags = values;
                } else {
                    self.trigger = values;
                }
            }
            "updated" => self.updated = time(&first),
            _ => {}
        }
    }
}

/// The lines of the front matter and the text behind it.
fn split(text: &str) -> Result<(Vec<&str>, &str), Defect> {
    let mut lines = text.split_inclusive('\n');
    let mut consumed = match lines.next() {
        Some(first) if first.trim_end() == "---" => first.len(),
        _ => return Ok((Vec::new(), text)),
    };
    let mut front = Vec::new();
    for line in lines {
        consumed += line.len();
        if line.trim_end() == "---" {
            return Ok((front, text.get(consumed..).unwrap_or_default()));
        }
        front.push(line.trim_end());
    }
    Err(Defect::Unclosed)
}

/// A key with its values.
type Entry = (String, Vec<String>);

/// Every key with its values, in order.
fn entries(lines: &[&str]) -> Result<Vec<Entry>, Defect> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut block = false;
    for (index, line) in lines.iter().enumerate() {
        let content = line.trim();
        if content.is_empty() || (content.starts_with('#') && !block) {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        let item = content.strip_prefix('-').map(str::trim);
        match (entries.last_mut(), item) {
            (Some((_, values)), _) if block && indented => join(values, content),
            (Some((_, values)), Some(item)) if !block => values.push(scalar(item)),
            // What belongs to a key in a form that is not read (nested maps, folded text).
            (Some(_), _) if indented => {}
            _ => {
                let Some((key, value)) = content.split_once(':') else {
                    return Err(Defect::Line { line: index + 2 });
                };
                let value = value.trim();
                block = value.starts_with(['|', '>']);
                let values = if block { Vec::new() } else { list(value) };
                entries.push((key.trim().trim_matches(['"', '\'']).to_owned(), values));
            }
        }
    }
    Ok(entries)
}

fn join(values: &mut Vec<String>, line: &str) {
    match values.first_mut() {
        Some(text) => {
            text.push(' ');
            text.push_str(line);
        }
        None => values.push(line.to_owned()),
    }
}

/// `[a, "b, c"]` as its items, anything else as one item, nothing as none.
fn list(value: &str) -> Vec<String> {
    if without_comment(value).is_empty() {
        return Vec::new();
    }
    let inner = without_comment(value).strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => split_items(inner).iter().map(|item| scalar(item)).collect(),
        None => vec![scalar(value)],
    }
}

fn split_items(inner: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut quote = None;
    for character in inner.chars() {
        match (quote, character) {
            (None, ',' | '，') => {
                items.push(String::new());
                continue;
            }
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(character);
        }
    }
    items
}

fn scalar(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
        if let Some((inner, behind)) = inner
            && (behind.trim().is_empty() || behind.trim_start().starts_with('#'))
        {
            return inner.to_owned();
        }
    }
    without_comment(value).to_owned()
}

fn without_comment(value: &str) -> &str {
    let value = value.trim();
    if value.starts_with('#') {
        return "";
    }
    value.split(" #").next().unwrap_or_default().trim_end()
}

/// The text of the first heading outside of code.
fn heading(body: &str) -> Option<&str> {
    let mut in_code = false;
    body.lines().find_map(|line| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let text = line.trim_start_matches('#');
        let is_heading = !in_code && text.len() < line.len() && text.starts_with(' ');
        is_heading.then(|| text.trim()).filter(|text| !text.is_empty())
    })
}

/// A date, or a date with time and zone; a date alone is its midnight in UTC.
fn time(value: &str) -> Option<Timestamp> {
    let value = value.trim();
    let point: jiff::Timestamp =
        value.parse().ok().or_else(|| format!("{value}T00:00:00Z").parse().ok())?;
    u64::try_from(point.as_millisecond()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
