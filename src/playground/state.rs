//! The one struct that holds everything, and what all parts of the playground share.
//!
//! The lock is a plain mutex that is never held across an await.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::callbacks::UpdateToken;
use super::card::Author;
use super::cardkit;
use super::dice::Dice;
use super::faults::{Endpoint, FaultTable};
use super::push::{Delivery, PushRecord, Retry};
use super::settings::Settings;
use super::socket::Links;
use super::switches::Switches;
use super::time::SimClock;
use super::tokens::Tokens;
use super::world::{App, World};
use crate::base::{Clock, Secret, Timestamp};
use crate::task::TaskSet;

/// How many pushes run at once over all chats.
pub(crate) const PUSHES_AT_ONCE: usize = 64;
/// How many records of pushes and of calls are kept; the oldest go first.
const RECORDS_MAX: usize = 100_000;

/// One call of the platform API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallRecord {
    /// On the simulator's clock, in milliseconds.
    pub at_ms: u64,
    /// How long the answer took, in milliseconds of the base clock.
    pub took_ms: u64,
    /// `GET`, `POST`, …
    pub method: String,
    /// Which endpoint.
    pub endpoint: Endpoint,
    /// The path with its query.
    pub path: String,
    /// The `uuid` of a send, a reply, or a change of a card entity.
    pub uuid: Option<String>,
    /// The `sequence` of a change of a card entity.
    pub sequence: Option<i64>,
    /// The HTTP status of the answer; 0: the connection was closed without one.
    pub status: u16,
    /// The platform's code; 0: success (or the answer was garbled).
    pub code: i64,
    /// Whether a fault struck.
    pub fault: bool,
}

/// What a `uuid` stands for.
#[derive(Clone, Debug)]
pub(crate) enum UuidState {
    InFlight,
    Done(String),
}

/// The moments of the calls within one rate window.
pub(crate) type Window = VecDeque<u64>;

/// Everything that changes.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) switches: Switches,
    pub(crate) faults: FaultTable,
    pub(crate) dice: Dice,
    pub(crate) tokens: Tokens,
    /// By scope and `uuid`: since when, and what it stands for.
    pub(crate) uuids: HashMap<(String, String), (u64, UuidState)>,
    /// Which cards may be changed after a press, by the token in the callback.
    pub(crate) update_tokens: HashMap<String, UpdateToken>,
    /// How many presses of the card of a message wait for their answer.
    pub(crate) pressing: HashMap<String, u32>,
    pub(crate) windows: HashMap<String, Window>,
    /// Deliveries that wait for their first try, by chat. A key is here while its lane runs.
    pub(crate) lanes: BTreeMap<String, VecDeque<Delivery>>,
    pub(crate) retries: Vec<Retry>,
    /// The long connections. They outlive a reset.
    pub(crate) links: Links,
    /// The first body of each event, so that a test can deliver it once more.
    pub(crate) delivered: HashMap<String, Vec<Delivery>>,
    pub(crate) pushes: VecDeque<PushRecord>,
    pub(crate) calls: VecDeque<CallRecord>,
    /// How many messages of a chat a user has had on the page: by open id and chat id.
    pub(crate) read: HashMap<(String, String), usize>,
}

impl State {
    pub(crate) fn new(settings: &Settings, seed: u64) -> Self {
        let mut world = World { tenant_key: settings.tenant_key.clone(), ..World::default() };
        world.apps.push(App::new(&settings.app, &settings.tenant_key));
        Self {
            world,
            switches: Switches::default(),
            faults: FaultTable::default(),
            dice: Dice::new(seed),
            tokens: Tokens::default(),
            uuids: HashMap::new(),
            update_tokens: HashMap::new(),
            pressing: HashMap::new(),
            windows: HashMap::new(),
            lanes: BTreeMap::new(),
            retries: Vec::new(),
            links: Links::default(),
            delivered: HashMap::new(),
            pushes: VecDeque::new(),
            calls: VecDeque::new(),
            read: HashMap::new(),
        }
    }

    /// An app as the sender of a message.
    pub(crate) fn author<'state>(&'state self, app_id: &'state str) -> Author<'state> {
        Author { world: &self.world, switches: self.switches, app_id }
    }

    pub(crate) fn record_push(&mut self, record: PushRecord) {
        if self.pushes.len() >= RECORDS_MAX {
            self.pushes.pop_front();
        }
        self.pushes.push_back(record);
    }

    pub(crate) fn record_call(&mut self, record: CallRecord) {
        if self.calls.len() >= RECORDS_MAX {
            self.calls.pop_front();
        }
        self.calls.push_back(record);
    }

    /// Counts one event in a window of `span_ms`; the milliseconds to wait if it is full.
    pub(crate) fn count(
        &mut self,
        key: String,
        span_ms: u64,
        most: u64,
        now_ms: u64,
    ) -> Option<u64> {
        let window = self.windows.entry(key).or_default();
        while window.front().is_some_and(|at| at.saturating_add(span_ms) <= now_ms) {
            window.pop_front();
        }
        if u64::try_from(window.len()).unwrap_or(u64::MAX) >= most {
            let first = window.front().copied().unwrap_or(now_ms);
            return Some(first.saturating_add(span_ms).saturating_sub(now_ms));
        }
        window.push_back(now_ms);
        None
    }
}

/// What all tasks and handlers of one playground share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) tasks: TaskSet,
    pub(crate) client: reqwest::Client,
    pub(crate) push_slots: Arc<Semaphore>,
    /// Counts changes, so that waiting needs no polling.
    pub(crate) changes: watch::Sender<u64>,
    /// What the page knows of the daemon; outlives a reset.
    pub(crate) surroundings: Mutex<Surroundings>,
    state: Mutex<State>,
}

/// A daemon that may be asked for the way of a message.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    pub(crate) url: String,
    pub(crate) token: Secret,
}

/// What is around the playground and told by whoever starts it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) daemon: Option<Daemon>,
    /// Words and addresses of further links of the page.
    pub(crate) links: Vec<(String, String)>,
    /// The folder whose text files are pages.
    pub(crate) pages: Option<PathBuf>,
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        clock: SimClock,
        tasks: TaskSet,
        client: reqwest::Client,
    ) -> Self {
        let seed = settings.seed.unwrap_or_else(|| clock.base_now().as_millis());
        let state = Mutex::new(State::new(&settings, seed));
        Self {
            settings,
            clock: Arc::new(clock),
            tasks,
            client,
            push_slots: Arc::new(Semaphore::new(PUSHES_AT_ONCE)),
            changes: watch::Sender::new(0),
            surroundings: Mutex::default(),
            state,
        }
    }

    /// Everything, as it is at this moment: streams whose time is over are closed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        cardkit::settle(&mut state.world, self.now_ms());
        state
    }

    pub(crate) fn surroundings(&self) -> MutexGuard<'_, Surroundings> {
        self.surroundings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now().as_millis()
    }

    /// Wakes whoever waits for the world to change.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Back to the beginning: the same seed, so the same ids would come again; therefore the seed
    /// moves on by one.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        let seed = state.dice.seed().wrapping_add(1);
        let first = state.world.apps.first().cloned();
        let links = std::mem::take(&mut state.links);
        *state = State::new(&self.settings, seed);
        state.links = links;
        if let (Some(app), Some(first)) = (state.world.apps.first_mut(), first) {
            app.event_url = first.event_url;
            app.transport = first.transport;
        }
        drop(state);
        self.changed();
    }

    /// Waits until `ready` gives something, looking after each change and at least every `tick`.
    pub(crate) async fn wait_for<T>(
        &self,
        patience: Duration,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let search = async {
            loop {
                changes.borrow_and_update();
                let found = ready(&mut self.lock());
                if found.is_some() {
                    return found;
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(patience, search).await.ok().flatten()
    }
}
