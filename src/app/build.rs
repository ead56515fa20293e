//! From settings to parts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::models::Models;
use crate::agent::{Driver, Pipeline};
use crate::base::{BotName, Clock, Faults, Secret, SecretRef, SystemClock};
use crate::bots::{
    AtAllWord, BotDefinition, BotsWord, DoubtRule, Entry, LarkSection, MentionWord, Need,
    RenderWord, SessionWord, Transport,
};
use crate::channels::lark::{EventsVia, LarkBotSettings, Look, SettingsError};
use crate::config::{Environment, Settings, StoreEngine};
use crate::envelope::{Channel, Form, Knowledge, Lookup, Outlet};
use crate::gateway::{AdmissionRules, BotRuntime, InDoubt, MentionRule, SessionScope};
use crate::knowledge::KnowledgeBase;
use crate::llm::LlmError;
use crate::net::NetError;
use crate::store::{self, Store, StoreError};
use crate::task::TaskSet;
use crate::telemetry::Event;
use crate::tools::{
    GetRecipe, ListFiles, ReadFile, SearchCode, SearchKnowledge, Tier, ToolRegistry, Workspace,
};

/// The daemon could not be built or kept running.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The outgoing HTTP client.
    #[error("the HTTP client cannot be built: {0}")]
    Net(#[from] NetError),
    /// A model.
    #[error("the model cannot be used: {0}")]
    Model(#[from] LlmError),
    /// The machine's signals.
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
    /// The address.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// What was tried.
        address: String,
        /// What the machine said.
        cause: std::io::Error,
    },
    /// A file of the data folder.
    #[error("{file} cannot be written: {cause}")]
    DataFile {
        /// Which.
        file: String,
        /// What the machine said.
        cause: std::io::Error,
    },
    /// A schedule that makes no sense, which the check of the configuration rules out.
    #[error("a schedule cannot be kept: {0}")]
    Schedule(#[from] crate::bots::TimetableError),
    /// No bot of that name.
    #[error("there is no bot named `{0}`")]
    NoSuchBot(String),
    /// The bot ended without an answer.
    #[error("the bot ended without an answer")]
    NoAnswer,
}

/// What tests from outside may move: the clock, and a point at which the process is killed.
#[derive(Clone, Debug, Default)]
pub struct TestSupport {
    /// Added to the machine's clock.
    pub clock_offset_ms: i64,
    /// Where to stop.
    pub faults: Faults,
}

impl TestSupport {
    /// From `LARKSPUR_CLOCK_OFFSET_MS` and `LARKSPUR_FAULT`; nothing in a release build.
    #[cfg(feature = "test-support")]
    pub fn from_environment(environment: &Environment) -> Self {
        let offset = environment.get("LARKSPUR_CLOCK_OFFSET_MS").and_then(|text| text.parse().ok());
        let faults = environment.get("LARKSPUR_FAULT").and_then(Faults::armed);
        Self { clock_offset_ms: offset.unwrap_or(0), faults: faults.unwrap_or_default() }
    }

    /// From `LARKSPUR_CLOCK_OFFSET_MS` and `LARKSPUR_FAULT`; nothing in a release build.
    #[cfg(not(feature = "test-support"))]
    pub fn from_environment(_environment: &Environment) -> Self {
        Self::default()
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock::with_offset(self.clock_offset_ms))
    }
}

/// What the parts are made with.
pub(super) struct Parts<'a> {
    pub(super) settings: &'a Settings,
    pub(super) models: &'a Models,
    pub(super) tasks: &'a TaskSet,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) faults: &'a Faults,
}

impl Parts<'_> {
    /// Opens the store. Blocks while it reads the disk.
    pub(super) fn store(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self.settings.store {
            StoreEngine::Sled => {
                store::open_sled(&self.settings.data_dir, self.tasks.clone(), self.faults.clone())
            }
            StoreEngine::Memory => store::memory(self.tasks.clone()),
        }
    }

    /// A bot with its engine and the given ways out.
    pub(super) fn bot(
        &self,
        bot: &BotDefinition,
        outlets: HashMap<Channel, Arc<dyn Outlet>>,
        lookups: HashMap<Channel, Arc<dyn Lookup>>,
    ) -> BotRuntime {
        let locale = bot.locale.unwrap_or(self.settings.locale);
        let folders = bot.knowledge.iter().map(|folder| self.settings.root.join(folder)).collect();
        let knowledge: Arc<dyn Knowledge> =
            Arc::new(KnowledgeBase::new(folders, self.tasks.clone(), Arc::clone(self.clock)));
        BotRuntime {
            name: BotName::new(bot.name.clone()),
            rules: rules(bot),
            locale,
            persona: bot.persona.clone(),
            preset: bot.preset.clone(),
            session_scope: match bot.groups.session {
                SessionWord::Chat => SessionScope::Chat,
                SessionWord::User => SessionScope::User,
                SessionWord::Thread => SessionScope::Thread,
            },
            queue_max: bot.groups.queue_max,
            welcome: bot.welcome,
            examples: bot.examples.clone(),
            in_doubt: match bot.in_doubt {
                DoubtRule::Resend => InDoubt::Resend,
                DoubtRule::Drop => InDoubt::Drop,
            },
            driver: self.driver(bot, &knowledge),
            knowledge: Some(knowledge),
            knowledge_url: bot.knowledge_url.clone(),
            schedules: bot.schedules.clone(),
            outlets,
            people: None,
            links: None,
            lookups,
        }
    }

    fn driver(&self, bot: &BotDefinition, knowledge: &Arc<dyn Knowledge>) -> Driver {
        let mut registry = ToolRegistry::default();
        registry.add(Arc::new(SearchKnowledge::new(Arc::clone(knowledge))));
        registry.add(Arc::new(GetRecipe::new(Arc::clone(knowledge))));
        let workspace = self.workspace(bot);
        if let Some((workspace, _)) = &workspace {
            let tasks = || self.tasks.clone();
            registry.add(Arc::new(ListFiles::new(workspace.clone(), tasks())));
            registry.add(Arc::new(ReadFile::new(workspace.clone(), tasks())));
            registry.add(Arc::new(SearchCode::new(workspace.clone(), tasks())));
        }
        let root = workspace.map(|(_, root)| root);
        Driver {
            model: self.models.of(bot),
            pipeline: Pipeline::new(registry, Tier::Propose, root),
            clock: Arc::clone(self.clock),
            faults: self.faults.clone(),
        }
    }
}

impl Parts<'_> {
    /// The code that a bot's tools read, and where it is. A folder that is not there is a warning of
    /// the check.
    fn workspace(&self, bot: &BotDefinition) -> Option<(Workspace, PathBuf)> {
        if bot.workspace.as_os_str().is_empty() {
            return None;
        }
        let settings = self.settings;
        let root = settings.root.join(&bot.workspace);
        let own =
            [settings.data_dir.clone(), settings.bots_dir.clone(), settings.root.join("config")];
        let opened = Workspace::open(&root, &own);
        if let Err(error) = &opened {
            Event::SideEffectFailed { what: "workspace", error }.emit();
        }
        opened.ok().map(|workspace| (workspace, root))
    }
}

fn rules(bot: &BotDefinition) -> AdmissionRules {
    // What is no entry is an error of the check, and such a bot does not run.
    let entries = |list: &[String]| {
        list.iter().filter_map(|entry| Entry::parse(entry).ok()).collect::<Vec<_>>()
    };
    AdmissionRules {
        users: entries(&bot.access.users),
        chats: bot.access.chats.clone(),
        admins: entries(&bot.access.admins),
        mention: match bot.groups.mention {
            MentionWord::Required => MentionRule::Required,
            MentionWord::Optional => MentionRule::Optional,
            MentionWord::Smart => MentionRule::Smart,
        },
        answers_at_all: bot.groups.at_all == AtAllWord::Answer,
        hears_bots: bot.groups.bots == BotsWord::Mentioned,
        history: bot.groups.history,
        stale: bot.groups.stale,
    }
}

/// The settings of a bot's app, its secrets read.
///
/// # Errors
/// Which keys are missing, in words for the operator.
pub(super) fn lark_settings(
    name: &BotName,
    lark: &LarkSection,
    environment: &Environment,
    root: &Path,
) -> Result<LarkBotSettings, String> {
    let mut missing = Vec::new();
    let [app_secret, encrypt_key, verification_token] = lark.secrets().map(|(key, text, need)| {
        // What is not needed is not read.
        if need == Need::Optional {
            return Secret::new("");
        }
        let read = SecretRef::parse(text)
            .ok_or_else(|| "it is not set".to_owned())
            .and_then(|reference| environment.secret(&reference, root));
        read.unwrap_or_else(|cause| {
            missing.push(format!("lark.{key} ({cause})"));
            Secret::new("")
        })
    });
    let settings = LarkBotSettings {
        bot: name.clone(),
        app_id: lark.app_id.clone(),
        app_secret,
        encrypt_key,
        verification_token,
        base_url: lark.api_url(),
        events: match lark.transport {
            Transport::Webhook => EventsVia::Webhook,
            Transport::Websocket => EventsVia::LongConnection,
        },
        look: Look {
            form: match lark.render {
                RenderWord::Card => Form::Card,
                RenderWord::Post => Form::Post,
                RenderWord::Text => Form::Text,
            },
            live: lark.live,
        },
        picture_hosts: lark.picture_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
    };
    if missing.is_empty() {
        settings.check().map_err(|error: SettingsError| error.to_string())?;
        return Ok(settings);
    }
    Err(format!("missing: {}", missing.join(", ")))
}
