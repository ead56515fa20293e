//! Brings what a growing message shows to the platform: at most one change a second, always the
//! newest state, never an empty one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Shared;
use crate::base::{Backoff, BotName, Disposition, MessageId, Timestamp, TurnId, UserId};
use crate::envelope::{
    Certainty, DeliverError, Delivered, Delivery, Destination, Draft, Growing, Operation, Outlet,
};
use crate::gateway::bot::BotRuntime;
use crate::gateway::flow::Gateway;
use crate::gateway::plan::planned_send;
use crate::gateway::sessions::Job;
use crate::gateway::settle::end;
use crate::store::{Change, SendCause, SendState, SendV1, StoreError};
use crate::telemetry::Event;

/// An answer that is there within this time comes at once.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two changes.
const EDIT_EVERY: Duration = Duration::from_secs(1);
/// The platform stops the growth of a message ten minutes after it was last begun.
const RENEWED_EVERY: Duration = Duration::from_secs(9 * 60);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// The growing message is the turn's first send.
const PART: u16 = 0;

/// Writes one turn's growing message.
pub(super) struct Writer {
    gateway: Gateway,
    outlet: Arc<dyn Outlet>,
    bot: BotName,
    turn: TurnId,
    destination: Destination,
    people: Arc<[(String, UserId)]>,
    shared: Arc<Shared>,
    /// Prepared or found, but not known to stand in the chat.
    unsent: Option<SendV1>,
    message: Option<Message>,
    /// What it shows.
    shown: Option<Draft>,
}

/// The message that stands in the chat.
struct Message {
    growth: String,
    lives: u32,
    changes: u32,
    renewed_at: Option<Timestamp>,
}

impl Message {
    /// The place of the next change.
    fn next(&mut self) -> Growing {
        self.changes = self.changes.saturating_add(1);
        Growing::new(&self.growth, self.lives, self.changes)
    }
}

/// Why a draft is not shown.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Deliver(#[from] DeliverError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Trouble {
    /// How long to wait before trying again, after so many failures; `None`: it will never work.
    fn retry_after(&self, failures: u32) -> Option<Duration> {
        match self {
            Self::Deliver(DeliverError { disposition: Disposition::Retry { after }, .. }) => {
                Some(BACKOFF.after_word(*after, failures))
            }
            Self::Deliver(_) | Self::Store(_) => None,
        }
    }
}

impl Writer {
    /// A writer for a turn; `None` where nothing can grow.
    pub(super) async fn new(
        gateway: &Gateway,
        bot: &BotRuntime,
        job: &Job,
        shared: &Arc<Shared>,
    ) -> Result<Option<Self>, StoreError> {
        let destination = job.row.message.reply_fn.destination().clone();
        let outlet = bot.outlets.get(&destination.channel).filter(|way| way.grows(&bot.name));
        let Some(outlet) = outlet.filter(|_| destination.reply_to.is_some()) else {
            return Ok(None);
        };
        let mut writer = Self {
            gateway: gateway.clone(),
            outlet: Arc::clone(outlet),
            bot: bot.name.clone(),
            turn: job.turn,
            destination,
            people: gateway.people_of(&job.row),
            shared: Arc::clone(shared),
            unsent: None,
            message: None,
            shown: None,
        };
        let sends = gateway.shared.store.sends(job.turn).await?;
        let found = sends.into_iter().next().map(|(_, send)| send);
        let can_go_on = match found {
            Some(send) => writer.take_up(send).await?,
            None => true,
        };
        Ok(can_go_on.then_some(writer))
    }

    /// Goes on with what an earlier process, or an earlier try, left; `false` if that cannot be.
    async fn take_up(&mut self, mut send: SendV1) -> Result<bool, StoreError> {
        let Operation::Show { growth, lives, .. } = &mut send.operation else { return Ok(false) };
        // Numbers of its own for this process, stored before one is used.
        *lives = lives.saturating_add(1);
        let (growth, lives) = (growth.clone(), *lives);
        match send.state {
            SendState::Confirmed => {
                self.put(&send).await?;
                self.message = Some(Message { growth, lives, changes: 0, renewed_at: None });
            }
            SendState::Planned | SendState::InFlight => {
                send.doubtful |= send.state == SendState::InFlight;
                if self.gateway.is_past_the_uuid(&send) {
                    // It is looked up when the turn ends; sent again it might stand there twice.
                    return Ok(false);
                }
                self.put(&send).await?;
                self.unsent = Some(send);
            }
            SendState::InDoubt | SendState::Abandoned => return Ok(false),
        }
        Ok(true)
    }

    /// Writes until the run is over, or nothing more can be shown.
    pub(super) async fn follow(mut self, mut is_over: oneshot::Receiver<()>) {
        let mut pause = PATIENCE;
        let mut failures = 0;
        while let Some(draft) = self.next_draft(pause, &mut is_over).await {
            pause = match self.bring(&draft).await {
                Ok(()) => {
                    failures = 0;
                    EDIT_EVERY
                }
                Err(trouble) => {
                    failures += 1;
                    Event::SideEffectFailed { what: "live", error: &trouble }.emit();
                    match trouble.retry_after(failures) {
                        Some(wait) => wait,
                        None => return,
                    }
                }
            };
        }
    }

    /// What is to be shown after the pause: the newest state, once it differs from what is shown.
    /// `None` when the run is over.
    async fn next_draft(
        &self,
        pause: Duration,
        is_over: &mut oneshot::Receiver<()>,
    ) -> Option<Draft> {
        let newer = async {
            tokio::time::sleep(pause).await;
            loop {
                let draft = self.shared.draft();
                if !draft.is_empty() && self.shown.as_ref() != Some(&draft) {
                    return draft;
                }
                self.shared.changed.notified().await;
            }
        };
        tokio::select! {
            biased;
            _ = is_over => None,
            draft = newer => Some(draft),
        }
    }

    async fn bring(&mut self, draft: &Draft) -> Result<(), Trouble> {
        match self.message.take() {
            Some(mut message) => {
                let grown = self.grow(&mut message, draft).await;
                self.message = Some(message);
                grown
            }
            None => self.show(draft).await,
        }
    }

    /// Makes the message and sends it, or tries again to send it.
    async fn show(&mut self, draft: &Draft) -> Result<(), Trouble> {
        let now = self.gateway.shared.clock.now();
        let is_new = self.unsent.is_none();
        let mut send = match self.unsent.take() {
            Some(send) => send,
            None => self.prepared(draft).await?,
        };
        send.state = SendState::InFlight;
        send.first_try_at.get_or_insert(now);
        self.put(&send).await?;
        self.gateway.shared.faults.at("live.before_show");
        let sent = self.deliver(send.operation.clone(), send.uuid.clone()).await;
        self.gateway.shared.faults.at("live.after_show");
        let error = match sent {
            Ok(delivered) => {
                return self.stands(send, delivered.id, is_new.then(|| draft.clone())).await;
            }
            Err(error) => error,
        };
        send.doubtful |= error.certainty == Certainty::MayHaveBeenSent;
        let trouble = Trouble::from(error);
        if trouble.retry_after(1).is_some() {
            if !send.doubtful {
                (send.state, send.first_try_at) = (SendState::Planned, None);
            }
        } else if !send.doubtful {
            let reason = format!("the growing message was refused: {trouble}");
            end(&mut send, SendState::Abandoned, SendCause::Refused, reason);
        }
        self.put(&send).await?;
        self.unsent = Some(send);
        Err(trouble)
    }

    async fn prepared(&self, draft: &Draft) -> Result<SendV1, Trouble> {
        let prepare = Operation::Prepare { draft: draft.clone() };
        let growth = self.deliver(prepare, String::new()).await?.id;
        let destination = self.destination.clone();
        let show = Operation::Show { destination, growth, lives: 0 };
        Ok(planned_send(show, format!("{}-live", self.turn.simple())))
    }

    /// The message is there.
    async fn stands(
        &mut self,
        mut send: SendV1,
        id: String,
        shows: Option<Draft>,
    ) -> Result<(), Trouble> {
        let now = self.gateway.shared.clock.now();
        // Before anything else: the platform may tell of it as of somebody's message.
        self.gateway.shared.attention.spoke(&self.bot, MessageId::new(id.as_str()));
        send.state = SendState::Confirmed;
        send.settled_at = Some(now);
        send.delivered_id = Some(id);
        if let Operation::Show { growth, lives, .. } = &send.operation {
            let (growth, lives) = (growth.clone(), *lives);
            let renewed_at = shows.is_some().then_some(now);
            self.message = Some(Message { growth, lives, changes: 0, renewed_at });
        }
        self.shown = shows;
        Ok(self.put(&send).await?)
    }

    /// Changes the message.
    async fn grow(&mut self, message: &mut Message, draft: &Draft) -> Result<(), Trouble> {
        let now = self.gateway.shared.clock.now();
        let is_due = message.renewed_at.is_none_or(|at| now.since(at) >= RENEWED_EVERY);
        let same_steps = |shown: &Draft| shown.steps == draft.steps;
        let only_text = !is_due && self.shown.as_ref().is_some_and(same_steps);
        if is_due {
            self.renew(message, now).await?;
        }
        match self.change(message, draft, only_text).await {
            // It may have stopped growing earlier than it should.
            Err(trouble) if !is_due && trouble.retry_after(1).is_none() => {
                self.renew(message, now).await?;
                self.change(message, draft, false).await?;
            }
            outcome => outcome?,
        }
        self.gateway.shared.faults.at("live.after_grow");
        self.shown = Some(draft.clone());
        Ok(())
    }

    async fn renew(&self, message: &mut Message, now: Timestamp) -> Result<(), Trouble> {
        let renew = Operation::Renew { growing: message.next() };
        let uuid = self.uuid_of(message);
        self.deliver(renew, uuid).await?;
        message.renewed_at = Some(now);
        Ok(())
    }

    async fn change(
        &self,
        message: &mut Message,
        draft: &Draft,
        only_text: bool,
    ) -> Result<(), Trouble> {
        let growing = message.next();
        let grow = Operation::Grow { growing, draft: draft.clone(), only_text };
        let uuid = self.uuid_of(message);
        self.deliver(grow, uuid).await?;
        Ok(())
    }

    fn uuid_of(&self, message: &Message) -> String {
        format!("{}-l{}.{}", self.turn.simple(), message.lives, message.changes)
    }

    async fn deliver(&self, operation: Operation, uuid: String) -> Result<Delivered, DeliverError> {
        let (bot, people) = (self.bot.clone(), Arc::clone(&self.people));
        self.outlet.deliver(&Delivery { bot, operation, uuid, people }).await
    }

    async fn put(&self, send: &SendV1) -> Result<(), StoreError> {
        let change = Change::PutSend { turn: self.turn, part: PART, send: Box::new(send.clone()) };
        self.gateway.shared.store.commit(vec![change]).await
    }
}
