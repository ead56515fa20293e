//! The handle on a running playground: what tests in Rust use.

mod page;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::callbacks::{self, CardPress, EventPush, PressOutcome};
use super::faults::{Endpoint, FaultRule};
use super::people::{self, PlaygroundError, Say};
use super::push::{self, PushRecord};
use super::resources::{self, Sent};
use super::seen::{self, SeenMessage, SeenState};
use super::server;
use super::settings::{AppSettings, Settings};
use super::socket as long_connection;
use super::state::{CallRecord, Shared};
use super::switches::{RetryEventId, Switches};
use super::time::SimClock;
use super::verbs::{self, Handshake, RawPush};
use super::world::{Chat, ChatKind, User};
use crate::base::Clock;
use crate::task::TaskSet;

/// How long [`Playground::stop`] waits for connections and pushes to end.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A running playground. Clones are handles on the same one.
///
/// Users, chats and apps are named by alias or platform id throughout. Unless an app is named, the
/// first one is meant.
#[derive(Clone, Debug)]
pub struct Playground {
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl Playground {
    /// Starts a playground that ends with `cancel` or [`Playground::stop`]. `clock` is the base
    /// of the simulator's own clock.
    ///
    /// # Errors
    /// [`PlaygroundError::Start`]: not a loopback address, or it cannot be bound.
    pub async fn start(
        settings: Settings,
        cancel: CancellationToken,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, PlaygroundError> {
        if !settings.listen.ip().is_loopback() {
            return Err(PlaygroundError::Start("it listens on loopback only".to_owned()));
        }
        let listener = TcpListener::bind(settings.listen)
            .await
            .map_err(|error| PlaygroundError::Start(error.to_string()))?;
        let address =
            listener.local_addr().map_err(|error| PlaygroundError::Start(error.to_string()))?;
        let client = push::build_client().map_err(PlaygroundError::Start)?;
        let clock = SimClock::new(clock, settings.time_scale);
        let tasks = TaskSet::new("playground", cancel.child_token());
        let shared = Arc::new(Shared::new(settings, clock, tasks, client));
        let tasks = &shared.tasks;
        tasks.spawn("server", server::serve(Arc::clone(&shared), listener));
        tasks.spawn("ladder", push::climb(Arc::clone(&shared)));
        tasks.spawn("links", long_connection::keep(Arc::clone(&shared)));
        Ok(Self { shared, address })
    }

    /// Ends all connections and tasks. Returns how many tasks did not end in time.
    pub async fn stop(&self) -> usize {
        self.shared.tasks.cancellation().cancel();
        self.shared.tasks.join(STOP_PATIENCE).await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The origin of the platform API, such as `http://127.0.0.1:40123`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The simulator's clock; a program under test may run on it, too.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::<SimClock>::clone(&self.shared.clock)
    }

    /// Moves the simulator's clock on; retries that become due start at once.
    pub fn advance(&self, span: Duration) {
        self.shared.clock.advance(span);
        self.shared.changed();
    }

    /// Sets how many times faster than its base the simulator's clock runs; 0: it stands.
    pub fn set_time_scale(&self, scale: u32) {
        self.shared.clock.set_scale(scale);
        self.shared.changed();
    }

    /// Back to the default world, without faults, with default switches. The first app keeps its
    /// event URL; the clock goes on.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Adds an app, or replaces the one of that id; the open id of its bot.
    ///
    /// # Errors
    /// [`PlaygroundError::Bad`]: no id or no secret.
    pub fn add_app(&self, settings: &AppSettings) -> Result<String, PlaygroundError> {
        verbs::add_app(&self.shared, settings)
    }

    /// Where the first app's events go, from the next push on; empty: nowhere.
    pub fn set_event_url(&self, url: &str) {
        if let Some(app) = self.shared.lock().world.apps.first_mut() {
            app.event_url = (!url.is_empty()).then(|| url.to_owned());
        }
    }

    /// Where an app's events go; empty: nowhere.
    ///
    /// # Errors
    /// [`PlaygroundError::NoApp`].
    pub fn set_event_url_of(&self, app_id: &str, url: &str) -> Result<(), PlaygroundError> {
        verbs::set_event_url(&self.shared, app_id, url)
    }

    /// The handshake that precedes saving the event URL of the first app.
    ///
    /// # Errors
    /// [`PlaygroundError::Bad`]: the app has no event URL. A handshake that fails is no error.
    pub async fn verify_url(&self) -> Result<Handshake, PlaygroundError> {
        let app_id = self.app_id();
        verbs::verify_url(&self.shared, &app_id).await
    }

    /// The first app's id.
    pub fn app_id(&self) -> String {
        let state = self.shared.lock();
        let app = state.world.apps.first();
        app.map_or_else(String::new, |app| app.app_id.clone())
    }

    /// The open id of the first app's bot.
    pub fn bot_open_id(&self) -> String {
        let state = self.shared.lock();
        let app = state.world.apps.first();
        app.map_or_else(String::new, |app| app.open_id.clone())
    }

    /// The user of that alias, made if there is none.
    pub fn user(&self, alias: &str) -> User {
        self.shared.lock().world.ensure_user(alias)
    }

    /// Changes a user (its name, tenant, availability), made if there is none.
    pub fn change_user(&self, alias: &str, change: impl FnOnce(&mut User)) -> User {
        verbs::change_user(&self.shared, alias, change)
    }

    /// The conversation of a user and the first bot, made if there is none; its alias is
    /// `p2p:<user>`.
    pub fn p2p(&self, user: &str) -> Chat {
        let app_id = self.app_id();
        let mut state = self.shared.lock();
        let user = state.world.ensure_user(user);
        state.world.ensure_p2p(&user.open_id, &app_id)
    }

    /// A group of these users and the first bot. Users are made if need be; a group of that alias
    /// is replaced, its messages stay.
    pub fn group(&self, alias: &str, members: &[&str]) -> Chat {
        let made = verbs::add_chat(&self.shared, alias, ChatKind::Group, members, None);
        made.unwrap_or_else(|_no_app| Chat::new(alias, ChatKind::Group))
    }

    /// Changes a chat: members, bots, threads, muted, dissolved.
    ///
    /// # Errors
    /// [`PlaygroundError::NoChat`].
    pub fn change_chat(
        &self,
        chat: &str,
        change: impl FnOnce(&mut Chat),
    ) -> Result<Chat, PlaygroundError> {
        verbs::change_chat(&self.shared, chat, change)
    }

    /// A user says something in a chat (`@{bot}` and `@{alias}` mention); the message id. The
    /// event is on its way when this returns.
    ///
    /// # Errors
    /// An unknown user or chat, or the user is not in it.
    pub fn says(&self, user: &str, chat: &str, text: &str) -> Result<String, PlaygroundError> {
        people::say(&self.shared, &Say::new(user, chat, text))
    }

    /// A user says something with a mention of the bot in front.
    ///
    /// # Errors
    /// As [`Playground::says`].
    pub fn asks(&self, user: &str, chat: &str, text: &str) -> Result<String, PlaygroundError> {
        people::say(&self.shared, &Say::new(user, chat, text).to_bot())
    }

    /// A user says something, with every detail set.
    ///
    /// # Errors
    /// As [`Playground::says`]; [`PlaygroundError::NoMessage`] for an unknown parent.
    pub fn say(&self, say: &Say) -> Result<String, PlaygroundError> {
        people::say(&self.shared, say)
    }

    /// A user sends a file into a chat; the message id and the file's key.
    ///
    /// # Errors
    /// As [`Playground::say`].
    pub fn sends(&self, sent: &Sent) -> Result<(String, String), PlaygroundError> {
        resources::send(&self.shared, sent)
    }

    /// Keeps a file that a message of the test's own may carry; its key.
    pub fn upload(&self, is_image: bool, name: &str, bytes: &[u8]) -> String {
        resources::upload(&self.shared, is_image, name, bytes.to_vec())
    }

    /// The sender takes a message back; the bots are told.
    ///
    /// # Errors
    /// [`PlaygroundError::NoMessage`].
    pub fn recalls(&self, message_id: &str) -> Result<(), PlaygroundError> {
        people::recall(&self.shared, message_id)
    }

    /// A user reacts to a message; the bots are told.
    ///
    /// # Errors
    /// An unknown user, message or emoji.
    pub fn reacts(&self, user: &str, message_id: &str, emoji: &str) -> Result<(), PlaygroundError> {
        people::react(&self.shared, user, message_id, emoji)
    }

    /// Delivers the event of a message `times` more, all at the same time; the answers.
    ///
    /// # Errors
    /// [`PlaygroundError::NoMessage`].
    pub async fn duplicate(
        &self,
        message_id: &str,
        times: u32,
        event_id: RetryEventId,
    ) -> Result<Vec<PushRecord>, PlaygroundError> {
        verbs::duplicate(&self.shared, message_id, times, event_id).await
    }

    /// Posts a body of the test's own to the event URL.
    ///
    /// # Errors
    /// An unknown app, or one without an event URL.
    pub async fn push(&self, raw: RawPush) -> Result<PushRecord, PlaygroundError> {
        verbs::push(&self.shared, raw).await
    }

    /// What people see of a chat, in the order of arrival; empty if there is no such chat.
    pub fn visible(&self, chat: &str) -> Vec<SeenMessage> {
        let state = self.shared.lock();
        let chat = state.world.chat(chat);
        chat.map_or_else(Vec::new, |chat| seen::visible(&state.world, &chat.chat_id))
    }

    /// One message as people see it.
    pub fn seen(&self, message_id: &str) -> Option<SeenMessage> {
        let state = self.shared.lock();
        let message = state.world.messages.get(message_id)?;
        Some(seen::seen(&state.world, message))
    }

    /// What people saw of a bot's message, from its arrival on: a state for each change.
    /// Old texts may have been dropped to their lengths ([`SeenState::text`]).
    pub fn states(&self, message_id: &str) -> Vec<SeenState> {
        self.shared.lock().world.states.of(message_id).unwrap_or_default()
    }

    /// The bots' visible answers to a message. Edits add nothing; recalled answers are not there.
    pub fn answers_to(&self, message_id: &str) -> Vec<SeenMessage> {
        seen::answers_to(&self.shared.lock().world, message_id)
    }

    /// Waits for at least `count` visible answers to a message that do not grow any more; what there
    /// is after `patience`.
    pub async fn wait_for_answers(
        &self,
        message_id: &str,
        count: usize,
        patience: Duration,
    ) -> Vec<SeenMessage> {
        let found = self.shared.wait_for(patience, |state| {
            let answers = seen::answers_to(&state.world, message_id);
            let grows =
                |answer: &&SeenMessage| answer.card.as_ref().is_some_and(|card| card.streaming);
            let complete = answers.len() - answers.iter().filter(grows).count();
            (complete >= count).then_some(answers)
        });
        found.await.unwrap_or_else(|| self.answers_to(message_id))
    }

    /// Waits until `condition` gives something, looking after every change of the world, for at
    /// most `patience` of real time.
    pub async fn wait_until<T>(
        &self,
        patience: Duration,
        condition: impl Fn(&Self) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.shared.changes.subscribe();
        let search = async {
            loop {
                changes.borrow_and_update();
                let found = condition(self);
                if found.is_some() || changes.changed().await.is_err() {
                    return found;
                }
            }
        };
        tokio::time::timeout(patience, search).await.ok().flatten()
    }

    /// Waits until every first try has been answered; false if `patience` ran out. Retries may
    /// still be due.
    pub async fn pushed(&self, patience: Duration) -> bool {
        let idle = self.shared.wait_for(patience, |state| state.lanes.is_empty().then_some(()));
        idle.await.is_some()
    }

    /// Pushes an event of any type and waits for the answer.
    ///
    /// # Errors
    /// [`PlaygroundError::NoApp`]; [`PlaygroundError::Bad`]: the app has no event URL.
    pub async fn push_event(&self, wanted: EventPush) -> Result<PushRecord, PlaygroundError> {
        callbacks::push_event(&self.shared, wanted).await
    }

    /// A user presses something in a card and waits for the answer.
    ///
    /// # Errors
    /// As [`Playground::push_event`]; and for names that nobody has.
    pub async fn press(&self, wanted: CardPress) -> Result<PressOutcome, PlaygroundError> {
        callbacks::press(&self.shared, wanted).await
    }

    /// Every try of every push so far.
    pub fn pushes(&self) -> Vec<PushRecord> {
        self.shared.lock().pushes.iter().cloned().collect()
    }

    /// Every try of the pushes of one message.
    pub fn pushes_of(&self, message_id: &str) -> Vec<PushRecord> {
        let pushes = self.pushes().into_iter();
        pushes.filter(|push| push.message_id.as_deref() == Some(message_id)).collect()
    }

    /// How many retries wait for their time.
    pub fn retries_waiting(&self) -> usize {
        self.shared.lock().retries.len()
    }

    /// Every call of the platform API so far that hit one endpoint ([`Endpoint::Any`]: all).
    pub fn calls(&self, endpoint: Endpoint) -> Vec<CallRecord> {
        let state = self.shared.lock();
        let calls = state.calls.iter();
        calls
            .filter(|call| endpoint == Endpoint::Any || call.endpoint == endpoint)
            .cloned()
            .collect()
    }

    /// Adds a fault. Rules are looked at in the order in which they were added.
    pub fn fault(&self, rule: FaultRule) {
        self.shared.lock().faults.rules.push(rule);
    }

    /// Removes every fault.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.rules.clear();
    }

    /// The switches as they stand.
    pub fn switches(&self) -> Switches {
        self.shared.lock().switches
    }

    /// Changes switches.
    pub fn switch(&self, change: impl FnOnce(&mut Switches)) {
        change(&mut self.shared.lock().switches);
    }

    /// Makes every token invalid, as the platform may at any time (99991663 from then on).
    pub fn revoke_tokens(&self) {
        self.shared.lock().tokens.revoke_all();
    }
}
