//! Messages that their senders took back, and messages that are the bot's own.
//!
//! A recall may come before its message, and the process may end between the two: it is kept
//! durably for as long as the platform repeats events, and every message and every open turn is
//! checked against it. What was answered before stays as it is.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::flow::Gateway;
use super::notice::not_accepted;
use super::sessions::Job;
use crate::base::{BotName, MessageId, Timestamp, Verdict};
use crate::envelope::{InletError, Notice, Submitted};
use crate::store::{Change, ClosingV1, InboxV1, Kept, Shelf, StoreError, time_key};

/// The platform repeats events for more than seven hours; dedup keys are kept as long as this.
const RECALLS_KEPT: Duration = Duration::from_secs(26 * 3600);
/// At most this many recalls are kept; the oldest go first.
const RECALLS_MAX: usize = 10_000;

/// A message that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecalledV1 {
    bot: BotName,
    message: MessageId,
    /// When this was heard of.
    at: Timestamp,
}

impl Kept for RecalledV1 {
    const SHELF: Shelf = Shelf::Recalled;
}

impl RecalledV1 {
    fn key(&self) -> String {
        format!("{}/{}/{}", time_key(self.at), self.bot, self.message)
    }

    fn id(&self) -> (BotName, MessageId) {
        (self.bot.clone(), self.message.clone())
    }
}

/// The recalls as the process knows them: all that are stored.
#[derive(Debug, Default)]
pub(super) struct Recalls {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashSet<(BotName, MessageId)>,
    /// By the time at which they were heard of.
    order: VecDeque<RecalledV1>,
    /// Being stored.
    pending: HashSet<(BotName, MessageId)>,
}

/// How well a recall is known when it is heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// For the first time; the caller stores it and says how that went.
    First,
    /// It is being stored, and that may fail.
    Pending,
    /// It is stored.
    Known,
}

impl Recalls {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contains(&self, bot: &BotName, message: &MessageId) -> bool {
        let known = self.lock();
        // Hardly anything is ever taken back: most of the time nothing is to be compared.
        !known.ids.is_empty() && known.ids.contains(&(bot.clone(), message.clone()))
    }

    /// Remembers one; `false` if it was known.
    fn insert(&self, recalled: RecalledV1) -> bool {
        let mut known = self.lock();
        let is_new = known.ids.insert(recalled.id());
        if is_new {
            known.order.push_back(recalled);
        }
        is_new
    }

    /// Hears of one. After [`Heard::First`] comes [`Recalls::settle`].
    fn hear(&self, recalled: &RecalledV1) -> Heard {
        let mut known = self.lock();
        if known.ids.contains(&recalled.id()) {
            return Heard::Known;
        }
        if known.pending.insert(recalled.id()) { Heard::First } else { Heard::Pending }
    }

    /// One that was heard of for the first time is stored, and `expired` is not any more; or
    /// nothing of that could be.
    fn settle(&self, recalled: RecalledV1, expired: &[RecalledV1], is_stored: bool) {
        let mut known = self.lock();
        known.pending.remove(&recalled.id());
        if !is_stored {
            return;
        }
        for old in expired {
            // Unless another recall has done it meanwhile, they are the first.
            if known.order.front() == Some(old) {
                known.order.pop_front();
                known.ids.remove(&old.id());
            }
        }
        drop(known);
        self.insert(recalled);
    }

    /// What is too old or too many.
    fn expired(&self, now: Timestamp) -> Vec<RecalledV1> {
        let known = self.lock();
        let surplus = known.order.len().saturating_sub(RECALLS_MAX);
        let is_over = |(place, old): &(usize, &RecalledV1)| {
            *place < surplus || now.since(old.at) >= RECALLS_KEPT
        };
        known.order.iter().enumerate().take_while(is_over).map(|(_, old)| old.clone()).collect()
    }
}

impl Gateway {
    /// Reads the recalls back. Called before anything is served.
    pub(super) async fn restore_recalls(&self) -> Result<(), StoreError> {
        let store = self.shared.store.as_ref();
        for (_key, recalled) in RecalledV1::load_all(store, "", usize::MAX).await? {
            self.shared.recalls.insert(recalled);
        }
        Ok(())
    }

    /// A message was taken back: what waits or runs for it ends, and what comes later does not
    /// begin.
    pub(super) async fn take_back(
        &self,
        notice: Notice,
        message: &MessageId,
    ) -> Result<Submitted, InletError> {
        let at = self.shared.clock.now();
        let recalled = RecalledV1 { bot: notice.bot.clone(), message: message.clone(), at };
        match self.shared.recalls.hear(&recalled) {
            Heard::First => {}
            // It counts only once it is stored: until then the platform has to send it again.
            Heard::Pending => {
                return Err(InletError::Unavailable("the recall is being stored".to_owned()));
            }
            Heard::Known => return Ok(self.repeated(&notice)),
        }
        // Stored first, then known, then the lines: a message that is being accepted meanwhile
        // finds it known at the latest when its turn begins.
        let kept = self.take_from_waiting(&recalled.bot, message);
        let expired = self.shared.recalls.expired(at);
        let removals = expired.iter().map(|old| RecalledV1::removal(&old.key()));
        let changes = kept.changes().chain(removals).collect();
        let stored = self.store_recall(&recalled, changes).await;
        self.shared.recalls.settle(recalled.clone(), &expired, stored.is_ok());
        stored.map_err(|error| not_accepted(&error))?;
        for message in kept.consumed() {
            self.keep_note(&recalled.bot, message.to_string(), Verdict::Recalled, "");
        }
        let closing = ClosingV1 { verdict: Verdict::Recalled, reason: String::new() };
        let bot = &recalled.bot;
        // A turn that answers others, too, goes on for those.
        let is_withdrawn = |id: &&MessageId| self.withdrawn(bot, id).is_some();
        self.end_turns(&closing, |about| {
            let is_of_it = about.bot == bot && about.messages.contains(&message);
            is_of_it && about.messages.iter().all(is_withdrawn)
        })
        .await;
        Ok(self.note(notice))
    }

    /// Stores a recall with what else it changes.
    async fn store_recall(
        &self,
        recalled: &RecalledV1,
        mut changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        changes.push(recalled.change(&recalled.key())?);
        self.shared.store.commit(changes).await
    }

    /// Ends what runs and closes what waits. Closing what waits may fail: then it stays in its
    /// line, and ends as soon as its turn comes.
    pub(super) async fn end_turns(
        &self,
        closing: &ClosingV1,
        is_meant: impl Fn(&super::sessions::About<'_>) -> bool,
    ) {
        for (key, jobs) in self.shared.sessions.end_everywhere(closing, is_meant) {
            for job in &jobs {
                job.stop.end(closing);
            }
            let closed = self.close_unworked(&jobs, closing, Vec::new()).await;
            if closed.is_err() && self.shared.sessions.put_back(&key, jobs) {
                self.start_worker(key);
            }
        }
    }

    /// Why a message starts no work, or no more, whatever it says.
    pub(super) fn withdrawn(&self, bot: &BotName, message: &MessageId) -> Option<ClosingV1> {
        let (verdict, reason) = if self.shared.recalls.contains(bot, message) {
            (Verdict::Recalled, "")
        } else if self.shared.attention.is_own(bot, message) {
            (Verdict::Filtered, "the bot's own message")
        } else {
            return None;
        };
        Some(ClosingV1 { verdict, reason: reason.to_owned() })
    }

    /// Ends a turn whose messages were all withdrawn before the turn began (or, after a crash,
    /// went on).
    pub(super) fn end_if_withdrawn(&self, job: &Job) {
        if let Some(closing) = self.all_withdrawn(&job.row) {
            job.stop.end(&closing);
        }
    }

    /// How many of the messages that a run is made of were taken back: those it answers, those
    /// whose attachments came along, the one that is quoted.
    pub(super) fn taken_back(&self, row: &InboxV1) -> usize {
        let attachments = row.message.attachments.iter();
        let carriers = attachments.filter_map(|attachment| attachment.carrier.as_ref());
        let originals = row.originals().iter().map(|message| &message.id);
        let all = originals.chain(carriers).chain(row.message.quotes.as_ref());
        all.filter(|id| self.shared.recalls.contains(&row.bot, id)).count()
    }

    /// Why there is nothing to answer any more.
    pub(super) fn all_withdrawn(&self, row: &InboxV1) -> Option<ClosingV1> {
        let mut last = None;
        for message in row.originals() {
            last = Some(self.withdrawn(&row.bot, &message.id)?);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recalled(number: usize, hours: u64) -> RecalledV1 {
        RecalledV1 {
            bot: BotName::new("b"),
            message: MessageId::new(format!("om_{number}")),
            at: Timestamp::from_millis(hours * 3_600_000),
        }
    }

    #[test]
    fn a_recall_is_known_only_once_it_is_stored() {
        let recalls = Recalls::default();
        let recall = recalled(0, 1);
        for is_stored in [false, true] {
            assert_eq!(recalls.hear(&recall), Heard::First);
            assert_eq!(recalls.hear(&recalled(0, 2)), Heard::Pending);
            assert!(!recalls.contains(&recall.bot, &recall.message));
            recalls.settle(recall.clone(), &[], is_stored);
        }
        assert_eq!(recalls.hear(&recalled(0, 2)), Heard::Known);
        assert!(recalls.contains(&recall.bot, &recall.message));
    }

    #[test]
    fn what_expired_is_known_until_its_removal_is_stored() {
        let recalls = Recalls::default();
        let (old, new) = (recalled(0, 1), recalled(1, 27));
        recalls.insert(old.clone());
        for (is_stored, is_known) in [(false, true), (true, false)] {
            assert_eq!(recalls.hear(&new), Heard::First);
            let expired = recalls.expired(new.at);
            assert_eq!(expired, std::slice::from_ref(&old));
            recalls.settle(new.clone(), &expired, is_stored);
            assert_eq!(recalls.contains(&old.bot, &old.message), is_known);
        }
        assert!(recalls.expired(new.at).is_empty());
        assert_eq!(recalls.lock().order, [new]);
    }

    #[test]
    fn recalls_are_kept_for_26_hours_and_no_more_than_so_many() {
        let recalls = Recalls::default();
        assert!(recalls.insert(recalled(0, 1)) && recalls.insert(recalled(1, 2)));
        assert!(!recalls.insert(recalled(0, 9)), "it was known");
        assert!(recalls.expired(Timestamp::from_millis(26 * 3_600_000)).is_empty());
        let expired = recalls.expired(Timestamp::from_millis(27 * 3_600_000));
        assert_eq!(expired, [recalled(0, 1)]);
        recalls.settle(recalled(1, 2), &expired, true);
        let bot = BotName::new("b");
        assert!(!recalls.contains(&bot, &MessageId::new("om_0")));
        assert!(recalls.contains(&bot, &MessageId::new("om_1")));
        assert!(!recalls.contains(&BotName::new("c"), &MessageId::new("om_1")));
        for number in 2..RECALLS_MAX + 2 {
            recalls.insert(recalled(number, 2));
        }
        assert_eq!(recalls.expired(Timestamp::default()), [recalled(1, 2)]);
    }
}
