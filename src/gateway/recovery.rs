//! What start-up does with unfinished work: every open turn goes back to where it was.

use std::collections::BTreeMap;
use std::time::Duration;

use super::attention::SPOKEN_KEPT;
use super::flow::Gateway;
use super::sessions::Job;
use super::stop::Stop;
use crate::base::{BotName, MessageId, TurnId};
use crate::store::{InboxV1, Lane, StoreError};
use crate::telemetry::Event;

/// Work for a bot that is not there is kept for so long after it was accepted.
const ABSENT_BOT_PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The platform repeats events for more than seven hours, so that much later it may still tell of
/// a message of the bot; and an answer may be sent a day after its question.
const SPOKEN_SINCE: Duration = Duration::from_secs((8 + 24) * 3600);

/// Work that a start finds and cannot go on with.
#[derive(Clone, Debug, Default)]
pub struct LeftOpen {
    /// The ids of turns that cannot be read.
    pub unreadable: Vec<String>,
    /// The bots that do not run, and how many turns are for each.
    pub absent: BTreeMap<BotName, usize>,
}

impl Gateway {
    /// Takes up all open turns in the order of their acceptance. Called once, before the first
    /// arrival, so that nothing new overtakes them. Returns those that wait where they are.
    ///
    /// # Errors
    /// The store cannot be read; nothing was started.
    pub async fn recover(&self) -> Result<LeftOpen, StoreError> {
        for bot in self.shared.bots.keys() {
            self.shared.pairings.load(self.shared.store.as_ref(), bot).await?;
        }
        self.start_overhearing();
        self.restore_recalls().await?;
        self.restore_waiting().await?;
        let (mut lines, mut aside, mut turns) = (Vec::new(), Vec::new(), 0);
        let open = self.shared.store.open_turns().await?;
        let mut left = LeftOpen { unreadable: open.unreadable, ..LeftOpen::default() };
        self.restore_spoken(&open.rows).await?;
        for (turn, row) in open.rows {
            let age = self.shared.clock.now().since(row.accepted_at);
            if !self.shared.bots.contains_key(&row.bot) && age < ABSENT_BOT_PATIENCE {
                // Its file may be broken today and mended tomorrow.
                Event::TurnLeftOpen { turn: &turn, bot: row.bot.as_str() }.emit();
                *left.absent.entry(row.bot).or_default() += 1;
                continue;
            }
            turns += 1;
            self.note_carried(&row);
            // An answer that is planned is delivered in its session's order, too.
            match row.lane {
                Lane::Session => {
                    let key = row.message.session.id.clone();
                    let job = Job { turn, row, stop: Stop::default(), recovered: true };
                    if self.shared.sessions.restore(&key, job) {
                        lines.push(key);
                    }
                }
                Lane::Control | Lane::Delivery => aside.push((turn, row)),
            }
        }
        // Commands look at the lines, so they come behind them.
        for (turn, row) in aside {
            self.start_aside(turn, row, true);
        }
        for key in lines {
            self.start_worker(key);
        }
        if turns > 0 {
            Event::Recovered { turns }.emit();
        }
        Ok(left)
    }

    /// Remembers what the bots said before the start: the platform may tell of it again, as of
    /// somebody's message.
    pub(super) async fn restore_spoken(
        &self,
        open: &[(TurnId, InboxV1)],
    ) -> Result<(), StoreError> {
        let Self { shared } = self;
        let since = shared.clock.now().before(SPOKEN_SINCE);
        let sent = shared.store.sent_since(since, SPOKEN_KEPT).await?;
        // The newest last, so that it is forgotten last.
        for (bot, message) in sent.into_iter().rev() {
            shared.attention.spoke(&bot, message);
        }
        for (turn, row) in open.iter().filter(|(_, row)| row.closing.is_some()) {
            // What cannot be read is found out, and told, when the turn goes on.
            let sends = shared.store.sends(*turn).await.unwrap_or_default();
            for id in sends.into_iter().filter_map(|(_part, send)| send.delivered_id) {
                shared.attention.spoke(&row.bot, MessageId::new(id));
            }
        }
        Ok(())
    }
}
