//! The long connection: the daemon asks for an address, connects, and events come to it.
//!
//! The story of one bot from top to bottom: discover, connect, serve, connect again. Every try
//! begins with a fresh address. It never ends but with the daemon: what is wrong at the platform
//! or on the way may be put right at any time, and meanwhile readiness says what it is. One bot's
//! trouble touches no other.

pub(super) mod config;
mod connection;
mod discovery;
pub(super) mod fragments;
pub(super) mod frame;
mod lanes;
mod pace;
pub(super) mod reception;
mod vitals;

use std::sync::Arc;
use std::time::Duration;

use self::config::ClientConfig;
use self::connection::{Connection, Lost};
use self::discovery::{Trouble, discover};
use self::pace::{Ended, Pace};
use super::bot::LarkBot;
use super::link::LinkCell;
use crate::base::{Clock, Timestamp};
use crate::envelope::Inlet;
use crate::net::HttpFactory;
use crate::task::TaskSet;
use crate::telemetry::Event;

/// How often a connection looks at the clock.
const PULSE: Duration = Duration::from_secs(1);

/// What long connections work with.
#[derive(Clone)]
pub struct LinkDeps {
    http: HttpFactory,
    inlet: Arc<dyn Inlet>,
    clock: Arc<dyn Clock>,
    tasks: TaskSet,
    pulse: Duration,
}

impl LinkDeps {
    /// The way out, who takes events over, the time, and the set whose end is theirs.
    pub fn new(
        http: HttpFactory,
        inlet: Arc<dyn Inlet>,
        clock: Arc<dyn Clock>,
        tasks: TaskSet,
    ) -> Self {
        Self { http, inlet, clock, tasks, pulse: PULSE }
    }
}

impl std::fmt::Debug for LinkDeps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LinkDeps").field("http", &self.http).finish_non_exhaustive()
    }
}

/// Starts the task that keeps `bot` connected, if events come to it by a long connection.
pub fn hold_link(bot: Arc<LarkBot>, deps: &LinkDeps) {
    if bot.link_cell().is_some() {
        let (tasks, deps) = (deps.tasks.clone(), deps.clone());
        tasks.spawn("long_connection", async move {
            if let Some(link) = bot.link_cell() {
                Holder { bot: &bot, link, deps: &deps }.hold().await;
            }
        });
    }
}

/// Who keeps one bot connected.
struct Holder<'a> {
    bot: &'a Arc<LarkBot>,
    link: &'a LinkCell,
    deps: &'a LinkDeps,
}

/// How one round ended.
enum Round {
    /// There was no connection.
    Without(Trouble),
    /// There was one, since then.
    With(Timestamp, Lost),
}

impl Holder<'_> {
    async fn hold(&self) {
        let drain = self.deps.tasks.cancellation().clone();
        let mut pace = Pace::new(self.bot.name(), self.deps.clock.now());
        let mut config = ClientConfig::default();
        self.link.failed(self.deps.clock.now(), None);
        while !drain.is_cancelled() {
            // A connection says goodbye by itself; before it stands there is nothing to say.
            let round = Box::pin(self.round(&mut config)).await;
            if matches!(round, Round::With(_, Lost::Drained)) {
                return;
            }
            let wait = pace.wait(self.ended(&round), &config);
            self.report(&round, wait);
            tokio::select! {
                () = drain.cancelled() => return,
                () = self.pause(wait) => {}
            }
        }
    }

    /// Discover, connect, serve.
    async fn round(&self, config: &mut ClientConfig) -> Round {
        let drain = self.deps.tasks.cancellation();
        let connecting = async {
            let address = discover(self.bot.api()).await?;
            Connection::open(self.deps, self.bot, address, config).await
        };
        let opened = tokio::select! {
            () = drain.cancelled() => return Round::With(Timestamp::default(), Lost::Drained),
            opened = connecting => opened,
        };
        let connection = match opened {
            Ok(connection) => connection,
            Err(trouble) => return Round::Without(trouble),
        };
        let since = self.deps.clock.now();
        self.link.connected(since);
        Event::LinkUp { bot: self.bot.name().as_str() }.emit();
        Round::With(since, connection.serve().await)
    }

    fn ended(&self, round: &Round) -> Ended {
        match round {
            Round::Without(trouble) if trouble.is_refusal => Ended::Refused,
            Round::Without(_) => Ended::Failed,
            Round::With(_, Lost::Jumped) => Ended::Jumped,
            Round::With(since, _) => Ended::Lost(self.deps.clock.now().since(*since)),
        }
    }

    fn report(&self, round: &Round, wait: Duration) {
        let (bot, now) = (self.bot.name().as_str(), self.deps.clock.now());
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        match round {
            Round::With(_, lost) => {
                self.link.failed(now, Some(lost.to_string()));
                Event::LinkDown { bot, reason: lost, wait_ms }.emit();
            }
            Round::Without(trouble) if trouble.is_refusal => {
                self.link.refused(now, trouble.to_string());
                Event::LinkRefused { bot, error: trouble, wait_ms }.emit();
            }
            Round::Without(trouble) => {
                self.link.failed(now, Some(trouble.to_string()));
                Event::LinkFailed { bot, error: trouble, wait_ms }.emit();
            }
        }
    }

    /// Waits on the clock of the day, which goes on while the machine sleeps, but no longer than
    /// it takes awake.
    async fn pause(&self, wait: Duration) {
        let until = self.deps.clock.now().after(wait);
        let by_the_clock = async {
            while self.deps.clock.now() < until {
                tokio::time::sleep(self.deps.pulse.min(wait)).await;
            }
        };
        tokio::time::timeout(wait, by_the_clock).await.unwrap_or_default();
    }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
