//! From the written configuration to checked settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Config, FileFormat};

use super::DEFAULT_TOML;
use super::bots::load_bots;
use super::environment::Environment;
use super::hooks::{self, HookSettings};
use super::models::{self, ModelSettings};
use super::net::{self, NetSettings};
use super::range::{self, BODY_BYTES, DRAIN_TIMEOUT, REQUEST_TIMEOUT, RETENTION};
use super::raw::Raw;
use crate::base::problem::Problems;
use crate::base::{Locale, Problem, Secret, SecretRef};
use crate::bots::BotDefinition;
use crate::telemetry::{self, LogFormat};

/// Where the main file is looked for when none is named.
const DEFAULT_FILES: [&str; 2] = ["config/larkspur.toml", "/etc/larkspur/larkspur.toml"];

/// The checked configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where relative paths start.
    pub root: PathBuf,
    /// The folder of bot definitions.
    pub bots_dir: PathBuf,
    /// The folder of everything that must survive.
    pub data_dir: PathBuf,
    /// The language of the daemon's own sentences.
    pub locale: Locale,
    /// The HTTP server.
    pub server: ServerSettings,
    /// The engine of the store.
    pub store: StoreEngine,
    /// How long what is kept.
    pub retention: RetentionSettings,
    /// The token of the daemon's own interfaces; `None`: made at the first start.
    pub admin_token: Option<Secret>,
    /// What is logged.
    pub log_filter: String,
    /// How.
    pub log_format: LogFormat,
    /// The ways out.
    pub net: NetSettings,
    /// The models by name.
    pub models: BTreeMap<String, ModelSettings>,
    /// The generic webhooks.
    pub hooks: Vec<HookSettings>,
}

/// The HTTP server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The longest request body, in bytes.
    pub body_bytes_max: usize,
    /// How long a connection may take to send its headers and body.
    pub request_timeout: Duration,
    /// How long the work at hand may go on after SIGTERM.
    pub drain_timeout: Duration,
}

/// How long what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Conversations since their last change, and failed turns.
    pub messages: Duration,
    /// What was said beside the bot, and attachments without a question.
    pub overheard: Duration,
    /// Receipts and the ledger.
    pub ledger: Duration,
}

/// The engine of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEngine {
    /// On disk.
    Sled,
    /// Nothing survives the process.
    Memory,
}

/// A configuration that can be used, and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The bots whose files are in order.
    pub bots: Vec<BotDefinition>,
    /// Warnings, and the errors of bot files.
    pub problems: Vec<Problem>,
}

/// Loads the main file and all bots. Without `file` the default places are looked at; a machine
/// without any file runs on the defaults.
///
/// # Errors
/// Every problem there is, if the main configuration cannot be used.
pub fn load(file: Option<&Path>, environment: &Environment) -> Result<Loaded, Vec<Problem>> {
    let found = file
        .map(Path::to_path_buf)
        .or_else(|| DEFAULT_FILES.iter().map(PathBuf::from).find(|candidate| candidate.is_file()));
    let (settings, mut problems) = load_file(found.as_deref(), environment)?;
    let bots = load_bots(&settings, environment, &mut problems);
    let name = found.map(|file| file.display().to_string()).unwrap_or_default();
    hooks::check_bots(&name, &settings.hooks, &bots, &mut problems);
    Ok(Loaded { settings, bots, problems })
}

/// Loads the main file alone; `None`: the defaults.
///
/// # Errors
/// Every problem there is.
pub fn load_file(
    file: Option<&Path>,
    environment: &Environment,
) -> Result<(Settings, Vec<Problem>), Vec<Problem>> {
    let name = file.map_or_else(|| "defaults".to_owned(), |file| file.display().to_string());
    let mut source = String::new();
    if let Some(file) = file {
        match std::fs::read_to_string(file) {
            Ok(text) => source = text,
            Err(error) => {
                let mut problems = Problems::of(&name, "");
                problems.error("", format!("the file cannot be read: {error}"));
                return Err(problems.into_vec());
            }
        }
    }
    let mut problems = Problems::of(&name, &source);
    // The file alone first: its syntax errors have lines, those of the merged sources do not.
    if !problems.is_toml() {
        return Err(problems.into_vec());
    }
    let raw = merge(&source, environment, &mut problems);
    let settings = raw.and_then(|raw| check(raw, root_of(file), environment, &mut problems));
    let is_usable = !problems.has_errors();
    let problems = blame_the_environment(problems.into_vec(), environment);
    match settings {
        Some(settings) if is_usable => Ok((settings, problems)),
        Some(_) | None => Err(problems),
    }
}

/// A problem of a key that a variable sets is the variable's, not the file's.
fn blame_the_environment(problems: Vec<Problem>, environment: &Environment) -> Vec<Problem> {
    let blamed = problems.into_iter().map(|problem| {
        let variable = format!("LARKSPUR__{}", problem.key.to_uppercase().replace('.', "__"));
        match environment.get(&variable) {
            Some(_) => Problem { file: format!("environment, {variable}"), line: 0, ..problem },
            None => problem,
        }
    });
    blamed.collect()
}

fn merge(source: &str, environment: &Environment, problems: &mut Problems<'_>) -> Option<Raw> {
    let variables = config::Environment::with_prefix("LARKSPUR")
        .prefix_separator("__")
        .separator("__")
        .source(Some(environment.settings()));
    let merged = Config::builder()
        .add_source(config::File::from_str(DEFAULT_TOML, FileFormat::Toml))
        .add_source(config::File::from_str(source, FileFormat::Toml))
        .add_source(variables)
        .build();
    match merged {
        Ok(merged) => problems.deserialize(merged),
        Err(error) => {
            problems.error("", error.to_string());
            None
        }
    }
}

/// The parent of a folder named `config`, else the file's folder; without a file, here.
fn root_of(file: Option<&Path>) -> PathBuf {
    let here = PathBuf::from(".");
    let Some(folder) = file.and_then(Path::parent) else { return here };
    let root = match folder.file_name() {
        Some(name) if name == "config" => folder.parent().unwrap_or(folder),
        Some(_) | None => folder,
    };
    if root.as_os_str().is_empty() { here } else { root.to_path_buf() }
}

/// A system-wide installation keeps its data where such data belong, unless told otherwise.
fn data_dir_of(root: &Path, written: &str) -> PathBuf {
    if root == Path::new("/etc/larkspur") && written == "data" {
        return PathBuf::from("/var/lib/larkspur");
    }
    root.join(written)
}

fn check(
    raw: Raw,
    default_root: PathBuf,
    environment: &Environment,
    problems: &mut Problems<'_>,
) -> Option<Settings> {
    let root = if raw.root.is_empty() { default_root } else { PathBuf::from(&raw.root) };
    let server = check_server(&raw, problems);
    let store = match raw.store.engine.as_str() {
        "sled" => StoreEngine::Sled,
        "memory" => StoreEngine::Memory,
        other => {
            problems.error("store.engine", format!("`{other}` is not an engine; sled or memory"));
            StoreEngine::Memory
        }
    };
    let retention = check_retention(&raw, problems);
    let log_format = match raw.log.format.as_str() {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            problems.error("log.format", format!("`{other}` is not a format; text or json"));
            LogFormat::Text
        }
    };
    if let Err(wrong) = telemetry::check_filter(&raw.log.filter) {
        problems.error("log.filter", wrong);
    }
    let secrets = Secrets { environment, root: &root };
    let admin_token = secrets.read("admin.token", &raw.admin.token, problems);
    let net = net::check(&raw.net, &secrets, problems);
    let mut models = BTreeMap::new();
    for (name, model) in &raw.models {
        if let Some(model) = models::check(name, model, &net, &secrets, problems) {
            models.insert(name.clone(), model);
        }
    }
    let is_loopback = server.as_ref().is_none_or(|server| server.listen.ip().is_loopback());
    let hooks = hooks::check(&raw.hooks, is_loopback, &secrets, problems);
    Some(Settings {
        bots_dir: root.join(&raw.bots_dir),
        data_dir: data_dir_of(&root, &raw.data_dir),
        locale: raw.locale,
        server: server?,
        store,
        retention: retention?,
        admin_token,
        log_filter: raw.log.filter,
        log_format,
        net,
        models,
        hooks,
        root,
    })
}

fn check_server(raw: &Raw, problems: &mut Problems<'_>) -> Option<ServerSettings> {
    let server = &raw.server;
    let mut duration = |key, text, allowed| range::duration(key, text, allowed, problems);
    let request_timeout =
        duration("server.request_timeout", &server.request_timeout, &REQUEST_TIMEOUT);
    let drain_timeout = duration("server.drain_timeout", &server.drain_timeout, &DRAIN_TIMEOUT);
    let body_bytes_max = range::size("server.body_max", &server.body_max, &BODY_BYTES, problems);
    let listen = server.listen.parse().map_err(|_not_an_address| {
        let text = format!("`{}` is not an address like 127.0.0.1:8787", server.listen);
        problems.error("server.listen", text);
    });
    Some(ServerSettings {
        listen: listen.ok()?,
        body_bytes_max: body_bytes_max?,
        request_timeout: request_timeout?,
        drain_timeout: drain_timeout?,
    })
}

fn check_retention(raw: &Raw, problems: &mut Problems<'_>) -> Option<RetentionSettings> {
    let mut duration = |key, text| range::duration(key, text, &RETENTION, problems);
    let messages = duration("retention.messages", &raw.retention.messages);
    let overheard = duration("retention.overheard", &raw.retention.overheard);
    let ledger = duration("retention.ledger", &raw.retention.ledger);
    Some(RetentionSettings { messages: messages?, overheard: overheard?, ledger: ledger? })
}

/// Reads secret references.
pub(super) struct Secrets<'a> {
    pub(super) environment: &'a Environment,
    pub(super) root: &'a Path,
}

impl Secrets<'_> {
    pub(super) fn read(
        &self,
        key: &str,
        text: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Secret> {
        let reference = SecretRef::parse(text)?;
        if matches!(reference, SecretRef::Literal(_)) {
            problems.warn(key, "a secret in a file; better write env:NAME or file:PATH");
        }
        match self.environment.secret(&reference, self.root) {
            Ok(secret) => Some(secret),
            Err(missing) => {
                problems.error(key, missing);
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
