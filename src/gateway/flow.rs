//! The story of an arrival: admit, place, store, acknowledge, hand over.
//!
//! `submit` returns only after the event is durable. Nothing in here waits for a model, a
//! platform or a person.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::admit::{Admission, Circumstances, MentionRule, admit, allows_chat};
use super::attention::Attention;
use super::bot::BotRuntime;
use super::bounded::Bounded;
use super::clearance::Facts;
use super::decline::{Declined, UNCLEARED};
use super::late::dropped;
use super::names::Names;
use super::notice::not_accepted;
use super::outbox::OutboxSink;
use super::overheard::Overheard;
use super::pairing::Pairings;
use super::plan::SessionLocks;
use super::recall::Recalls;
use super::sessions::{Job, Seat, Sessions};
use super::stop::Stop;
use super::waiting::{Waiting, Waits, waits};
use crate::agent::Halt;
use crate::base::id::TurnIds;
use crate::base::{BotName, Clock, Faults, MessageId, Say, SessionKey, Timestamp, TurnId, Verdict};
use crate::envelope::{
    AgentMessage, Arrival, DedupKey, Incoming, Inlet, InletError, News, Press, PressReply,
    Submitted,
};
use crate::routing::Classifier;
use crate::store::{Acceptance, AdmittedV1, Change, InboxV1, Lane, NoteV1, Store};
use crate::task::TaskSet;
use crate::telemetry::{CallMeter, Event};

/// At most this many turns are worked on at once; more wait in their lines.
const TURNS_AT_ONCE_MAX: usize = 4096;
/// At most this many control commands, and as many deliveries, run beside the lines.
const ASIDE_AT_ONCE_MAX: usize = 1024;
/// At most so many events without effect are known when they come again: the last half for certain.
const NOTICES_MAX: usize = 20_000;
/// At most so many types of events are told apart in the log.
const EVENT_TYPES_MAX: usize = 512;
/// Of at most so many chats it is known that no welcome is owed to them.
const UNOWED_MAX: usize = 20_000;

/// What the gateway is built from.
pub struct GatewayDeps {
    /// The durable state.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who owns the gateway's tasks. Its cancellation begins the drain.
    pub tasks: TaskSet,
    /// The rules that tell commands from questions.
    pub classifier: Classifier,
    /// Points at which tests stop the process.
    pub faults: Faults,
    /// Counts the calls to platforms; `/status` reads it.
    pub meter: CallMeter,
    /// The version of the daemon, for `/version` and `/status`.
    pub version: &'static str,
}

impl std::fmt::Debug for GatewayDeps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GatewayDeps")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// The conversation plane. Clones share it.
#[derive(Clone)]
pub struct Gateway {
    pub(super) shared: Arc<Shared>,
}

/// What all turns share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tasks: TaskSet,
    pub(super) classifier: Classifier,
    pub(super) faults: Faults,
    pub(super) meter: CallMeter,
    pub(super) version: &'static str,
    pub(super) bots: HashMap<BotName, Arc<BotRuntime>>,
    pub(super) sessions: Sessions,
    pub(super) session_locks: SessionLocks,
    pub(super) attention: Attention,
    pub(super) names: Names,
    pub(super) facts: Facts,
    pub(super) pairings: Pairings,
    pub(super) overheard: Overheard,
    pub(super) waiting: Waiting,
    pub(super) started_at: Timestamp,
    pub(super) recalls: Recalls,
    /// Events without effect that came lately.
    pub(super) notices: Bounded<DedupKey, ()>,
    /// The types of events that were logged.
    pub(super) event_types: Bounded<String, ()>,
    /// Chats that are known to be owed no welcome, by the keys of their records.
    pub(super) unowed: Bounded<String, ()>,
    /// Held from looking whether a chat is welcomed until it is.
    pub(super) welcoming: Mutex<()>,
    /// Held from looking whether a button was pressed until it is.
    pub(super) pressing: Mutex<()>,
    /// Held while a digest is made, until it is stored.
    pub(super) digests: Arc<Mutex<()>>,
    ids: TurnIds,
    turns: Semaphore,
    aside: Semaphore,
    control: Semaphore,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gateway").field("bots", &self.shared.bots.keys()).finish()
    }
}

#[async_trait]
impl Inlet for Gateway {
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        if self.drain().is_cancelled() {
            return Err(InletError::Draining);
        }
        match arrival {
            // Nothing is stored for it that could be left half done.
            Arrival::Notice(notice) if notice.news == News::Nothing => Ok(self.note_once(notice)),
            arrival => self.accept_whole(arrival).await,
        }
    }

    async fn press(&self, press: Press) -> PressReply {
        self.answer_press(press).await
    }
}

impl Gateway {
    /// A gateway for the given bots. Nothing runs before [`Gateway::recover`] and the first
    /// arrival.
    pub fn new(deps: GatewayDeps, bots: Vec<BotRuntime>) -> Self {
        let bots = bots.into_iter().map(|bot| (bot.name.clone(), Arc::new(bot))).collect();
        let started_at = deps.clock.now();
        Self {
            shared: Arc::new(Shared {
                store: deps.store,
                clock: deps.clock,
                tasks: deps.tasks,
                classifier: deps.classifier,
                faults: deps.faults,
                meter: deps.meter,
                version: deps.version,
                bots,
                sessions: Sessions::default(),
                session_locks: SessionLocks::default(),
                attention: Attention::default(),
                names: Names::default(),
                facts: Facts::default(),
                pairings: Pairings::default(),
                overheard: Overheard::default(),
                waiting: Waiting::default(),
                started_at,
                recalls: Recalls::default(),
                notices: Bounded::new(NOTICES_MAX),
                event_types: Bounded::new(EVENT_TYPES_MAX),
                unowed: Bounded::new(UNOWED_MAX),
                welcoming: Mutex::default(),
                pressing: Mutex::default(),
                digests: Arc::default(),
                ids: TurnIds::default(),
                turns: Semaphore::new(TURNS_AT_ONCE_MAX),
                aside: Semaphore::new(ASIDE_AT_ONCE_MAX),
                control: Semaphore::new(ASIDE_AT_ONCE_MAX),
            }),
        }
    }

    /// Does once what would otherwise delay the first message.
    pub fn warm_up(&self) {
        self.shared.classifier.warm_up();
    }

    /// Fires when the daemon drains.
    pub(super) fn drain(&self) -> &CancellationToken {
        self.shared.tasks.cancellation()
    }

    pub(super) fn next_turn(&self) -> TurnId {
        self.shared.ids.next(self.shared.clock.now())
    }

    /// Accepts to the end: whoever submits may go away in the middle (a connection that breaks, a
    /// time-out), but what is stored must also come into its line.
    async fn accept_whole(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        let gateway = self.clone();
        let accepting = async move {
            match arrival {
                Arrival::Message(incoming) => gateway.accept(*incoming).await,
                Arrival::Notice(notice) => gateway.hear(notice).await,
                Arrival::Errand(errand) => gateway.run_errand(*errand).await,
            }
        };
        let accepted = self.shared.tasks.to_the_end("accept", accepting).await;
        let broken = || Err(InletError::Unavailable("accepting broke down".to_owned()));
        accepted.unwrap_or_else(broken)
    }

    /// A message, from its arrival to its session's line.
    async fn accept(&self, incoming: Incoming) -> Result<Submitted, InletError> {
        let unknown = || InletError::UnknownBot(incoming.bot.clone());
        let bot = Arc::clone(self.shared.bots.get(&incoming.bot).ok_or_else(unknown)?);

        if let Some(closing) = self.withdrawn(&bot.name, &incoming.message.id) {
            let subject = incoming.message.id.to_string();
            return Ok(self.no_work(&bot.name, subject, closing.verdict, &closing.reason));
        }
        let now = self.shared.clock.now();
        self.shared.attention.hears(&incoming);
        self.shared.names.hears(&incoming.message, now);
        let circumstances = self.circumstances(&incoming, now);
        let waits = waits(&incoming, &bot.rules, &circumstances);
        // A file that comes too late is treated like any message that does.
        if waits != Waits::No
            && dropped(&incoming.message, now, &bot.rules.stale).is_none()
            && let Some(kept) = self.keep_waiting(&bot, &incoming, waits).await
        {
            return kept;
        }
        let standing = match admit(&incoming, &bot.rules, &circumstances) {
            Admission::Admit(standing) => standing,
            Admission::Stranger => {
                self.warn_of_empty_lists(&bot, &incoming);
                return self.meet_stranger(&bot, incoming).await;
            }
            Admission::NoWork { verdict, reason } => {
                self.turned_away(&bot, &incoming, verdict);
                let subject = incoming.message.id.to_string();
                return Ok(self.no_work(&bot.name, subject, verdict, reason));
            }
        };
        let mut message = incoming.message;
        message.session.id = bot.session_of(&message);
        let lane = self.lane_of(&message);
        let mut row = self.row(message, lane);
        row.admitted.standing = standing;
        let matters = bot.rules.mention == MentionRule::Smart || bot.rules.hears_bots;
        let remembered = matters.then(|| row.message.clone());
        let submitted = self.accept_row(&bot, &incoming.keys, row).await?;
        if let (Some(message), Submitted::Accepted(_)) = (remembered, &submitted) {
            self.shared.attention.accepted(&message, now);
        }
        Ok(submitted)
    }

    fn circumstances(&self, incoming: &Incoming, now: Timestamp) -> Circumstances {
        let sender = &incoming.message.sender.id;
        Circumstances {
            is_paired: self.shared.pairings.is_paired(&incoming.bot, sender),
            is_in_talk: self.shared.attention.is_in_talk(incoming, now),
            bot_turns: self.shared.attention.bot_turns(&incoming.message),
        }
    }

    /// What else follows from a message that starts no work.
    fn turned_away(&self, bot: &BotRuntime, incoming: &Incoming, verdict: Verdict) {
        match verdict {
            Verdict::NotMentioned if allows_chat(&bot.rules, &incoming.message) => {
                self.overhear(bot, incoming);
            }
            Verdict::NotAllowed => self.warn_of_empty_lists(bot, incoming),
            _ => {}
        }
    }

    /// A message that was let in, to its line.
    pub(super) async fn accept_row(
        &self,
        bot: &BotRuntime,
        keys: &[DedupKey],
        row: InboxV1,
    ) -> Result<Submitted, InletError> {
        match row.lane {
            Lane::Session => {
                if let Some(dropped) = self.drop_late(bot, keys, &row).await {
                    return dropped;
                }
                let key = row.message.session.id.clone();
                match self.shared.sessions.reserve(&key, bot.queue_max) {
                    Some(seat) => self.accept_seated(keys, row, seat, Vec::new()).await,
                    None => self.accept_busy(bot, keys, row).await,
                }
            }
            Lane::Control | Lane::Delivery => {
                let turn = self.next_turn();
                let changes = vec![Change::PutInbox { turn, row: Box::new(row.clone()) }];
                let submitted = self.store_once(turn, keys, &row, changes).await?;
                if submitted != Submitted::Duplicate {
                    self.start_aside(turn, row, false);
                }
                Ok(submitted)
            }
        }
    }

    /// A message that has a place in its line, with what else must be true together with it.
    pub(super) async fn accept_seated(
        &self,
        keys: &[DedupKey],
        mut row: InboxV1,
        seat: Seat,
        also: Vec<Change>,
    ) -> Result<Submitted, InletError> {
        let turn = self.next_turn();
        let taken = self.take_along(&mut row.message);
        let mut changes = vec![Change::PutInbox { turn, row: Box::new(row.clone()) }];
        changes.extend(taken.changes());
        changes.extend(also);
        let submitted = self.store_once(turn, keys, &row, changes).await?;
        if submitted != Submitted::Duplicate {
            self.note_joined(&row, taken);
            let key = row.message.session.id.clone();
            let job = Job { turn, row, stop: Stop::default(), recovered: false };
            if self.shared.sessions.take(seat, job) {
                self.start_worker(key);
            }
        }
        Ok(submitted)
    }

    /// The line is full: the polite refusal is stored together with the message.
    async fn accept_busy(
        &self,
        bot: &BotRuntime,
        keys: &[DedupKey],
        mut row: InboxV1,
    ) -> Result<Submitted, InletError> {
        if row.admitted.standing.is_unclear() {
            let subject = row.message.id.to_string();
            return Ok(self.no_work(&bot.name, subject, Verdict::Busy, UNCLEARED));
        }
        row.lane = Lane::Delivery;
        let declined =
            Declined { say: Say::Busy, verdict: Verdict::Busy, reason: "", changes: Vec::new() };
        self.decline(bot, keys, row, declined).await
    }

    pub(super) async fn store_once(
        &self,
        turn: TurnId,
        keys: &[DedupKey],
        row: &InboxV1,
        changes: Vec<Change>,
    ) -> Result<Submitted, InletError> {
        let message = &row.message.id;
        Ok(match self.store_new(&row.bot, message, keys, changes).await? {
            Acceptance::New => {
                let (bot, message_id) = (row.bot.as_str(), message.as_str());
                Event::Accepted { turn: &turn, bot, message_id }.emit();
                Submitted::Accepted(turn)
            }
            Acceptance::Duplicate => Submitted::Duplicate,
        })
    }

    /// Stores what a message changes, and notes it if it had come before.
    pub(super) async fn store_new(
        &self,
        bot: &BotName,
        message: &MessageId,
        keys: &[DedupKey],
        changes: Vec<Change>,
    ) -> Result<Acceptance, InletError> {
        let accepted = self.shared.store.accept(keys, changes).await;
        let accepted = accepted.map_err(|error| not_accepted(&error))?;
        if accepted == Acceptance::Duplicate {
            Event::Duplicate.emit();
            // Under its own id a redelivery is known by its turn; under a new one by this.
            self.keep_note(bot, message.to_string(), Verdict::Duplicate, "");
        }
        Ok(accepted)
    }

    pub(super) fn row(&self, message: AgentMessage, lane: Lane) -> InboxV1 {
        InboxV1 {
            bot: message.reply_fn.destination().bot.clone(),
            message,
            lane,
            accepted_at: self.shared.clock.now(),
            closing: None,
            admitted: AdmittedV1::default(),
            merged: Vec::new(),
            in_place: None,
        }
    }

    /// The row of a message whose answer is planned already.
    pub(super) fn delivery_row(&self, bot: &BotRuntime, mut message: AgentMessage) -> InboxV1 {
        message.session.id = bot.session_of(&message);
        self.row(message, Lane::Delivery)
    }

    /// Control commands never wait in a session's line.
    pub(super) fn lane_of(&self, message: &AgentMessage) -> Lane {
        if self.shared.classifier.is_control(&message.content, message.channel) {
            Lane::Control
        } else {
            Lane::Session
        }
    }

    pub(super) fn no_work(
        &self,
        bot: &BotName,
        subject: String,
        verdict: Verdict,
        reason: &str,
    ) -> Submitted {
        Event::NoWork { bot: bot.as_str(), subject: &subject, verdict: verdict.word() }.emit();
        self.keep_note(bot, subject, verdict, reason);
        Submitted::NoWork(verdict)
    }

    pub(super) fn keep_note(&self, bot: &BotName, subject: String, verdict: Verdict, reason: &str) {
        let at = self.shared.clock.now();
        let note = NoteV1 { bot: bot.clone(), subject, verdict, reason: reason.to_owned(), at };
        self.shared.store.note(note);
    }

    /// Starts the worker of a line; it serves until nobody waits.
    pub(super) fn start_worker(&self, key: SessionKey) {
        let gateway = self.clone();
        self.shared.tasks.spawn("session", async move {
            while let Some(job) = gateway.shared.sessions.next(&key) {
                let Ok(_permit) = gateway.shared.turns.acquire().await else { return };
                let job = gateway.merge_late(job).await;
                gateway.serve(job).await;
            }
        });
    }

    /// Serves a turn beside the lines.
    pub(super) fn start_aside(&self, turn: TurnId, row: InboxV1, recovered: bool) {
        let gateway = self.clone();
        self.shared.tasks.spawn("aside", async move {
            // Deliveries may wait for the platform for hours; commands must not wait for those.
            let permits = match row.lane {
                Lane::Control => &gateway.shared.control,
                Lane::Session | Lane::Delivery => &gateway.shared.aside,
            };
            let Ok(_permit) = permits.acquire().await else { return };
            let job = Job { turn, row, stop: Stop::default(), recovered };
            gateway.serve(job).await;
        });
    }

    pub(super) fn halt(&self, job: &Job) -> Halt {
        Halt { stop: job.stop.token().clone(), drain: self.drain().clone() }
    }

    /// What a reply handle is bound to.
    pub(super) fn sink(&self) -> Arc<OutboxSink> {
        Arc::new(OutboxSink { gateway: self.clone() })
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
