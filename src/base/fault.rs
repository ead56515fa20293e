//! Named points at which a test can stop the process as `kill -9` would.
//!
//! A release build has none: without the feature `test-support` [`Faults::at`] is empty.

/// Every named point: those of every commit, then those in the order of a message's life.
pub const POINTS: [&str; 14] = [
    "commit.before",
    "commit.after",
    "accept.before_commit",
    "accept.after_commit",
    "turn.started",
    "turn.model_replied",
    "turn.tools_recorded",
    "turn.tools_finished",
    "turn.before_plan",
    "turn.after_plan",
    "send.before",
    "send.after",
    "close.before",
    "close.after",
];

/// The points in the life of a message that grows while its answer is being made.
pub const LIVE_POINTS: [&str; 3] = ["live.before_show", "live.after_show", "live.after_grow"];

/// Which point stops the process, and at which passage; by default none does.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    #[cfg(feature = "test-support")]
    armed: Option<std::sync::Arc<Armed>>,
}

#[cfg(feature = "test-support")]
#[derive(Debug)]
struct Armed {
    point: String,
    passages_left: std::sync::atomic::AtomicI64,
}

impl Faults {
    /// Arms one point from `"point"` or `"point:N"`: the Nth passage stops the process.
    /// `None` if no such point exists.
    #[cfg(feature = "test-support")]
    pub fn armed(spec: &str) -> Option<Self> {
        let (point, passage) = match spec.split_once(':') {
            Some((point, passage)) => (point, passage.parse().ok()?),
            None => (spec, 1),
        };
        (POINTS.contains(&point) || LIVE_POINTS.contains(&point)).then(|| Self {
            armed: Some(std::sync::Arc::new(Armed {
                point: point.to_owned(),
                passages_left: std::sync::atomic::AtomicI64::new(passage),
            })),
        })
    }

    /// Passes a named point.
    #[cfg(feature = "test-support")]
    pub fn at(&self, point: &str) {
        let Some(armed) = self.armed.as_deref().filter(|armed| armed.point == point) else {
            return;
        };
        if armed.passages_left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            // SIGKILL, not abort: nothing may run after this, no handler, no flush.
            let killed = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
            debug_assert!(killed.is_ok(), "a process may kill itself");
        }
    }

    /// Passes a named point.
    #[cfg(not(feature = "test-support"))]
    #[inline]
    pub fn at(&self, _point: &str) {}
}
