//! The sign on a message that the bot is at work on it. A nicety: it never holds an answer up.
//!
//! It is taken away before the turn is closed, so that a turn found open at start is what tells a
//! sign that a crash left behind.

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
/// A turn waits this long for its sign to go; what takes longer goes on beside the next turn.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// A sign that stands until [`Working::end`]. Dropped without it (the daemon drains), the sign
/// stays: the turn goes on after the restart and takes it away then.
#[derive(Debug)]
pub(super) struct Working {
    ended: oneshot::Sender<()>,
    gone: oneshot::Receiver<()>,
}

/// One message's sign.
struct Sign {
    outlet: Arc<dyn Outlet>,
    delivery: Delivery,
    message: MessageId,
    /// Another one may stand, put up by an earlier process: all are looked for at the end.
    is_recovered: bool,
}

impl Working {
    /// Puts the sign up, beside the work, unless an earlier process has done so.
    pub(super) fn begin(
        gateway: &Gateway,
        bot: &BotRuntime,
        job: &Job,
        stands_already: bool,
    ) -> Self {
        let (ended, has_ended) = oneshot::channel();
        let (is_gone, gone) = oneshot::channel();
        let destination = job.row.message.reply_fn.destination();
        // Of what is no message of the channel nothing can be marked.
        let message = destination.reply_to.clone().filter(|to| *to == job.row.message.id);
        if let (Some(outlet), Some(message)) = (bot.outlets.get(&destination.channel), message) {
            let operation =
                Operation::React { message: message.clone(), reaction: Reaction::Working };
            let uuid = job.turn.simple();
            let delivery = Delivery::of(bot.name.clone(), operation, uuid);
            let is_recovered = job.recovered;
            let sign = Sign { outlet: Arc::clone(outlet), delivery, message, is_recovered };
            gateway.shared.tasks.spawn("working", async move {
                sign.stand(stands_already, has_ended).await;
                // Nobody may wait any more.
                is_gone.send(()).unwrap_or_default();
            });
        }
        Self { ended, gone }
    }

    /// Takes the sign away and waits for that, but not for long.
    pub(super) async fn end(self) {
        // The task is gone if the sign could not be put up; then nothing is to be taken away.
        if self.ended.send(()).is_ok() {
            drop(tokio::time::timeout(END_PATIENCE, self.gone).await);
        }
    }
}

impl Sign {
    async fn stand(self, stands_already: bool, has_ended: oneshot::Receiver<()>) {
        let mut reaction_id = None;
        if !stands_already {
            match self.outlet.deliver(&self.delivery).await {
                Ok(delivered) => reaction_id = Some(delivered.id).filter(|_| !self.is_recovered),
                Err(error) => {
                    // It may stand all the same: it is looked for at the end.
                    Event::SideEffectFailed { what: "react", error: &error }.emit();
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
