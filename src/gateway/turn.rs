//! The story of a turn: work (or go on with it), plan the answer, deliver it, close.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::bot::BotRuntime;
use super::deliver::Sending;
use super::flow::Gateway;
use super::journal::{TurnJournal, is_only_begun};
use super::late::lateness;
use super::live::Live;
use super::lookups::Beside;
use super::plan::{Ended, Remember};
use super::sessions::Job;
use super::working::Working;
use crate::agent::{AgentRunV1, DriveError, Outcome, replay};
use crate::base::catalogue::DoorSay;
use crate::base::{Aside, Backoff, Disposition, Say, Verdict};
use crate::envelope::{AgentMessage, Draft};
use crate::llm::ChatMessage;
use crate::routing::{Classified, Intent, route};
use crate::store::{ClosingV1, Lane, StoreError};
use crate::telemetry::Event;

/// A turn that cannot go on (the store fails, a panic) is taken up again after these waits.
const TURN_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// A turn that panics this often is closed with an apology.
const PANICS_MAX: u32 = 3;

/// Why a turn stopped before it was closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnError {
    /// The daemon drains; the turn goes on after the restart.
    #[error("the daemon is draining")]
    Drained,
    /// The store failed; the turn is taken up again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine could not write its journal; the turn is taken up again.
    #[error(transparent)]
    Run(DriveError),
    /// A fault of this build.
    #[error("the turn panicked")]
    Panicked,
}

impl TurnError {
    /// Whether trying again can only fail again.
    fn will_never_heal(&self) -> bool {
        match self {
            Self::Store(error) => error.disposition() == Disposition::Reject,
            Self::Drained | Self::Run(_) | Self::Panicked => false,
        }
    }
}

impl Gateway {
    /// Serves a job until its turn is closed, whatever it takes.
    pub(super) async fn serve(&self, mut job: Job) {
        let mut failures = 0;
        let mut panics = 0;
        while !self.drain().is_cancelled() {
            let run = AssertUnwindSafe(self.run(&mut job, panics)).catch_unwind();
            let error = match run.await {
                Ok(Ok(()) | Err(TurnError::Drained)) => return,
                Ok(Err(error)) => error,
                Err(_panic) => {
                    panics += 1;
                    TurnError::Panicked
                }
            };
            failures += 1;
            Event::TurnFailed { turn: &job.turn, error: &error }.emit();
            let is_hopeless = error.will_never_heal() || panics > PANICS_MAX;
            if is_hopeless && self.give_up(&job, &error).await {
                return;
            }
            tokio::select! {
                () = self.drain().cancelled() => return,
                () = tokio::time::sleep(TURN_BACKOFF.after_failures(failures)) => {}
            }
            // What the process knows of the run may be wrong now; the journal is not.
            job.recovered = true;
        }
    }

    /// Closes a turn that can neither go on nor be answered.
    async fn give_up(&self, job: &Job, error: &TurnError) -> bool {
        let closing = ClosingV1 { verdict: Verdict::Failed, reason: error.to_string() };
        self.close(job.turn, &job.row, closing, Vec::new()).await.is_ok()
    }

    /// One try to bring a turn to its end.
    pub(super) async fn run(&self, job: &mut Job, panics: u32) -> Result<(), TurnError> {
        let Some(bot) = self.shared.bots.get(&job.row.bot).cloned() else {
            let reason = format!("the bot {} does not run any more", job.row.bot);
            let closing = ClosingV1 { verdict: Verdict::Failed, reason };
            return Ok(self.close(job.turn, &job.row, closing, Vec::new()).await?);
        };
        let mut working = None;
        self.end_if_withdrawn(job);
        if job.row.closing.is_none() {
            // Before an apology, too: who is not let in hears none.
            let mut ended = if let Some(refused) = self.clear(&bot, job).await? {
                refused
            } else if panics >= PANICS_MAX {
                apology(&bot, job, "the turn panicked again and again")
            } else {
                self.recompose(job).await;
                self.work(&bot, job, &mut working).await?
            };
            ended.restate(&job.stop);
            self.plan(&bot, job.turn, &mut job.row, ended).await?;
        }
        if working.is_none() && job.recovered && job.row.lane == Lane::Session {
            // An earlier try, or an earlier process, may have left its sign.
            working = Some(Working::begin(self, &bot, job, true));
        }
        let sending = Sending { bot: &bot, turn: job.turn, row: &job.row, stop: job.stop.token() };
        let (closing, sent) = self.deliver(&sending).await?;
        if let Some(working) = working {
            working.end().await;
        }
        let closing = job.stop.restated(closing);
        Ok(self.close(job.turn, &job.row, closing, sent).await?)
    }

    /// Finds out what to say.
    async fn work(
        &self,
        bot: &Arc<BotRuntime>,
        job: &mut Job,
        working: &mut Option<Working>,
    ) -> Result<Ended, TurnError> {
        if job.stop.is_ended() {
            return Ok(Ended::silent(Verdict::Stopped, ""));
        }
        let message = &job.row.message;
        self.welcome_before(bot, message).await?;
        let classified = self.shared.classifier.classify(&message.content, message.channel);
        match &classified.intent {
            Intent::System { command, argument } => {
                self.command(bot, job, *command, argument).await
            }
            Intent::UnknownCommand { word } => {
                let say = Say::UnknownCommand { word: word.clone() };
                Ok(Ended::saying(&say, bot.locale, Verdict::Command))
            }
            Intent::RemoteExec { command } => Ok(remote_exec(bot, command)),
            Intent::IdeAgent { command } if command.is_empty() => {
                let say = Say::PrefixUsage { prefix: '>' };
                Ok(Ended::saying(&say, bot.locale, Verdict::Command))
            }
            Intent::IdeAgent { .. } if is_addressed_to_an_editor(&classified) => {
                let mut ended = Ended::saying(&Say::NoEditor, bot.locale, Verdict::Refused);
                "no editor is connected".clone_into(&mut ended.reason);
                Ok(ended)
            }
            Intent::IdeAgent { .. } | Intent::BotAgent => {
                if says_nothing(&job.row.message) {
                    return Ok(Ended::saying(&Say::SayMore, bot.locale, Verdict::Answered));
                }
                self.ask_engine(bot, job, working).await
            }
        }
    }

    /// What the model is told before the question: what was said beside it, and that it is late.
    async fn context_for(&self, bot: &BotRuntime, job: &Job) -> Vec<String> {
        let mut context = Vec::new();
        if !job.row.message.is_private {
            context.extend(self.context_of(bot, &job.row.message).await);
        }
        context.extend(lateness(&job.row, &bot.rules.stale).map(|late| {
            let minutes = late.ago.as_secs() / 60;
            format!(
                "The next message arrived {minutes} minutes after it was sent. Mind that it \
                 speaks of that time."
            )
        }));
        context
    }

    /// The answer to a late message says how old that is, the one to a pressed question what was
    /// asked.
    fn dated(&self, bot: &BotRuntime, job: &Job, mut ended: Ended) -> Ended {
        let is_late = lateness(&job.row, &bot.rules.stale).is_some();
        if let Some(text) = ended.text.as_mut().filter(|_| is_late) {
            let ago = self.shared.clock.now().since(job.row.message.timestamp);
            *text = format!("{}\n{text}", Say::Door(DoorSay::SentAgo { ago }).text(bot.locale));
        }
        let message = &job.row.message;
        if let Some(text) = ended.text.as_mut().filter(|_| message.was_pressed()) {
            let asked = Aside::Asked { question: message.content.clone() };
            *text = format!("{}\n{text}", Say::Aside(asked).text(bot.locale));
        }
        ended
    }

    /// Begins a run, and anew as long as something that it is made of was taken back meanwhile;
    /// or ends without one.
    async fn begin(
        &self,
        bot: &BotRuntime,
        job: &mut Job,
        journal: &TurnJournal,
    ) -> Result<ControlFlow<Ended, AgentRunV1>, TurnError> {
        loop {
            let taken_back = self.taken_back(&job.row);
            let mut message = job.row.message.clone();
            let beside = self.look_up(bot, job, &message).await?;
            let session = self.shared.store.session(&message.session.id).await?.unwrap_or_default();
            message.session.history = session.history;
            message.reply_fn.bind(self.sink());
            let context = self.context_for(bot, job).await;
            let spec = match spec(bot, job, &message, (beside, context), session.epoch) {
                Ok(spec) => spec,
                Err(reason) => return Ok(ControlFlow::Break(apology(bot, job, &reason))),
            };
            let run = match bot.driver.begin(spec, journal).await {
                Ok(run) => run,
                Err(error) => return drive_failed(bot, job, error).map(ControlFlow::Break),
            };
            // Nothing is waited for between this and the call of the model.
            if self.taken_back(&job.row) == taken_back {
                return Ok(ControlFlow::Continue(run));
            }
            self.end_if_withdrawn(job);
            self.recompose(job).await;
        }
    }

    /// Runs the engine, from the beginning or from where the journal ends.
    async fn ask_engine(
        &self,
        bot: &BotRuntime,
        job: &mut Job,
        working: &mut Option<Working>,
    ) -> Result<Ended, TurnError> {
        let shared = &self.shared;
        let (journal, entries) =
            TurnJournal::open(Arc::clone(&shared.store), Arc::clone(&shared.clock), job.turn)
                .await?;
        if job.row.lane == Lane::Session {
            // A run that was begun has its sign; a message that only waited has none yet.
            *working = Some(Working::begin(self, bot, job, !entries.is_empty()));
        }
        // A run that nothing came of must not go on with what was taken back meanwhile.
        let is_void = is_only_begun(&entries) && self.taken_back(&job.row) > 0;
        let (run, begun) = if entries.is_empty() || is_void {
            match self.begin(bot, job, &journal).await? {
                ControlFlow::Continue(run) => (run, Vec::new()),
                ControlFlow::Break(ended) => return Ok(ended),
            }
        } else {
            let (run, begun) = match replay(&entries) {
                Ok(replayed) => replayed,
                Err(error) => return Ok(apology(bot, job, &error.to_string())),
            };
            match bot.driver.resume(run, &journal).await {
                Ok(run) => (run, begun),
                Err(error) => return drive_failed(bot, job, error),
            }
        };
        // Of the run, not of now: `/new` may have come meanwhile.
        let epoch = run.spec().map_or(0, |spec| spec.epoch);
        let notice = run.spec().map(|spec| spec.notice.clone()).unwrap_or_default();
        let halt = self.halt(job);
        let live = Live::begin(self, bot, job, &entries).await?;
        let outcome = bot.driver.drive(run, &begun, &journal, &live, &halt).await;
        let shown = live.end().await;
        let ended = match outcome {
            Ok(outcome) => self.dated(bot, job, ended(outcome, epoch)).with_notice(&notice),
            Err(error) => drive_failed(bot, job, error)?,
        };
        Ok(Ended { shown, ..ended })
    }
}

fn spec(
    bot: &BotRuntime,
    job: &Job,
    message: &AgentMessage,
    (beside, context): (Beside, Vec<String>),
    epoch: u64,
) -> Result<crate::agent::RunSpec, String> {
    let route = route(message.channel, message.explicit_preset(), &bot.preset);
    let spec = bot.run_spec(job.turn, message, beside, &route.preset, epoch);
    let mut spec = spec.map_err(|error| error.to_string())?;
    spec.history.extend(context.into_iter().map(|text| ChatMessage::User { text }));
    Ok(spec)
}

/// Neither words nor anything that could be asked about.
fn says_nothing(message: &AgentMessage) -> bool {
    message.content.is_empty() && message.attachments.is_empty() && message.quotes.is_none()
}

/// Some failures are over when the store works again, others will never be.
fn drive_failed(bot: &BotRuntime, job: &Job, error: DriveError) -> Result<Ended, TurnError> {
    match error {
        DriveError::Drained => Err(TurnError::Drained),
        DriveError::Journal(_) => Err(TurnError::Run(error)),
        DriveError::Illegal(_) | DriveError::NotOffered(_) => {
            Ok(apology(bot, job, &error.to_string()))
        }
    }
}

fn apology(bot: &BotRuntime, job: &Job, reason: &str) -> Ended {
    Event::TurnFailed { turn: &job.turn, error: &reason }.emit();
    let say = Say::Apology { reference: job.turn.to_string() };
    let mut ended = Ended::saying(&say, bot.locale, Verdict::Failed);
    reason.clone_into(&mut ended.reason);
    ended
}

fn remote_exec(bot: &BotRuntime, command: &str) -> Ended {
    if command.is_empty() {
        let say = Say::PrefixUsage { prefix: '$' };
        return Ended::saying(&say, bot.locale, Verdict::Command);
    }
    let say = Say::NoPreset { preset: "remote-exec".to_owned() };
    let mut ended = Ended::saying(&say, bot.locale, Verdict::Refused);
    "policy: remote-exec is not part of this bot".clone_into(&mut ended.reason);
    ended
}

/// Somebody named the editor (a wrapper, a prefix). Mere signals are not enough to send a
/// question away while no editor is connected: the bot answers those itself.
fn is_addressed_to_an_editor(classified: &Classified) -> bool {
    classified.explicit
}

fn ended(outcome: Outcome, epoch: u64) -> Ended {
    match outcome {
        Outcome::Answered { text, partial } => Ended {
            remember: Remember::Exchange { epoch, answer: text.clone() },
            text: Some(text),
            verdict: Verdict::Answered,
            reason: if partial { "partial".to_owned() } else { String::new() },
            pairing: None,
            card: None,
            changes: Vec::new(),
            held: None,
            shown: Draft::default(),
        },
        Outcome::Apologised { text, reason } => Ended {
            text: Some(text),
            verdict: Verdict::Failed,
            reason,
            remember: Remember::Nothing,
            pairing: None,
            card: None,
            changes: Vec::new(),
            held: None,
            shown: Draft::default(),
        },
        Outcome::Cancelled => Ended::silent(Verdict::Stopped, ""),
        Outcome::LeaseLost => Ended::silent(Verdict::Failed, "another node took the session over"),
    }
}
