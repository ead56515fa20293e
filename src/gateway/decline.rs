//! Messages that are answered at the door: a stranger, a late message, a full line. The answer is
//! stored together with the message, so that it is said once.

use super::admit::NOT_IN_USERS;
use super::bot::BotRuntime;
use super::flow::Gateway;
use super::late::{Late, dropped};
use super::notice::not_accepted;
use super::plan::planned_closing;
use crate::base::catalogue::DoorSay;
use crate::base::{Say, Verdict};
use crate::envelope::{DedupKey, Incoming, InletError, Submitted};
use crate::store::{Change, ClosingV1, InboxV1, StoreError};
use crate::telemetry::Event;

/// Why nothing is said at the door to somebody who is perhaps not let in.
pub(super) const UNCLEARED: &str = "not told, as the sender's roles were not looked up yet";

/// What is said at the door, and what is noted.
pub(super) struct Declined<'a> {
    /// What is said.
    pub(super) say: Say,
    /// What `/why` says.
    pub(super) verdict: Verdict,
    /// Details.
    pub(super) reason: &'a str,
    /// What must be true together with it.
    pub(super) changes: Vec<Change>,
}

impl Gateway {
    /// Stores a message together with the answer that it gets instead of work.
    pub(super) async fn decline(
        &self,
        bot: &BotRuntime,
        keys: &[DedupKey],
        row: InboxV1,
        declined: Declined<'_>,
    ) -> Result<Submitted, InletError> {
        let turn = self.next_turn();
        let closing = ClosingV1 { verdict: declined.verdict, reason: declined.reason.to_owned() };
        let text = declined.say.text(bot.locale);
        let planned = planned_closing(bot, turn, row, closing, text.as_str().into());
        let (row, mut changes) = planned.map_err(|error| not_accepted(&error))?;
        changes.extend(declined.changes);
        let submitted = self.store_once(turn, keys, &row, changes).await?;
        if submitted != Submitted::Duplicate {
            self.start_aside(turn, row, false);
        }
        Ok(submitted)
    }

    /// A stranger gets a code, once a day; else there is only the verdict.
    pub(super) async fn meet_stranger(
        &self,
        bot: &BotRuntime,
        incoming: Incoming,
    ) -> Result<Submitted, InletError> {
        let now = self.shared.clock.now();
        let message = incoming.message;
        let Some(offer) = self.shared.pairings.offer(&bot.name, &message.sender.id, now) else {
            let (subject, verdict) = (message.id.to_string(), Verdict::NotAllowed);
            return Ok(self.no_work(&bot.name, subject, verdict, NOT_IN_USERS));
        };
        let broken = |error: StoreError| InletError::Unavailable(error.to_string());
        let declined = Declined {
            say: Say::Door(DoorSay::Hint { code: offer.code.clone() }),
            verdict: Verdict::NotAllowed,
            reason: NOT_IN_USERS,
            changes: offer.changes(&bot.name).map_err(broken)?,
        };
        let row = self.delivery_row(bot, message);
        let submitted = self.decline(bot, &incoming.keys, row, declined).await;
        if !matches!(submitted, Ok(Submitted::Accepted(_))) {
            self.shared.pairings.withdraw(&bot.name, &offer);
        }
        submitted
    }

    /// A late message that the bot drops: its sender is told, but not of each one of many.
    /// `None`: it is not dropped.
    pub(super) async fn drop_late(
        &self,
        bot: &BotRuntime,
        keys: &[DedupKey],
        row: &InboxV1,
    ) -> Option<Result<Submitted, InletError>> {
        let Late { ago } = dropped(&row.message, row.accepted_at, &bot.rules.stale)?;
        let reason = format!("it arrived {} s after it was sent", ago.as_secs());
        if row.admitted.standing.is_unclear() {
            let (subject, reason) = (row.message.id.to_string(), format!("{reason}; {UNCLEARED}"));
            return Some(Ok(self.no_work(&bot.name, subject, Verdict::Stale, &reason)));
        }
        if !self.shared.attention.tells_late(&row.message, row.accepted_at) {
            let subject = row.message.id.to_string();
            return Some(Ok(self.no_work(&bot.name, subject, Verdict::Stale, &reason)));
        }
        let declined = Declined {
            say: Say::Door(DoorSay::TooLate { ago }),
            verdict: Verdict::Stale,
            reason: &reason,
            changes: Vec::new(),
        };
        let row = InboxV1 { lane: crate::store::Lane::Delivery, ..row.clone() };
        let submitted = self.decline(bot, keys, row.clone(), declined).await;
        if !matches!(submitted, Ok(Submitted::Accepted(_))) {
            // Nobody was told: of one that comes again its sender is, of one that had come before
            // nobody needs to be.
            self.shared.attention.takes_back_late(&row.message);
        }
        Some(submitted)
    }

    /// Says once a chat that nobody is let in because a list is empty.
    pub(super) fn warn_of_empty_lists(&self, bot: &BotRuntime, incoming: &Incoming) {
        let rules = &bot.rules;
        let keys = match (rules.users.is_empty(), rules.chats.is_empty()) {
            (true, true) => "access.users, access.chats",
            (true, false) => "access.users",
            (false, true) => "access.chats",
            (false, false) => return,
        };
        if self.shared.attention.warns(&incoming.message) {
            let chat = incoming.message.reply_fn.destination().chat.as_str();
            Event::AccessEmpty { bot: bot.name.as_str(), chat, keys }.emit();
        }
    }
}
