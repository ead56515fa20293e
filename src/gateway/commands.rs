//! The control commands. Each ends in a plan like any other turn, so that a crash neither loses
//! nor doubles its answer.

use std::time::Duration;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::plan::{Ended, Remember};
use super::sessions::Job;
use super::turn::TurnError;
use super::why::happened_in;
use crate::base::catalogue::{LinkLine, StatusLine};
use crate::base::{MessageId, Say, SessionKey, Timestamp, Verdict};
use crate::envelope::LinkState;
use crate::routing::Command;
use crate::store::{ClosingV1, Standing, StoreError};

/// A command that changes something and is older than this does not act any more.
const COMMAND_AGE_MAX: Duration = Duration::from_secs(600);
/// How long `/stop` waits for what it stopped before it answers.
const STOP_PATIENCE: Duration = Duration::from_secs(1);
const STOP_POLL: Duration = Duration::from_millis(10);

impl Gateway {
    /// Carries a command out and says so.
    pub(super) async fn command(
        &self,
        bot: &BotRuntime,
        job: &Job,
        command: Command,
        argument: &str,
    ) -> Result<Ended, TurnError> {
        let message = &job.row.message;
        let age = self.shared.clock.now().since(message.timestamp);
        if command.changes_something() && age > COMMAND_AGE_MAX {
            let reason = format!("sent {} s before it could be carried out", age.as_secs());
            return Ok(Ended::silent(Verdict::Stale, reason));
        }
        let say = match command {
            Command::Digest => return self.digest(bot, job, argument).await,
            Command::Pair => return Ok(self.pair(bot, job, argument).await),
            Command::Help => Say::Help,
            Command::Ping => Say::Pong,
            Command::Version => Say::Version { version: self.shared.version.to_owned() },
            Command::Status => self.status(bot, job),
            Command::Stop => match self.stop_session(&message.session.id, message.timestamp).await?
            {
                0 => Say::NothingToStop,
                turns => Say::Stopped { turns },
            },
            Command::Why => self.explain(job, argument).await?,
            Command::New => Say::FreshConversation,
        };
        let mut ended = Ended::saying(&say, bot.locale, Verdict::Command);
        if command == Command::New {
            ended.remember = Remember::Afresh;
        }
        Ok(ended)
    }

    fn status(&self, bot: &BotRuntime, job: &Job) -> Say {
        let (running, queued) = self.shared.sessions.counts(&job.row.message.session.id);
        // As admission saw it: a status waits for no look-up of roles.
        let is_admin = job.row.admitted.standing == Standing::Admin;
        let now = self.shared.clock.now();
        Say::Status(StatusLine {
            bot: bot.name.to_string(),
            version: self.shared.version.to_owned(),
            model: bot.driver.model.name().to_owned(),
            resting: bot.driver.model.resting(),
            uptime: now.since(self.shared.started_at),
            queued,
            running,
            link: link_line(bot, now),
            calls_this_month: is_admin.then(|| self.shared.meter.in_month_of(now)),
        })
    }

    /// Stops what was sent to a session until `sent_until`. Who waited is closed for good on
    /// return, who was served has been told to end.
    pub(super) async fn stop_session(
        &self,
        key: &SessionKey,
        sent_until: Timestamp,
    ) -> Result<usize, StoreError> {
        let (was_served, waiting) = self.shared.sessions.stop(key, sent_until);
        let turns = waiting.len() + usize::from(was_served);
        let closing = ClosingV1 { verdict: Verdict::Stopped, reason: String::new() };
        if let Err(error) = self.close_unworked(&waiting, &closing, Vec::new()).await {
            if self.shared.sessions.put_back(key, waiting) {
                self.start_worker(key.clone());
            }
            return Err(error);
        }
        // "Stopped" should be true when it is read. What takes longer is stopping all the same.
        let ended = async {
            while self.shared.sessions.counts(key).0 > 0 {
                tokio::time::sleep(STOP_POLL).await;
            }
        };
        if was_served {
            tokio::time::timeout(STOP_PATIENCE, ended).await.unwrap_or_default();
        }
        Ok(turns)
    }

    async fn explain(&self, job: &Job, argument: &str) -> Result<Say, TurnError> {
        let asked = match argument {
            "" => job.row.message.quotes.clone(),
            id => Some(MessageId::new(id)),
        };
        let Some(asked) = asked else { return Ok(Say::WhyWhat) };
        let destination = job.row.message.reply_fn.destination();
        let found = self.find(&asked).await?;
        let found = found.filter(|found| happened_in(found, &destination.bot, &destination.chat));
        let why = self.why_of(found);
        if why.verdict == Verdict::NeverReceived {
            return Ok(Say::WhyNeverReceived);
        }
        Ok(Say::Why { verdict: why.verdict, reason: why.reason })
    }
}

/// How the bot's connection is, if it needs one.
fn link_line(bot: &BotRuntime, now: Timestamp) -> Option<LinkLine> {
    let link = bot.links.as_ref()?.link(&bot.name)?;
    Some(match link.state {
        LinkState::Connected { since } => LinkLine::Connected(now.since(since)),
        LinkState::Connecting { since, .. } => LinkLine::Connecting(now.since(since)),
        LinkState::Refused { since, .. } => LinkLine::Refused(now.since(since)),
    })
}
