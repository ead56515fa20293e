//! A card: a message with a title and things to press, in words that no platform owns.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::origin::ChatKind;
use crate::base::{ChatId, Timestamp, UserId};

/// A message with a title and things to press.
///
/// A channel that has no cards, or whose platform refuses this one, sends [`Card::as_text`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// One line above everything.
    pub title: String,
    /// What stands below it, in order.
    pub blocks: Vec<Block>,
    /// Tells it from every other card; given to it when its sending is planned, if it asks
    /// anything. The questions of a card without one are not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<CardStamp>,
}

/// What tells a card whose buttons ask something from every other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStamp {
    /// Unique for ever, and the same for every try to send the card.
    pub id: String,
    /// The chat that it is for.
    pub chat: ChatId,
    /// What kind of chat that is.
    pub chat_kind: ChatKind,
    /// When it was made.
    pub at: Timestamp,
}

/// A part of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// Markdown.
    Markdown {
        /// The text.
        text: String,
    },
    /// A line across.
    Divider,
    /// Something to press.
    Button {
        /// What stands on it.
        label: String,
        /// What it does.
        press: ButtonPress,
    },
    /// In the place of a question that was pressed.
    Chosen {
        /// What stood on the button.
        label: String,
        /// Who pressed it.
        by: UserId,
    },
}

/// What a button does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ButtonPress {
    /// Asks the bot, in the name of whoever presses.
    Ask {
        /// The question.
        text: String,
    },
    /// Opens a page.
    Open {
        /// Its address, `http` or `https`.
        url: String,
    },
}

impl Block {
    /// Whether it asks something when it is pressed.
    fn asks(&self) -> bool {
        matches!(self, Self::Button { press: ButtonPress::Ask { .. }, .. })
    }
}

impl Card {
    /// A card that is not planned yet.
    pub fn new(title: String, blocks: Vec<Block>) -> Self {
        Self { title, blocks, stamp: None }
    }

    /// Whether any of its buttons asks something.
    pub fn asks(&self) -> bool {
        self.blocks.iter().any(Block::asks)
    }

    /// Its blocks, those that ask or asked something with their number among these. A number stays
    /// the same whatever is pressed.
    pub fn numbered(&self) -> impl Iterator<Item = (u16, &Block)> {
        let mut next = 0_u16;
        self.blocks.iter().map(move |block| {
            let number = next;
            let counts = block.asks() || matches!(block, Block::Chosen { .. });
            next = next.saturating_add(u16::from(counts));
            (number, block)
        })
    }

    /// The card after the questions of these numbers were pressed, by whom it says.
    #[must_use]
    pub fn after(&self, presses: &[(u16, UserId)]) -> Self {
        let pressed = |number| presses.iter().find(|(pressed, _)| *pressed == number);
        let blocks = self.numbered().map(|(number, block)| match (block, pressed(number)) {
            (Block::Button { label, press: ButtonPress::Ask { .. } }, Some((_, by))) => {
                Block::Chosen { label: label.clone(), by: by.clone() }
            }
            _ => block.clone(),
        });
        Self { title: self.title.clone(), blocks: blocks.collect(), stamp: self.stamp.clone() }
    }

    /// Everything it says, without what can be pressed; pages that could be opened are named.
    pub fn as_text(&self) -> String {
        let mut text = self.title.clone();
        for block in &self.blocks {
            match block {
                Block::Markdown { text: part } => {
                    text.push_str("\n\n");
                    text.push_str(part);
                }
                Block::Divider
                | Block::Button { press: ButtonPress::Ask { .. }, .. }
                | Block::Chosen { .. } => {}
                Block::Button { label, press: ButtonPress::Open { url } } => {
                    // Writing to a string does not fail.
                    write!(text, "\n\n{label}: {url}").unwrap_or_default();
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_as_text_says_everything_but_the_questions_on_its_buttons() {
        let markdown = |text: &str| Block::Markdown { text: text.to_owned() };
        let button = |label: &str, press| Block::Button { label: label.to_owned(), press };
        let blocks = vec![
            markdown("one"),
            Block::Divider,
            markdown("two"),
            button("ask", ButtonPress::Ask { text: "what?".to_owned() }),
            button("all", ButtonPress::Open { url: "https://x.example/".to_owned() }),
        ];
        let card = Card::new("News".to_owned(), blocks);
        assert_eq!(card.as_text(), "News\n\none\n\ntwo\n\nall: https://x.example/");
    }

    #[test]
    fn a_question_keeps_its_number_when_others_are_pressed() {
        let ask = |text: &str| Block::Button {
            label: text.to_owned(),
            press: ButtonPress::Ask { text: text.to_owned() },
        };
        let open = ButtonPress::Open { url: "https://x.example/".to_owned() };
        let open = Block::Button { label: "all".to_owned(), press: open };
        let card = Card::new("t".to_owned(), vec![ask("a"), open.clone(), ask("b"), ask("c")]);
        let ann = UserId::new("ann");
        let after = card.after(&[(0, ann.clone()), (2, ann.clone()), (9, ann.clone())]);
        let chosen = |label: &str| Block::Chosen { label: label.to_owned(), by: ann.clone() };
        assert_eq!(after.blocks, [chosen("a"), open, ask("b"), chosen("c")]);
        assert!(after.asks() && !after.after(&[(1, ann.clone())]).asks());
        let at = |card: &Card| card.numbered().find(|(_, block)| **block == ask("b")).unwrap().0;
        assert_eq!((at(&card), at(&after)), (1, 1));
    }
}
