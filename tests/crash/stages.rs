//! How far the open turns of a killed daemon had come, as its data folder tells.
//!
//! The folder is copied: opening it repairs what the kill left behind, and that is for the
//! daemon to do.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use larkspur::agent::{Input, JournalEntryV1};
use larkspur::base::{Faults, TurnId};
use larkspur::playground::Playground;
use larkspur::store::{InboxV1, SendState, Store, open_sled};
use larkspur::task::TaskSet;
use tokio_util::sync::CancellationToken;

use crate::stage::Stage;

/// How far a turn had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reached {
    Accepted,
    Started,
    ModelReplied,
    ToolsRecorded,
    ToolsFinished,
    Planned,
    /// A send was being tried, and nobody sees it.
    InFlight,
    /// A send was being tried, and people see it already.
    InFlightAndVisible,
    /// Some of the messages of the answer are confirmed.
    Confirmed,
}

impl Reached {
    pub(crate) const ALL: [Self; 9] = [
        Self::Accepted,
        Self::Started,
        Self::ModelReplied,
        Self::ToolsRecorded,
        Self::ToolsFinished,
        Self::Planned,
        Self::InFlight,
        Self::InFlightAndVisible,
        Self::Confirmed,
    ];
}

/// The open turns of one moment.
#[derive(Debug, Default)]
pub(crate) struct OpenTurns {
    /// How many there are.
    pub(crate) count: usize,
    /// In how many chats.
    pub(crate) chats: usize,
    /// The messages that started them.
    pub(crate) messages: HashSet<String>,
    /// How many had come how far.
    pub(crate) reached: BTreeMap<Reached, usize>,
}

/// Looks into a copy of the data folder. The daemon must be dead.
pub(crate) async fn open_turns(stage: &Stage) -> OpenTurns {
    let copy = tempfile::tempdir().unwrap();
    let data = stage.path("data");
    if !data.join("store").exists() {
        return OpenTurns::default();
    }
    copy_folder(&data, copy.path());
    let tasks = TaskSet::new("test", CancellationToken::new());
    let store = tokio::task::block_in_place(|| {
        open_sled(copy.path(), tasks.clone(), Faults::default()).unwrap()
    });
    let mut turns = OpenTurns::default();
    let mut chats = HashSet::new();
    for (turn, row) in store.open_turns().await.unwrap().rows {
        turns.count += 1;
        turns.messages.insert(row.message.id.to_string());
        chats.insert(row.message.reply_fn.destination().chat.clone());
        let reached = reached(&store, &stage.sim, turn, &row).await;
        *turns.reached.entry(reached).or_default() += 1;
    }
    turns.chats = chats.len();
    store.close().await;
    turns
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        // The reserve holds nothing.
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else if entry.file_name() != "reserve" {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

async fn reached(store: &Arc<dyn Store>, sim: &Playground, turn: TurnId, row: &InboxV1) -> Reached {
    if row.closing.is_some() {
        let sends = store.sends(turn).await.unwrap();
        let is_any = |state| sends.iter().any(|(_, send)| send.state == state);
        return if is_any(SendState::Confirmed) {
            Reached::Confirmed
        } else if !is_any(SendState::InFlight) {
            Reached::Planned
        } else if sim.answers_to(row.message.id.as_str()).is_empty() {
            Reached::InFlight
        } else {
            Reached::InFlightAndVisible
        };
    }
    let journal = store.journal(turn).await.unwrap();
    let entries = journal.iter().rev().map(|entry| serde_json::from_slice(entry).unwrap());
    let mut steps = entries.filter(|entry| !matches!(entry, JournalEntryV1::Resumed { .. }));
    match steps.next() {
        None => Reached::Accepted,
        // Left out above.
        Some(JournalEntryV1::Resumed { .. }) => Reached::Started,
        Some(JournalEntryV1::ToolStarted { .. }) => Reached::ToolsRecorded,
        Some(JournalEntryV1::Input { input }) => match *input {
            Input::ModelReplied { reply, .. } => {
                let has_decided = !store.ledger(turn).await.unwrap().is_empty();
                if has_decided && !reply.calls.is_empty() {
                    Reached::ToolsRecorded
                } else {
                    Reached::ModelReplied
                }
            }
            Input::ToolsFinished { .. } => Reached::ToolsFinished,
            _ => Reached::Started,
        },
    }
}
