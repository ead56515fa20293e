//! Late messages: how late one is, and several of one sender that are answered as one.
//!
//! Lateness is the time from the sending, by the platform's clock, to the acceptance, by this
//! machine's. A clock that runs behind makes messages come from the future: those are not late.

use std::sync::Arc;
use std::time::Duration;

use super::flow::Gateway;
use super::journal::{TurnJournal, is_only_begun};
use super::sessions::Job;
use crate::agent::JournalEntryV1;
use crate::base::{Timestamp, Verdict};
use crate::bots::{StaleRule, StaleWord};
use crate::envelope::AgentMessage;
use crate::store::{Change, ClosingV1, InboxV1, StoreError};
use crate::telemetry::Event;

/// A late message waits so long for others that arrive with it.
const MERGE_WAIT: Duration = Duration::from_secs(2);

/// A message is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// From its sending to its acceptance.
    pub(super) ago: Duration,
}

/// How late a message came; `None`: in time.
pub(super) fn lateness(row: &InboxV1, rule: &StaleRule) -> Option<Late> {
    late(&row.message, row.accepted_at, rule)
}

/// How late a message comes that the rule drops for that; `None`: it does not.
pub(super) fn dropped(message: &AgentMessage, now: Timestamp, rule: &StaleRule) -> Option<Late> {
    late(message, now, rule).filter(|_| rule.then == StaleWord::Drop)
}

fn late(message: &AgentMessage, accepted_at: Timestamp, rule: &StaleRule) -> Option<Late> {
    let ago = accepted_at.since(message.timestamp);
    (ago > rule.after).then_some(Late { ago })
}

impl Gateway {
    /// Adds to a late message what its sender sent late, too, where the bot's rule says so.
    pub(super) async fn merge_late(&self, job: Job) -> Job {
        self.end_if_withdrawn(&job);
        if job.stop.is_ended() {
            return job;
        }
        let Some(bot) = self.shared.bots.get(&job.row.bot) else { return job };
        let rule = bot.rules.stale;
        let is_late = |row: &InboxV1| row.closing.is_none() && lateness(row, &rule).is_some();
        if rule.then != StaleWord::Merge || !is_late(&job.row) {
            return job;
        }
        if self.begun(&job).await.is_none_or(|entries| !entries.is_empty()) {
            return job;
        }
        tokio::select! {
            () = self.drain().cancelled() => return job,
            () = job.stop.token().cancelled() => return job,
            () = tokio::time::sleep(MERGE_WAIT) => {}
        }
        let sender = job.row.message.sender.id.clone();
        let key = job.row.message.session.id.clone();
        let others = self.shared.sessions.take_along(&key, |row| {
            let is_of_sender = row.message.sender.id == sender;
            is_of_sender && is_late(row) && self.all_withdrawn(row).is_none()
        });
        if others.is_empty() {
            return job;
        }
        let merged = merged(&job.row, &others);
        match self.commit_merged(&job, &merged, &others).await {
            Ok(()) => Job { row: merged, ..job },
            Err(error) => {
                Event::TurnFailed { turn: &job.turn, error: &error }.emit();
                self.shared.sessions.part(&key, others);
                job
            }
        }
    }

    /// Leaves out of several messages that are answered as one what was taken back before anything
    /// came of the run.
    pub(super) async fn recompose(&self, job: &mut Job) {
        let row = &job.row;
        let is_left = |message: &&AgentMessage| self.withdrawn(&row.bot, &message.id).is_none();
        let left: Vec<AgentMessage> = row.merged.iter().filter(is_left).cloned().collect();
        if left.len() == row.merged.len() {
            return;
        }
        if self.begun(job).await.is_none_or(|entries| !is_only_begun(&entries)) {
            return;
        }
        if let Some(message) = as_one(&left) {
            // The turn is found by the message that it was accepted for.
            job.row.message = AgentMessage { id: job.row.message.id.clone(), ..message };
        }
    }

    /// What the engine has done with a job before a restart; `None`: nobody can tell.
    async fn begun(&self, job: &Job) -> Option<Vec<JournalEntryV1>> {
        if !job.recovered {
            return Some(Vec::new());
        }
        let (store, clock) = (Arc::clone(&self.shared.store), Arc::clone(&self.shared.clock));
        let (_journal, entries) = TurnJournal::open(store, clock, job.turn).await.ok()?;
        Some(entries)
    }

    async fn commit_merged(
        &self,
        job: &Job,
        merged: &InboxV1,
        others: &[Job],
    ) -> Result<(), StoreError> {
        let reason = format!("answered together with {}", job.row.message.id);
        let closing = ClosingV1 { verdict: Verdict::Merged, reason };
        let row = Box::new(merged.clone());
        self.close_unworked(others, &closing, vec![Change::PutInbox { turn: job.turn, row }]).await
    }
}

/// The row that answers the others, too.
fn merged(first: &InboxV1, others: &[Job]) -> InboxV1 {
    let others = others.iter().flat_map(|other| other.row.originals());
    let originals: Vec<AgentMessage> = first.originals().iter().chain(others).cloned().collect();
    let message = as_one(&originals).unwrap_or_else(|| first.message.clone());
    // The turn is found by the message that it was accepted for.
    let message = AgentMessage { id: first.message.id.clone(), ..message };
    InboxV1 { message, merged: originals, ..first.clone() }
}

/// The first message with the words and attachments of the others behind its own. The answer
/// replies to the last one. `None`: there are no messages.
fn as_one(messages: &[AgentMessage]) -> Option<AgentMessage> {
    let mut messages = messages.iter().map(with_carriers);
    let mut whole = messages.next()?;
    for other in messages {
        // They stand in the text; their places in the bodies are not those of the whole.
        whole.parts.clear();
        let texts = [whole.content.as_str(), other.content.as_str()];
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        whole.content = texts.join("\n");
        whole.attachments.extend(other.attachments);
        whole.mentions.extend(other.mentions);
        whole.quotes = other.quotes.or(whole.quotes);
        *whole.reply_fn.destination_mut() = other.reply_fn.destination().clone();
    }
    Some(whole)
}

/// A message whose attachments can be fetched from within another.
fn with_carriers(message: &AgentMessage) -> AgentMessage {
    let mut message = message.clone();
    for attachment in &mut message.attachments {
        attachment.carrier.get_or_insert_with(|| message.id.clone());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BotName, MessageId};
    use crate::envelope::{Attachment, AttachmentKind};
    use crate::store::{AdmittedV1, Lane};

    const ACCEPTED: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    fn sent(at: Timestamp) -> InboxV1 {
        let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new("m"), "hi");
        InboxV1 {
            bot: BotName::new("b"),
            message: message.sent_at(at),
            lane: Lane::Session,
            accepted_at: ACCEPTED,
            closing: None,
            admitted: AdmittedV1::default(),
            merged: Vec::new(),
            in_place: None,
        }
    }

    fn with_file(id: &str, words: &str) -> AgentMessage {
        let mut message = AgentMessage::from_cli(BotName::new("b"), MessageId::new(id), words);
        message.attachments.push(Attachment::of(AttachmentKind::Forward, ""));
        message
    }

    fn carriers(message: &AgentMessage) -> Vec<&str> {
        let carriers = message.attachments.iter().map(|file| file.carrier.as_ref());
        carriers.map(|carrier| carrier.unwrap().as_str()).collect()
    }

    #[test]
    fn several_messages_as_one_keep_where_their_files_are() {
        let mut second = with_file("m2", "two");
        second.attachments.push(Attachment {
            carrier: Some(MessageId::new("m0")),
            ..Attachment::of(AttachmentKind::File, "f")
        });
        let whole = as_one(&[with_file("m1", "one"), second.clone()]).unwrap();
        assert_eq!(whole.content, "one\ntwo");
        assert_eq!(carriers(&whole), ["m1", "m2", "m0"]);
        assert_eq!(carriers(&as_one(&[second]).unwrap()), ["m2", "m0"]);
        assert!(as_one(&[]).is_none());
    }

    #[test]
    fn a_message_is_late_only_beyond_the_time_of_the_rule() {
        let rule = StaleRule::default();
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        assert_eq!(lateness(&sent(ACCEPTED.before(minutes(2))), &rule), None);
        assert_eq!(lateness(&sent(ACCEPTED.before(minutes(10))), &rule), None);
        let ago = minutes(10) + Duration::from_millis(1);
        assert_eq!(lateness(&sent(ACCEPTED.before(ago)), &rule), Some(Late { ago }));
    }

    #[test]
    fn a_message_from_the_future_is_not_late() {
        let rule = StaleRule { after: Duration::ZERO, ..StaleRule::default() };
        let future = ACCEPTED.after(Duration::from_secs(3600));
        assert_eq!(lateness(&sent(future), &rule), None);
        assert_eq!(lateness(&sent(ACCEPTED), &rule), None);
    }
}
