//! Delivery: the sends of a turn, one after the other, and what the turn is closed with.
//!
//! How one send is brought to its end is in `settle.rs`.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::in_place::kept_place;
use super::instead::{gap, leave_out, spoken_anew, told};
use super::live::{is_show, never_came};
use super::settle::{Part, Way, is_settled};
use super::turn::TurnError;
use crate::base::limit::ellipsis;
use crate::base::{MessageId, TurnId, UserId, Verdict};
use crate::envelope::{Delivery, Operation, SenderKind};
use crate::store::{Change, ClosingV1, InboxV1, SendCause, SendState, SendV1};
use crate::telemetry::Event;

/// The longest reason of a closing, in characters.
const REASON_CHARS_MAX: usize = 600;

/// A turn whose answer is on its way.
#[derive(Clone, Copy)]
pub(super) struct Sending<'a> {
    pub(super) bot: &'a BotRuntime,
    pub(super) turn: TurnId,
    pub(super) row: &'a InboxV1,
    /// Fires when a person stops the session.
    pub(super) stop: &'a CancellationToken,
}

impl Gateway {
    /// Delivers the sends of a turn in order. Returns how the turn is to be closed and which
    /// messages there are.
    pub(super) async fn deliver(
        &self,
        sending: &Sending<'_>,
    ) -> Result<(ClosingV1, Vec<MessageId>), TurnError> {
        let planned = sending.row.closing.clone().unwrap_or(ClosingV1 {
            verdict: Verdict::Failed,
            reason: "no closing was planned".to_owned(),
        });
        let channel = sending.row.message.reply_fn.destination().channel;
        let way = sending.bot.outlets.get(&channel).map(|outlet| Way {
            outlet: Arc::clone(outlet),
            lookup: sending.bot.lookups.get(&channel).map(Arc::clone),
        });
        let (mut settled, mut sent) = (Vec::<SendV1>::new(), Vec::new());
        let sends = self.shared.store.sends(sending.turn).await?;
        let known = self.people_of(sending.row);
        if sends
            .iter()
            .any(|(_, send)| !is_settled(send) && names_somebody(&send.operation, &known))
        {
            // Whoever asked may be meant, and no event tells a sender's name.
            let senders = sending.row.originals().iter().map(|message| &message.sender);
            let people = senders.filter(|sender| sender.kind == SenderKind::User);
            let people: Vec<UserId> = people.map(|sender| sender.id.clone()).collect();
            self.names_of(sending.bot, &people).await;
        }
        let of = sends.len();
        for (number, mut send) in sends {
            let was_settled = is_settled(&send);
            if !was_settled {
                match (&way, settled.iter().find_map(gap)) {
                    (_, Some(cause)) => leave_out(&mut send, cause),
                    (Some(way), None) => {
                        let part = Part { number, of, send: &mut send, earlier: &settled };
                        self.bring_out(sending, way, part).await?;
                    }
                    (None, None) => abandon_without_way(&mut send),
                }
            }
            if let Some(id) = &send.delivered_id {
                // Before anything else: the platform may tell of it as of somebody's message.
                let message = MessageId::new(id.as_str());
                self.shared.attention.spoke(&sending.bot.name, message.clone());
                sent.push(message);
            }
            if !was_settled {
                let now = self.shared.clock.now();
                send.settled_at = Some(now);
                let place = if of == 1 { kept_place(sending.row, &send, now)? } else { None };
                let change = put_send(sending.turn, number, &send);
                self.shared.store.commit(std::iter::once(change).chain(place).collect()).await?;
            }
            settled.push(send);
        }
        Ok((closing(planned, &settled), sent))
    }

    /// Brings one send to its end, and with the last change of a growing message that message.
    async fn bring_out(
        &self,
        sending: &Sending<'_>,
        way: &Way,
        mut part: Part<'_>,
    ) -> Result<(), TurnError> {
        if part.of == 1 {
            self.aim(sending, part.send).await?;
        }
        if never_came(part.earlier) {
            spoken_anew(sending, &mut part, "it never came up");
        }
        let was_last_change = is_finalise(part.send);
        self.settle(sending, way, &mut part).await?;
        if was_last_change && !is_finalise(part.send) {
            self.withdraw(sending, way, part.earlier).await;
        }
        Ok(())
    }

    /// Takes back a growing message whose words stand in a message of their own. If that fails it
    /// stays, as unfinished as it is.
    async fn withdraw(&self, sending: &Sending<'_>, way: &Way, settled: &[SendV1]) {
        let shown = settled.iter().find(|send| is_show(send));
        let Some(id) = shown.and_then(|send| send.delivered_id.as_deref()) else { return };
        let operation = Operation::Recall { message: MessageId::new(id) };
        let uuid = format!("{}-w", sending.turn.simple());
        let delivery = Delivery::of(sending.bot.name.clone(), operation, uuid);
        if let Err(error) = way.outlet.deliver(&delivery).await {
            Event::SideEffectFailed { what: "recall", error: &error }.emit();
        }
    }

    pub(super) async fn put_send(
        &self,
        turn: TurnId,
        part: u16,
        send: &SendV1,
    ) -> Result<(), TurnError> {
        Ok(self.shared.store.commit(vec![put_send(turn, part, send)]).await?)
    }
}

fn put_send(turn: TurnId, part: u16, send: &SendV1) -> Change {
    Change::PutSend { turn, part, send: Box::new(send.clone()) }
}

fn abandon_without_way(send: &mut SendV1) {
    send.state = SendState::Abandoned;
    send.cause = Some(SendCause::NoWayOut);
    "this channel has no way out here".clone_into(&mut send.reason);
}

/// What a turn is closed with: as planned, or as the worst of its sends ended; with everything
/// that was special about them.
fn closing(planned: ClosingV1, sends: &[SendV1]) -> ClosingV1 {
    let mut worst = planned;
    for send in sends {
        if let Some(verdict) = verdict(send)
            && badness(verdict) > badness(worst.verdict)
        {
            let reason = told(send).next().unwrap_or_default().to_owned();
            worst = ClosingV1 { verdict, reason };
        }
    }
    let mut reasons: Vec<&str> = Vec::new();
    let notes = sends.iter().flat_map(told);
    for reason in std::iter::once(worst.reason.as_str()).chain(notes) {
        if !reason.is_empty() && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let reason = ellipsis(&reasons.join("; "), REASON_CHARS_MAX);
    ClosingV1 { verdict: worst.verdict, reason }
}

const fn is_finalise(send: &SendV1) -> bool {
    matches!(send.operation, Operation::Finalise { .. })
}

/// The verdict on a send that did not arrive for certain.
const fn verdict(send: &SendV1) -> Option<Verdict> {
    if send.refused.is_some() {
        return Some(Verdict::Failed);
    }
    match (send.state, send.cause) {
        // What should have stood in it came in another message.
        (SendState::Abandoned, _) if is_show(send) => None,
        (SendState::Planned | SendState::InFlight | SendState::Confirmed, _) => None,
        (SendState::InDoubt, _) => Some(Verdict::InDoubt),
        (SendState::Abandoned, Some(SendCause::Stopped)) => Some(Verdict::Stopped),
        (SendState::Abandoned, Some(SendCause::GivenUp)) => Some(Verdict::Undeliverable),
        (
            SendState::Abandoned,
            Some(SendCause::Refused | SendCause::NoWayOut | SendCause::Unconfirmed) | None,
        ) => Some(Verdict::Failed),
    }
}

/// The order in which verdicts on sends outdo each other and what was planned.
const fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Failed => 4,
        Verdict::Undeliverable => 3,
        Verdict::InDoubt => 2,
        Verdict::Stopped => 1,
        _ => 0,
    }
}

/// Whether what is shown may mention somebody else than those whose names are known.
fn names_somebody(operation: &Operation, known: &[(String, UserId)]) -> bool {
    let text = match operation {
        Operation::Create { text, .. } | Operation::Reply { text, .. } => text,
        Operation::Finalise { draft, .. } => &draft.text,
        _ => return false,
    };
    text.split('@').skip(1).any(|behind| !known.iter().any(|(name, _)| behind.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BotName, ChatId};
    use crate::envelope::{Channel, Destination, Form};

    fn send(state: SendState, cause: Option<SendCause>, reason: &str) -> SendV1 {
        let destination = Destination::reply(
            BotName::new("b"),
            Channel::Cli,
            ChatId::new("c"),
            MessageId::new("m"),
        );
        SendV1 {
            operation: Operation::Reply {
                destination,
                text: "t".to_owned(),
                form: Form::Text,
                card: None,
            },
            uuid: "u".to_owned(),
            state,
            first_try_at: None,
            settled_at: None,
            doubtful: false,
            delivered_id: None,
            reason: reason.to_owned(),
            cause,
            repeats: 0,
            refused: None,
        }
    }

    fn answered() -> ClosingV1 {
        ClosingV1 { verdict: Verdict::Answered, reason: String::new() }
    }

    #[test]
    fn the_worst_send_decides_whatever_its_place() {
        let confirmed = || send(SendState::Confirmed, None, "");
        let table = [
            (send(SendState::InDoubt, Some(SendCause::Unconfirmed), "d"), Verdict::InDoubt),
            (send(SendState::Abandoned, Some(SendCause::Stopped), "s"), Verdict::Stopped),
            (send(SendState::Abandoned, Some(SendCause::GivenUp), "g"), Verdict::Undeliverable),
            (send(SendState::Abandoned, Some(SendCause::Refused), "r"), Verdict::Failed),
            (send(SendState::Abandoned, None, "an older record"), Verdict::Failed),
        ];
        for (bad, verdict) in &table {
            for sends in [[bad.clone(), confirmed()], [confirmed(), bad.clone()]] {
                let closing = closing(answered(), &sends);
                assert_eq!((closing.verdict, &closing.reason), (*verdict, &bad.reason));
            }
        }
        let refused = send(SendState::Abandoned, Some(SendCause::Refused), "refused");
        let doubtful = send(SendState::InDoubt, Some(SendCause::Unconfirmed), "doubtful");
        for sends in [[refused.clone(), doubtful.clone()], [doubtful, refused]] {
            let closing = closing(answered(), &sends);
            assert_eq!(closing.verdict, Verdict::Failed);
            assert_eq!(closing.reason, "refused; doubtful");
        }
    }

    #[test]
    fn the_words_of_a_reason_decide_nothing() {
        let words = "given up after stopped before it was delivered";
        let send = send(SendState::Abandoned, Some(SendCause::Refused), words);
        assert_eq!(closing(answered(), &[send]).verdict, Verdict::Failed);
    }

    #[test]
    fn what_was_special_about_a_message_that_arrived_is_told() {
        let planned = ClosingV1 { verdict: Verdict::Answered, reason: "partial".to_owned() };
        let send = send(SendState::Confirmed, None, "found in the chat");
        let closing = closing(planned, &[send]);
        assert_eq!(closing.reason, "partial; found in the chat");
        assert_eq!(closing.verdict, Verdict::Answered);
    }
}
