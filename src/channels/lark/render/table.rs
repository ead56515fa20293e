//! Tables: an element of the card, or code where there can be none.

use serde_json::{Map, Value, json};

use super::Known;
use super::inline::{Style, inline};

/// What a table element may have (protocol page, section 5.5).
const COLUMNS_MAX: usize = 50;
const PAGE_ROWS_MAX: usize = 10;

/// The element of a table's source; `None` if it cannot be one.
pub(super) fn element(source: &str, known: Known<'_>) -> Option<Value> {
    let mut lines = source.lines().filter(|line| !line.trim().is_empty()).map(cells);
    let heads = lines.next()?;
    lines.next()?;
    let rows: Vec<Vec<&str>> = lines.collect();
    let width = rows.iter().map(Vec::len).chain([heads.len()]).max()?;
    if rows.is_empty() || width > COLUMNS_MAX {
        return None;
    }
    let columns = (0..width).map(|at| {
        let head = heads.get(at).copied().unwrap_or_default();
        json!({
            "name": format!("c{at}"), "display_name": bare(head), "data_type": "markdown",
        })
    });
    let columns: Vec<Value> = columns.collect();
    let page_size = rows.len().min(PAGE_ROWS_MAX);
    let rows = rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(at, cell)| {
            let cell = cell.replace("\\|", "|");
            (format!("c{at}"), Value::from(inline(&cell, Style::Card, known)))
        });
        Value::Object(cells.collect::<Map<_, _>>())
    });
    let rows: Vec<Value> = rows.collect();
    Some(json!({"tag": "table", "page_size": page_size, "columns": columns, "rows": rows}))
}

/// A head's words: it is shown as it is written.
fn bare(head: &str) -> String {
    let text = head.replace("\\|", "|").replace("**", "").replace('`', "");
    // A head is no Markdown, so an entity would be read as it stands. What follows `<` without any
    // room is no tag, whatever the platform looks for in it.
    text.replace('<', "<\u{200b}")
}

/// The cells of a row: parted by bars that are neither escaped nor in code.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = Vec::new();
    let (mut from, mut is_escaped) = (0, false);
    for (at, letter) in line.char_indices() {
        if letter == '|' && !is_escaped {
            cells.push(line.get(from..at).unwrap_or_default().trim());
            from = at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    let last = line.get(from..).unwrap_or_default().trim();
    if !last.is_empty() {
        cells.push(last);
    }
    cells
}

/// The source as a block of code.
pub(super) fn as_code(source: &str) -> String {
    let source = super::neutralise(source);
    let longest = source.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", source.trim_end_matches('\n'))
}
