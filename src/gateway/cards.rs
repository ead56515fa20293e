//! Cards whose buttons can be pressed, and what was pressed in them.
//!
//! The record of a card is stored in the commit that plans its sending, so nobody can press before
//! it is there. A press changes it in the commit that takes the question over: a card shows what
//! was asked, no more and no less, whatever happens to the process in between.

use serde::{Deserialize, Serialize};

use crate::base::{Timestamp, TurnId, UserId};
use crate::envelope::{Card, CardStamp, ChatKind};
use crate::store::{Change, InboxV1, Kept, Shelf, Store, StoreError};

/// A card whose buttons can be pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CardV1 {
    /// As it was made.
    card: Card,
    /// When; the record goes by this.
    at: Timestamp,
    /// What was pressed in it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    presses: Vec<PressV1>,
}

/// A question that was pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PressV1 {
    /// Its number among the questions of the card.
    number: u16,
    /// Who pressed it.
    by: UserId,
    /// When.
    at: Timestamp,
}

impl Kept for CardV1 {
    const SHELF: Shelf = Shelf::Cards;
}

impl CardV1 {
    /// The record of a card; `None`: without a record, one that cannot be read is as good as none.
    pub(super) async fn find(store: &dyn Store, id: &str) -> Result<Option<Self>, StoreError> {
        match Self::load(store, id).await {
            Err(StoreError::Record { .. }) => Ok(None),
            found => found,
        }
    }

    pub(super) fn was_pressed(&self, number: u16) -> bool {
        self.presses.iter().any(|press| press.number == number)
    }

    /// The record after one more press.
    pub(super) fn pressed(mut self, number: u16, by: UserId, at: Timestamp) -> Self {
        self.presses.push(PressV1 { number, by, at });
        self
    }

    /// The card as it stands.
    pub(super) fn shown(&self) -> Card {
        let presses: Vec<_> =
            self.presses.iter().map(|press| (press.number, press.by.clone())).collect();
        self.card.after(&presses)
    }
}

/// A card as it is sent by a turn: with a stamp if it asks anything.
pub(super) fn stamped(card: Card, turn: TurnId, row: &InboxV1) -> Card {
    if !card.asks() {
        return card;
    }
    let chat = row.message.reply_fn.destination().chat.clone();
    let chat_kind = if row.message.is_private { ChatKind::Private } else { ChatKind::Group };
    let stamp = CardStamp { id: turn.simple(), chat, chat_kind, at: row.accepted_at };
    Card { stamp: Some(stamp), ..card }
}

/// The change that keeps a card that is about to be sent, if it can be pressed.
pub(super) fn kept_card(card: Option<&Card>) -> Result<Option<Change>, StoreError> {
    let kept = |stamp: &CardStamp, card: &Card| {
        let record = CardV1 { card: card.clone(), at: stamp.at, presses: Vec::new() };
        record.change(&stamp.id)
    };
    card.and_then(|card| Some(kept(card.stamp.as_ref()?, card))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ChatId;
    use crate::envelope::{Block, ButtonPress};

    #[test]
    fn a_record_shows_who_pressed_what_first() {
        let ask = ButtonPress::Ask { text: "what?".to_owned() };
        let button = Block::Button { label: "Ask".to_owned(), press: ask };
        let stamp = CardStamp {
            id: "c1".to_owned(),
            chat: ChatId::new("oc_1"),
            chat_kind: ChatKind::Private,
            at: Timestamp::from_millis(7),
        };
        let card = Card { stamp: Some(stamp), ..Card::new("t".to_owned(), vec![button]) };
        assert!(kept_card(Some(&card)).unwrap().is_some());
        let record = CardV1 { at: Timestamp::from_millis(7), card: card.clone(), presses: vec![] };
        assert!(!record.was_pressed(0) && record.shown() == card);
        let (ann, ben) = (UserId::new("ann"), UserId::new("ben"));
        let record = record.pressed(0, ann.clone(), Timestamp::from_millis(8));
        let record = record.pressed(0, ben, Timestamp::from_millis(9));
        assert!(record.was_pressed(0) && !record.was_pressed(1));
        let chosen = Block::Chosen { label: "Ask".to_owned(), by: ann };
        assert_eq!(record.shown().blocks, [chosen]);
        assert!(kept_card(Some(&Card::new("t".to_owned(), Vec::new()))).unwrap().is_none());
    }
}
