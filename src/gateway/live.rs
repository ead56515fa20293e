//! An answer that people see while it grows: one message a turn, with the steps of the work above
//! what is said so far.
//!
//! The message is the turn's first send, stored before it is tried, so a crash leaves either none
//! or one that the next process goes on with. How it ends is planned with the answer: its last
//! change is a send like any other, and nothing that comes late can overtake it, since every
//! process counts its changes above those of the one before.
//!
//! `script.rs` says what the message shows, `writer.rs` brings it to the platform, `ending.rs` says
//! what becomes of it when the turn ends.

mod ending;
mod script;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::sessions::Job;
use crate::agent::{JournalEntryV1, Progress, called};
use crate::envelope::Draft;
use crate::llm::ToolCall;
use crate::store::{Lane, StoreError};
pub(super) use ending::{Grown, ending, is_show, never_came};
use script::Script;
use writer::Writer;

/// What a run is followed with.
pub(super) struct Live {
    shared: Arc<Shared>,
    /// Who writes, if anybody does.
    writing: Option<Writing>,
}

struct Writing {
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// What the run tells and the writer reads.
#[derive(Debug)]
struct Shared {
    script: Mutex<Script>,
    changed: Notify,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    fn draft(&self) -> Draft {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).draft()
    }
}

impl Live {
    /// Follows the run of a turn from here on. What an earlier process showed is gone on with.
    pub(super) async fn begin(
        gateway: &Gateway,
        bot: &BotRuntime,
        job: &Job,
        entries: &[JournalEntryV1],
    ) -> Result<Self, StoreError> {
        let script = Script::new(bot.locale, called(entries));
        let shared = Arc::new(Shared { script: Mutex::new(script), changed: Notify::new() });
        let writer = match job.row.lane {
            Lane::Session => Writer::new(gateway, bot, job, &shared).await?,
            Lane::Control | Lane::Delivery => None,
        };
        let writing = writer.map(|writer| {
            let (end, is_over) = oneshot::channel();
            let (is_ended, ended) = oneshot::channel();
            gateway.shared.tasks.spawn("live", async move {
                writer.follow(is_over).await;
                // Nobody may wait any more.
                is_ended.send(()).unwrap_or_default();
            });
            Writing { end, ended }
        });
        Ok(Self { shared, writing })
    }

    /// Ends the writing: from now on the message changes by the turn's sends alone. Returns what it
    /// showed.
    pub(super) async fn end(self) -> Draft {
        if let Some(Writing { end, ended }) = self.writing {
            // Gone if the writer gave up.
            end.send(()).unwrap_or_default();
            // A call under way is waited for: its outcome must be stored before the plan is made.
            drop(ended.await);
        }
        self.shared.draft()
    }
}

impl Progress for Live {
    fn text(&self, delta: &str) {
        self.shared.change(|script| script.says(delta));
    }

    fn restart(&self) {
        self.shared.change(Script::takes_back);
    }

    fn tools(&self, calls: &[ToolCall]) {
        self.shared.change(|script| script.acts(calls));
    }
}
