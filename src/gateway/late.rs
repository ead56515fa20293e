//! Late messages: how late one is, and several of one sender that are answered as one.
//!
//! Lateness is the time from the sending, by the platform's clock, to the acceptance, by this
//! machine's. A clock that runs behind makes messages come from the future: those are not late.

use std::time::Duration;

use super::flow::Gateway;
use super::sessions::Job;
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
        let Some(bot) = self.shared.bots.get(&job.row.bot) else { return job };
        let rule = bot.rules.stale;
        let is_late = |row: &InboxV1| row.closing.is_none() && lateness(row, &rule).is_some();
        if rule.then != StaleWord::Merge || !is_late(&job.row) || self.has_begun(&job).await {
            return job;
        }
        tokio::select! {
            () = self.drain().cancelled() => return job,
            () = job.stop.token().cancelled() => return job,
            () = tokio::time::sleep(MERGE_WAIT) => {}
        }
        let sender = job.row.message.sender.id.clone();
        let key = job.row.message.session.id.clone();
        let others = self
            .shared
            .sessions
            .take_out(&key, |row| is_late(row) && row.message.sender.id == sender);
        if others.is_empty() {
            return job;
        }
        let merged = merged(&job.row, &others);
        match self.commit_merged(&job, &merged, &others).await {
            Ok(()) => Job { row: merged, ..job },
            Err(error) => {
                Event::TurnFailed { turn: &job.turn, error: &error }.emit();
                // Its worker runs: it is the caller.
                self.shared.sessions.put_back(&key, others);
                job
            }
        }
    }

    /// Whether the engine has begun with a job before a restart. One that cannot be read may have.
    async fn has_begun(&self, job: &Job) -> bool {
        if !job.recovered {
            return false;
        }
        let journal = self.shared.store.journal(job.turn).await;
        journal.map_or(true, |entries| !entries.is_empty())
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
        let mut changes = vec![Change::PutInbox { turn: job.turn, row }];
        for other in others {
            changes.push(self.closed(other.turn, &other.row, closing.clone(), Vec::new()));
        }
        self.shared.store.commit(changes).await?;
        for other in others {
            let verdict = closing.verdict.word();
            let elapsed = self.shared.clock.now().since(other.row.accepted_at);
            let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            Event::TurnClosed { turn: &other.turn, verdict, elapsed_ms }.emit();
        }
        Ok(())
    }
}

/// The first message with the words and attachments of the others behind its own. The answer
/// replies to the last one.
fn merged(first: &InboxV1, others: &[Job]) -> InboxV1 {
    let mut row = first.clone();
    let message = &mut row.message;
    // They stand in the text; their places in the bodies are not those of the whole.
    message.parts.clear();
    for other in others {
        let other = &other.row.message;
        let texts = [message.content.as_str(), other.content.as_str()];
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        message.content = texts.join("\n");
        message.attachments.extend(other.attachments.iter().cloned());
        message.mentions.extend(other.mentions.iter().cloned());
        message.quotes = other.quotes.clone().or(message.quotes.take());
        *message.reply_fn.destination_mut() = other.reply_fn.destination().clone();
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BotName, MessageId};
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
        }
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
