//! What a message says, as the platform takes it: a text, or a card in its JSON 2.0.

use serde_json::{Value, json};

use super::super::buttons::ButtonKey;
use super::super::render::{Known, elements, post_markdown, summary};
use super::text::{neutralise, text_content};
use crate::base::limit::ellipsis;
use crate::base::{BotName, Secret, UserId};
use crate::envelope::{Block, ButtonPress, Card};

/// The longest card, in bytes of the request's `content` member as it travels: the platform takes
/// 30 KB a request, and the other members need some of it.
const CARD_BYTES_MAX: usize = 30_000;
/// The platform takes at most this many elements and components (protocol page, section 6).
const ELEMENTS_MAX: usize = 200;
/// How many of them a block of ours takes at most: a button is an element with a text.
const ELEMENTS_PER_BLOCK: usize = 2;
/// The longest title and the longest label, in characters.
const TITLE_CHARS_MAX: usize = 120;
const LABEL_CHARS_MAX: usize = 60;

/// What a message says.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// Plain text.
    Text(&'a str),
    /// Markdown as a post, and who and what may stand in it.
    Post(&'a str, Known<'a>),
    /// Markdown as a card, and who and what may stand in it.
    Markdown(&'a str, Known<'a>),
    /// A card entity, by its id.
    Entity(&'a str),
    /// A card, and what signs its buttons.
    Card(&'a Card, &'a ButtonKey),
}

impl Said<'_> {
    pub(super) const fn message_type(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Post(..) => "post",
            Self::Markdown(..) | Self::Entity(_) | Self::Card(..) => "interactive",
        }
    }

    /// The `content` member: JSON inside a JSON string.
    pub(in crate::channels::lark) fn content(self) -> String {
        match self {
            Self::Text(text) => text_content(text),
            Self::Post(text, known) => post(text, known).to_string(),
            Self::Markdown(text, known) => markdown_card(text, known).to_string(),
            Self::Entity(id) => json!({"type": "card", "data": {"card_id": id}}).to_string(),
            Self::Card(card, key) => card_json(card, key).to_string(),
        }
    }
}

fn post(text: &str, known: Known<'_>) -> Value {
    let paragraph = json!([{"tag": "md", "text": post_markdown(text, known)}]);
    json!({"zh_cn": {"content": [paragraph]}})
}

fn markdown_card(text: &str, known: Known<'_>) -> Value {
    json!({
        "schema": "2.0",
        "config": {"update_multi": true, "summary": {"content": summary(text, TITLE_CHARS_MAX)}},
        "body": {"elements": elements(text, known)},
    })
}

/// Whether the platform takes such a card.
pub(in crate::channels::lark) fn fits_card(card: &Card) -> bool {
    // Every signature is as long as any other.
    let key = ButtonKey::derive(&BotName::new(""), &Secret::new(""));
    card.blocks.len() * ELEMENTS_PER_BLOCK < ELEMENTS_MAX
        && Value::from(Said::Card(card, &key).content()).to_string().len() <= CARD_BYTES_MAX
}

/// A card as the platform takes it.
pub(in crate::channels::lark) fn card_json(card: &Card, key: &ButtonKey) -> Value {
    let title = ellipsis(&neutralise(&card.title), TITLE_CHARS_MAX);
    let elements: Vec<Value> =
        card.numbered().filter_map(|(number, block)| element(card, number, block, key)).collect();
    json!({
        "schema": "2.0",
        // Shown in the list of chats and in notifications.
        "config": {"update_multi": true, "summary": {"content": title}},
        "header": {"title": {"tag": "plain_text", "content": title}, "template": "blue"},
        "body": {"elements": elements},
    })
}

fn element(card: &Card, number: u16, block: &Block, key: &ButtonKey) -> Option<Value> {
    Some(match block {
        Block::Markdown { text } => markdown(&neutralise(text)),
        Block::Divider => json!({"tag": "hr"}),
        Block::Button { label, press } => {
            let behavior = match press {
                ButtonPress::Ask { .. } => {
                    let value = key.value(card.stamp.as_ref()?, number, press);
                    json!({"type": "callback", "value": value})
                }
                ButtonPress::Open { url } => json!({"type": "open_url", "default_url": url}),
            };
            json!({
                "tag": "button",
                "text": {"tag": "plain_text", "content": shortened(label)},
                "type": "default",
                "behaviors": [behavior],
            })
        }
        Block::Chosen { label, by } => markdown(&format!("✓ {}{}", named(by), shortened(label))),
    })
}

fn markdown(content: &str) -> Value {
    json!({"tag": "markdown", "content": content})
}

fn shortened(label: &str) -> String {
    ellipsis(&neutralise(label), LABEL_CHARS_MAX)
}

/// Names a person by a mention, for which nobody has to be looked up. Only an id of this app's
/// kind: with any other the platform would refuse the whole card.
fn named(person: &UserId) -> String {
    let is_plain = |id: &&str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match Some(person.as_str()).filter(|id| id.starts_with("ou_")).filter(is_plain) {
        Some(id) => format!("<at id={id}></at> "),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{ChatId, Timestamp};
    use crate::envelope::{CardStamp, ChatKind};

    fn key() -> ButtonKey {
        ButtonKey::derive(&BotName::new("assistant"), &Secret::new("secret"))
    }

    fn text(text: &str) -> Block {
        Block::Markdown { text: text.to_owned() }
    }

    fn card(blocks: Vec<Block>) -> Card {
        let stamp = CardStamp {
            id: "c1".to_owned(),
            chat: ChatId::new("oc_1"),
            chat_kind: ChatKind::Group,
            at: Timestamp::from_millis(7),
        };
        Card { stamp: Some(stamp), ..Card::new("News <at id=all></at>".to_owned(), blocks) }
    }

    #[test]
    fn a_card_travels_as_json_2_0_and_mentions_nobody() {
        let ask = ButtonPress::Ask { text: "what?".to_owned() };
        let blocks = vec![
            text("**a** <at id=all></at>"),
            Block::Divider,
            Block::Button { label: "Ask".to_owned(), press: ask },
        ];
        let content = Said::Card(&card(blocks), &key()).content();
        assert!(!content.contains("<at"));
        let json: Value = serde_json::from_str(&content).unwrap();
        assert_eq!(json["schema"], "2.0");
        assert_eq!(json["body"]["elements"][1], json!({"tag": "hr"}));
        let value = &json["body"]["elements"][2]["behaviors"][0]["value"]["larkspur"];
        assert_eq!((&value["do"], &value["text"]), (&json!("ask"), &json!("what?")));
    }

    #[test]
    fn a_question_that_was_pressed_is_a_line_that_names_who_pressed() {
        let chosen = |by: &str| Block::Chosen { label: "A <at>".to_owned(), by: UserId::new(by) };
        let ids = ["ou_1", "on_1", "ou_1></at><at id=all", "unknown"];
        let json = card_json(&card(ids.map(chosen).to_vec()), &key());
        let line = |at: usize| json["body"]["elements"][at]["content"].as_str().unwrap();
        assert!(line(0).starts_with("✓ <at id=ou_1></at> A "), "{}", line(0));
        for at in 1..4 {
            assert!(line(at).starts_with("✓ A ") && !line(at).contains("<at"), "{}", line(at));
        }
    }

    #[test]
    fn a_question_of_a_card_that_was_never_planned_is_left_out() {
        let ask = ButtonPress::Ask { text: "what?".to_owned() };
        let blocks = vec![text("a"), Block::Button { label: "Ask".to_owned(), press: ask }];
        let json = card_json(&Card::new("t".to_owned(), blocks), &key());
        assert_eq!(json["body"]["elements"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_card_that_the_platform_would_refuse_for_its_size_does_not_fit() {
        assert!(fits_card(&card(vec![text("short")])));
        assert!(!fits_card(&card(vec![text(&"x".repeat(CARD_BYTES_MAX))])));
        assert!(!fits_card(&card(vec![Block::Divider; ELEMENTS_MAX / ELEMENTS_PER_BLOCK])));
    }
}
