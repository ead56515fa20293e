//! The control commands. Each ends in a plan like any other turn, so that a crash neither loses
//! nor doubles its answer.

use std::time::Duration;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::plan::{Ended, Remember};
use super::sessions::Job;
use super::turn::TurnError;
use crate::base::catalogue::StatusLine;
use crate::base::{MessageId, Say, SessionKey, Verdict};
use crate::envelope::Control;
use crate::routing::Command;
use crate::store::{ClosingV1, StoreError};

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
            Command::Help => Say::Help,
            Command::Ping => Say::Pong,
            Command::Version => Say::Version { version: self.shared.version.to_owned() },
            Command::Status => self.status(bot, job),
            Command::Stop => match self.stop_session(&job.row.message.session.id).await? {
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
        Say::Status(StatusLine {
            bot: bot.name.to_string(),
            version: self.shared.version.to_owned(),
            model: bot.driver.model.name().to_owned(),
            uptime: self.shared.clock.now().since(self.shared.started_at),
            queued,
            running,
        })
    }

    /// Stops what runs and waits in a session. Who waited is closed for good on return, who was
    /// served has been told to end.
    pub(super) async fn stop_session(&self, key: &SessionKey) -> Result<usize, StoreError> {
        let (was_served, waiting) = self.shared.sessions.stop(key);
        for job in &waiting {
            let closing = ClosingV1 { verdict: Verdict::Stopped, reason: String::new() };
            self.close(job.turn, &job.row, closing, Vec::new()).await?;
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
        Ok(waiting.len() + usize::from(was_served))
    }

    async fn explain(&self, job: &Job, argument: &str) -> Result<Say, TurnError> {
        let asked = match argument {
            "" => job.row.message.quotes.clone(),
            id => Some(MessageId::new(id)),
        };
        let Some(asked) = asked else { return Ok(Say::WhyWhat) };
        let why = self.why(&asked).await;
        let why = why.map_err(|error| StoreError::Disk(error.to_string()))?;
        if why.verdict == Verdict::NeverReceived {
            return Ok(Say::WhyNeverReceived);
        }
        Ok(Say::Why { verdict: why.verdict, reason: why.reason })
    }
}
