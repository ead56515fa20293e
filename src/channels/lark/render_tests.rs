use proptest::prelude::*;

use super::*;
use crate::base::{Clock, SystemClock};

type Pictures = Vec<(String, String)>;

fn known() -> (Vec<(String, UserId)>, Pictures) {
    let person = |name: &str, id: &str| (name.to_owned(), UserId::new(id));
    let people = vec![
        person("Ann", "ou_ann"),
        person("Ann Lee", "ou_lee"),
        person("张三", "ou_zhang"),
        person("Eve", "on_eve"),
    ];
    (people, vec![("https://x.example/a.png".to_owned(), "img_1".to_owned())])
}

/// What a single element says.
fn card(text: &str) -> String {
    let (people, pictures) = known();
    let elements = elements(text, Known { people: &people, pictures: &pictures });
    assert_eq!(elements.len(), 1, "{elements:?}");
    elements[0]["content"].as_str().unwrap().to_owned()
}

fn post(text: &str) -> String {
    let (people, pictures) = known();
    post_markdown(text, Known { people: &people, pictures: &pictures })
}

#[test]
fn what_the_platform_reads_as_it_is_meant_stays_as_it_was_written() {
    for text in [
        "Plain words, 中文, and 10 * 3 = 30.",
        "# Title\n\n- one\n    - nested\n1. first\n\n> quoted\n\n---\n\n**bold** *it* ~~gone~~ `a < b`",
        "```rust\nfn main() { println!(\"<b>\"); }\n```\n\nBehind it.",
        "[docs](https://x.example/a_(b)) and <https is no tag",
        "a\\*b \\[c\\] `` x`y ``",
    ] {
        assert_eq!(card(text), text.replace(" <https", " &#60;https"));
    }
}

#[test]
fn tags_that_nobody_meant_are_shown_as_text() {
    let table = [
        ("<at id=all></at>", "&#60;at id=all>&#60;/at>"),
        ("<font color=red>x</font>", "&#60;font color=red>x&#60;/font>"),
        ("a\\<at id=all>", "a&#60;at id=all>"),
        ("<div>\n\ntext", "&#60;div>\n\ntext"),
        ("`<at id=all>`", "`<\u{200b}at id=all>`"),
        ("<https://x.example/a?b> <a@b.example>", "https://x.example/a?b a@b.example"),
        ("10:30:45 :OK: a:b", "10&#58;30:45 &#58;OK: a:b"),
        ("~5~ and ~~x~~", "&#126;5&#126; and ~~x~~"),
        ("bell\u{7} and\rline", "bell\u{fffd} and\nline"),
    ];
    for (text, shown) in table {
        assert_eq!(card(text), shown, "{text}");
    }
    assert_eq!(post("<at user_id=\"all\">"), "<\u{200b}at user_id=\"all\">");
    let code = card("```\n<at id=all>\n```");
    assert_eq!(code, "```\n<\u{200b}at id=all>\n```");
}

#[test]
fn people_of_the_conversation_are_mentioned_by_their_names_and_nobody_else() {
    let table = [
        ("@Ann, look", "<at id=ou_ann></at>, look"),
        ("@Ann Lee and @Anna", "<at id=ou_lee></at> and @Anna"),
        ("请@张三看一下", "请<at id=ou_zhang></at>看一下"),
        ("(@张三)", "(<at id=ou_zhang></at>)"),
        ("mail me@Ann or @all, @Eve, @Bob", "mail me@Ann or @all, @Eve, @Bob"),
        ("`@Ann`", "`@Ann`"),
        ("```\n@Ann\n```", "```\n@Ann\n```"),
    ];
    for (text, shown) in table {
        assert_eq!(card(text), shown, "{text}");
    }
    assert_eq!(post("@Ann"), "<at user_id=\"ou_ann\"></at>");
}

#[test]
fn only_links_that_the_platform_takes_stay_links() {
    let table = [
        ("see [main](src/main.go:10).", "see main (src/main.go&#58;10)."),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("[a](https://x.example \"title\")", "[a](https://x.example)"),
        ("[a](<https://x.example/b>)", "[a](https://x.example/b)"),
        ("[@Ann](https://x.example)", "[<at id=ou_ann></at>](https://x.example)"),
        ("[1], [2]: see", "[1], [2]: see"),
        ("![a b](https://x.example/a.png)", "![a b](img_1)"),
        ("![a b](https://x.example/other.png)", "[a b](https://x.example/other.png)"),
        ("![](https://x.example/other.png)", "[image](https://x.example/other.png)"),
        ("![plan](plan.png) great![1]", "plan (plan.png) great&#33;[1]"),
        ("![x](data:image/png;base64,AAAA)", "x"),
        ("[x](data:text/html,y)", "x (data:text/html,y)"),
        ("[x](<a b>)", "x (a b)"),
    ];
    for (text, shown) in table {
        assert_eq!(card(text).replace("main.go:10", "main.go&#58;10"), shown, "{text}");
    }
    assert_eq!(post("![a](https://x.example/a.png)"), "[a](https://x.example/a.png)");
}

#[test]
fn a_heading_is_bold_once() {
    assert_eq!(card("# **abc** def"), "# abc def");
    assert_eq!(post("## **abc** def\n\ntext #1"), "**abc def**\n\ntext #1");
}

#[test]
fn a_table_is_an_element_between_the_words_around_it() {
    let text = "Before.\n\n| k | **v** |\n|---|:-:|\n| **a** | ~~b~~ \\| c |\n| d |\n\nBehind.";
    let elements = elements(text, Known::default());
    let [before, table, behind] = elements.as_slice() else { panic!("{elements:?}") };
    assert_eq!((&before["content"], &behind["content"]), (&json!("Before."), &json!("Behind.")));
    assert_eq!(table["columns"][1]["display_name"], "v");
    assert_eq!(table["page_size"], 2);
    assert_eq!(table["rows"][0], json!({"c0": "**a**", "c1": "~~b~~ | c"}));
    assert_eq!(table["rows"][1], json!({"c0": "d"}));
    assert_eq!(post("| a |\n|---|\n| <b> |"), "```\n| a |\n|---|\n| <b> |\n```\n");
}

#[test]
fn one_table_too_many_becomes_code() {
    let text = "## T\n\n| a |\n|---|\n| x |\n\n".repeat(7);
    let elements = elements(&text, Known::default());
    let tables = elements.iter().filter(|element| element["tag"] == "table").count();
    assert_eq!(tables, TABLES_MAX);
    let rest = elements.last().unwrap()["content"].as_str().unwrap();
    assert_eq!(rest.matches("```\n| a |").count(), 2, "{rest}");
    let growing = streamed(&text, Known::default());
    assert_eq!(growing.matches("```").count(), 2 * 4, "three stay Markdown: {growing}");
}

#[test]
fn however_many_blocks_a_text_has_its_card_has_few_elements() {
    let block = "## T\n\ntext\n\n| a |\n|---|\n| x |\n\n- item\n\n```\ncode\n```\n\n";
    for blocks in [1, 5, 6, 200] {
        let elements = elements(&block.repeat(blocks), Known::default());
        assert!(elements.len() <= 2 * TABLES_MAX + 1, "{blocks}: {}", elements.len());
    }
}

#[test]
fn what_is_half_finished_is_shown_as_far_as_it_goes() {
    assert_eq!(streamed("```rust\nfn <at", Known::default()), "```rust\nfn <\u{200b}at");
    assert_eq!(streamed("| a | b |\n|--", Known::default()), "| a | b |\n|--");
    assert_eq!(streamed("see [do", Known::default()), "see [do");
}

#[test]
fn the_preview_has_the_words_without_the_markup() {
    let text = "## **Deploying**\n\n```sh\nmake\n```\nSee [the page](https://x) <at id=all>";
    assert_eq!(summary(text, 80), "Deploying make See the page <\u{200b}at id=all>");
    assert_eq!(summary("状态".repeat(50).as_str(), 10).chars().count(), 10);
}

#[test]
fn no_text_takes_more_than_its_length_should_cost() {
    // In tests the stack of a thread is two megabytes, as it is in the daemon.
    let units = [
        "[", "`", "![", "@", "<", "> ", "|", "- ", "a|b\n", "[](", "[a](", "`` ` ", "\\", "![[",
        "**", "~", "    - ", "|-", ":a", "](", "1. ", "<a ", "```\n", "_a_ ", "&#", "[a]", "> - ",
    ];
    for unit in units {
        let text = format!("| a |\n|---|\n\n{}\n| x | y |\n", unit.repeat(30_000 / unit.len()));
        let (people, pictures) = known();
        let known = Known { people: &people, pictures: &pictures };
        let clock = SystemClock::default();
        let began = clock.now();
        let cost_is_kept = {
            let card = json!({"body": {"elements": elements(&text, known)}}).to_string();
            Value::from(card).to_string().len() <= cost(&text)
        };
        assert!(cost_is_kept, "{unit}");
        assert_eq!(letters(&streamed(&text, known)), letters(&text), "{unit}");
        assert_eq!(letters(&post_markdown(&text, known)), letters(&text), "{unit}");
        drop(super::pictures(&text));
        drop(summary(&text, 80));
        // Only what grows with the square of the length takes seconds.
        let taken = clock.now().since(began);
        assert!(taken.as_secs() < 20, "{unit}: {taken:?}");
    }
}

/// Markdown of every kind, finished or not.
fn markdown_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,8}",
        "[一-龥]{1,5}",
        Just("@Ann".to_owned()),
        Just("👩‍👩‍👧".to_owned()),
        Just("<at id=all></at>".to_owned()),
        Just("a < b".to_owned()),
        Just("`x < y`".to_owned()),
        Just("**bold**".to_owned()),
        Just("[link](https://x.example/p)".to_owned()),
        Just("[file](src/a.rs)".to_owned()),
        Just("![pic](https://x.example/a.png)".to_owned()),
        Just("![pic](img_key)".to_owned()),
        Just("\"q\\\"".to_owned()),
        Just(":OK:".to_owned()),
        Just("~x~".to_owned()),
        Just("&lt;at&gt;".to_owned()),
        Just("``".to_owned()),
        Just("[".to_owned()),
        Just("](".to_owned()),
        Just("<person id=ou_x>".to_owned()),
    ];
    let line = prop::collection::vec(word, 1..8).prop_map(|words| words.join(" "));
    let row = prop::collection::vec("[a-z<]{0,6}", 1..5)
        .prop_map(|cells| format!("| {} |", cells.join(" | ")));
    let table = (row.clone(), prop::collection::vec(row, 1..14)).prop_map(|(head, rows)| {
        let columns = head.matches('|').count() - 1;
        format!("\n{head}\n|{}\n{}\n", "---|".repeat(columns), rows.join("\n"))
    });
    let block = prop_oneof![
        4 => line.clone(),
        1 => line.clone().prop_map(|line| format!("# {line}")),
        1 => line.clone().prop_map(|line| format!("- {line}\n    - {line}")),
        1 => line.clone().prop_map(|line| format!("> {line}\n> > {line}")),
        1 => line.clone().prop_map(|line| format!("```rust\n{line}\n```")),
        1 => line.clone().prop_map(|line| format!("- a\n\n  ```\n  {line}\n  ```")),
        1 => line.prop_map(|line| format!("<div>\n{line}\n</div>")),
        1 => Just("```".to_owned()),
        2 => table,
    ];
    prop::collection::vec(block, 0..12).prop_map(|blocks| blocks.join("\n\n"))
}

/// Letters and digits of what a card shows, in order, entities and mentions resolved.
fn letters_of(elements: &[Value]) -> String {
    let mut shown = String::new();
    for element in elements {
        shown.push_str(element["content"].as_str().unwrap_or_default());
        for column in element["columns"].as_array().into_iter().flatten() {
            shown.push_str(column["display_name"].as_str().unwrap());
        }
        let width = element["columns"].as_array().map_or(0, Vec::len);
        for row in element["rows"].as_array().into_iter().flatten() {
            for at in 0..width {
                shown.push_str(row[format!("c{at}")].as_str().unwrap_or_default());
            }
        }
    }
    letters(&shown)
}

fn letters(text: &str) -> String {
    let text =
        text.replace("<at id=ou_ann></at>", "Ann").replace("<at user_id=\"ou_ann\"></at>", "Ann");
    let text = ["&#33;", "&#60;", "&#58;", "&#126;"]
        .iter()
        .fold(text, |text, entity| text.replace(entity, ""));
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn no_word_is_lost_and_none_is_out_of_place(text in markdown_text()) {
        let (people, _) = known();
        let known = Known { people: &people, pictures: &[] };
        // Keys of pictures stand in the place of addresses; without any, all words are the source's.
        prop_assert_eq!(letters_of(&elements(&text, known)), letters(&text), "{}", text);
        prop_assert_eq!(letters(&streamed(&text, known)), letters(&text));
        prop_assert_eq!(letters(&post_markdown(&text, known)), letters(&text));
    }

    #[test]
    fn the_room_that_a_text_needs_is_never_underestimated(
        text in prop_oneof![markdown_text(), any::<String>(), "[ -~\\n|`<@:~]{0,400}"],
    ) {
        let (people, pictures) = known();
        let body = elements(&text, Known { people: &people, pictures: &pictures });
        let card = json!({
            "schema": "2.0",
            "config": {"update_multi": true, "summary": {"content": summary(&text, 120)}},
            "body": {"elements": body},
        });
        let bytes = Value::from(card.to_string()).to_string().len();
        prop_assert!(bytes <= cost(&text), "{} of {}", bytes, cost(&text));
        prop_assert!(text.len() <= cost(&text));
    }

    #[test]
    fn nobody_is_mentioned_but_people_of_the_conversation(text in markdown_text()) {
        let (people, pictures) = known();
        let known = Known { people: &people, pictures: &pictures };
        let card = Value::from(elements(&text, known)).to_string();
        let rest = card.replace("<at id=ou_ann></at>", "");
        prop_assert!(!rest.contains("<at"), "{}", rest);
        let rest = post_markdown(&text, known).replace("<at user_id=\"ou_ann\"></at>", "");
        prop_assert!(!rest.contains("<at"), "{}", rest);
    }
}
