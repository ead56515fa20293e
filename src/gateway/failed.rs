//! What is kept of a turn that failed, so that it can be looked at and done again.

use serde::{Deserialize, Serialize};

use crate::base::{Timestamp, TurnId, Verdict, limit};
use crate::envelope::{AgentMessage, FailedTurn};
use crate::store::{ClosingV1, InboxV1, Kept, Lane, Shelf};
use crate::telemetry::Event;

/// In lists a message is shortened to this many characters.
const LISTED_CHARS_MAX: usize = 2000;

/// A failed turn: the whole message with its destination, and what went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FailedV1 {
    /// The message, as it would have been worked on.
    pub(super) message: AgentMessage,
    /// What the turn was closed with.
    pub(super) verdict: Verdict,
    /// Why.
    pub(super) reason: String,
    /// When it was closed; from then on it is kept for a time.
    pub(super) at: Timestamp,
    /// The turn that did it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replayed: Option<TurnId>,
}

impl Kept for FailedV1 {
    const SHELF: Shelf = Shelf::Failed;
}

/// Where a failed turn is: turn ids rise, so the oldest come first.
pub(super) fn failed_key(turn: TurnId) -> String {
    turn.to_string()
}

impl FailedV1 {
    /// What is to be kept of a turn that is closed like this; `None` if nothing failed. A mere
    /// delivery has no message that could be worked on again.
    pub(super) fn of(row: &InboxV1, closing: &ClosingV1, now: Timestamp) -> Option<Self> {
        let has_failed = matches!(closing.verdict, Verdict::Failed | Verdict::Undeliverable);
        (has_failed && row.lane != Lane::Delivery).then(|| Self {
            message: row.message.clone(),
            verdict: closing.verdict,
            reason: closing.reason.clone(),
            at: now,
            replayed: None,
        })
    }

    /// A stored row as operators see it; one that cannot be read is reported and left out.
    pub(super) fn listed(key: &str, value: &[u8]) -> Option<FailedTurn> {
        let row = match Self::decode(value) {
            Ok(row) => row,
            Err(error) => {
                Event::RecordUnreadable { kind: "failed turn", key: &key, error: &error }.emit();
                return None;
            }
        };
        let destination = row.message.reply_fn.destination();
        Some(FailedTurn {
            id: TurnId::parse(key)?,
            bot: destination.bot.clone(),
            chat: destination.chat.clone(),
            content: limit::ellipsis(&row.message.content, LISTED_CHARS_MAX),
            message: row.message.id,
            sender: row.message.sender.id,
            verdict: row.verdict,
            reason: row.reason,
            at: row.at,
            replayed: row.replayed,
        })
    }
}
