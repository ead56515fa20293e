//! The way of a message: what the platform pushed, what the daemon did with it, what it called
//! the platform for; in one line of time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::playground::faults::Endpoint;
use crate::playground::push::PushRecord;
use crate::playground::state::{CallRecord, Daemon, Shared, State};
use crate::playground::world::Actor;

/// How long the daemon has to answer.
const DAEMON_PATIENCE: Duration = Duration::from_secs(2);
/// How much of its answer is read.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// How many messages one way may touch.
const RELATED_MAX: usize = 200;
/// How many entries of one kind are shown.
const ENTRIES_MAX: usize = 500;
/// How many characters of a failed answer are shown.
const DETAIL_CHARS: usize = 300;

/// How much of a long id is shown.
const ID_BYTES_SHOWN: usize = 10;

/// Who did a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Push,
    Daemon,
    Call,
}

/// One step of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at_ms: u64,
    pub(super) took_ms: Option<u64>,
    pub(super) side: Side,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) is_bad: bool,
}

/// What the daemon tells of a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    pub(super) verdict: String,
    pub(super) reason: String,
    pub(super) at: u64,
    pub(super) turn: Option<String>,
    /// What its turn began with: a message, or an event.
    pub(super) began_with: Option<String>,
    pub(super) message_ids: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Step {
    at: u64,
    took_ms: Option<u64>,
    kind: String,
    title: String,
    detail: String,
}

/// Why the daemon tells nothing.
#[derive(Clone, Debug)]
pub(super) enum Silence {
    /// Nobody said where it is.
    Unknown,
    /// It gave no good answer: why.
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Way {
    /// The message whose way it is: of an answer, the question.
    pub(super) origin: String,
    pub(super) told: Result<Told, Silence>,
    pub(super) entries: Vec<Entry>,
}

/// The whole way of a message that exists.
pub(super) async fn gather(shared: &Arc<Shared>, message_id: &str) -> Option<Way> {
    let parent = origin_of(&shared.lock(), message_id)?;
    let daemon = shared.surroundings().daemon.clone();
    let told = match daemon {
        None => Err(Silence::Unknown),
        Some(daemon) => ask(shared, &daemon, message_id).await,
    };
    // The daemon knows what an answer answers: that may be a press of a button of its parent.
    let began_with = told.as_ref().ok().and_then(|told| told.began_with.clone());
    let origin = began_with.unwrap_or(parent);
    let state = shared.lock();
    let mut ids = BTreeSet::from([origin.clone(), message_id.to_owned()]);
    ids.extend(told.iter().flat_map(|told| told.message_ids.iter().cloned()).take(RELATED_MAX));
    let pushes = state.pushes.iter().filter(|push| {
        let is_of_message = push.message_id.as_ref().is_some_and(|id| ids.contains(id));
        is_of_message || ids.contains(&push.event_id)
    });
    let pushes: Vec<&PushRecord> = pushes.take(ENTRIES_MAX).collect();
    let related = with_answers(&state, ids);
    let alone = sent_alone(&state, &related);
    let calls = state.calls.iter().filter(|call| is_about(call, &related, &alone));
    let mut entries: Vec<Entry> = pushes.iter().map(|push| of_push(push)).collect();
    entries.extend(calls.take(ENTRIES_MAX).map(of_call));
    if let Ok(told) = &told {
        let shift = shift(told, pushes.first().copied());
        entries.extend(told.steps.iter().take(ENTRIES_MAX).map(|step| of_step(step, shift)));
    }
    // A stable sort: what happened in the same millisecond stays in the order push, call, step.
    entries.sort_by_key(|entry| entry.at_ms);
    Some(Way { origin, told, entries })
}

/// A bot's answer has the way of the question.
fn origin_of(state: &State, message_id: &str) -> Option<String> {
    let mut message = state.world.messages.get(message_id)?;
    for _ in 0..RELATED_MAX {
        let parent = message.parent_id.as_ref().and_then(|parent| state.world.messages.get(parent));
        match parent {
            Some(parent) if matches!(message.sender, Actor::App(_)) => message = parent,
            _ => break,
        }
    }
    Some(message.message_id.clone())
}

/// The messages and what bots answered to them.
fn with_answers(state: &State, mut ids: BTreeSet<String>) -> BTreeSet<String> {
    let mut open: Vec<String> = ids.iter().cloned().collect();
    while let Some(id) = open.pop() {
        let answers = state.world.answers.get(&id).map_or(&[][..], Vec::as_slice);
        for answer in answers {
            let message = state.world.messages.get(answer);
            let is_bots = message.is_some_and(|message| matches!(message.sender, Actor::App(_)));
            if is_bots && ids.len() < RELATED_MAX && ids.insert(answer.clone()) {
                open.push(answer.clone());
            }
        }
    }
    ids
}

/// When bots sent those of the messages that answer nothing: their call does not name them.
fn sent_alone(state: &State, ids: &BTreeSet<String>) -> Vec<u64> {
    let messages = ids.iter().filter_map(|id| state.world.messages.get(id));
    let alone = messages
        .filter(|message| message.parent_id.is_none() && matches!(message.sender, Actor::App(_)));
    alone.map(|message| message.created_ms).collect()
}

fn is_about(call: &CallRecord, related: &BTreeSet<String>, alone: &[u64]) -> bool {
    if call.endpoint == Endpoint::Send {
        let end = call.at_ms.saturating_add(call.took_ms);
        return alone.iter().any(|sent| (call.at_ms..=end).contains(sent));
    }
    let path = call.path.split('?').next().unwrap_or_default();
    path.split('/').any(|part| related.contains(part))
}

/// What to add to the daemon's times: its clock is the simulator's, or that below it.
fn shift(told: &Told, push: Option<&PushRecord>) -> i64 {
    let first = told.steps.iter().map(|step| step.at).min().unwrap_or(told.at);
    let Some(push) = push else {
        return 0;
    };
    if first.abs_diff(push.at_ms) <= first.abs_diff(push.base_at_ms) {
        return 0;
    }
    let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    signed(push.at_ms).saturating_sub(signed(push.base_at_ms))
}

fn of_step(step: &Step, shift: i64) -> Entry {
    Entry {
        at_ms: step.at.saturating_add_signed(shift),
        took_ms: step.took_ms,
        side: Side::Daemon,
        kind: step.kind.clone(),
        title: step.title.clone(),
        detail: step.detail.clone(),
        is_bad: false,
    }
}

fn of_push(push: &PushRecord) -> Entry {
    let status = push.answered().map_or_else(String::new, |status| format!(" · {status}"));
    let answer: String = push.answer.chars().take(DETAIL_CHARS).collect();
    let answer = if push.delivered() { String::new() } else { format!("\n{answer}") };
    Entry {
        at_ms: push.at_ms,
        took_ms: Some(push.took_ms),
        side: Side::Push,
        kind: String::new(),
        title: match &push.connection {
            Some(connection) => format!("WebSocket {connection}"),
            None => format!("POST {}", push.url),
        },
        detail: format!("{} · #{}{status}{answer}", push.event_type, push.attempt),
        is_bad: !push.delivered(),
    }
}

fn of_call(call: &CallRecord) -> Entry {
    let fault = if call.fault { " · fault" } else { "" };
    Entry {
        at_ms: call.at_ms,
        took_ms: Some(call.took_ms),
        side: Side::Call,
        kind: String::new(),
        title: format!("{} {}", call.method, shortened(&call.path)),
        detail: format!("HTTP {} · code {}{fault}", call.status, call.code),
        is_bad: call.code != 0 || call.status == 0 || call.status >= 400,
    }
}

/// A path that can be read: the common beginning and most of each id are left out.
fn shortened(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("/open-apis").unwrap_or(path);
    let parts = path.split('/').map(|part| match part.get(..ID_BYTES_SHOWN) {
        Some(beginning) if part.len() > ID_BYTES_SHOWN * 2 => format!("{beginning}…"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

async fn ask(shared: &Arc<Shared>, daemon: &Daemon, message_id: &str) -> Result<Told, Silence> {
    let url = format!("{}/admin/api/path/{message_id}", daemon.url);
    let exchange = async {
        let bearer = format!("Bearer {}", daemon.token.expose());
        let request = shared.client.get(&url).header("Authorization", bearer);
        let mut response = request.send().await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("HTTP {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_BYTES_MAX {
                return Err("the answer is too long".to_owned());
            }
        }
        serde_json::from_slice::<Told>(&body).map_err(|error| error.to_string())
    };
    match tokio::time::timeout(DAEMON_PATIENCE, exchange).await {
        Ok(answer) => answer.map_err(Silence::Failed),
        Err(_elapsed) => {
            Err(Silence::Failed(format!("no answer within {} s", DAEMON_PATIENCE.as_secs())))
        }
    }
}
