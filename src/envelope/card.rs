//! A card: a message with a title and things to press, in words that no platform owns.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A message with a title and things to press.
///
/// A channel that has no cards, or whose platform refuses this one, sends [`Card::as_text`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// One line above everything.
    pub title: String,
    /// What stands below it, in order.
    pub blocks: Vec<Block>,
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
}

/// The member of a button's value under which a channel carries its [`ButtonPress`].
pub(crate) const PRESS_MEMBER: &str = "larkspur";

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

impl Card {
    /// Everything it says, without what can be pressed; pages that could be opened are named.
    pub fn as_text(&self) -> String {
        let mut text = self.title.clone();
        for block in &self.blocks {
            match block {
                Block::Markdown { text: part } => {
                    text.push_str("\n\n");
                    text.push_str(part);
                }
                Block::Divider | Block::Button { press: ButtonPress::Ask { .. }, .. } => {}
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
        let card = Card {
            title: "News".to_owned(),
            blocks: vec![
                markdown("one"),
                Block::Divider,
                markdown("two"),
                button("ask", ButtonPress::Ask { text: "what?".to_owned() }),
                button("all", ButtonPress::Open { url: "https://x.example/".to_owned() }),
            ],
        };
        assert_eq!(card.as_text(), "News\n\none\n\ntwo\n\nall: https://x.example/");
    }
}
