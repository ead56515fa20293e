//! One line a session: who waits, who is being served. Order inside, no order between.
//!
//! A worker serves a line from its first job until nobody waits; then the line is gone. Nothing
//! here is async and no lock is held across a wait.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stop::Stop;
use crate::base::{BotName, ChatId, MessageId, SessionKey, Timestamp, TurnId, Verdict};
use crate::store::{ClosingV1, InboxV1};

/// One turn on its way through a session.
#[derive(Debug)]
pub(super) struct Job {
    /// The turn.
    pub(super) turn: TurnId,
    /// Its inbox row.
    pub(super) row: InboxV1,
    /// Ends it from outside.
    pub(super) stop: Stop,
    /// Whether it was found at start instead of coming in.
    pub(super) recovered: bool,
}

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Job>,
    /// Places kept for arrivals that are being stored.
    reserved: usize,
    serving: Option<Serving>,
    has_worker: bool,
}

/// Who is being served.
#[derive(Debug)]
struct Serving {
    turn: TurnId,
    bot: BotName,
    chat: ChatId,
    messages: Vec<MessageId>,
    sent_at: Timestamp,
    stop: Stop,
}

/// What tells whether a turn is meant when some are ended.
#[derive(Clone, Debug)]
pub(super) struct About<'a> {
    pub(super) bot: &'a BotName,
    pub(super) chat: &'a ChatId,
    /// The messages that it answers.
    pub(super) messages: Vec<&'a MessageId>,
    /// When the message was sent.
    pub(super) sent_at: Timestamp,
}

fn ids(row: &InboxV1) -> impl Iterator<Item = &MessageId> {
    row.originals().iter().map(|message| &message.id)
}

impl<'a> About<'a> {
    fn job(job: &'a Job) -> Self {
        let message = &job.row.message;
        Self {
            bot: &job.row.bot,
            chat: &message.reply_fn.destination().chat,
            messages: ids(&job.row).collect(),
            sent_at: message.timestamp,
        }
    }

    fn serving(serving: &'a Serving) -> Self {
        Self {
            bot: &serving.bot,
            chat: &serving.chat,
            messages: serving.messages.iter().collect(),
            sent_at: serving.sent_at,
        }
    }
}

impl Line {
    /// Ends who is served, takes out who waits, if they are meant. A planned answer stays in the
    /// line and is given up when its turn comes. Returns whether somebody was served, and who was
    /// taken out.
    fn end(
        &mut self,
        closing: &ClosingV1,
        is_meant: impl Fn(&About<'_>) -> bool,
    ) -> (bool, Vec<Job>) {
        let served = self.serving.as_ref().filter(|serving| is_meant(&About::serving(serving)));
        if let Some(served) = served {
            served.stop.end(closing);
        }
        let was_served = served.is_some();
        let mut taken = Vec::new();
        for job in std::mem::take(&mut self.waiting) {
            let is_meant = is_meant(&About::job(&job));
            if is_meant && job.row.closing.is_none() {
                taken.push(job);
                continue;
            }
            if is_meant {
                job.stop.end(closing);
            }
            self.waiting.push_back(job);
        }
        (was_served, taken)
    }
}

/// All lines. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    lines: Arc<Mutex<HashMap<SessionKey, Line>>>,
}

/// A place in a line, kept until it is taken or dropped.
#[derive(Debug)]
pub(super) struct Seat {
    sessions: Sessions,
    key: SessionKey,
    is_taken: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.is_taken {
            let mut lines = self.sessions.lock();
            if let Some(line) = lines.get_mut(&self.key) {
                line.reserved = line.reserved.saturating_sub(1);
            }
            Sessions::forget_if_empty(&mut lines, &self.key);
        }
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_if_empty(lines: &mut HashMap<SessionKey, Line>, key: &SessionKey) {
        let is_empty = lines.get(key).is_some_and(|line| {
            line.waiting.is_empty()
                && line.reserved == 0
                && line.serving.is_none()
                && !line.has_worker
        });
        if is_empty {
            lines.remove(key);
        }
    }

    /// Keeps a place in the line; `None` if `waiting_max` already wait.
    pub(super) fn reserve(&self, key: &SessionKey, waiting_max: usize) -> Option<Seat> {
        let mut lines = self.lock();
        let line = lines.entry(key.clone()).or_default();
        if line.waiting.len() + line.reserved >= waiting_max {
            Self::forget_if_empty(&mut lines, key);
            return None;
        }
        line.reserved += 1;
        Some(Seat { sessions: self.clone(), key: key.clone(), is_taken: false })
    }

    /// Takes the place. `true`: the caller must start a worker for the line.
    pub(super) fn take(&self, mut seat: Seat, job: Job) -> bool {
        seat.is_taken = true;
        let mut lines = self.lock();
        let line = lines.entry(seat.key.clone()).or_default();
        line.reserved = line.reserved.saturating_sub(1);
        // Two arrivals of one commit may wake in any order; their ids tell which came first.
        let earlier = line.waiting.iter().filter(|waiting| waiting.turn < job.turn).count();
        line.waiting.insert(earlier, job);
        !std::mem::replace(&mut line.has_worker, true)
    }

    /// Puts a job into its line whatever its length: it was accepted before a restart.
    pub(super) fn restore(&self, key: &SessionKey, job: Job) -> bool {
        let mut lines = self.lock();
        let line = lines.entry(key.clone()).or_default();
        line.waiting.push_back(job);
        !std::mem::replace(&mut line.has_worker, true)
    }

    /// The next job for the line's worker; `None`: nobody waits, the worker ends.
    pub(super) fn next(&self, key: &SessionKey) -> Option<Job> {
        let mut lines = self.lock();
        let line = lines.get_mut(key)?;
        let job = line.waiting.pop_front();
        line.serving = job.as_ref().map(|job| Serving {
            turn: job.turn,
            bot: job.row.bot.clone(),
            chat: job.row.message.reply_fn.destination().chat.clone(),
            messages: ids(&job.row).cloned().collect(),
            sent_at: job.row.message.timestamp,
            stop: job.stop.clone(),
        });
        if job.is_none() {
            line.has_worker = false;
            Self::forget_if_empty(&mut lines, key);
        }
        job
    }

    /// Stops what was sent until `sent_until`, as [`Line::end`] does.
    pub(super) fn stop(&self, key: &SessionKey, sent_until: Timestamp) -> (bool, Vec<Job>) {
        let mut lines = self.lock();
        let Some(line) = lines.get_mut(key) else { return (false, Vec::new()) };
        let closing = ClosingV1 { verdict: Verdict::Stopped, reason: String::new() };
        line.end(&closing, |about| about.sent_at <= sent_until)
    }

    /// Ends what is meant in all lines, as [`Line::end`] does. Returns who was taken out, by line.
    pub(super) fn end_everywhere(
        &self,
        closing: &ClosingV1,
        is_meant: impl Fn(&About<'_>) -> bool,
    ) -> Vec<(SessionKey, Vec<Job>)> {
        let mut lines = self.lock();
        let ended = lines.iter_mut().map(|(key, line)| {
            let (_was_served, taken) = line.end(closing, &is_meant);
            (key.clone(), taken)
        });
        ended.filter(|(_key, taken)| !taken.is_empty()).collect()
    }

    /// Takes those out of the line whose rows are `wanted`, in their order, to be served together
    /// with the one that is being served; nobody if that one was ended.
    pub(super) fn take_along(
        &self,
        key: &SessionKey,
        wanted: impl Fn(&InboxV1) -> bool,
    ) -> Vec<Job> {
        let mut lines = self.lock();
        let Some(line) = lines.get_mut(key) else { return Vec::new() };
        let Some(serving) = line.serving.as_mut() else { return Vec::new() };
        if serving.stop.is_ended() {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut line.waiting);
        let (taken, left): (VecDeque<Job>, _) =
            waiting.into_iter().partition(|job| wanted(&job.row));
        line.waiting = left;
        serving.messages.extend(taken.iter().flat_map(|job| ids(&job.row)).cloned());
        taken.into()
    }

    /// Those are not served together with another after all.
    pub(super) fn part(&self, key: &SessionKey, jobs: Vec<Job>) {
        if let Some(serving) = self.lock().get_mut(key).and_then(|line| line.serving.as_mut()) {
            let is_of = |job: &Job, id: &MessageId| ids(&job.row).any(|of_job| of_job == id);
            serving.messages.retain(|id| !jobs.iter().any(|job| is_of(job, id)));
        }
        // Its worker runs: it is the caller.
        self.put_back(key, jobs);
    }

    /// Puts jobs back in front of the line they were taken from. `true`: the caller must start a
    /// worker for it.
    pub(super) fn put_back(&self, key: &SessionKey, jobs: Vec<Job>) -> bool {
        let mut lines = self.lock();
        let line = lines.entry(key.clone()).or_default();
        for job in jobs.into_iter().rev() {
            line.waiting.push_front(job);
        }
        !std::mem::replace(&mut line.has_worker, true)
    }

    /// How many are served and how many wait.
    pub(super) fn counts(&self, key: &SessionKey) -> (usize, usize) {
        self.lock()
            .get(key)
            .map_or((0, 0), |line| (usize::from(line.serving.is_some()), line.waiting.len()))
    }

    /// Whether the turn is being served.
    pub(super) fn is_serving(&self, key: &SessionKey, turn: TurnId) -> bool {
        self.lock()
            .get(key)
            .and_then(|line| line.serving.as_ref())
            .is_some_and(|serving| serving.turn == turn)
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
