//! Front matter as people write it.

use proptest::prelude::*;

use super::*;
use crate::base::mutate::{Mutator, rounds};

#[test]
fn every_form_of_front_matter_is_read() {
    let text = "\u{feff}---\r\nid: deploy  # stable\r\ntitle: \"Deploy: the # way\"\r\n\
        kind: Rule\r\nstatus: Evolving\r\ntags: [release, \"a, b\", 发布]\r\ntrigger:\r\n\
        - how do I deploy\r\n  - '怎么发布'\r\nupdated: 2026-03-04\r\n\
        sources:\r\n  - {url: https://example.com}\r\nextra:\r\n  nested: 1\r\n---\r\n\r\n# H\r\nBody\r\n";
    let page = parse(text, "stem").unwrap();
    assert_eq!(page.id, "deploy");
    assert_eq!(page.title, "Deploy: the # way");
    assert_eq!(page.kind, "rule");
    assert_eq!(page.status, "evolving");
    assert_eq!(page.tags, ["release", "a, b", "发布"]);
    assert_eq!(page.trigger, ["how do I deploy", "怎么发布"]);
    assert_eq!(page.updated, Some(Timestamp::from_millis(1_772_582_400_000)));
    assert_eq!(page.body, "# H\r\nBody");
}

#[test]
fn what_is_missing_is_taken_from_the_text_and_the_file_name() {
    let page = parse("```\n# no\n```\n## The heading\ntext", "my-file").unwrap();
    assert_eq!(page.id, "my-file");
    assert_eq!(page.title, "The heading");
    assert_eq!(page.status, "active");
    assert_eq!(parse("plain", "stem").unwrap().title, "stem");
    let block = parse("---\ntrigger: |\n  first: line\n  # second\n---\n", "s").unwrap();
    assert_eq!(block.trigger, ["first: line # second"]);
    let scalar = parse("---\ntags: one\nupdated: soon\n---\n", "s").unwrap();
    assert_eq!(scalar.tags, ["one"]);
    assert_eq!(scalar.updated, None);
}

#[test]
fn broken_front_matter_is_a_defect() {
    assert_eq!(parse("---\nid: x\n", "s"), Err(Defect::Unclosed));
    let line = parse("---\nid: x\njust words\n---\n", "s");
    assert_eq!(line, Err(Defect::Line { line: 3 }));
    assert_eq!(parse("---\nid: \"\"\n---\n", "s"), Err(Defect::Id));
    assert_eq!(parse(&format!("---\nid: {}\n---\n", "x".repeat(121)), "s"), Err(Defect::Id));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(front in "[-a-z:#\\[\\]'\"|> \n，]{0,80}", body in ".{0,40}") {
        match parse(&format!("---\n{front}\n---\n{body}"), "stem") {
            Ok(page) => prop_assert!(!page.id.is_empty() && !page.title.is_empty()),
            Err(defect) => prop_assert!(!defect.to_string().is_empty()),
        }
    }
}

#[test]
fn no_damaged_recipe_makes_the_parser_panic() {
    let mut mutator = Mutator::seeded("damaged recipes");
    let recipes = [
        include_str!("../../bots/knowledge/backup-data-folder.md"),
        include_str!("../../bots/knowledge/why-is-the-bot-silent.md"),
    ];
    let mut pages = 0;
    for _ in 0..rounds() {
        for recipe in recipes {
            let damaged = mutator.damage_text(recipe);
            if let Ok(page) = parse(&damaged, "stem") {
                assert!(!page.id.is_empty() && !page.title.is_empty(), "{damaged}");
                pages += 1;
            }
        }
    }
    assert!(pages > 0, "the damage leaves something to read");
}
