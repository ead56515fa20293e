//! One send, tried until it is confirmed, abandoned or in doubt.
//!
//! A send is marked in flight, durably, before its first try, so that a crash can never make it
//! look untried. Every try carries the same `uuid`; the platform turns repetitions within an
//! hour into one message. A send that may have arrived longer ago, or that is refused although it
//! may have arrived, is looked up in the chat's history (`doubt.rs`).

use std::sync::Arc;
use std::time::Duration;

use super::bot::InDoubt;
use super::deliver::Sending;
use super::doubt::{Anchor, Resolution, Said, Sought, Wanted, Words, earliest, resolve, seek};
use super::flow::Gateway;
use super::instead::{Refusal, refused};
use super::live::is_show;
use super::turn::TurnError;
use crate::base::{Backoff, Disposition, MessageId, Say, Timestamp};
use crate::envelope::{
    Block, Certainty, DeliverError, Delivery, Destination, Form, LookedUp, Lookup, LookupError,
    Operation, Outlet,
};
use crate::store::{SendCause, SendState, SendV1};
use crate::telemetry::Event;

/// The platform honours a `uuid` for an hour from the first try; with a margin for clocks.
const UUID_HONOURED: Duration = Duration::from_secs(55 * 60);
/// A send that keeps failing is given up when its message is this old, but not before it was
/// tried a few times: the machine may have been down for longer.
const RETRY_TIME_MAX: Duration = Duration::from_secs(24 * 3600);
const RETRIES_MIN: u32 = 5;
const SEND_BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));
/// A look-up reads at most this many messages.
const HISTORY_MESSAGES_MAX: usize = 500;

/// The way out of a channel, and back for looking.
pub(super) struct Way {
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) lookup: Option<Arc<dyn Lookup>>,
}

/// One send of an answer, and those before it.
pub(super) struct Part<'a> {
    pub(super) number: u16,
    /// How many there are in all.
    pub(super) of: usize,
    pub(super) send: &'a mut SendV1,
    /// All settled.
    pub(super) earlier: &'a [SendV1],
}

impl Part<'_> {
    /// Its place among the answer's messages, from one, and how many these are: the send that a
    /// growing message begins with says nothing.
    pub(super) fn place(&self) -> (usize, usize) {
        let shows = self.earlier.iter().filter(|send| is_show(send)).count();
        (
            usize::from(self.number) + 1 - shows.min(usize::from(self.number)),
            self.of - shows.min(self.of),
        )
    }
}

/// What to do after a failed try.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    RetryAfter(Duration),
    Abandon(SendCause),
    /// What it answers is gone: it goes into the chat without that.
    Detach,
    /// It may have arrived in an earlier try, and this one was refused.
    LookUp(Said),
}

impl Gateway {
    /// Tries a send until it is confirmed, abandoned or in doubt.
    pub(super) async fn settle(
        &self,
        sending: &Sending<'_>,
        way: &Way,
        part: &mut Part<'_>,
    ) -> Result<(), TurnError> {
        // Found in flight: the process ended between a try and its outcome.
        part.send.doubtful |= part.send.state == SendState::InFlight;
        let mut failures = 0;
        while !is_settled(part.send) {
            // Whoever said stop must not look at half an answer for ever.
            let is_stopped = sending.stop.is_cancelled() && !cleans_up(part.send);
            let wait = if is_stopped {
                stop(part.send);
                None
            } else if self.is_past_the_uuid(part.send) {
                self.clear_up(sending, way, part, &mut failures, Tried::NONE).await
            } else {
                self.try_once(sending, way, part, &mut failures).await?
            };
            if let Some(wait) = wait {
                // A later process must know whether a try may have arrived.
                self.put_send(sending.turn, part.number, part.send).await?;
                let may_stop = !cleans_up(part.send);
                tokio::select! {
                    () = self.drain().cancelled() => return Err(TurnError::Drained),
                    () = sending.stop.cancelled(), if may_stop => {}
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
        Ok(())
    }

    /// One try. Returns how long to wait before the next, if there is to be one.
    async fn try_once(
        &self,
        sending: &Sending<'_>,
        way: &Way,
        part: &mut Part<'_>,
        failures: &mut u32,
    ) -> Result<Option<Duration>, TurnError> {
        if part.send.state == SendState::Planned {
            part.send.state = SendState::InFlight;
            part.send.first_try_at.get_or_insert(self.shared.clock.now());
            self.put_send(sending.turn, part.number, part.send).await?;
        }
        let Err(error) = self.attempt(sending, way, part.send).await else { return Ok(None) };
        *failures += 1;
        let age = self.shared.clock.now().since(sending.row.accepted_at);
        let turn = &sending.turn;
        let failures_now = *failures;
        let retried = || Event::SendRetried { turn, failures: failures_now, error: &error }.emit();
        match after_failure(&error, part.send, age, *failures) {
            Next::RetryAfter(wait) => {
                retried();
                as_if_untried(part.send);
                Ok(Some(wait))
            }
            Next::Detach => {
                retried();
                detach(part.send);
                self.put_send(sending.turn, part.number, part.send).await?;
                Ok(None)
            }
            Next::LookUp(said) => {
                let reason = in_words(&error);
                let refusal = refusal(&error, &reason);
                Ok(self.clear_up(sending, way, part, failures, Tried { said, refusal }).await)
            }
            Next::Abandon(cause) => {
                Event::SendAbandoned { turn, error: &error }.emit();
                let reason = in_words(&error);
                if cause == SendCause::GivenUp {
                    end(part.send, SendState::Abandoned, cause, format!("given up after {reason}"));
                } else {
                    refused(sending, part, refusal(&error, &reason));
                }
                Ok(None)
            }
        }
    }

    async fn attempt(
        &self,
        sending: &Sending<'_>,
        way: &Way,
        send: &mut SendV1,
    ) -> Result<(), DeliverError> {
        let delivery = Delivery {
            bot: sending.bot.name.clone(),
            operation: send.operation.clone(),
            uuid: send.uuid.clone(),
            people: self.people_of(sending.row),
        };
        self.shared.faults.at("send.before");
        let result = way.outlet.deliver(&delivery).await;
        self.shared.faults.at("send.after");
        match result {
            Ok(delivered) => {
                send.state = SendState::Confirmed;
                send.delivered_id = Some(delivered.id).filter(|id| !id.is_empty());
                Ok(())
            }
            Err(error) => {
                send.doubtful |= error.certainty == Certainty::MayHaveBeenSent;
                Err(error)
            }
        }
    }

    /// Whether some try may have arrived so long ago that repeating it could show it twice.
    pub(super) fn is_past_the_uuid(&self, send: &SendV1) -> bool {
        let now = self.shared.clock.now();
        send.doubtful
            && makes_message(send)
            && send.first_try_at.is_some_and(|first_try| now.since(first_try) >= UUID_HONOURED)
    }

    /// Looks a doubtful send up and does what follows. Returns how long to wait if the platform
    /// cannot be asked now.
    async fn clear_up(
        &self,
        sending: &Sending<'_>,
        way: &Way,
        part: &mut Part<'_>,
        failures: &mut u32,
        tried: Tried<'_>,
    ) -> Option<Duration> {
        let sought = match look_up(way, sending, part).await {
            Ok(sought) => sought,
            Err(LookupError { text, retry_after: None }) => Sought::Unclear(text),
            Err(LookupError { text, retry_after: Some(wait) }) => {
                *failures += 1;
                let age = self.shared.clock.now().since(sending.row.accepted_at);
                if is_hopeless(age, *failures) {
                    Sought::Unclear(text)
                } else {
                    let (turn, failures) = (&sending.turn, *failures);
                    Event::SendRetried { turn, failures, error: &text }.emit();
                    return Some(SEND_BACKOFF.after_word(Some(wait), failures));
                }
            }
        };
        let resolution = resolve(sought, tried.said, sending.bot.in_doubt, part.send.repeats);
        if tried.said == Said::TargetGone {
            detach(part.send);
        }
        apply(sending, part, resolution, tried.refusal);
        None
    }
}

/// Does what a look-up leads to.
fn apply(sending: &Sending<'_>, part: &mut Part<'_>, resolution: Resolution, refusal: Refusal<'_>) {
    let send = &mut *part.send;
    match resolution {
        Resolution::Confirm(id) => {
            send.state = SendState::Confirmed;
            send.delivered_id = Some(id.as_str().to_owned());
            "it was in doubt and is found in the chat".clone_into(&mut send.reason);
        }
        Resolution::Refused => refused(sending, part, refusal),
        Resolution::SendAnew => {
            send_again(sending, part);
            "it was in doubt, did not stand in the chat and was sent again"
                .clone_into(&mut part.send.reason);
        }
        Resolution::SendMarked(why) => {
            send_again(sending, part);
            let mark = Say::PossiblyRepeated.text(sending.bot.locale);
            mark_possibly_repeated(&mut part.send.operation, &mark);
            part.send.reason = format!(
                "it may have arrived and was sent again, marked (in_doubt = \"resend\"); the \
                 chat does not tell: {why}"
            );
        }
        Resolution::Leave(why) => {
            let rule = match sending.bot.in_doubt {
                InDoubt::Drop => " (in_doubt = \"drop\")",
                InDoubt::Resend => "",
            };
            let words = match refusal.reason {
                "" => String::new(),
                reason => format!(" ({reason})"),
            };
            let reason = format!(
                "it may have arrived and is not sent again{rule}{words}; the chat does not \
                 tell: {why}"
            );
            end(send, SendState::InDoubt, SendCause::Unconfirmed, reason);
        }
    }
}

/// Why a doubtful send is looked up.
#[derive(Clone, Copy)]
struct Tried<'a> {
    said: Said,
    refusal: Refusal<'a>,
}

impl Tried<'_> {
    const NONE: Tried<'static> = Tried { said: Said::Nothing, refusal: Refusal::NONE };
}

fn after_failure(error: &DeliverError, send: &SendV1, age: Duration, failures: u32) -> Next {
    let is_reply = matches!(&send.operation, Operation::Reply { .. });
    match error.disposition {
        Disposition::Retry { .. } if is_hopeless(age, failures) => {
            let cause = Next::Abandon(SendCause::GivenUp);
            if send.doubtful && makes_message(send) { Next::LookUp(Said::Never) } else { cause }
        }
        Disposition::Retry { after } => Next::RetryAfter(SEND_BACKOFF.after_word(after, failures)),
        // An earlier try may have arrived: a refusal does not say that it did not.
        Disposition::Reject | Disposition::Fatal if send.doubtful && makes_message(send) => {
            let detachable = error.target_gone && is_reply;
            Next::LookUp(if detachable { Said::TargetGone } else { Said::Never })
        }
        Disposition::Reject | Disposition::Fatal if error.target_gone && is_reply => Next::Detach,
        Disposition::Reject | Disposition::Fatal => Next::Abandon(SendCause::Refused),
    }
}

fn is_hopeless(age: Duration, failures: u32) -> bool {
    age >= RETRY_TIME_MAX && failures >= RETRIES_MIN
}

const fn refusal<'r>(error: &DeliverError, reason: &'r str) -> Refusal<'r> {
    let DeliverError { content_refused, words_refused, .. } = *error;
    Refusal { for_content: content_refused, for_words: words_refused, reason }
}

fn in_words(error: &DeliverError) -> String {
    let code = error.code.map_or_else(String::new, |code| format!("{code}: "));
    format!("{code}{error}")
}

/// Whether a send makes a message, which there must not be twice; all others may be repeated.
const fn makes_message(send: &SendV1) -> bool {
    matches!(
        send.operation,
        Operation::Create { .. } | Operation::Reply { .. } | Operation::Show { .. }
    )
}

/// Whether a send ends what people see growing.
const fn cleans_up(send: &SendV1) -> bool {
    matches!(send.operation, Operation::Finalise { .. } | Operation::Recall { .. })
}

pub(super) const fn is_settled(send: &SendV1) -> bool {
    match send.state {
        SendState::Planned | SendState::InFlight => false,
        SendState::Confirmed | SendState::InDoubt | SendState::Abandoned => true,
    }
}

pub(super) fn end(send: &mut SendV1, state: SendState, cause: SendCause, reason: String) {
    send.state = state;
    send.cause = Some(cause);
    send.reason = reason;
}

/// Whoever said "stop" is not to be answered all the same.
fn stop(send: &mut SendV1) {
    let state = if send.doubtful { SendState::InDoubt } else { SendState::Abandoned };
    end(send, state, SendCause::Stopped, "stopped before it was delivered".to_owned());
}

/// Surely not sent: the clock of the `uuid` starts with the next try.
fn as_if_untried(send: &mut SendV1) {
    if !send.doubtful {
        send.state = SendState::Planned;
        send.first_try_at = None;
    }
}

/// Makes a message of the chat (or of its thread) out of an answer, under the same `uuid`: should
/// the answer have been taken after all, the platform makes one message of both.
fn detach(send: &mut SendV1) {
    if let Operation::Reply { destination, text, form, card } = &send.operation {
        let destination = Destination { reply_to: None, ..destination.clone() };
        let (text, form, card) = (text.clone(), *form, card.clone());
        send.operation = Operation::Create { destination, text, form, card };
        "what it answers is gone; it was sent without that".clone_into(&mut send.reason);
    }
    as_if_untried(send);
}

/// The send as a new one.
fn send_again(sending: &Sending<'_>, part: &mut Part<'_>) {
    let send = &mut *part.send;
    send.repeats = send.repeats.saturating_add(1);
    let again = if send.repeats == 1 { String::new() } else { send.repeats.to_string() };
    let sentence = if send.refused.is_some() { "s" } else { "" };
    send.uuid = format!("{}-{}{sentence}r{again}", sending.turn.simple(), part.number);
    send.doubtful = false;
    as_if_untried(send);
}

fn mark_possibly_repeated(operation: &mut Operation, mark: &str) {
    if let Operation::Create { text, form, card, .. } | Operation::Reply { text, form, card, .. } =
        operation
        && !text.starts_with(mark)
    {
        // In Markdown one line break is none.
        let gap = if *form == Form::Text { "\n" } else { "\n\n" };
        *text = format!("{mark}{gap}{text}");
        if let Some(card) = card {
            card.blocks.insert(0, Block::Markdown { text: mark.to_owned() });
        }
    }
}

/// Looks for a send in the history of its chat or thread.
async fn look_up(way: &Way, sending: &Sending<'_>, part: &Part<'_>) -> Result<Sought, LookupError> {
    let (destination, words) = match &part.send.operation {
        Operation::Create { destination, text, card, .. }
        | Operation::Reply { destination, text, card, .. } => {
            let title = card.as_ref().map(|card| Words::Title(&card.title));
            (destination, title.unwrap_or(Words::All(text)))
        }
        // What it says changes; nothing else of the turn answers the same message before it.
        Operation::Show { destination, .. } => (destination, Words::Title("")),
        _ => return Ok(Sought::Unclear("only messages can be looked for".to_owned())),
    };
    let Some(lookup) = &way.lookup else {
        return Ok(Sought::Unclear("this channel cannot be read".to_owned()));
    };
    let since = earliest(sending.row, part.send.first_try_at);
    let Some(history) = history(lookup.as_ref(), sending, destination, since).await? else {
        return Ok(Sought::Unclear("the thread it belongs to is not known".to_owned()));
    };
    let known: Vec<MessageId> = part
        .earlier
        .iter()
        .filter_map(|send| send.delivered_id.as_deref().map(MessageId::new))
        .collect();
    let in_doubt = |send: &&SendV1| send.state == SendState::InDoubt && makes_message(send);
    let wanted = Wanted {
        anchor: match (&part.send.operation, &destination.reply_to) {
            (Operation::Reply { .. } | Operation::Show { .. }, Some(target)) => {
                Anchor::Answers(target)
            }
            _ => Anchor::Free { in_thread: destination.thread.is_some() },
        },
        words,
        since,
        known: &known,
        earlier_in_doubt: part.earlier.iter().filter(in_doubt).count(),
    };
    Ok(seek(&history, history.len() < HISTORY_MESSAGES_MAX, &wanted))
}

/// What was said where the send went; `None` if that place is not known.
async fn history(
    lookup: &dyn Lookup,
    sending: &Sending<'_>,
    destination: &Destination,
    since: Timestamp,
) -> Result<Option<Vec<LookedUp>>, LookupError> {
    let (bot, most) = (&sending.bot.name, HISTORY_MESSAGES_MAX);
    match (&destination.thread, destination.in_thread) {
        (Some(thread), _) => lookup.thread(bot, &thread.id, since, most).await.map(Some),
        (None, true) => Ok(None),
        (None, false) => lookup.history(bot, &destination.chat, since, most).await.map(Some),
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
