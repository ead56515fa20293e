//! Tasks with an owner, a name and an end; the token tree that drains them.
//!
//! `tokio::spawn` is banned elsewhere: whoever starts a task holds the [`TaskSet`] it belongs to
//! and waits for it at the end. A panic in a task is an event, never a silent loss.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::telemetry::Event;

/// The tasks of one owner. Clones share the set.
#[derive(Clone, Debug)]
pub struct TaskSet {
    owner: &'static str,
    tracker: TaskTracker,
    cancel: CancellationToken,
}

impl TaskSet {
    /// An empty set for `owner`, whose tasks should end when `cancel` fires.
    pub fn new(owner: &'static str, cancel: CancellationToken) -> Self {
        Self { owner, tracker: TaskTracker::new(), cancel }
    }

    /// The token that tells the set's tasks to end.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// How many tasks have not ended.
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Starts a task. It runs to its own end: a task that should stop early watches
    /// [`TaskSet::cancellation`].
    pub fn spawn(&self, name: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        spawn(&self.tracker, self.owner, name, future);
    }

    /// Runs work within the caller, but to its end: if the caller goes away in the middle, the
    /// rest becomes a task. `None` if it panicked.
    ///
    /// For what is done a thousand times a second: a task of its own would cost two hand-overs
    /// between threads each time.
    pub fn to_the_end<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> ToTheEnd<T> {
        let owner = self.owner;
        // No `async` block: it would hold the work twice, before it is waited for and after.
        let work = AssertUnwindSafe(work).catch_unwind().map(move |done| {
            if done.is_err() {
                Event::TaskPanicked { owner, name }.emit();
            }
            done.ok()
        });
        let work = self.tracker.track_future(work);
        ToTheEnd { tracker: self.tracker.clone(), owner, name, work: Some(Box::pin(work)) }
    }

    /// Runs blocking work on a thread meant for it and returns its result; `None` if it panicked.
    #[expect(clippy::disallowed_methods, reason = "the one place that spawns")]
    pub async fn blocking<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let done = self.tracker.track_future(tokio::task::spawn_blocking(work)).await;
        if done.is_err() {
            Event::TaskPanicked { owner: self.owner, name }.emit();
        }
        done.ok()
    }

    /// Waits until every task has ended, at most `patience`. Returns how many have not.
    pub async fn join(&self, patience: Duration) -> usize {
        self.tracker.close();
        match tokio::time::timeout(patience, self.tracker.wait()).await {
            Ok(()) => 0,
            Err(_elapsed) => self.tracker.len(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that spawns")]
fn spawn(
    tracker: &TaskTracker,
    owner: &'static str,
    name: &'static str,
    future: impl Future<Output = ()> + Send + 'static,
) {
    // Not below the span of whoever spawns: a log line names its task, not its ancestors.
    let span = tracing::info_span!(parent: None, "task", owner, task = name);
    let work = async move {
        if AssertUnwindSafe(future).catch_unwind().await.is_err() {
            Event::TaskPanicked { owner, name }.emit();
        }
    };
    drop(tokio::spawn(tracker.track_future(work.instrument(span))));
}

/// Work that outlives whoever waits for it, as [`TaskSet::to_the_end`] makes it.
#[must_use = "it begins when it is waited for"]
pub struct ToTheEnd<T: Send + 'static> {
    tracker: TaskTracker,
    owner: &'static str,
    name: &'static str,
    /// `None` once it is done.
    work: Option<BoxFuture<'static, Option<T>>>,
}

impl<T: Send + 'static> std::fmt::Debug for ToTheEnd<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToTheEnd").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Future for ToTheEnd<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and whatever waits with it.
        if let Some(work) = self.work.take()
            && Handle::try_current().is_ok()
        {
            spawn(&self.tracker, self.owner, self.name, async move { drop(work.await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn joining_waits_for_every_task_and_counts_the_late_ones() {
        let set = TaskSet::new("test", CancellationToken::new());
        set.spawn("quick", async {});
        let cancel = set.cancellation().clone();
        set.spawn("slow", async move { cancel.cancelled().await });
        assert_eq!(set.join(Duration::from_secs(1)).await, 1);
        set.cancellation().cancel();
        assert_eq!(set.join(Duration::from_secs(1)).await, 0);
    }

    #[tokio::test]
    async fn work_to_the_end_is_done_whether_or_not_its_caller_stays() {
        let set = TaskSet::new("test", CancellationToken::new());
        assert_eq!(set.to_the_end("quick", async { 7 }).await, Some(7));
        assert_eq!(set.to_the_end("bad", async { panic!("on purpose") }).await, None::<u8>);

        let (go_on, told) = tokio::sync::oneshot::channel();
        let (done, is_done) = tokio::sync::oneshot::channel();
        let mut work = Box::pin(set.to_the_end("abandoned", async move {
            told.await.unwrap();
            done.send("done").unwrap();
        }));
        assert!((&mut work).now_or_never().is_none(), "it was begun and waits");
        drop(work);
        go_on.send(()).unwrap();
        assert_eq!(is_done.await, Ok("done"));
        assert_eq!(set.join(Duration::from_secs(5)).await, 0);
    }

    #[tokio::test]
    async fn a_panicking_task_leaves_the_set() {
        let set = TaskSet::new("test", CancellationToken::new());
        set.spawn("bad", async { panic!("on purpose") });
        assert_eq!(set.join(Duration::from_secs(5)).await, 0);
        assert_eq!(set.blocking("bad", || -> u8 { panic!("on purpose") }).await, None);
        assert_eq!(set.blocking("good", || 7).await, Some(7));
    }
}
