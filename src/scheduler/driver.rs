//! Looks at the clock, hands in what is due, and notes how far it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::due::due;
use super::record::ScheduleV1;
use crate::base::{BotName, ChatId, Clock, MessageId, Timestamp};
use crate::bots::{ActionWord, ScheduleDefinition, Timetable, TimetableError};
use crate::envelope::{
    AgentMessage, Arrival, Channel, DedupKey, Destination, Errand, ErrandKind, Inlet, InletError,
    JobLine, Jobs,
};
use crate::store::{Kept, Store, StoreError};
use crate::telemetry::Event;

/// How often the clock is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the scheduler works with.
pub struct SchedulerDeps {
    /// Where it keeps how far it is.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who takes what is due.
    pub inlet: Arc<dyn Inlet>,
    /// The channel that the bots speak through.
    pub channel: Channel,
}

impl std::fmt::Debug for SchedulerDeps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SchedulerDeps")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

/// The schedules of all bots.
#[derive(Debug)]
pub struct Scheduler {
    deps: SchedulerDeps,
    plans: Vec<Plan>,
}

/// One schedule.
#[derive(Debug)]
struct Plan {
    bot: BotName,
    schedule: ScheduleDefinition,
    timetable: Timetable,
    state: Mutex<State>,
}

/// What the process knows of a schedule.
#[derive(Clone, Debug, Default)]
struct State {
    /// As it is stored; `None`: not read yet.
    record: Option<ScheduleV1>,
    /// Before this nothing is due.
    next: Option<Timestamp>,
    /// It failed, and that was told.
    is_held_up: bool,
}

impl Plan {
    fn key(&self) -> String {
        format!("{}/{}", self.bot, self.schedule.name)
    }

    fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The errand for one of its times: the same whenever it is made.
    fn errand(&self, slot: Timestamp, now: Timestamp, channel: Channel) -> Errand {
        let name = &self.schedule.name;
        let when = slot_name(slot);
        let id = MessageId::new(format!("schedule-{}-{name}-{when}", self.bot));
        let destination = Destination {
            bot: self.bot.clone(),
            channel,
            chat: ChatId::new(self.schedule.chat.trim()),
            reply_to: None,
            in_thread: false,
            thread: None,
        };
        let (content, sent_at) = match self.schedule.action {
            ActionWord::Prompt => (self.schedule.prompt.clone().unwrap_or_default(), now),
            // A digest says of which time it is; a question is asked when it is asked.
            ActionWord::KnowledgeDigest | ActionWord::ChatDigest => {
                (format!("/digest {name}"), slot)
            }
        };
        let message = AgentMessage::errand(Channel::Schedule, id, content, destination);
        let keys = vec![DedupKey::new(slot, &["schedule", self.bot.as_str(), name, &when])];
        let bot = self.bot.clone();
        Errand { bot, message: message.sent_at(sent_at), keys, kind: ErrandKind::Work }
    }
}

/// A time as ids name it: RFC 3339, to the second.
fn slot_name(slot: Timestamp) -> String {
    slot.to_string().replace(".000Z", "Z")
}

impl Scheduler {
    /// A scheduler for the schedules of the given bots.
    ///
    /// # Errors
    /// A schedule that the check of its file refuses.
    pub fn new(
        deps: SchedulerDeps,
        schedules: impl IntoIterator<Item = (BotName, ScheduleDefinition)>,
    ) -> Result<Self, TimetableError> {
        let plan = |(bot, schedule): (BotName, ScheduleDefinition)| {
            let timetable = schedule.timetable()?;
            Ok(Plan { bot, schedule, timetable, state: Mutex::default() })
        };
        let plans = schedules.into_iter().map(plan).collect::<Result<_, TimetableError>>()?;
        Ok(Self { deps, plans })
    }

    /// Hands in what is due, until the end.
    pub async fn run(&self, end: CancellationToken) {
        if self.plans.is_empty() {
            return;
        }
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                _now = looks.tick() => {}
            }
            for plan in &self.plans {
                self.look(plan).await;
            }
        }
    }

    /// Brings one schedule up to now. What fails is tried again at the next look.
    async fn look(&self, plan: &Plan) {
        let now = self.deps.clock.now();
        if let Err(error) = self.bring_up(plan, now).await {
            if !plan.state().is_held_up {
                let (bot, schedule) = (plan.bot.as_str(), plan.schedule.name.as_str());
                Event::ScheduleHeldUp { bot, schedule, error: &error }.emit();
            }
            plan.set(|state| state.is_held_up = true);
        }
    }

    async fn bring_up(&self, plan: &Plan, now: Timestamp) -> Result<(), HeldUp> {
        let state = plan.state();
        let record = match state.record {
            Some(record) => record,
            None => self.take_up(plan, now).await?,
        };
        // Looked at every second: nothing is worked out as long as nothing can be due.
        if record.until <= now && state.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        let found = due(&plan.timetable, plan.schedule.misfire, record.until, now);
        let mut record = ScheduleV1 { until: found.until, ..record };
        record.missed = record.missed.saturating_add(found.missed);
        for slot in &found.run {
            let errand = plan.errand(*slot, now, self.deps.channel);
            let id = errand.message.id.clone();
            self.deps.inlet.submit(Arrival::Errand(Box::new(errand))).await?;
            let (bot, schedule) = (plan.bot.as_str(), plan.schedule.name.as_str());
            Event::ScheduleRan { bot, schedule, message_id: id.as_str() }.emit();
            record.last_run = Some(*slot);
        }
        if found.missed > 0 {
            let (bot, schedule) = (plan.bot.as_str(), plan.schedule.name.as_str());
            Event::ScheduleMissed { bot, schedule, times: found.missed }.emit();
        }
        self.keep(plan, record).await?;
        plan.set(|state| {
            state.next = found.next;
            state.is_held_up = false;
        });
        Ok(())
    }

    /// Reads how far a schedule is. One that nobody knew begins now.
    async fn take_up(&self, plan: &Plan, now: Timestamp) -> Result<ScheduleV1, StoreError> {
        let kept = ScheduleV1::load(self.deps.store.as_ref(), &plan.key()).await?;
        let record = ScheduleV1::taken_up(kept.clone(), &plan.schedule, now);
        if kept.as_ref() == Some(&record) {
            plan.set(|state| state.record = Some(record.clone()));
        } else {
            self.keep(plan, record.clone()).await?;
            let (bot, schedule) = (plan.bot.as_str(), plan.schedule.name.as_str());
            Event::ScheduleBegun { bot, schedule }.emit();
        }
        Ok(record)
    }

    async fn keep(&self, plan: &Plan, record: ScheduleV1) -> Result<(), StoreError> {
        if plan.state().record.as_ref() != Some(&record) {
            self.deps.store.commit(vec![record.change(&plan.key())?]).await?;
            plan.set(|state| state.record = Some(record));
        }
        Ok(())
    }

    fn job(&self, plan: &Plan) -> JobLine {
        let now = self.deps.clock.now();
        let record = plan.state().record;
        let from = record.as_ref().map_or(now, |record| record.until).max(now);
        let local = |moment: Timestamp| plan.timetable.local(moment);
        JobLine {
            name: plan.schedule.name.clone(),
            bot: plan.bot.clone(),
            timezone: plan.schedule.timezone.clone(),
            next_run: plan.timetable.next_after(from).map(local),
            last_run: record.as_ref().and_then(|record| record.last_run).map(local),
            missed: record.map_or(0, |record| record.missed),
            paused: false,
        }
    }
}

#[async_trait]
impl Jobs for Scheduler {
    async fn jobs(&self) -> Vec<JobLine> {
        self.plans.iter().map(|plan| self.job(plan)).collect()
    }
}

/// Why a schedule could not be brought up to now.
#[derive(Debug, thiserror::Error)]
enum HeldUp {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Inlet(#[from] InletError),
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
