use super::*;

fn marked(id: &str, content: u64, is_waiting: bool, updated_at: u64) -> RecipeMark {
    let updated_at = Timestamp::from_millis(updated_at);
    RecipeMark { id: id.to_owned(), content, is_waiting, updated_at }
}

fn ids<'a>(recipes: &[&'a RecipeMark]) -> Vec<&'a str> {
    recipes.iter().map(|recipe| recipe.id.as_str()).collect()
}

fn recipe(id: &str, title: &str, status: &str, source: &str) -> Recipe {
    Recipe {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: "fact".to_owned(),
        status: status.to_owned(),
        tags: Vec::new(),
        body: String::new(),
        source: source.to_owned(),
        updated_at: Timestamp::default(),
    }
}

#[test]
fn news_is_what_was_not_told_of() {
    let before = [
        marked("same", 1, false, 0),
        marked("edited", 1, false, 0),
        marked("gone", 1, false, 0),
        marked("old-candidate", 1, true, 0),
        marked("taken", 1, true, 0),
    ];
    let now = [
        marked("same", 1, false, 9),
        marked("edited", 2, false, 5),
        marked("a", 1, false, 1),
        marked("b", 1, false, 2),
        marked("old-candidate", 1, true, 0),
        marked("taken", 2, false, 7),
    ];
    let told = Told::of(&before);
    let news = News::since(Some(&told), &now);
    assert_eq!(ids(&news.new), ["b", "a"], "the newest first");
    assert_eq!(ids(&news.changed), ["taken", "edited"]);
    assert_eq!(ids(&news.waiting), ["old-candidate"]);
    assert!(news.is_any);
    assert_eq!(news.total, 6);

    let same = News::since(Some(&told), &before);
    assert!(!same.is_any, "what waits and was told of is no news");
    assert_eq!(ids(&same.waiting), ["old-candidate", "taken"]);
    let candidate = [marked("fresh", 1, true, 0)];
    assert!(News::since(Some(&told), &candidate).is_any, "what waits and was not told of is");
    assert!(!News::since(None, &now).is_any, "at first everything is known");
}

#[test]
fn without_anything_told_the_recent_changes_are_shown() {
    let recipes =
        [marked("old", 1, false, 4), marked("young", 1, false, 5), marked("waits", 1, true, 0)];
    let news = News::recent(Timestamp::from_millis(5), &recipes);
    assert_eq!((ids(&news.changed), ids(&news.waiting)), (vec!["young"], vec!["waits"]));
    assert!(!News::recent(Timestamp::from_millis(6), &recipes[..2]).is_any);
}

#[test]
fn a_card_lists_titles_ids_and_links_and_asks_about_what_can_be_answered() {
    let page = "https://git.example.com/kb/blob/main/{path}?plain=1";
    let wording = Wording { locale: Locale::EnUs, page };
    let sections = [
        Section { heading: DigestSay::New, recipes: Vec::new(), more: 0 },
        Section {
            heading: DigestSay::Changed,
            recipes: vec![
                recipe("old", "Old [way]\nof it", "deprecated", "a (b)/c%.md"),
                recipe("keys", "更换密钥", "active", "密/k.md"),
            ],
            more: 12,
        },
    ];
    let card = wording.card("2026-12-01 09:00".to_owned(), &sections, 40);
    let ask = "What do we know about “更换密钥”?";
    let text = "Knowledge digest 2026-12-01 09:00\n\n**Changed**\n\
        - [Old (way) of it](https://git.example.com/kb/blob/main/a%20%28b%29/c%25.md?plain=1) \
        (old, deprecated)\n\
        - [更换密钥](https://git.example.com/kb/blob/main/%E5%AF%86/k.md?plain=1) (keys)\n\
        … and 12 more\n\n40 recipes in all.";
    assert_eq!(card.as_text(), text);
    let press = ButtonPress::Ask { text: ask.to_owned() };
    assert_eq!(card.blocks.last(), Some(&Block::Button { label: ask.to_owned(), press }));

    let plain = Wording { locale: Locale::ZhCn, page: "" };
    let card = plain.card("2026-12-01 09:00".to_owned(), &[], 0);
    assert_eq!(card.as_text(), "知识摘要 2026-12-01 09:00\n\n没有新的内容。\n\n知识库共 0 条。");
}
