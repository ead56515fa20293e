//! Makes the arguments of a tool call fit the tool's schema, or says what does not fit.
//!
//! Models write `"5"` for 5, one value for a list of one, camel case for snake case. What can only
//! mean one thing is taken; everything else is an error that names the field, what is expected and
//! what was found. Pure; never a panic, whatever the model wrote. Coercing twice is the same as
//! coercing once. Of JSON Schema it knows what tools use: types, properties, required, items,
//! enum, default and the bounds of numbers, texts and lists.

mod canonical;
mod scalar;

use serde_json::{Map, Value};

use super::port::{Tool, ToolError, ToolErrorCode};
use crate::base::limit::ellipsis;

pub use canonical::canonical_json;

/// How deep schema and arguments are followed; what lies deeper is passed as it is.
const DEPTH_MAX: usize = 16;
/// How much of a wrong value an error shows, in characters.
const GOT_CHARS_MAX: usize = 80;
/// How many layers of JSON text around the arguments are removed.
const TEXT_LAYERS_MAX: usize = 3;

/// The arguments of a call to `tool` as they fit its schema.
///
/// # Errors
/// [`ToolErrorCode::InvalidArguments`] with a text the model can act on.
pub fn coerce(tool: &dyn Tool, arguments: &Value) -> Result<Value, ToolError> {
    coerce_to_schema(&tool.parameters(), tool.argument_aliases(), arguments)
}

/// As [`coerce`], with the schema and the argument aliases given.
///
/// # Errors
/// As [`coerce`].
pub fn coerce_to_schema(
    schema: &Value,
    aliases: &[(&str, &str)],
    arguments: &Value,
) -> Result<Value, ToolError> {
    let shape = Shape { aliases };
    let given = unwrap_text(arguments)?;
    shape.object(schema, &given, &Path::default()).map(Value::Object).map_err(ToolError::from)
}

/// Some providers hand over the arguments as JSON text, and some models wrap that text again.
fn unwrap_text(arguments: &Value) -> Result<Map<String, Value>, ToolError> {
    let mut value = arguments.clone();
    for _layer in 0..=TEXT_LAYERS_MAX {
        match value {
            Value::Object(map) => return Ok(map),
            Value::Null => return Ok(Map::new()),
            Value::String(text) if text.trim().is_empty() => return Ok(Map::new()),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(inner) => value = inner,
                Err(_not_json) => return Err(not_an_object(&Value::String(text))),
            },
            other => return Err(not_an_object(&other)),
        }
    }
    Err(not_an_object(&value))
}

fn not_an_object(got: &Value) -> ToolError {
    ToolError {
        code: ToolErrorCode::InvalidArguments,
        text: format!("the arguments must be a JSON object; expected {{...}}, got {}", shown(got)),
    }
}

/// A value that does not fit, and where it stands.
struct Misfit {
    field: String,
    expected: String,
    got: String,
}

impl Misfit {
    fn new(path: &Path, expected: impl Into<String>, got: &Value) -> Self {
        Self { field: path.0.clone(), expected: expected.into(), got: shown(got) }
    }

    fn missing(path: &Path, schema: &Value) -> Self {
        Self {
            field: path.0.clone(),
            expected: format!("{} (required)", scalar::expectation(schema)),
            got: "nothing".to_owned(),
        }
    }
}

impl From<Misfit> for ToolError {
    fn from(misfit: Misfit) -> Self {
        Self {
            code: ToolErrorCode::InvalidArguments,
            text: format!(
                "argument `{}`: expected {}, got {}",
                ellipsis(&misfit.field, GOT_CHARS_MAX),
                misfit.expected,
                misfit.got
            ),
        }
    }
}

fn shown(value: &Value) -> String {
    ellipsis(&value.to_string(), GOT_CHARS_MAX)
}

/// The place of a value: `filter.tags[2]`.
#[derive(Clone, Default)]
struct Path(String, usize);

impl Path {
    fn field(&self, name: &str) -> Self {
        let dot = if self.0.is_empty() { "" } else { "." };
        Self(format!("{}{dot}{name}", self.0), self.1 + 1)
    }

    fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0), self.1 + 1)
    }

    fn is_too_deep(&self) -> bool {
        self.1 >= DEPTH_MAX
    }
}

/// The walk over schema and value. Aliases hold for the outermost object only.
struct Shape<'a> {
    aliases: &'a [(&'a str, &'a str)],
}

impl Shape<'_> {
    fn object(
        &self,
        schema: &Value,
        given: &Map<String, Value>,
        path: &Path,
    ) -> Result<Map<String, Value>, Misfit> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let open = schema.get("properties").is_none()
            || matches!(schema.get("additionalProperties"), Some(Value::Bool(true)));
        let mut named = Map::new();
        // Exact names first, so that an alias beside them is noticed whatever the order.
        let (exact, other): (Vec<_>, Vec<_>) =
            given.iter().partition(|(name, _)| properties.contains_key(*name));
        for (name, value) in exact.into_iter().chain(other) {
            let target = self.property(name, properties, path);
            let target = match target {
                Some(target) => target.to_owned(),
                None if open => name.clone(),
                None => return Err(unknown(path, name, properties)),
            };
            if named.contains_key(&target) {
                let expected = format!("`{target}` only once");
                return Err(Misfit::new(&path.field(name), expected, value));
            }
            named.insert(target, value.clone());
        }
        self.complete(schema, properties, named, path)
    }

    /// The property meant by `name`: itself, a declared alias, or another spelling.
    fn property<'p>(
        &self,
        name: &str,
        properties: &'p Map<String, Value>,
        path: &Path,
    ) -> Option<&'p str> {
        if let Some((own, _)) = properties.get_key_value(name) {
            return Some(own);
        }
        let wanted = spelling(name);
        let by_spelling = |wanted: &str| {
            let mut matching = properties.keys().filter(|own| spelling(own) == wanted);
            matching.next().map(String::as_str)
        };
        let aliased = self
            .aliases
            .iter()
            .filter(|_| path.0.is_empty())
            .find(|(alias, _)| spelling(alias) == wanted)
            .and_then(|(_, own)| properties.get_key_value(*own))
            .map(|(own, _)| own.as_str());
        by_spelling(&wanted).or(aliased)
    }

    /// Fits every property in the schema's order, fills defaults, checks for what is missing.
    fn complete(
        &self,
        schema: &Value,
        properties: &Map<String, Value>,
        mut named: Map<String, Value>,
        path: &Path,
    ) -> Result<Map<String, Value>, Misfit> {
        let required = |name: &str| {
            schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|list| list.iter().any(|item| item.as_str() == Some(name)))
        };
        let mut fitted = Map::new();
        for (name, property) in properties {
            let place = path.field(name);
            let given = named
                .remove(name)
                .filter(|value| !value.is_null() || scalar::allows_null(property));
            let value = match (given, property.get("default")) {
                (Some(value), _) => self.value(property, value, &place)?,
                (None, Some(default)) => self.value(property, default.clone(), &place)?,
                (None, None) if required(name) => return Err(Misfit::missing(&place, property)),
                (None, None) => continue,
            };
            fitted.insert(name.clone(), value);
        }
        // What is left was let through because the schema is open.
        fitted.extend(named);
        Ok(fitted)
    }

    fn value(&self, schema: &Value, value: Value, path: &Path) -> Result<Value, Misfit> {
        if path.is_too_deep() {
            return Ok(value);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => {
                let given = match &value {
                    Value::Object(map) => map.clone(),
                    Value::String(text) => match serde_json::from_str(text) {
                        Ok(Value::Object(map)) => map,
                        _ => return Err(Misfit::new(path, "an object", &value)),
                    },
                    _ => return Err(Misfit::new(path, "an object", &value)),
                };
                self.object(schema, &given, path).map(Value::Object)
            }
            Some("array") => self.list(schema, value, path),
            _ => {
                scalar::fit(schema, &value).map_err(|expected| Misfit::new(path, expected, &value))
            }
        }
    }

    fn list(&self, schema: &Value, value: Value, path: &Path) -> Result<Value, Misfit> {
        let items = match value {
            Value::Array(items) => items,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Array(items)) => items,
                _ => vec![Value::String(text)],
            },
            single => vec![single],
        };
        let count = items.len();
        if !scalar::count_fits(schema, "minItems", "maxItems", count) {
            let expected = scalar::count_expectation(schema, "minItems", "maxItems", "items");
            return Err(Misfit::new(path, expected, &Value::Array(items)));
        }
        let Some(item_schema) = schema.get("items") else {
            return Ok(Value::Array(items));
        };
        let fitted: Result<Vec<Value>, Misfit> = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| self.value(item_schema, item, &path.item(index)))
            .collect();
        fitted.map(Value::Array)
    }
}

/// A name without case and separators: `recipeId`, `recipe-id` and `recipe_id` are one.
fn spelling(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

fn unknown(path: &Path, name: &str, properties: &Map<String, Value>) -> Misfit {
    let known: Vec<String> = properties.keys().map(|name| format!("`{name}`")).collect();
    let expected = if known.is_empty() {
        "no arguments".to_owned()
    } else {
        format!("one of the arguments {}", known.join(", "))
    };
    Misfit { field: path.field(name).0, expected, got: "an unknown name".to_owned() }
}

#[cfg(test)]
#[path = "coerce_tests.rs"]
mod tests;
