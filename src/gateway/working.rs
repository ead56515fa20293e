//! The sign on a message that the bot is at work on it. A nicety: it never holds an answer up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::sessions::Job;
use crate::base::{Disposition, MessageId};
use crate::envelope::{Delivery, Operation, Outlet, Reaction};
use crate::telemetry::Event;

/// Taking the sign away is tried this often.
const UNREACT_TRIES: u32 = 3;
const UNREACT_WAIT: Duration = Duration::from_secs(1);

/// A sign that stands until [`Working::end`]. Dropped without it (the daemon drains), the sign
/// stays: the turn goes on after the restart and takes it away then.
#[derive(Debug)]
pub(super) struct Working {
    ended: oneshot::Sender<()>,
}

/// One message's sign.
struct Sign {
    outlet: Arc<dyn Outlet>,
    delivery: Delivery,
    message: MessageId,
}

impl Working {
    /// Puts the sign up, beside the work.
    pub(super) fn begin(gateway: &Gateway, bot: &BotRuntime, job: &Job) -> Self {
        let (ended, has_ended) = oneshot::channel();
        let destination = job.row.message.reply_fn.destination();
        if let Some(outlet) = bot.outlets.get(&destination.channel) {
            let message = job.row.message.id.clone();
            let operation =
                Operation::React { message: message.clone(), reaction: Reaction::Working };
            let uuid = job.turn.simple();
            let delivery = Delivery { bot: bot.name.clone(), operation, uuid };
            let sign = Sign { outlet: Arc::clone(outlet), delivery, message };
            let stands_already = job.recovered;
            gateway.shared.tasks.spawn("working", sign.stand(stands_already, has_ended));
        }
        Self { ended }
    }

    /// Takes the sign away, beside what comes next.
    pub(super) fn end(self) {
        // The task is gone if the sign could not be put up; then nothing is to be taken away.
        self.ended.send(()).unwrap_or_default();
    }
}

impl Sign {
    async fn stand(self, stands_already: bool, has_ended: oneshot::Receiver<()>) {
        let mut reaction_id = None;
        if !stands_already {
            match self.outlet.deliver(&self.delivery).await {
                Ok(delivered) => reaction_id = Some(delivered.id),
                Err(error) => {
                    Event::SideEffectFailed { what: "react", error: &error }.emit();
                    return;
                }
            }
        }
        if has_ended.await.is_ok() {
            self.take_away(reaction_id).await;
        }
    }

    async fn take_away(self, reaction_id: Option<String>) {
        let message = self.message;
        let operation = Operation::Unreact { message, reaction: Reaction::Working, reaction_id };
        let delivery = Delivery { operation, ..self.delivery };
        for attempt in 1..=UNREACT_TRIES {
            let Err(error) = self.outlet.deliver(&delivery).await else { return };
            let may_retry = matches!(error.disposition, Disposition::Retry { .. });
            if attempt == UNREACT_TRIES || !may_retry {
                Event::SideEffectFailed { what: "unreact", error: &error }.emit();
                return;
            }
            tokio::time::sleep(UNREACT_WAIT).await;
        }
    }
}
