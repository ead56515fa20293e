//! The main configuration as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

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
    #[serde(default)]
    pub(super) models: BTreeMap<String, RawModel>,
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
    #[serde(default)]
    pub(super) context_window: u64,
}

fn default_timeout() -> String {
    "300s".to_owned()
}
