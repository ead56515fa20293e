//! The table element: where it stands, its columns, its rows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::tags::{DATA_TYPES, TABLE_COLUMN};
use super::{
    Checker, Flaw, NOT_PARSED, TABLE_COLUMNS, TABLE_ROWS, TOO_MUCH, known_only, refused, string,
    within,
};
use crate::playground::limits::{CARD_COLUMNS, CARD_PAGE_SIZE, CARD_TABLES};

impl Checker<'_> {
    pub(super) fn table(&mut self, element: &Value, depth: usize) -> Result<(), Flaw> {
        if depth > 1 {
            return Err(refused(NOT_PARSED, "a table stands at the root only"));
        }
        self.tables += 1;
        within(CARD_TABLES, self.tables, TOO_MUCH, "card table number")?;
        let size = element.get("page_size").map_or(Some(1), Value::as_u64).unwrap_or(0);
        if size == 0 || size > CARD_PAGE_SIZE.most {
            return Err(refused(TABLE_ROWS, "table page_size is not within 1 and 10"));
        }
        let columns = columns(element)?;
        let Some(Value::Array(rows)) = element.get("rows") else {
            return Err(refused(TABLE_ROWS, "a table has no rows"));
        };
        for row in rows {
            let Value::Object(cells) = row else {
                return Err(refused(TABLE_ROWS, "a row is no object"));
            };
            for (name, cell) in cells {
                let kind = columns.get(name.as_str()).ok_or_else(|| {
                    refused(TABLE_ROWS, format!("a row names an unknown column {name}"))
                })?;
                self.cell(kind, cell)?;
            }
        }
        Ok(())
    }

    fn cell(&self, kind: &str, cell: &Value) -> Result<(), Flaw> {
        let is_of_kind = match kind {
            "number" => cell.is_number(),
            "date" => cell.is_u64(),
            "options" | "persons" => cell.is_array() || cell.is_string(),
            _ => cell.is_string(),
        };
        if !is_of_kind {
            return Err(refused(TABLE_ROWS, format!("a cell is no {kind}")));
        }
        match (kind, cell) {
            ("lark_md" | "markdown", Value::String(text)) => self.people(text),
            _ => Ok(()),
        }
    }
}

/// The columns' names, and what their cells are.
fn columns(element: &Value) -> Result<BTreeMap<&str, &str>, Flaw> {
    let Some(Value::Array(columns)) = element.get("columns") else {
        return Err(refused(TABLE_COLUMNS, "a table has no columns"));
    };
    within(CARD_COLUMNS, columns.len(), TABLE_COLUMNS, "table columns")?;
    let mut known = BTreeMap::new();
    for column in columns {
        known_only(column, "table column", TABLE_COLUMN, &[])?;
        let (name, kind) = (string(column, "/name"), string(column, "/data_type"));
        let kind = if column.get("data_type").is_none() { "text" } else { kind };
        if name.is_empty() || !DATA_TYPES.contains(&kind) {
            return Err(refused(TABLE_COLUMNS, format!("column {name} of {kind}")));
        }
        if known.insert(name, kind).is_some() {
            return Err(refused(TABLE_COLUMNS, format!("two columns {name}")));
        }
    }
    if known.is_empty() {
        return Err(refused(TABLE_COLUMNS, "a table has no columns"));
    }
    Ok(known)
}
