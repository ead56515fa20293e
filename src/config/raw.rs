//! The main configuration as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::hooks::RawHook;
use crate::base::Locale;

#[derive(Debug, Deserialize)]
pub(super) struct Raw {
    pub(super) root: String,
    pub(super) bots_dir: String,
    pub(super) data_dir: String,
    pub(super) locale: Locale,
    pub(super) server: RawServer,
    pub(super) store: RawStore,
    pub(super) retention: RawRetention,
    pub(super) admin: RawAdmin,
    pub(super) log: RawLog,
    pub(super) net: RawNet,
    #[serde(default)]
    pub(super) models: BTreeMap<String, RawModel>,
    #[serde(default)]
    pub(super) hooks: Vec<RawHook>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawServer {
    pub(super) listen: String,
    pub(super) body_max: String,
    pub(super) request_timeout: String,
    pub(super) drain_timeout: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawStore {
    pub(super) engine: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawRetention {
    pub(super) messages: String,
    pub(super) overheard: String,
    pub(super) ledger: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawAdmin {
    pub(super) token: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawLog {
    pub(super) filter: String,
    pub(super) format: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawNet {
    pub(super) proxy: String,
    pub(super) ca_file: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawModel {
    pub(super) provider: String,
    #[serde(default)]
    pub(super) base_url: String,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) api_key: String,
    #[serde(default = "default_timeout")]
    pub(super) timeout: String,
    #[serde(default = "default_idle_timeout")]
    pub(super) idle_timeout: String,
    #[serde(default)]
    pub(super) context_window: u64,
    #[serde(default = "default_concurrency")]
    pub(super) concurrency: usize,
    #[serde(default = "default_retries")]
    pub(super) retries: u32,
    #[serde(default = "default_retry_wait")]
    pub(super) retry_wait: String,
    #[serde(default)]
    pub(super) proxy: String,
}

fn default_timeout() -> String {
    "300s".to_owned()
}

fn default_idle_timeout() -> String {
    "90s".to_owned()
}

const fn default_concurrency() -> usize {
    32
}

const fn default_retries() -> u32 {
    3
}

fn default_retry_wait() -> String {
    "2s".to_owned()
}
