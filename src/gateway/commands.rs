//! The control commands. Each ends in a plan like any other turn, so that a crash neither loses
//! nor doubles its answer.

use std::time::Duration;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::plan::{Ended, Remember};
use super::sessions::Job;
use super::turn::TurnError;
use crate::base::catalogue::StatusLine;
use crate::base::{MessageId, Say, Verdict};
use crate::envelope::Control;
use crate::routing::Command;
use crate::store::StoreError;

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
            Command::Stop => self.stop_session(job).await,
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

    async fn stop_session(&self, job: &Job) -> Say {
        let key = &job.row.message.session.id;
        let turns = self.shared.sessions.stop(key);
        // "Stopped" should be true when it is read: the stopped turns are closed first.
        let closed = async {
            while self.shared.sessions.counts(key) != (0, 0) {
                tokio::time::sleep(STOP_POLL).await;
            }
        };
        let in_time = tokio::time::timeout(STOP_PATIENCE, closed).await.is_ok();
        match (turns, in_time) {
            (0, _) => Say::NothingToStop,
            // What takes longer is stopping all the same; its own verdict will say so.
            (turns, true | false) => Say::Stopped { turns },
        }
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
