//! Errands: what the operator's configuration asks for, a schedule that is due or a webhook that
//! was called. They are stored once, like everything that starts work, and answered in the chat
//! that the configuration names. Nobody is let in or turned away for them.

use std::sync::Arc;

use super::flow::Gateway;
use super::plan::planned_closing;
use crate::base::Verdict;
use crate::envelope::{Errand, ErrandKind, InletError, Submitted};
use crate::store::{ClosingV1, Lane};

impl Gateway {
    /// Takes an errand over: work into its line, a post straight into the outbox.
    pub(super) async fn run_errand(&self, errand: Errand) -> Result<Submitted, InletError> {
        let Errand { bot, message, keys, kind } = errand;
        let unknown = || InletError::UnknownBot(bot.clone());
        let bot = Arc::clone(self.shared.bots.get(&bot).ok_or_else(unknown)?);
        match kind {
            ErrandKind::Work => {
                let lane = self.lane_of(&message);
                let row = self.row(message, lane);
                self.accept_row(&bot, &keys, row).await
            }
            ErrandKind::Post { reason } => {
                let turn = self.next_turn();
                let text = message.content.clone();
                let row = self.row(message, Lane::Delivery);
                let closing = ClosingV1 { verdict: Verdict::Answered, reason };
                let (row, changes) =
                    planned_closing(&bot, turn, row, closing, text.as_str().into());
                let submitted = self.store_once(turn, &keys, &row, changes).await?;
                if submitted != Submitted::Duplicate {
                    self.start_aside(turn, row, false);
                }
                Ok(submitted)
            }
        }
    }
}
