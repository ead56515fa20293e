//! A file first and the question second: attachments that wait for what their sender says next.
//!
//! A message that consists of attachments alone is kept instead of being answered; the next
//! question of the same sender in the same chat takes it along. Keeping is durable before it is
//! acknowledged, and taking is part of the question's own acceptance: no crash loses or doubles
//! it. What waits is also in memory, so that ordinary messages cost no look at the store.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::admit::{Admission, AdmissionRules, Circumstances, admit};
use super::bot::BotRuntime;
use super::decline::Declined;
use super::flow::Gateway;
use super::notice::not_accepted;
use crate::base::{AboutFiles, BotName, MessageId, Say, Timestamp, Verdict};
use crate::envelope::{AgentMessage, Attachment, Incoming, InletError, Submitted};
use crate::routing::Intent;
use crate::store::{
    Acceptance, Change, InboxV1, Kept, NoteV1, ReceiptV1, Shelf, Standing, StoreError, time_key,
};

/// Attachments wait so long for a question.
const WAIT_MAX: Duration = Duration::from_secs(10 * 60);
/// So many messages of one sender in one chat wait; the oldest goes first.
const WAITING_MAX: usize = 5;
/// So many messages wait in all chats together; beyond that nothing is kept.
const WAITING_ALL_MAX: usize = 10_000;
/// Why such a message started no work of its own. Receipts are known by it.
const KEPT: &str = "kept for the sender's next question within 10 minutes";
const OVER: &str = "its sender asked nothing about it within 10 minutes";
const DISPLACED: &str = "it was let go for newer ones of its sender: five wait at most";
const JOINED: &str = "answered together with";

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecentV1 {
    /// Bot, chat and sender.
    owner: String,
    message: MessageId,
    sent_at: Timestamp,
    /// When it was kept; by this field it expires.
    at: Timestamp,
    attachments: Vec<Attachment>,
    /// What `/why` says of it; if it is [`unnamed`], whatever becomes of it.
    #[serde(default = "unnamed")]
    verdict: Verdict,
}

/// Most that wait do so silently in groups.
const fn unnamed() -> Verdict {
    Verdict::NotMentioned
}

impl Kept for RecentV1 {
    const SHELF: Shelf = Shelf::Recent;
}

impl RecentV1 {
    fn of(message: &AgentMessage, at: Timestamp, waits: Waits) -> Self {
        Self {
            owner: owner(message),
            message: message.id.clone(),
            sent_at: message.timestamp,
            at,
            attachments: Attachment::carried(&message.attachments, &message.id),
            verdict: if waits == Waits::Told { Verdict::Queued } else { unnamed() },
        }
    }

    fn key(&self) -> String {
        format!("{}/{}/{}", self.owner, time_key(self.sent_at), self.message)
    }

    fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.at) > WAIT_MAX
    }

    /// What becomes of it as it stands: it waits, or it waited in vain.
    fn fate(&self, now: Timestamp) -> NoteV1 {
        if self.is_over(now) {
            self.noted(Verdict::Stale, OVER, now)
        } else {
            self.noted(Verdict::Queued, KEPT, self.at)
        }
    }

    /// A note of it. Nobody spoke to the bot if it waited silently, so that stays its verdict.
    fn noted(&self, verdict: Verdict, reason: &str, at: Timestamp) -> NoteV1 {
        let is_silent = self.verdict == unnamed();
        let (bot, _chat_and_sender) = self.owner.split_once('/').unwrap_or_default();
        NoteV1 {
            bot: BotName::new(bot),
            subject: self.message.to_string(),
            verdict: if is_silent { unnamed() } else { verdict },
            reason: reason.to_owned(),
            at,
        }
    }
}

/// Whether a note tells what became of a message that waited. That the platform sent it again
/// later is no news beside that.
pub(super) fn tells_of_waiting(note: &NoteV1) -> bool {
    [KEPT, OVER, DISPLACED, JOINED].iter().any(|reason| note.reason.starts_with(reason))
}

fn owner(message: &AgentMessage) -> String {
    let destination = message.reply_fn.destination();
    format!("{}/{}/{}", destination.bot, destination.chat, message.sender.id)
}

/// What becomes of a message that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// It is a question like any other, or nothing for the bot.
    No,
    /// It was meant for the bot, so its sender is told.
    Told,
    /// Nobody spoke to the bot, but the sender may do so next.
    Quietly,
}

/// Decides whether a message waits.
pub(super) fn waits(
    incoming: &Incoming,
    rules: &AdmissionRules,
    circumstances: &Circumstances,
) -> Waits {
    if !incoming.message.is_only_attachments() {
        return Waits::No;
    }
    match admit(incoming, rules, circumstances) {
        Admission::Admit(Standing::User | Standing::Admin) => Waits::Told,
        Admission::NoWork { verdict: Verdict::NotMentioned, .. } => {
            let mut named = incoming.clone();
            named.addressing.mentions_bot = true;
            match admit(&named, rules, circumstances) {
                Admission::Admit(Standing::User | Standing::Admin) => Waits::Quietly,
                Admission::Admit(Standing::Unclear { .. })
                | Admission::Stranger
                | Admission::NoWork { .. } => Waits::No,
            }
        }
        // Before clearance nothing is said and nothing kept: it goes through a turn.
        Admission::Admit(Standing::Unclear { .. })
        | Admission::Stranger
        | Admission::NoWork { .. } => Waits::No,
    }
}

/// Everything that waits, by owner, oldest first. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    waiting: Arc<Mutex<HashMap<String, Vec<RecentV1>>>>,
}

/// What a question takes along. Dropped without [`Taken::consumed`], it waits again.
#[derive(Debug)]
pub(super) struct Taken {
    waiting: Waiting,
    records: Vec<RecentV1>,
}

impl Taken {
    /// The changes that take it away; part of the commit that accepts the question.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.records.iter().map(|record| RecentV1::removal(&record.key()))
    }

    /// The question is accepted. Returns the messages it took along.
    pub(super) fn consumed(mut self) -> Vec<MessageId> {
        self.records.drain(..).map(|record| record.message).collect()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for record in self.records.drain(..) {
            self.waiting.put(record);
        }
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<RecentV1>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, record: RecentV1) {
        let mut waiting = self.lock();
        let records = waiting.entry(record.owner.clone()).or_default();
        records.push(record);
        records.sort_by_key(|record| record.sent_at);
    }

    /// Forgets what has waited too long, and makes room for one more of `owner`. What was
    /// forgotten goes from the store in the commit that keeps the next; `None`: nothing fits.
    fn make_room(&self, owner: &str, now: Timestamp) -> Option<Vec<RecentV1>> {
        let mut waiting = self.lock();
        let mut forgotten = Vec::new();
        for records in waiting.values_mut() {
            forgotten.extend(records.extract_if(.., |record| record.is_over(now)));
        }
        if let Some(records) = waiting.get_mut(owner) {
            let surplus = (records.len() + 1).saturating_sub(WAITING_MAX);
            forgotten.extend(records.drain(..surplus.min(records.len())));
        }
        waiting.retain(|_, records| !records.is_empty());
        let all: usize = waiting.values().map(Vec::len).sum();
        if all < WAITING_ALL_MAX {
            return Some(forgotten);
        }
        drop(waiting);
        // Nothing is committed that would take them from the store.
        for record in forgotten {
            self.put(record);
        }
        None
    }

    /// What there is to say of a message that waits. A note of it may be lost, or another may
    /// stand above it: that it came again, say.
    pub(super) fn note_of(&self, message: &MessageId, now: Timestamp) -> Option<NoteV1> {
        let waiting = self.lock();
        let record = waiting.values().flatten().find(|record| record.message == *message)?;
        Some(record.fate(now))
    }

    fn is_waiting(&self, owner: &str) -> bool {
        self.lock().contains_key(owner)
    }

    /// Takes out what is meant.
    fn take_out(&self, is_meant: impl Fn(&RecentV1) -> bool) -> Taken {
        let mut waiting = self.lock();
        let mut records = Vec::new();
        for kept in waiting.values_mut() {
            records.extend(kept.extract_if(.., |record| is_meant(record)));
        }
        waiting.retain(|_, kept| !kept.is_empty());
        Taken { waiting: self.clone(), records }
    }

    /// Takes what waits for `message` and adds it to it, but nothing that was taken back: that
    /// may have come to wait while it was.
    fn join(&self, message: &mut AgentMessage, is_withdrawn: impl Fn(&MessageId) -> bool) -> Taken {
        let records = self.lock().remove(&owner(message)).unwrap_or_default();
        let (mut joined, mut left) = (Vec::new(), Vec::new());
        for record in records {
            // By the platform's clock: a question that was delivered late was still asked in time.
            let is_before = record.sent_at <= message.timestamp;
            let in_time = message.timestamp.since(record.sent_at) <= WAIT_MAX;
            let fits = is_before && in_time && !is_withdrawn(&record.message);
            if fits { joined.push(record) } else { left.push(record) }
        }
        for record in left {
            self.put(record);
        }
        for record in &joined {
            message.attachments.extend(record.attachments.iter().cloned());
        }
        Taken { waiting: self.clone(), records: joined }
    }
}

impl Gateway {
    /// Takes up what waited when the daemon ended.
    pub(super) async fn restore_waiting(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        let rows = RecentV1::load_all(shared.store.as_ref(), "", WAITING_ALL_MAX).await?;
        let now = shared.clock.now();
        let (over, fresh): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(_, record)| record.is_over(now));
        for (_, record) in fresh {
            shared.waiting.put(record);
        }
        if !over.is_empty() {
            let removals = over.iter().map(|(key, _)| RecentV1::removal(key));
            shared.store.commit(removals.collect()).await?;
            for (_, record) in &over {
                shared.store.note(record.fate(now));
            }
        }
        Ok(())
    }

    /// What became of the message of a closed turn that only asked what to do with it: the
    /// receipt was written before that was known.
    pub(super) async fn fate_of(&self, receipt: &mut ReceiptV1) -> Result<(), StoreError> {
        if !receipt.reason.starts_with(KEPT) {
            return Ok(());
        }
        let Self { shared } = self;
        let message = &receipt.message;
        let note = match shared.waiting.note_of(message, shared.clock.now()) {
            None => shared.store.noted(message).await?,
            waiting => waiting,
        };
        if let Some(note) = note {
            (receipt.verdict, receipt.reason) = (note.verdict, note.reason);
        } else if shared.recalls.contains(&receipt.bot, message) {
            (receipt.verdict, receipt.reason) = (Verdict::Recalled, String::new());
        } else {
            // Nothing is noted any more. It was asked about, and that is all that is certain.
            receipt.verdict = Verdict::Answered;
        }
        Ok(())
    }

    /// Notes what became of those that had to make room for another.
    fn note_forgotten(&self, forgotten: &[RecentV1], now: Timestamp) {
        for record in forgotten {
            let note = if record.is_over(now) {
                record.fate(now)
            } else {
                record.noted(Verdict::Busy, DISPLACED, now)
            };
            self.shared.store.note(note);
        }
    }

    /// Adds to a question what waits for it. What goes to an editor or a shell takes nothing.
    pub(super) fn take_along(&self, message: &mut AgentMessage) -> Taken {
        let waiting = &self.shared.waiting;
        if waiting.is_waiting(&owner(message)) && self.is_for_the_bot(message) {
            let bot = message.reply_fn.destination().bot.clone();
            return waiting.join(message, |id| self.withdrawn(&bot, id).is_some());
        }
        Taken { waiting: waiting.clone(), records: Vec::new() }
    }

    /// Whether the bot itself answers a message. What only looks like work for an editor is.
    fn is_for_the_bot(&self, message: &AgentMessage) -> bool {
        let classified = self.shared.classifier.classify(&message.content, message.channel);
        match classified.intent {
            Intent::BotAgent => true,
            Intent::IdeAgent { .. } => !classified.explicit,
            _ => false,
        }
    }

    /// A message was taken back: it waits no longer. Without [`Taken::consumed`] it does.
    pub(super) fn take_from_waiting(&self, bot: &BotName, message: &MessageId) -> Taken {
        let bots = format!("{bot}/");
        let is_meant =
            |record: &RecentV1| record.message == *message && record.owner.starts_with(&bots);
        self.shared.waiting.take_out(is_meant)
    }

    /// Keeps a message that waits; `None`: there is no room, so it is treated like any other.
    pub(super) async fn keep_waiting(
        &self,
        bot: &BotRuntime,
        incoming: &Incoming,
        waits: Waits,
    ) -> Option<Result<Submitted, InletError>> {
        let now = self.shared.clock.now();
        let record = RecentV1::of(&incoming.message, now, waits);
        // One line is enough for several pictures in a row.
        let is_told = waits == Waits::Told && !self.shared.waiting.is_waiting(&record.owner);
        let put = match record.change(&record.key()) {
            Ok(put) => put,
            Err(error) => return Some(Err(not_accepted(&error))),
        };
        let forgotten = self.shared.waiting.make_room(&record.owner, now)?;
        let removals = forgotten.iter().map(|record| RecentV1::removal(&record.key()));
        let changes = removals.chain([put]).collect();
        let kept = if is_told {
            self.keep_told(bot, incoming, changes).await
        } else {
            self.keep_quietly(incoming, &record, changes).await
        };
        // If nothing was changed, what had to make room is still there.
        let is_kept = matches!(kept, Ok(Submitted::Accepted(_) | Submitted::NoWork(_)));
        if is_kept {
            self.note_forgotten(&forgotten, now);
        }
        for record in if is_kept { vec![record] } else { forgotten } {
            self.shared.waiting.put(record);
        }
        Some(kept)
    }

    async fn keep_told(
        &self,
        bot: &BotRuntime,
        incoming: &Incoming,
        changes: Vec<Change>,
    ) -> Result<Submitted, InletError> {
        let say = Say::AboutFiles(AboutFiles::WhatAboutIt);
        let declined = Declined { say, verdict: Verdict::Answered, reason: KEPT, changes };
        let row = self.delivery_row(bot, incoming.message.clone());
        self.decline(bot, &incoming.keys, row, declined).await
    }

    async fn keep_quietly(
        &self,
        incoming: &Incoming,
        record: &RecentV1,
        changes: Vec<Change>,
    ) -> Result<Submitted, InletError> {
        let (bot, message) = (&incoming.bot, &incoming.message.id);
        Ok(match self.store_new(bot, message, &incoming.keys, changes).await? {
            Acceptance::New => self.no_work(bot, message.to_string(), record.verdict, KEPT),
            Acceptance::Duplicate => Submitted::Duplicate,
        })
    }

    /// Notes again what a question took along that is not answered yet: the process may have ended
    /// before that was written.
    pub(super) fn note_carried(&self, row: &InboxV1) {
        let carriers = row.message.attachments.iter().filter_map(|file| file.carrier.as_ref());
        let carriers: BTreeSet<&MessageId> = carriers.collect();
        for message in carriers {
            if row.originals().iter().all(|own| own.id != *message) {
                self.note_answered_with(row, message);
            }
        }
    }

    fn note_answered_with(&self, row: &InboxV1, message: &MessageId) {
        let reason = format!("{JOINED} {}", row.message.id);
        self.keep_note(&row.bot, message.to_string(), Verdict::Merged, &reason);
    }

    /// Notes what a question took along.
    pub(super) fn note_joined(&self, row: &InboxV1, taken: Taken) {
        for message in taken.consumed() {
            self.note_answered_with(row, &message);
        }
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
