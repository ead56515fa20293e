//! What people see of a card, and what the history keeps of it.

use serde_json::{Value, json};

use super::*;

fn of(elements: &Value) -> Value {
    json!({"schema": "2.0", "body": {"elements": elements}})
}

fn panel(title: &Value, expanded: Option<bool>, elements: &Value) -> Value {
    let mut panel = json!({
        "tag": "collapsible_panel", "header": {"title": title}, "elements": elements,
    });
    if let Some(expanded) = expanded {
        panel["expanded"] = json!(expanded);
    }
    panel
}

fn markdown(content: &str) -> Value {
    json!({"tag": "markdown", "content": content})
}

fn title(tag: &str, content: &str) -> Value {
    json!({"tag": tag, "content": content})
}

#[test]
fn entities_are_read_where_markdown_is_and_nowhere_else() {
    let table = json!({"tag": "table", "rows": [{"a": "&lt;", "b": "&lt;"}], "columns": [
        {"name": "a", "display_name": "&lt;", "data_type": "lark_md"}, {"name": "b"},
    ]});
    let card = of(&json!([
        markdown("1 &#60; 2 `&#60;`"),
        {"tag": "div", "text": title("lark_md", "&#60;")},
        {"tag": "div", "text": title("plain_text", "&#60;")},
        table,
        panel(&title("markdown", "&gt;"), Some(true), &json!([])),
        panel(&title("plain_text", "&gt;"), Some(true), &json!([])),
    ]));
    let expected = ["1 < 2 `&#60;`", "<", "&#60;", "&lt; | b\n< | &lt;", ">", "&gt;"];
    let seen = seen(&card, &World::default());
    assert_eq!(seen.texts, expected);
    assert_eq!(seen.json, card);
    let history = flattened(&card);
    let paragraphs = history["elements"].as_array().unwrap().iter();
    let texts: Vec<_> =
        paragraphs.map(|paragraph| paragraph[0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, expected);
}

#[test]
fn what_is_folded_is_not_what_a_card_says() {
    let name = title("plain_text", "Steps");
    let button = json!({"tag": "button", "text": title("plain_text", "Go"), "name": "go"});
    let open = panel(&title("plain_text", "Open"), Some(true), &json!([markdown("in open")]));
    let inner = json!([markdown("step"), open, button]);
    for expanded in [None, Some(false)] {
        let card = of(&json!([markdown("answer"), panel(&name, expanded, &inner), button]));
        let seen = seen(&card, &World::default());
        assert_eq!(seen.text(), "answer\n[Go]");
        assert_eq!(seen.folded, ["Steps", "step", "Open", "in open"]);
        let folded: Vec<_> = seen.buttons.iter().map(|button| button.folded).collect();
        assert_eq!(folded, [true, false]);
    }
    let card = of(&json!([panel(&name, Some(true), &inner)]));
    let seen = seen(&card, &World::default());
    assert_eq!(seen.text(), "Steps\nstep\nOpen\nin open\n[Go]");
    assert!(seen.folded.is_empty());
}

#[test]
fn everybody_whom_a_card_mentions_is_named() {
    let mut world = World::default();
    let (ann, ben) = (world.ensure_user("ann").open_id, world.ensure_user("ben").open_id);
    let inner = json!([markdown(&format!("<at id={ben}></at>"))]);
    let card = of(&json!([
        markdown(&format!("✓ <at id={ann}></at> Yes")),
        panel(&title("plain_text", "Steps"), None, &inner),
    ]));
    let seen = seen(&card, &world);
    assert_eq!(seen.text(), "✓ @ann Yes");
    assert_eq!(seen.mentions, ["ann", "ben"]);
    assert_eq!(seen.folded, ["Steps", "@ben"]);
}

#[test]
fn a_mention_of_everyone_is_noticed_in_any_spelling_but_not_as_entities() {
    use crate::playground::content::mentions_all;
    for (text, expected) in [
        ("<at id=all></at>", true),
        ("<at id=\"all\"></at>", true),
        ("<at id='all'></at>", true),
        ("`<at id=all></at>`", true),
        ("&#60;at id=all></at>", false),
        ("<at id=allan></at>", false),
    ] {
        assert_eq!(mentions_all(&of(&json!([markdown(text)]))), expected, "{text}");
    }
}
