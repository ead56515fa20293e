use proptest::prelude::*;

use super::*;

fn bytes(text: &str) -> usize {
    text.len()
}

fn split(text: &str, most: usize) -> Vec<String> {
    split_text(text, Measure { most, cost: &bytes })
}

#[test]
fn a_short_text_is_one_piece_and_an_empty_one_none() {
    assert_eq!(split("hello", 100), ["hello"]);
    assert!(split("", 100).is_empty());
    assert!(split(" \n\n ", 100).is_empty());
}

#[test]
fn a_cut_prefers_blocks_over_list_items_over_lines_over_words() {
    let fill = |count: usize| "x".repeat(count);
    let cases = [
        // A paragraph border in the second half wins over a later line border.
        (format!("{}\n\n{}\n{}", fill(40), fill(20), fill(40)), fill(40)),
        // A list item wins over a line.
        (format!("{}\n- b\nsecond line {}", fill(45), fill(40)), fill(45)),
        // A heading begins a block.
        (format!("{}\n# {}", fill(50), fill(60)), fill(50)),
        // Of equal borders the last one.
        (
            format!("{}\n{}\n{}", fill(40), fill(20), fill(60)),
            format!("{}\n{}", fill(40), fill(20)),
        ),
        // Words.
        (format!("{} {}", fill(60), fill(60)), fill(60)),
    ];
    for (text, first) in cases {
        let pieces = split(&text, 100);
        assert_eq!(pieces[0], first, "{text}");
        assert_eq!(pieces.len(), 2, "{text}");
    }
}

#[test]
fn a_code_block_that_is_cut_is_closed_and_opened_again_with_its_language() {
    let code: Vec<String> = (0..8).map(|number| format!("    let v{number} = 1;")).collect();
    let text = format!("words\n```rust\n{}\n```\nend", code.join("\n"));
    let pieces = split(&text, 110);
    assert!(pieces.len() > 1);
    for piece in &pieces {
        assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
    }
    assert!(pieces[1].starts_with("```rust\n    let v"), "the indentation stays: {}", pieces[1]);
    let shown: Vec<&str> = pieces
        .iter()
        .flat_map(|piece| piece.lines())
        .filter(|line| !line.starts_with("```"))
        .collect();
    let mut expected = vec!["words"];
    expected.extend(code.iter().map(String::as_str));
    expected.push("end");
    assert_eq!(shown, expected);
}

#[test]
fn a_row_of_a_table_stays_whole() {
    let row = |number: usize| format!("| row {number} | {} |", "cell ".repeat(6));
    let rows: Vec<String> = (0..9).map(row).collect();
    let pieces = split(&rows.join("\n"), 130);
    let shown: Vec<&str> = pieces.iter().flat_map(|piece| piece.lines()).collect();
    assert_eq!(shown, rows);
}

#[test]
fn a_row_that_fits_a_message_of_its_own_is_not_cut_even_if_the_rest_is_left_half_empty() {
    let row = format!("| {} |", "cell ".repeat(19));
    let pieces = split(&format!("short\n{row}"), 100);
    assert_eq!(pieces, ["short", &row]);
}

#[test]
fn what_people_see_as_one_sign_is_not_split() {
    for sign in ["e\u{301}", "👍🏽", "👩\u{200d}💻", "🇨🇳", "状"] {
        let text = sign.repeat(60);
        for most in 60..70 {
            for piece in split(&text, most) {
                assert_eq!(piece.replace(sign, ""), "", "{sign} at {most}");
            }
        }
    }
}

#[test]
fn the_measure_counts_and_not_the_characters() {
    let doubled = |text: &str| text.len() + text.matches('"').count();
    let measure = Measure { most: 100, cost: &doubled };
    let pieces = split_text(&"\"".repeat(200), measure);
    assert!(pieces.iter().all(|piece| doubled(piece) <= 100));
    assert_eq!(pieces.concat(), "\"".repeat(200));
}

proptest! {
    #[test]
    fn no_character_is_lost_and_no_piece_is_too_long(
        text in "(```[a-z]{0,4}\n|~~~\n|[a-z状]{1,40}|\n|\n\n| |    |- |1\\. |# |\\| a \\|\n|👍🏽){0,60}",
        most in 60usize..200,
    ) {
        let measure = Measure { most, cost: &bytes };
        let whole = text.trim_end();
        let cuts = cuts(whole, measure);
        let together: String = cuts.iter().map(|cut| cut.body).collect();
        prop_assert_eq!(together, whole);
        let pieces = split_text(&text, measure);
        prop_assert!(pieces.iter().all(|piece| piece.len() <= most && !piece.trim().is_empty()));
        // Every word is there in its order, and every code block that was cut is whole again.
        let words = |text: &str| text.chars().filter(|letter| is_word(*letter)).collect::<String>();
        let dressing: usize = cuts.iter().filter(|cut| cut.head.is_some()).count();
        if dressing == 0 {
            prop_assert_eq!(words(&pieces.concat()), words(&text));
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '👍'
}
