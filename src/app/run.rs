//! The life of the daemon, top to bottom.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::build::{AppError, Parts, TestSupport, lark_settings};
use super::hooks::hooks;
use super::models::{Models, http};
use super::readiness::AppReadiness;
use super::usage::Usage;
use super::{drain, server};
use crate::admin::{self, Guard, Metrics, Upkeep};
use crate::base::problem::Severity;
use crate::base::{BotName, Clock, Problem, Secret, Timestamp};
use crate::channels::lark::{
    self, LarkBot, LarkBots, LarkDeps, LarkOutlet, Limiter, LinkDeps, Webhook, hold_link,
    learn_identity,
};
use crate::channels::webhook::{self, Hooks};
use crate::config::{Environment, Loaded, Settings};
use crate::envelope::{Channel, Links, Lookup, Outlet, People};
use crate::gateway::{BotRuntime, Gateway, GatewayDeps};
use crate::routing::Classifier;
use crate::scheduler::{Scheduler, SchedulerDeps};
use crate::store::{Retention, Store, Sweeper};
use crate::task::TaskSet;
use crate::telemetry::{CallMeter, Counters, Event};

/// After the work has ended, requests that are under way may take this long.
const CONNECTIONS_PATIENCE: Duration = Duration::from_secs(1);

/// The daemon, built and not yet running.
pub struct App {
    settings: Settings,
    environment: Environment,
    bots: Vec<crate::bots::BotDefinition>,
    left_out: Vec<String>,
    counters: Counters,
    meter: CallMeter,
    support: TestSupport,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    listening: Option<oneshot::Sender<Bound>>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("App").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Where a running daemon listens.
#[derive(Clone, Copy, Debug)]
pub struct Bound(pub SocketAddr);

/// The bots as they run.
struct Bots {
    lark: Arc<LarkBots>,
    runtimes: Vec<BotRuntime>,
    not_started: Vec<String>,
}

impl App {
    /// Takes the configuration over. Nothing is opened yet.
    pub fn new(loaded: Loaded, environment: Environment, counters: Counters) -> Self {
        let support = TestSupport::from_environment(&environment);
        let clock = support.clock();
        Self {
            settings: loaded.settings,
            environment,
            bots: loaded.bots,
            counters,
            meter: CallMeter::default(),
            support,
            left_out: left_out(&loaded.problems),
            started_at: clock.now(),
            clock,
            listening: None,
        }
    }

    /// Runs on another clock than the machine's.
    #[must_use]
    pub fn on_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { started_at: clock.now(), clock, ..self }
    }

    /// Says once where it listens.
    #[must_use]
    pub fn announcing(self, listening: oneshot::Sender<Bound>) -> Self {
        Self { listening: Some(listening), ..self }
    }

    /// Runs until SIGTERM or SIGINT, then drains.
    ///
    /// # Errors
    /// What keeps the daemon from starting. Once it listens it does not fail.
    pub async fn run(mut self) -> Result<(), AppError> {
        // From here on a signal is an orderly end, however early it comes.
        let terminated = drain::termination().map_err(AppError::Signals)?;
        // Three lives: the drain ends the taking of work; the server outlives the work, so that
        // whoever comes meanwhile is told to come again; the store outlives both.
        let drain = CancellationToken::new();
        let tasks = TaskSet::new("daemon", drain.clone());
        let server_tasks = TaskSet::new("server", CancellationToken::new());
        let store_tasks = TaskSet::new("store", CancellationToken::new());

        let store = self.open_store(&store_tasks)?;
        let usage = Usage::new(&store, &self.meter);
        usage.restore(self.clock.now()).await;
        let bots = self.bots(&tasks)?;
        let gateway = self.gateway(&store, &tasks, bots.runtimes);
        let left_open = gateway.recover().await?;

        let listener = self.listen().await?;
        let bound = Bound(listener.local_addr().map_err(|cause| self.cannot_listen(cause))?);
        self.write_data_file("listen", &bound.0.to_string())?;
        let readiness = AppReadiness {
            lark: Arc::clone(&bots.lark),
            not_started: bots.not_started,
            left_open,
            store: Arc::clone(&store),
            drain: drain.clone(),
        };
        let sweeper = self.sweeper(&store, &tasks);
        let router = self.router(&gateway, &bots.lark, readiness, bound)?;
        let router = router.merge(admin::store_router(Upkeep {
            store: Arc::clone(&store),
            clock: Arc::clone(&self.clock),
            sweeper: Arc::clone(&sweeper),
            guard: self.guard(bound)?,
        }));
        let scheduler = self.scheduler(&store, &gateway)?;
        let router = router
            .merge(admin::jobs_router(Arc::<Scheduler>::clone(&scheduler), self.guard(bound)?));
        let inlet = Arc::new(gateway.clone());
        let links =
            LinkDeps::new(http(&self.settings), inlet, Arc::clone(&self.clock), tasks.clone());
        for bot in bots.lark.all() {
            learn_identity(Arc::clone(&bot), &tasks);
            hold_link(bot, &links);
        }
        Event::Listening { address: &bound.0, startup_ms: self.age_ms() }.emit();
        if let Some(listening) = self.listening.take() {
            // Whoever asked may be gone.
            listening.send(bound).unwrap_or_default();
        }
        tasks.spawn("usage", usage.clone().keep(drain.clone()));
        let serving = server::serve(
            listener,
            router,
            self.settings.server.request_timeout,
            server_tasks.clone(),
        );
        server_tasks.spawn("server", serving);
        sweeper.start();
        let (of, end) = (gateway.clone(), drain.clone());
        tasks.spawn("schedules", async move {
            of.begin_digests().await;
            scheduler.run(end).await;
        });
        tasks.blocking("warm_up", move || gateway.warm_up()).await;

        terminated.await;
        Event::Draining.emit();
        drain.cancel();
        let unfinished = tasks.join(self.settings.server.drain_timeout).await;
        server_tasks.cancellation().cancel();
        server_tasks.join(CONNECTIONS_PATIENCE).await;
        usage.flush().await;
        store.close().await;
        Event::Drained { unfinished }.emit();
        Ok(())
    }

    fn parts<'a>(&'a self, models: &'a Models, tasks: &'a TaskSet) -> Parts<'a> {
        Parts {
            settings: &self.settings,
            models,
            tasks,
            clock: &self.clock,
            faults: &self.support.faults,
        }
    }

    fn open_store(&self, tasks: &TaskSet) -> Result<Arc<dyn Store>, AppError> {
        let models = Models::default();
        // Opening replays the log: it blocks, and nothing else is to be done meanwhile.
        Ok(tokio::task::block_in_place(|| self.parts(&models, tasks).store())?)
    }

    fn bots(&self, tasks: &TaskSet) -> Result<Bots, AppError> {
        let models = Models::new(&self.settings, &self.clock)?;
        let parts = self.parts(&models, tasks);
        let deps = LarkDeps {
            client: http(&self.settings).client()?,
            clock: Arc::clone(&self.clock),
            tasks: tasks.clone(),
            limiter: Limiter::new(Arc::clone(&self.clock)),
            meter: self.meter.clone(),
        };
        let mut not_started = self.left_out.clone();
        let mut running = Vec::new();
        for definition in &self.bots {
            let Some(section) = &definition.lark else { continue };
            let name = BotName::new(definition.name.clone());
            let settings = lark_settings(&name, section, &self.environment, &self.settings.root);
            let bot = settings.and_then(|settings| {
                LarkBot::new(settings, &deps).map_err(|error| error.to_string())
            });
            match bot {
                Ok(bot) => running.push(Arc::new(bot)),
                Err(reason) => {
                    Event::BotNotStarted { bot: name.as_str(), reason: &reason }.emit();
                    not_started.push(format!("bot {name} is not started: {reason}"));
                }
            }
        }
        let lark = Arc::new(LarkBots::new(running));
        let platform = Arc::new(LarkOutlet::new(Arc::clone(&lark)));
        let links: Arc<dyn Links> = Arc::<LarkBots>::clone(&lark);
        let people: Arc<dyn People> = Arc::<LarkOutlet>::clone(&platform);
        let lookup: Arc<dyn Lookup> = Arc::<LarkOutlet>::clone(&platform);
        let outlet: Arc<dyn Outlet> = platform;
        let outlets = HashMap::from([(Channel::Lark, outlet)]);
        let lookups = HashMap::from([(Channel::Lark, lookup)]);
        let runtimes = self.bots.iter().map(|definition| BotRuntime {
            people: Some(Arc::clone(&people)),
            links: Some(Arc::clone(&links)),
            ..parts.bot(definition, outlets.clone(), lookups.clone())
        });
        let runtimes = runtimes.collect();
        Ok(Bots { lark, runtimes, not_started })
    }

    fn gateway(&self, store: &Arc<dyn Store>, tasks: &TaskSet, bots: Vec<BotRuntime>) -> Gateway {
        let deps = GatewayDeps {
            store: Arc::clone(store),
            clock: Arc::clone(&self.clock),
            tasks: tasks.clone(),
            classifier: Classifier::default(),
            faults: self.support.faults.clone(),
            meter: self.meter.clone(),
            version: env!("CARGO_PKG_VERSION"),
        };
        Gateway::new(deps, bots)
    }

    fn scheduler(
        &self,
        store: &Arc<dyn Store>,
        gateway: &Gateway,
    ) -> Result<Arc<Scheduler>, AppError> {
        let deps = SchedulerDeps {
            store: Arc::clone(store),
            clock: Arc::clone(&self.clock),
            inlet: Arc::new(gateway.clone()),
            channel: Channel::Lark,
        };
        let named = |bot: &crate::bots::BotDefinition| {
            let name = BotName::new(bot.name.clone());
            let schedules = bot.schedules.iter().cloned();
            schedules.map(move |schedule| (name.clone(), schedule)).collect::<Vec<_>>()
        };
        Ok(Arc::new(Scheduler::new(deps, self.bots.iter().flat_map(named))?))
    }

    fn router(
        &self,
        gateway: &Gateway,
        bots: &Arc<LarkBots>,
        readiness: AppReadiness,
        bound: Bound,
    ) -> Result<Router, AppError> {
        let webhook = Webhook {
            bots: Arc::clone(bots),
            inlet: Arc::new(gateway.clone()),
            clock: Arc::clone(&self.clock),
            body_bytes_max: self.settings.server.body_bytes_max,
        };
        let guard = self.guard(bound)?;
        let events = admin::events_router(Arc::new(gateway.clone()), guard.clone());
        let operators = admin::router(
            Arc::new(readiness),
            Arc::new(gateway.clone()),
            Metrics {
                counters: self.counters.clone(),
                calls: self.meter.clone(),
                links: Arc::<LarkBots>::clone(bots),
            },
            guard,
        );
        let hooks = webhook::router(Hooks {
            hooks: Arc::new(hooks(&self.settings, &self.bots)),
            inlet: Arc::new(gateway.clone()),
            clock: Arc::clone(&self.clock),
            body_bytes_max: self.settings.server.body_bytes_max,
        });
        Ok(lark::router(webhook).merge(operators).merge(events).merge(hooks))
    }

    fn guard(&self, bound: Bound) -> Result<Guard, AppError> {
        let port = bound.0.port();
        let hosts =
            vec![bound.0.to_string(), format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Ok(Guard::new(self.admin_token()?, hosts))
    }

    fn sweeper(&self, store: &Arc<dyn Store>, tasks: &TaskSet) -> Arc<Sweeper> {
        let kept = &self.settings.retention;
        let retention =
            Retention { messages: kept.messages, overheard: kept.overheard, ledger: kept.ledger };
        Sweeper::new(Arc::clone(store), Arc::clone(&self.clock), retention, tasks.clone())
    }

    async fn listen(&self) -> Result<TcpListener, AppError> {
        TcpListener::bind(self.settings.server.listen)
            .await
            .map_err(|cause| self.cannot_listen(cause))
    }

    fn cannot_listen(&self, cause: std::io::Error) -> AppError {
        AppError::Listen { address: self.settings.server.listen.to_string(), cause }
    }

    /// The configured token, else the one made at the first start.
    fn admin_token(&self) -> Result<Secret, AppError> {
        if let Some(token) = &self.settings.admin_token {
            return Ok(token.clone());
        }
        match fs::read_to_string(self.settings.data_dir.join("admin-token")) {
            Ok(token) if !token.trim().is_empty() => Ok(Secret::new(token.trim())),
            Ok(_) | Err(_) => {
                let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
                self.write_data_file("admin-token", &token)?;
                Ok(Secret::new(token))
            }
        }
    }

    /// Writes a small file of the data folder, readable by this user alone.
    fn write_data_file(&self, name: &str, text: &str) -> Result<(), AppError> {
        let folder = &self.settings.data_dir;
        write_private(folder, name, text).map_err(|cause| AppError::DataFile {
            file: folder.join(name).display().to_string(),
            cause,
        })
    }

    fn age_ms(&self) -> u64 {
        let age = self.clock.now().since(self.started_at);
        u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The files of bots that are not in order, each with its first problem. Missing secrets are not
/// among them: such a bot is known, and says so itself.
fn left_out(problems: &[Problem]) -> Vec<String> {
    let mut files: Vec<&str> = Vec::new();
    let mut left_out = Vec::new();
    for problem in problems {
        let is_of_a_bot = !problem.key.starts_with("hooks[");
        let is_fatal =
            problem.severity == Severity::Error && is_of_a_bot && !problem.key.starts_with("lark.");
        if is_fatal && !files.contains(&problem.file.as_str()) {
            files.push(&problem.file);
            left_out.push(format!("a bot is not started: {problem}"));
        }
    }
    left_out
}

/// Writes beside the file and renames, so that a reader never sees half of it.
fn write_private(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".{name}.new"));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(draft, folder.join(name))
}
