//! What is kept of a turn that failed, so that it can be looked at and done again.

use serde::{Deserialize, Serialize};

use crate::base::{Timestamp, TurnId, Verdict, limit};
use crate::envelope::{AgentMessage, FailedTurn};
use crate::store::{AdmittedV1, ClosingV1, InboxV1, Kept, Lane, Shelf, Standing};
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
    /// What admission had found out about it, and clearance if it came so far.
    #[serde(default = "uncleared")]
    pub(super) admitted: AdmittedV1,
}

/// Of a turn that was kept without its admission nobody knows whether its sender was let in.
const fn uncleared() -> AdmittedV1 {
    AdmittedV1 { standing: Standing::Unclear { may_pair: false }, again: false }
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
            admitted: row.admitted,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BotName, MessageId};

    fn kept() -> FailedV1 {
        let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new("m"), "hi");
        let row = InboxV1 {
            bot: BotName::new("b"),
            message,
            lane: Lane::Session,
            accepted_at: Timestamp::default(),
            closing: None,
            merged: Vec::new(),
            in_place: None,
            admitted: AdmittedV1 { standing: Standing::Admin, again: false },
        };
        let closing = ClosingV1 { verdict: Verdict::Failed, reason: String::new() };
        FailedV1::of(&row, &closing, Timestamp::default()).unwrap()
    }

    #[test]
    fn a_failed_turn_is_kept_with_what_admission_found_out() {
        let admitted = kept().admitted;
        assert_eq!(admitted, AdmittedV1 { standing: Standing::Admin, again: false });
    }

    #[test]
    fn of_an_old_record_nobody_knows_whether_its_sender_was_let_in() {
        let mut record = serde_json::to_value(kept()).unwrap();
        record.as_object_mut().unwrap().remove("admitted").unwrap();
        let old: FailedV1 = serde_json::from_value(record).unwrap();
        assert_eq!(old.admitted.standing, Standing::Unclear { may_pair: false });
    }
}
