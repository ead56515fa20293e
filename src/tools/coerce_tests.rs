//! Examples from real models, and properties over random values.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "minLength": 1 },
            "limit": { "type": "integer", "minimum": 1, "maximum": 10, "default": 5 },
            "exact": { "type": "boolean" },
            "ratio": { "type": "number" },
            "file_paths": { "type": "array", "items": { "type": "string" }, "maxItems": 3 },
            "mode": { "enum": ["fast", "Slow"] },
            "filter": {
                "type": "object",
                "properties": { "max_depth": { "type": "integer" } },
                "required": ["max_depth"]
            }
        },
        "required": ["query"],
        "additionalProperties": false
    })
}

const ALIASES: &[(&str, &str)] = &[("keyword", "query"), ("q", "query")];

fn fit(arguments: &Value) -> Result<Value, String> {
    coerce_to_schema(&schema(), ALIASES, arguments).map_err(|error| error.text)
}

#[test]
fn values_of_a_near_type_are_taken_and_defaults_filled() {
    let fitted = fit(&json!({
        "query": 42, "limit": "7", "exact": "True", "ratio": "1.5",
        "file_paths": "a.rs", "mode": "FAST", "filter": { "maxDepth": 2.0 }
    }));
    let expected = json!({
        "query": "42", "limit": 7, "exact": true, "ratio": 1.5,
        "file_paths": ["a.rs"], "mode": "fast", "filter": { "max_depth": 2 }
    });
    assert_eq!(fitted.unwrap(), expected);
    assert_eq!(fit(&json!({ "query": "x" })).unwrap(), json!({ "query": "x", "limit": 5 }));
}

#[test]
fn other_spellings_and_aliases_of_names_are_understood() {
    assert_eq!(fit(&json!({ "Keyword": "x" })).unwrap()["query"], "x");
    let paths = fit(&json!({ "q": "x", "filePaths": ["a"] })).unwrap();
    assert_eq!(paths["file_paths"], json!(["a"]));
    let twice = fit(&json!({ "q": "x", "query": "y" })).unwrap_err();
    assert_eq!(twice, r#"argument `q`: expected `query` only once, got "x""#);
}

#[test]
fn arguments_inside_json_text_are_unwrapped() {
    let text = r#"{"query":"x","file_paths":"[\"a\",\"b\"]"}"#;
    let fitted = fit(&Value::from(text)).unwrap();
    assert_eq!(fitted["file_paths"], json!(["a", "b"]));
    let twice = serde_json::to_string(text).unwrap();
    assert_eq!(fit(&Value::from(twice)).unwrap(), fitted);
}

#[test]
fn an_error_names_the_field_and_what_is_expected_and_got() {
    assert_eq!(
        fit(&json!({})).unwrap_err(),
        "argument `query`: expected string of at least 1 characters (required), got nothing"
    );
    assert_eq!(
        fit(&json!({ "query": "x", "limit": "many" })).unwrap_err(),
        r#"argument `limit`: expected integer from 1 to 10, got "many""#
    );
    assert_eq!(
        fit(&json!({ "query": "x", "limit": 11 })).unwrap_err(),
        "argument `limit`: expected integer from 1 to 10, got 11"
    );
    assert_eq!(
        fit(&json!({ "query": "x", "mode": "warp" })).unwrap_err(),
        r#"argument `mode`: expected one of "fast", "Slow", got "warp""#
    );
    assert_eq!(
        fit(&json!({ "query": "x", "filter": {} })).unwrap_err(),
        "argument `filter.max_depth`: expected integer (required), got nothing"
    );
    let unknown = fit(&json!({ "query": "x", "color": "red" })).unwrap_err();
    assert!(unknown.starts_with("argument `color`: expected one of"), "{unknown}");
    assert!(unknown.contains("`query`"), "{unknown}");
    let broken = fit(&Value::from("{\"query\": \"x")).unwrap_err();
    assert!(broken.contains("must be a JSON object"), "{broken}");
}

#[test]
fn a_null_stands_for_a_missing_argument() {
    let fitted = fit(&json!({ "query": "x", "limit": null, "exact": null }));
    assert_eq!(fitted.unwrap(), json!({ "query": "x", "limit": 5 }));
    assert!(fit(&json!({ "query": null })).is_err());
}

#[test]
fn wrong_lists_are_refused() {
    assert!(fit(&json!({ "query": "x", "file_paths": ["a", "b", "c", "d"] })).is_err());
    let item = fit(&json!({ "query": "x", "file_paths": ["a", {}] })).unwrap_err();
    assert_eq!(item, "argument `file_paths[1]`: expected string, got {}");
}

#[test]
fn equal_values_have_one_canonical_text() {
    let left: Value = serde_json::from_str(r#"{"b":[1,{"y":1,"x":"\""}],"a":null}"#).unwrap();
    let right: Value = serde_json::from_str(r#"{"a":null,"b":[1,{"x":"\"","y":1}]}"#).unwrap();
    assert_eq!(canonical_json(&left), r#"{"a":null,"b":[1,{"x":"\"","y":1}]}"#);
    assert_eq!(canonical_json(&left), canonical_json(&right));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[-0-9.eE]{0,8}".prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("[1,\"[2]\"]")),
        Just(Value::from("{\"max_depth\":\"3\"}")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let names = prop_oneof![
            prop::sample::select(vec![
                "query",
                "q",
                "limit",
                "exact",
                "ratio",
                "file_paths",
                "filePaths",
                "mode",
                "filter",
                "max_depth",
            ])
            .prop_map(str::to_owned),
            ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn coercion_never_panics_and_is_idempotent(arguments in any_json()) {
        if let Ok(once) = coerce_to_schema(&schema(), ALIASES, &arguments) {
            let twice = coerce_to_schema(&schema(), ALIASES, &once);
            prop_assert_eq!(twice, Ok(once));
        }
    }

    #[test]
    fn any_value_can_be_a_schema(schema in any_json(), arguments in any_json()) {
        let outcome = coerce_to_schema(&schema, &[], &arguments);
        if let Err(error) = outcome {
            prop_assert_eq!(error.code, ToolErrorCode::InvalidArguments);
        }
    }

    #[test]
    fn canonical_text_does_not_depend_on_the_order_of_keys(value in any_json()) {
        prop_assert_eq!(canonical_json(&value), canonical_json(&reversed(&value)));
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().rev();
            Value::Object(entries.map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        scalar => scalar.clone(),
    }
}
