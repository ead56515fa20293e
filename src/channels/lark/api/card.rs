//! What a message says, as the platform takes it: a text, or a card in its JSON 2.0.

use serde_json::{Value, json};

use super::text::{neutralise, text_content};
use crate::base::limit::ellipsis;
use crate::envelope::{Block, ButtonPress, Card, PRESS_MEMBER};

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
    /// A card.
    Card(&'a Card),
}

impl Said<'_> {
    pub(super) const fn message_type(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Card(_) => "interactive",
        }
    }

    /// The `content` member: JSON inside a JSON string.
    pub(super) fn content(self) -> String {
        match self {
            Self::Text(text) => text_content(text),
            Self::Card(card) => card_json(card).to_string(),
        }
    }
}

/// Whether the platform takes such a card.
pub(in crate::channels::lark) fn fits_card(card: &Card) -> bool {
    card.blocks.len() * ELEMENTS_PER_BLOCK < ELEMENTS_MAX
        && Value::from(Said::Card(card).content()).to_string().len() <= CARD_BYTES_MAX
}

fn card_json(card: &Card) -> Value {
    let title = ellipsis(&neutralise(&card.title), TITLE_CHARS_MAX);
    let elements: Vec<Value> = card.blocks.iter().map(element).collect();
    json!({
        "schema": "2.0",
        // Shown in the list of chats and in notifications.
        "config": {"update_multi": true, "summary": {"content": title}},
        "header": {"title": {"tag": "plain_text", "content": title}, "template": "blue"},
        "body": {"elements": elements},
    })
}

fn element(block: &Block) -> Value {
    match block {
        Block::Markdown { text } => json!({"tag": "markdown", "content": neutralise(text)}),
        Block::Divider => json!({"tag": "hr"}),
        Block::Button { label, press } => {
            let label = ellipsis(&neutralise(label), LABEL_CHARS_MAX);
            let behavior = match press {
                ButtonPress::Ask { .. } => {
                    json!({"type": "callback", "value": {PRESS_MEMBER: press}})
                }
                ButtonPress::Open { url } => json!({"type": "open_url", "default_url": url}),
            };
            json!({
                "tag": "button",
                "text": {"tag": "plain_text", "content": label},
                "type": "default",
                "behaviors": [behavior],
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(text: &str) -> Block {
        Block::Markdown { text: text.to_owned() }
    }

    fn card(blocks: Vec<Block>) -> Card {
        Card { title: "News <at id=all></at>".to_owned(), blocks }
    }

    #[test]
    fn a_card_travels_as_json_2_0_and_mentions_nobody() {
        let ask = ButtonPress::Ask { text: "what?".to_owned() };
        let blocks = vec![
            markdown("**a** <at id=all></at>"),
            Block::Divider,
            Block::Button { label: "Ask".to_owned(), press: ask },
        ];
        let content = Said::Card(&card(blocks)).content();
        assert!(!content.contains("<at"));
        let json: Value = serde_json::from_str(&content).unwrap();
        assert_eq!(json["schema"], "2.0");
        assert_eq!(json["body"]["elements"][1], json!({"tag": "hr"}));
        assert_eq!(
            json["body"]["elements"][2]["behaviors"][0]["value"],
            json!({"larkspur": {"do": "ask", "text": "what?"}})
        );
    }

    #[test]
    fn a_card_that_the_platform_would_refuse_for_its_size_does_not_fit() {
        assert!(fits_card(&card(vec![markdown("short")])));
        assert!(!fits_card(&card(vec![markdown(&"x".repeat(CARD_BYTES_MAX))])));
        assert!(!fits_card(&card(vec![Block::Divider; ELEMENTS_MAX / ELEMENTS_PER_BLOCK])));
    }
}
