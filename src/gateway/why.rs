//! What became of a message, and stopping a session from outside.

use async_trait::async_trait;

use super::flow::Gateway;
use super::waiting::tells_of_waiting;
use crate::base::{BotName, ChatId, MessageId, SessionKey, Verdict};
use crate::envelope::{Control, InletError, MessagePath, Why};
use crate::store::{Found, Lane, StoreError};

#[async_trait]
impl Control for Gateway {
    async fn why(&self, message: &MessageId) -> Result<Why, InletError> {
        let found = self.find(message).await;
        let found = found.map_err(|error| InletError::Unavailable(error.to_string()))?;
        let is_recalled = found.is_none()
            && self.shared.bots.keys().any(|bot| self.shared.recalls.contains(bot, message));
        let mut why = self.why_of(found);
        if is_recalled {
            why.verdict = Verdict::Recalled;
        }
        Ok(why)
    }

    async fn path(&self, message: &MessageId) -> Result<MessagePath, InletError> {
        let path = self.path_of(message).await;
        path.map_err(|error| InletError::Unavailable(error.to_string()))
    }

    async fn stop(&self, session: &SessionKey) -> Result<usize, InletError> {
        let stopped = self.stop_session(session, self.shared.clock.now()).await;
        stopped.map_err(|error| InletError::Unavailable(error.to_string()))
    }
}

impl Gateway {
    /// What is known of a message.
    pub(super) async fn find(&self, message: &MessageId) -> Result<Option<Found>, StoreError> {
        let mut found = self.shared.store.find(message).await?;
        match &mut found {
            Some(Found::Open(..)) => return Ok(found),
            Some(Found::Closed(_, receipt)) => {
                self.fate_of(receipt).await?;
                return Ok(found);
            }
            Some(Found::Noted(note)) if note.verdict == Verdict::Duplicate => {
                let noted = self.shared.store.noted(message).await?.filter(tells_of_waiting);
                *note = noted.map_or_else(|| note.clone(), Box::new);
            }
            Some(Found::Noted(_)) | None => {}
        }
        let waiting = self.shared.waiting.note_of(message, self.shared.clock.now());
        Ok(waiting.map(|note| Found::Noted(Box::new(note))).or(found))
    }

    /// The fate of what was found, in the words of the contract.
    pub(super) fn why_of(&self, found: Option<Found>) -> Why {
        match found {
            Some(Found::Open(turn, row)) => {
                let is_served = self.shared.sessions.is_serving(&row.message.session.id, turn);
                let is_absent = !self.shared.bots.contains_key(&row.bot);
                let is_working = !is_absent && (is_served || row.lane != Lane::Session);
                let absent = || format!("its bot {} does not run here; it waits for it", row.bot);
                Why {
                    verdict: if is_working { Verdict::Running } else { Verdict::Queued },
                    reason: if is_absent { absent() } else { String::new() },
                    at: row.accepted_at,
                    turn: Some(turn),
                    message_ids: Vec::new(),
                }
            }
            Some(Found::Closed(turn, receipt)) => Why {
                verdict: receipt.verdict,
                reason: receipt.reason,
                at: receipt.closed_at,
                turn: Some(turn),
                message_ids: receipt.sent,
            },
            Some(Found::Noted(note)) => Why {
                verdict: note.verdict,
                reason: note.reason,
                at: note.at,
                turn: None,
                message_ids: Vec::new(),
            },
            None => Why {
                verdict: Verdict::NeverReceived,
                reason: String::new(),
                at: self.shared.clock.now(),
                turn: None,
                message_ids: Vec::new(),
            },
        }
    }
}

/// Whether what was found happened between `bot` and `chat`: in a chat, people learn nothing of
/// other chats. (A note keeps no chat; its message cannot be known but in its own.)
pub(super) fn happened_in(found: &Found, bot: &BotName, chat: &ChatId) -> bool {
    match found {
        Found::Open(_, row) => {
            let destination = row.message.reply_fn.destination();
            destination.bot == *bot && destination.chat == *chat
        }
        Found::Closed(_, receipt) => {
            let whole = format!("{bot}/{chat}");
            let rest = receipt.session.as_str().strip_prefix(whole.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        Found::Noted(note) => note.bot == *bot,
    }
}
