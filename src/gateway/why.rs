//! What became of a message, and stopping a session from outside.

use async_trait::async_trait;

use super::flow::Gateway;
use crate::base::{MessageId, SessionKey, Verdict};
use crate::envelope::{Control, InletError, Why};
use crate::store::Found;

#[async_trait]
impl Control for Gateway {
    async fn why(&self, message: &MessageId) -> Result<Why, InletError> {
        let found = self.shared.store.find(message).await;
        let found = found.map_err(|error| InletError::Unavailable(error.to_string()))?;
        Ok(match found {
            Some(Found::Open(turn, row)) => {
                let is_served = self.shared.sessions.is_serving(&row.message.session.id, turn);
                let is_working = is_served || row.lane != crate::store::Lane::Session;
                Why {
                    verdict: if is_working { Verdict::Running } else { Verdict::Queued },
                    reason: String::new(),
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
        })
    }

    async fn stop(&self, session: &SessionKey) -> Result<usize, InletError> {
        let stopped = self.stop_session(session).await;
        stopped.map_err(|error| InletError::Unavailable(error.to_string()))
    }
}
