//! The commit thread: what was handed in meanwhile becomes one batch with one sync.
//!
//! A request is answered only after the batch that it is part of is durable; a duplicate too, for
//! the first acceptance may be in the same batch. The thread is the only writer, so a key that is
//! unknown to the engine and to the batch is unknown.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use super::engine::{Batch, Direction, Engine};
use super::expire::{Fate, Rule};
use super::snapshot::Copies;
use super::{NOTES_MAX, key, value};
use crate::base::{Faults, Timestamp};
use crate::store::port::{Acceptance, Change, StoreError};
use crate::task::TaskSet;
use crate::telemetry::Event;

/// Requests in one batch at most: bounds the wait of the first for the last.
const BATCH_REQUESTS_MAX: usize = 1024;

/// Where the answer to a request goes.
pub(super) type Answer = oneshot::Sender<Result<Acceptance, StoreError>>;

/// One write to the keys, still to be expanded where it needs what is stored.
#[derive(Debug)]
pub(super) enum Step {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    /// Removes all keys that begin with this.
    DeleteUnder(Vec<u8>),
    /// Removes those of the keys that are too old by the rule.
    Expire(Rule, Vec<Vec<u8>>),
}

/// What the thread is asked to do.
#[derive(Debug)]
pub(super) enum Request {
    Write(Write),
    /// An encoded note.
    Note(Vec<u8>),
    Close,
}

/// One atomic write. With dedup keys it is an acceptance, without a plain commit.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) keys: Vec<Vec<u8>>,
    /// The value of the keys.
    pub(super) accepted: Vec<u8>,
    pub(super) steps: Vec<Step>,
    pub(super) answer: Answer,
}

/// When the event of these changes was accepted, if they hold its turn.
pub(super) fn accepted_at(changes: &[Change]) -> Option<Timestamp> {
    changes.iter().find_map(|change| match change {
        Change::PutInbox { row, .. } => Some(row.accepted_at),
        _another => None,
    })
}

/// Encodes changes on the caller's thread, so that the commit thread only writes.
pub(super) fn steps_of(changes: Vec<Change>) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::with_capacity(changes.len());
    for change in changes {
        match change {
            Change::PutInbox { turn, row } => {
                steps
                    .push(Step::Put(key::of_turn(key::INBOX, turn), value::encode("inbox", &row)?));
            }
            Change::PutJournal { turn, sequence, entry } => {
                steps.push(Step::Put(key::journal(turn, sequence), value::encode_opaque(&entry)));
            }
            Change::PutSend { turn, part, send } => {
                steps.push(Step::Put(key::send(turn, part), value::encode("send", &send)?));
            }
            Change::PutSession { key, session } => {
                steps.push(Step::Put(key::session(&key), value::encode("session", &session)?));
            }
            Change::PutLedger(row) => steps.push(Step::Put(
                key::ledger(row.turn, row.iteration, row.index),
                value::encode("ledger", &row)?,
            )),
            Change::PutKept { shelf, key, value } => {
                steps.push(Step::Put(key::kept(shelf, &key), value));
            }
            Change::DropKept { shelf, key } => steps.push(Step::Delete(key::kept(shelf, &key))),
            Change::CloseTurn { turn, receipt } => steps.extend([
                Step::Delete(key::of_turn(key::INBOX, turn)),
                Step::DeleteUnder(key::of_turn(key::JOURNAL, turn)),
                Step::DeleteUnder(key::of_turn(key::SEND, turn)),
                Step::Put(key::of_turn(key::RECEIPT, turn), value::encode("receipt", &receipt)?),
            ]),
        }
    }
    Ok(steps)
}

/// The thread's state.
#[derive(Debug)]
pub(super) struct Committer<E: Engine> {
    pub(super) engine: Arc<E>,
    pub(super) queue: mpsc::Receiver<Request>,
    pub(super) next_note: Arc<AtomicU32>,
    pub(super) is_accepting: Arc<AtomicBool>,
    /// The copy that may be under way.
    pub(super) copies: Arc<Copies>,
    pub(super) faults: Faults,
    /// Where those who wait run, if that is known.
    pub(super) runtime: Option<Handle>,
    pub(super) tasks: TaskSet,
    /// Tells [`super::KvStore`] that the engine is closed; dropped, it tells the same.
    pub(super) ended: watch::Sender<bool>,
}

/// The batch that is being built, and who waits for it.
#[derive(Debug, Default)]
struct Group {
    batch: Batch,
    waiting: Vec<(Answer, Acceptance)>,
    holds_accept: bool,
}

impl<E: Engine> Committer<E> {
    /// Serves the queue until it is closed or nobody can fill it any more.
    pub(super) fn run(mut self) {
        let mut requests = Vec::new();
        while self.queue.blocking_recv_many(&mut requests, BATCH_REQUESTS_MAX) > 0 {
            let group = self.gather(&mut requests);
            self.commit(group);
        }
        self.engine.close();
        self.ended.send_replace(true);
    }

    fn gather(&mut self, requests: &mut Vec<Request>) -> Group {
        let mut group = Group::default();
        for request in requests.drain(..) {
            match request {
                Request::Write(write) => group.add(&*self.engine, write),
                Request::Note(note) => {
                    let slot = self.next_note.load(Ordering::Relaxed);
                    group.batch.put(key::note(slot), note);
                    self.next_note.store((slot + 1) % NOTES_MAX, Ordering::Relaxed);
                }
                // What is in the queue already is still served.
                Request::Close => self.queue.close(),
            }
        }
        group
    }

    fn commit(&self, group: Group) {
        let written = if group.batch.is_empty() {
            Ok(())
        } else if group.waiting.is_empty() {
            // Only notes: nobody waits, so nothing has to be on the disk now.
            let apply = || self.engine.apply_unsynced(&group.batch);
            self.copies.around(&*self.engine, &group.batch, apply)
        } else {
            self.apply(&group)
        };
        self.is_accepting.store(written.is_ok(), Ordering::Relaxed);
        if let Err(error) = &written {
            Event::SideEffectFailed { what: "store_commit", error }.emit();
        }
        let answers = group.waiting.into_iter().map(|(sender, acceptance)| match &written {
            Ok(()) => (sender, Ok(acceptance)),
            Err(error) => (sender, Err(share(error))),
        });
        self.deliver(answers.collect());
    }

    /// Answers from inside the runtime: from here each answer would wake a thread of its own, which
    /// takes this one's processor away while the next batch waits.
    fn deliver(&self, answers: Vec<(Answer, Result<Acceptance, StoreError>)>) {
        let give = |answers: Vec<_>| answers.into_iter().for_each(|(to, what)| answer(to, what));
        match &self.runtime {
            Some(runtime) if answers.len() > 1 => {
                let _inside = runtime.enter();
                self.tasks.spawn("answers", async move { give(answers) });
            }
            _ => give(answers),
        }
    }

    fn apply(&self, group: &Group) -> Result<(), StoreError> {
        self.faults.at("commit.before");
        if group.holds_accept {
            self.faults.at("accept.before_commit");
        }
        let apply = || self.engine.apply(&group.batch);
        self.copies.around(&*self.engine, &group.batch, apply)?;
        self.faults.at("commit.after");
        if group.holds_accept {
            self.faults.at("accept.after_commit");
        }
        Ok(())
    }
}

impl Group {
    fn add(&mut self, engine: &impl Engine, write: Write) {
        let Write { keys, accepted, steps, answer: waiting } = write;
        let is_accept = !keys.is_empty();
        match self.stage(engine, keys, &accepted, steps) {
            Ok(Some(staged)) => {
                self.holds_accept |= is_accept;
                self.batch.append(staged);
                self.waiting.push((waiting, Acceptance::New));
            }
            Ok(None) => self.waiting.push((waiting, Acceptance::Duplicate)),
            Err(error) => answer(waiting, Err(error)),
        }
    }

    /// The writes of one request; `None` if a dedup key is known. Kept apart from the batch until
    /// all of them are there, so that a failed read leaves no half of a request behind.
    fn stage(
        &self,
        engine: &impl Engine,
        keys: Vec<Vec<u8>>,
        accepted: &[u8],
        steps: Vec<Step>,
    ) -> Result<Option<Batch>, StoreError> {
        for key in &keys {
            if self.batch.sets(key) || engine.get(key)?.is_some() {
                return Ok(None);
            }
        }
        let mut staged = Batch::default();
        for key in keys {
            staged.put_new(key, accepted.to_vec());
        }
        for step in steps {
            match step {
                Step::Put(key, value) => staged.put(key, value),
                Step::Delete(key) => staged.delete(key),
                Step::DeleteUnder(prefix) => {
                    self.stage_delete_under(engine, &mut staged, &prefix)?;
                }
                Step::Expire(rule, keys) => self.stage_expiry(engine, &mut staged, rule, &keys)?,
            }
        }
        Ok(Some(staged))
    }

    fn stage_expiry(
        &self,
        engine: &impl Engine,
        staged: &mut Batch,
        rule: Rule,
        keys: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        for key in keys {
            if self.batch.touches(key) {
                // Somebody writes it at this moment, so it is not old.
                continue;
            }
            let Some(bytes) = engine.get(key)? else { continue };
            match rule.fate(&bytes) {
                Fate::Keep => {}
                Fate::Delete => staged.delete(key.clone()),
                Fate::Mark => staged.put(key.clone(), value::accepted(Some(rule.now))),
            }
        }
        Ok(())
    }

    fn stage_delete_under(
        &self,
        engine: &impl Engine,
        staged: &mut Batch,
        prefix: &[u8],
    ) -> Result<(), StoreError> {
        let range = key::under(prefix);
        let mut keys = self.batch.keys_set_in(&range);
        keys.extend(staged.keys_set_in(&range));
        engine.scan(&range, Direction::Forward, &mut |key, _value| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })?;
        for key in keys {
            staged.delete(key);
        }
        Ok(())
    }
}

/// The same failure for everybody of a batch.
fn share(error: &StoreError) -> StoreError {
    match error {
        StoreError::Closed => StoreError::Closed,
        StoreError::Disk(cause) => StoreError::Disk(cause.clone()),
        other => StoreError::Disk(other.to_string()),
    }
}

fn answer(sender: Answer, result: Result<Acceptance, StoreError>) {
    if sender.send(result).is_err() {
        tracing::trace!("the caller went away before the answer");
    }
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
