//! Delivery: the sends of a turn, one after the other, each until it is settled.
//!
//! A send is marked in flight, durably, before its first try, so that a crash can never make it
//! look untried. Every try carries the same `uuid`; the platform turns repetitions within an
//! hour into one message. A send that may have arrived longer ago is in doubt, and the bot's
//! setting decides.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::bot::{BotRuntime, InDoubt};
use super::flow::Gateway;
use super::turn::TurnError;
use crate::base::{Backoff, Disposition, MessageId, Say, TurnId, Verdict};
use crate::envelope::{Certainty, DeliverError, Delivery, Operation, Outlet};
use crate::store::{Change, ClosingV1, InboxV1, SendState, SendV1};
use crate::telemetry::Event;

/// The platform honours a `uuid` for an hour from the first try; with a margin for clocks.
const UUID_HONOURED: Duration = Duration::from_secs(55 * 60);
/// A send that keeps failing is given up when its message is this old, but not before it was
/// tried a few times: the machine may have been down for longer.
const RETRY_TIME_MAX: Duration = Duration::from_secs(24 * 3600);
const RETRIES_MIN: u32 = 5;
/// The reason of a send that a person stopped.
const STOPPED: &str = "stopped before it was delivered";
const SEND_BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));

/// A turn whose answer is on its way.
#[derive(Clone, Copy)]
pub(super) struct Sending<'a> {
    pub(super) bot: &'a BotRuntime,
    pub(super) turn: TurnId,
    pub(super) row: &'a InboxV1,
    /// Fires when a person stops the session.
    pub(super) stop: &'a CancellationToken,
}

/// What to do after a failed try.
enum Next {
    RetryAfter(Duration),
    Settled(SendState, String),
}

impl Gateway {
    /// Delivers the sends of a turn in order. Returns how the turn is to be closed and which
    /// messages there are.
    pub(super) async fn deliver(
        &self,
        sending: &Sending<'_>,
    ) -> Result<(ClosingV1, Vec<MessageId>), TurnError> {
        let mut closing = sending.row.closing.clone().unwrap_or(ClosingV1 {
            verdict: Verdict::Failed,
            reason: "no closing was planned".to_owned(),
        });
        let sends = self.shared.store.sends(sending.turn).await?;
        let destination = sending.row.message.reply_fn.destination();
        let outlet = sending.bot.outlets.get(&destination.channel).map(Arc::clone);
        let mut sent = Vec::new();
        for (part, mut send) in sends {
            if !is_settled(&send) {
                if let Some(outlet) = &outlet {
                    self.settle(sending, outlet.as_ref(), part, &mut send).await?;
                } else {
                    send.state = SendState::Abandoned;
                    "this channel has no way out here".clone_into(&mut send.reason);
                }
                self.put_send(sending.turn, part, &send).await?;
            }
            sent.extend(send.delivered_id.clone().map(MessageId::new));
            if let Some(worse) = worse_closing(&send) {
                closing = worse;
            }
        }
        Ok((closing, sent))
    }

    async fn put_send(&self, turn: TurnId, part: u16, send: &SendV1) -> Result<(), TurnError> {
        let change = Change::PutSend { turn, part, send: Box::new(send.clone()) };
        Ok(self.shared.store.commit(vec![change]).await?)
    }

    /// Tries a send until it is confirmed, abandoned or in doubt.
    async fn settle(
        &self,
        sending: &Sending<'_>,
        outlet: &dyn Outlet,
        part: u16,
        send: &mut SendV1,
    ) -> Result<(), TurnError> {
        // Found in flight: the process ended between a try and its outcome.
        send.doubtful |= send.state == SendState::InFlight;
        let mut failures = 0;
        while !is_settled(send) {
            if self.is_past_the_uuid(send) {
                self.resolve_doubt(sending, part, send).await?;
                continue;
            }
            if sending.stop.is_cancelled() {
                stop(send);
                continue;
            }
            if send.state == SendState::Planned {
                send.state = SendState::InFlight;
                send.first_try_at.get_or_insert(self.shared.clock.now());
                self.put_send(sending.turn, part, send).await?;
            }
            let Err(error) = self.attempt(sending, outlet, send).await else { continue };
            failures += 1;
            match self.after_failure(sending, send, failures, &error) {
                Next::Settled(state, reason) => {
                    Event::SendAbandoned { turn: &sending.turn, error: &error }.emit();
                    send.state = state;
                    send.reason = reason;
                }
                Next::RetryAfter(wait) => {
                    Event::SendRetried { turn: &sending.turn, failures, error: &error }.emit();
                    if !send.doubtful {
                        // Surely not sent: the clock of the `uuid` starts with the next try.
                        send.state = SendState::Planned;
                        send.first_try_at = None;
                    }
                    // A later process must know whether a try may have arrived.
                    self.put_send(sending.turn, part, send).await?;
                    tokio::select! {
                        () = self.drain().cancelled() => return Err(TurnError::Drained),
                        () = sending.stop.cancelled() => {}
                        () = tokio::time::sleep(wait) => {}
                    }
                }
            }
        }
        Ok(())
    }

    async fn attempt(
        &self,
        sending: &Sending<'_>,
        outlet: &dyn Outlet,
        send: &mut SendV1,
    ) -> Result<(), DeliverError> {
        let delivery = Delivery {
            bot: sending.bot.name.clone(),
            operation: send.operation.clone(),
            uuid: send.uuid.clone(),
        };
        self.shared.faults.at("send.before");
        let result = outlet.deliver(&delivery).await;
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

    fn after_failure(
        &self,
        sending: &Sending<'_>,
        send: &SendV1,
        failures: u32,
        error: &DeliverError,
    ) -> Next {
        let code = error.code.map_or_else(String::new, |code| format!("{code}: "));
        let reason = format!("{code}{error}");
        match error.disposition {
            // An earlier try may have arrived: this refusal does not say that it did not.
            Disposition::Reject | Disposition::Fatal if send.doubtful => {
                Next::Settled(SendState::InDoubt, reason)
            }
            Disposition::Reject | Disposition::Fatal => Next::Settled(SendState::Abandoned, reason),
            Disposition::Retry { after } => {
                let age = self.shared.clock.now().since(sending.row.accepted_at);
                if age >= RETRY_TIME_MAX && failures >= RETRIES_MIN {
                    return Next::Settled(SendState::Abandoned, format!("given up after {reason}"));
                }
                Next::RetryAfter(after.unwrap_or_else(|| SEND_BACKOFF.after_failures(failures)))
            }
        }
    }

    /// Whether some try may have arrived so long ago that repeating it could show it twice.
    fn is_past_the_uuid(&self, send: &SendV1) -> bool {
        let now = self.shared.clock.now();
        send.doubtful
            && send.first_try_at.is_some_and(|first_try| now.since(first_try) >= UUID_HONOURED)
    }

    /// Sends once more under a new `uuid` and a mark, or leaves it, as the bot says.
    async fn resolve_doubt(
        &self,
        sending: &Sending<'_>,
        part: u16,
        send: &mut SendV1,
    ) -> Result<(), TurnError> {
        let repeated = format!("{}-{part}r", sending.turn.simple());
        if sending.bot.in_doubt == InDoubt::Drop || send.uuid == repeated {
            send.state = SendState::InDoubt;
            "it may have arrived, and repeating it could show it twice"
                .clone_into(&mut send.reason);
            return Ok(());
        }
        send.uuid = repeated;
        send.state = SendState::Planned;
        send.first_try_at = None;
        send.doubtful = false;
        mark_possibly_repeated(
            &mut send.operation,
            &Say::PossiblyRepeated.text(sending.bot.locale),
        );
        self.put_send(sending.turn, part, send).await
    }
}

const fn is_settled(send: &SendV1) -> bool {
    match send.state {
        SendState::Planned | SendState::InFlight => false,
        SendState::Confirmed | SendState::InDoubt | SendState::Abandoned => true,
    }
}

/// Whoever said "stop" is not to be answered all the same.
fn stop(send: &mut SendV1) {
    send.state = if send.doubtful { SendState::InDoubt } else { SendState::Abandoned };
    STOPPED.clone_into(&mut send.reason);
}

fn mark_possibly_repeated(operation: &mut Operation, mark: &str) {
    if let Operation::Create { text, .. } | Operation::Reply { text, .. } = operation {
        *text = format!("{mark}\n{text}");
    }
}

/// The closing of a turn one of whose sends did not arrive for certain.
fn worse_closing(send: &SendV1) -> Option<ClosingV1> {
    let verdict = match send.state {
        SendState::Planned | SendState::InFlight | SendState::Confirmed => return None,
        SendState::InDoubt => Verdict::InDoubt,
        SendState::Abandoned if send.reason == STOPPED => Verdict::Stopped,
        SendState::Abandoned if send.reason.starts_with("given up") => Verdict::Undeliverable,
        SendState::Abandoned => Verdict::Failed,
    };
    Some(ClosingV1 { verdict, reason: send.reason.clone() })
}
