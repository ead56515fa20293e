//! Records for the suite: each differs from others by what its arguments say.

use crate::base::{BotName, ChatId, MessageId, SessionKey, Timestamp, TurnId, UserId, Verdict};
use crate::envelope::{
    AgentMessage, Channel, Destination, Exchange, Form, Operation, Sender, SenderKind, Speaker,
};
use crate::store::{
    AdmittedV1, Change, InboxV1, Lane, LedgerV1, NoteV1, ReceiptV1, SendState, SendV1, SessionV1,
};

fn bot() -> BotName {
    BotName::new("assistant")
}

/// The turn with the given number; they stand in the order of their numbers.
pub(in crate::store) fn turn(number: u64) -> TurnId {
    TurnId::from_bytes(u128::from(number).to_be_bytes())
}

/// The message that starts the turn.
pub(in crate::store) fn trigger(turn: TurnId) -> MessageId {
    MessageId::new(format!("om_trigger_{}", turn.simple()))
}

pub(in crate::store) fn inbox_record(turn: TurnId) -> InboxV1 {
    let sender = Sender { id: UserId::new("ou_1"), kind: SenderKind::User, display_name: None };
    let message =
        AgentMessage::from_lark(bot(), ChatId::new("oc_1"), trigger(turn), sender, "部署进度如何?");
    InboxV1 {
        bot: bot(),
        message,
        lane: Lane::Session,
        accepted_at: Timestamp::from_millis(5),
        closing: None,
        admitted: AdmittedV1::default(),
        merged: Vec::new(),
        in_place: None,
    }
}

pub(in crate::store) fn inbox(turn: TurnId) -> Change {
    Change::PutInbox { turn, row: Box::new(inbox_record(turn)) }
}

pub(in crate::store) fn journal(turn: TurnId, sequence: u32, entry: &[u8]) -> Change {
    Change::PutJournal { turn, sequence, entry: entry.to_vec() }
}

pub(in crate::store) fn send_record(text: &str) -> SendV1 {
    SendV1 {
        operation: Operation::Create {
            destination: Destination::reply(
                bot(),
                Channel::Lark,
                ChatId::new("oc_1"),
                MessageId::new("om_0"),
            ),
            text: text.to_owned(),
            form: Form::Text,
            card: None,
        },
        uuid: "u".to_owned(),
        state: SendState::Planned,
        first_try_at: None,
        settled_at: None,
        doubtful: false,
        cause: None,
        repeats: 0,
        refused: None,
        delivered_id: None,
        reason: String::new(),
    }
}

pub(in crate::store) fn send(turn: TurnId, part: u16, text: &str) -> Change {
    Change::PutSend { turn, part, send: Box::new(send_record(text)) }
}

pub(in crate::store) fn session_key(text: &str) -> SessionKey {
    SessionKey::new(text)
}

pub(in crate::store) fn session_record(epoch: u64) -> SessionV1 {
    SessionV1 {
        history: vec![Exchange { speaker: Speaker::Assistant, content: format!("line {epoch}") }],
        epoch,
        updated_at: Timestamp::from_millis(epoch),
    }
}

pub(in crate::store) fn session(key: &SessionKey, epoch: u64) -> Change {
    Change::PutSession { key: key.clone(), session: Box::new(session_record(epoch)) }
}

pub(in crate::store) fn ledger_record(turn: TurnId, verdict: &str) -> LedgerV1 {
    LedgerV1 {
        turn,
        iteration: 0,
        index: 0,
        tool: "read_file".to_owned(),
        fingerprint: "00".to_owned(),
        verdict: verdict.to_owned(),
        source: "policy".to_owned(),
        reason: String::new(),
        at: Timestamp::from_millis(7),
    }
}

pub(in crate::store) fn ledger(turn: TurnId, verdict: &str) -> Change {
    Change::PutLedger(Box::new(ledger_record(turn, verdict)))
}

pub(in crate::store) fn receipt(turn: TurnId, sent: &[&str]) -> ReceiptV1 {
    ReceiptV1 {
        bot: bot(),
        session: session_key("assistant/oc_1"),
        message: trigger(turn),
        verdict: Verdict::Answered,
        reason: String::new(),
        accepted_at: Timestamp::from_millis(5),
        closed_at: Timestamp::from_millis(6),
        sent: sent.iter().map(|id| MessageId::new(*id)).collect(),
        path: Vec::new(),
    }
}

pub(in crate::store) fn close(turn: TurnId, sent: &[&str]) -> Change {
    Change::CloseTurn { turn, receipt: Box::new(receipt(turn, sent)) }
}

pub(in crate::store) fn note(subject: &str, reason: &str, at: u64) -> NoteV1 {
    NoteV1 {
        bot: bot(),
        subject: subject.to_owned(),
        verdict: Verdict::NotMentioned,
        reason: reason.to_owned(),
        at: Timestamp::from_millis(at),
    }
}
