use super::*;

fn draft(steps: usize, text: &str) -> Draft {
    let steps: Vec<String> = (0..steps).map(|at| format!("`search` number {at}")).collect();
    Draft { title: format!("{} steps", steps.len()), steps, text: text.to_owned() }
}

fn elements(card: &Value) -> &[Value] {
    card["body"]["elements"].as_array().unwrap()
}

#[test]
fn a_growing_card_streams_its_answer_below_the_folded_steps() {
    let card = growing_card(&draft(2, "so **far**"), Known::default());
    assert_eq!(card["config"]["streaming_mode"], true);
    let [panel, answer] = elements(&card) else { panic!("{card}") };
    assert_eq!((&panel["tag"], &panel["expanded"]), (&json!("collapsible_panel"), &json!(false)));
    assert_eq!(panel["header"]["title"]["content"], "2 steps");
    assert_eq!(panel["elements"][0]["content"], "- `search` number 0\n- `search` number 1");
    assert_eq!((&answer["element_id"], &answer["content"]), (&json!(ANSWER), &json!("so **far**")));
    assert!(!card.to_string().contains("button"));
}

#[test]
fn it_is_never_empty_and_never_too_long() {
    let card = growing_card(&draft(1, ""), Known::default());
    assert_eq!(elements(&card)[1]["content"], NOTHING_YET);
    for unit in ["a", "状", "\"", "\n\n\\"] {
        let card = growing_card(&draft(500, &unit.repeat(40_000)), Known::default());
        assert!(card.to_string().len() <= ENTITY_BYTES_MAX, "{unit:?}: {}", card.to_string().len());
    }
}

#[test]
fn at_the_end_the_answer_has_all_the_room_it_needs() {
    let text = "all of it. ".repeat(2_600);
    let card = final_card(&draft(500, &text), Known::default());
    assert_eq!(card["config"]["streaming_mode"], false);
    assert!(card.to_string().len() <= ENTITY_BYTES_MAX);
    let answer: String =
        elements(&card).iter().filter_map(|element| element["content"].as_str()).collect();
    assert_eq!(answer.split_whitespace().count(), text.split_whitespace().count());
    let short = final_card(&draft(3, "yes"), Known::default());
    assert_eq!(elements(&short).len(), 2, "with its steps");
}
