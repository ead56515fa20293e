//! Texts as the page shows them.

use super::*;

fn card(text: &str) -> String {
    Rich::of_card(&World::default()).markdown(text).0
}

#[test]
fn what_is_hostile_is_text_and_what_is_meant_is_markup() {
    let script = "<script>alert(1)</script>";
    let table = [
        ("**a** `b`", "<b>a</b> <code>b</code>"),
        ("[x](https://e.org/?a=1&b=2)", "href=\"https://e.org/?a=1&amp;b=2\""),
        ("see https://e.org/x.", ">https://e.org/x.</a>"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,1)", "[x](data:text/html,1)"),
        ("[x](&#106;avascript:alert(1))", "[x](javascript:alert(1))"),
        ("<img src=x onerror=1>", "&lt;img src=x onerror=1&gt;"),
        ("&#60;img src=x onerror=1&#62;", "&lt;img src=x onerror=1&gt;"),
        ("https://e.org/\"onmouseover=1", "href=\"https://e.org/\" "),
        ("https://e.org/&#34;onmouseover=1", "href=\"https://e.org/&quot;onmouseover=1\" "),
        ("|a|b|\n|--|--|\n|1|<i>|", "<td>&lt;i&gt;</td>"),
        ("```\n<b>\n```\nx", "<pre><code>&lt;b&gt;</code></pre>"),
        ("- one", "• one"),
        ("## H", "<div class=\"h\">H</div>"),
    ];
    for (text, expected) in table {
        let shown = card(text);
        assert!(shown.contains(expected), "{text}: {shown}");
    }
    for around in ["", "**", "`", "# ", "> ", "- ", "|", "```\n", "<at id=", "[a](", "<https://"] {
        for script in [script, "&#60;script>alert(1)&#60;/script>"] {
            let shown = card(&format!("{around}{script}"));
            assert!(!shown.contains("<script"), "{shown}");
        }
    }
    assert!(!plain(&World::default(), "**a**").0.contains("<b>"));
}

#[test]
fn the_markdown_of_a_card_is_drawn_as_people_see_it() {
    let link = |address: &str, words: &str| {
        format!(
            "<a href=\"{address}\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">{words}</a>"
        )
    };
    let table = [
        ("&#42;a&#42; \\*b\\*", "*a* *b*".to_owned()),
        ("`&#42;` ``a`b``", "<code>&amp;#42;</code> <code>a`b</code>".to_owned()),
        ("*a* _b_ ***c*** ~~d~~", "<i>a</i> <i>b</i> <b><i>c</i></b> <s>d</s>".to_owned()),
        ("**a *b* `c`**", "<b>a <i>b</i> <code>c</code></b>".to_owned()),
        ("2 * 3 * 4, a_b_c, **open", "2 * 3 * 4, a_b_c, **open".to_owned()),
        ("[**w** x](https://e.org/a_(b) \"t\")", link("https://e.org/a_(b)", "<b>w</b> x")),
        ("<https://e.org/>", link("https://e.org/", "https://e.org/")),
        ("https://e.org/a&#95;b", link("https://e.org/a_b", "https://e.org/a_b")),
        ("<font color='red'>r</font>", "r".to_owned()),
        ("not closed ` x", "not closed ` x".to_owned()),
    ];
    for (text, expected) in table {
        assert_eq!(card(text), format!("<div class=\"line\">{expected}</div>"), "{text}");
    }
    let blocks = [
        (
            "- a\n    - b\n      c\n12. d",
            "<div class=\"li\">• a</div><div class=\"li in2\">• b</div>\
            <div class=\"line\">      c</div><div class=\"li\">12. d</div>",
        ),
        (
            "> a\n>> b\n> # c",
            "<div class=\"cite\"><div class=\"line\">a</div><div class=\"cite\">\
            <div class=\"line\">b</div></div><div class=\"h\">c</div></div>",
        ),
        ("> ```\n> &lt;\n> ```", "<div class=\"cite\"><pre><code>&amp;lt;</code></pre></div>"),
        ("  ```rust\n  a\n    b\n  ```", "<pre><code>a\n  b</code></pre>"),
        ("~~~\n```\n~~~\n***", "<pre><code>```</code></pre><hr>"),
        ("#### a", "<div class=\"h small\">a</div>"),
        ("|a\\|b|\n|--|\n|&#124;|", "<table><tr><th>a|b</th></tr><tr><td>|</td></tr></table>"),
    ];
    for (text, expected) in blocks {
        assert_eq!(card(text), expected, "{text}");
    }
}

#[test]
fn mentions_are_names_in_cards_and_entities_stand_as_written_elsewhere() {
    let mut world = World::default();
    let ann = world.ensure_user("ann").open_id;
    let text = format!("✓ <at id={ann}></at> &lt;");
    let shown = Rich::of_card(&world).markdown(&text).0;
    assert_eq!(shown, "<div class=\"line\">✓ <b>@ann</b> &lt;</div>");
    assert!(card("<at id=ou_1></at>").contains("<b>@ou_1</b>"));
    let shown = Rich::of_text(&world).markdown(&text).0;
    assert!(shown.contains("&lt;at id=") && shown.contains("&amp;lt;"), "{shown}");
    let cell = Rich::of_card(&world).cell(&text, false).0;
    assert!(cell.contains("&amp;lt;"), "{cell}");
}

#[test]
fn long_lines_and_deep_marks_are_drawn_without_looking_for_marks() {
    let long = format!("{}&lt;", "*a ".repeat(2_000));
    assert!(card(&long).contains("*a *a &lt;</div>"));
    for deep in ["> ".repeat(500), "*_".repeat(900), "**~~".repeat(500), "[".repeat(1_000)] {
        assert!(card(&format!("{deep}x{deep}")).contains('x'));
    }
}
