//! The models of the configuration, checked.

use std::time::Duration;

use super::net::NetSettings;
use super::range::{self, IDLE_TIMEOUT, MODEL_TIMEOUT, RETRY_WAIT};
use super::raw::RawModel;
use super::settings::Secrets;
use crate::base::Secret;
use crate::base::problem::Problems;
use crate::net::Proxy;

/// At most this many calls at the same time can be allowed to one server.
const CONCURRENCY_MAX: usize = 1024;
/// A failed call can be repeated at most this often.
const RETRIES_MAX: u32 = 10;

/// Which kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// A server that speaks OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// DeepSeek: chat completions with a switch of its own.
    DeepSeek,
    /// A server of one's own: chat completions without a key.
    Ollama,
    /// The answerer that needs none.
    Offline,
}

impl Provider {
    const WORDS: [(&'static str, Self); 6] = [
        ("openai", Self::OpenAi),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("deepseek", Self::DeepSeek),
        ("ollama", Self::Ollama),
        ("offline", Self::Offline),
    ];

    fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, provider)| *provider)
    }

    fn words() -> String {
        Self::WORDS.map(|(word, _)| word).join(", ")
    }

    /// Whether the provider's own server wants a key.
    const fn needs_a_key(self) -> bool {
        !matches!(self, Self::Ollama | Self::Offline)
    }

    /// The server when none is written, with the version path.
    const fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Offline => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::DeepSeek => "https://api.deepseek.com/v1",
            Self::Ollama => "http://127.0.0.1:11434/v1",
        }
    }
}

/// One model.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// Which kind.
    pub provider: Provider,
    /// The server, with the version path, without a slash at its end.
    pub base_url: String,
    /// The model's name at the provider.
    pub model: String,
    /// The key; `None` for a server that needs none.
    pub api_key: Option<Secret>,
    /// The longest time of one call.
    pub timeout: Duration,
    /// The longest silence within a call.
    pub idle_timeout: Duration,
    /// In tokens; 0: unknown.
    pub context_window: u64,
    /// At most this many calls at the same time.
    pub concurrency: usize,
    /// A call that failed for a reason that passes is repeated this often.
    pub retries: u32,
    /// The wait before the first repetition; doubled before each further one.
    pub retry_wait: Duration,
    /// What its calls go through.
    pub proxy: Option<Proxy>,
}

pub(super) fn check(
    name: &str,
    raw: &RawModel,
    net: &NetSettings,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<ModelSettings> {
    let key = |field: &str| format!("models.{name}.{field}");
    let Some(provider) = Provider::parse(&raw.provider) else {
        let text = format!("`{}` is not a provider; {}", raw.provider, Provider::words());
        problems.error(&key("provider"), text);
        return None;
    };
    if provider != Provider::Offline && raw.model.is_empty() {
        problems.error(&key("model"), "the model's name is missing");
    }
    let base_url =
        if raw.base_url.is_empty() { provider.default_url() } else { raw.base_url.as_str() };
    if raw.base_url.is_empty() && raw.api_key.is_empty() && provider.needs_a_key() {
        problems.warn(&key("api_key"), "is missing: this provider refuses requests without it");
    }
    let is_http = url::Url::parse(base_url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    if !is_http {
        problems.error(&key("base_url"), "this is not a URL (http:// or https://)");
    }
    if !(1..=CONCURRENCY_MAX).contains(&raw.concurrency) {
        problems.error(&key("concurrency"), format!("it is from 1 to {CONCURRENCY_MAX}"));
    }
    if raw.retries > RETRIES_MAX {
        problems.error(&key("retries"), format!("it is from 0 to {RETRIES_MAX}"));
    }
    let timeout = range::duration(&key("timeout"), &raw.timeout, &MODEL_TIMEOUT, problems);
    let idle_timeout =
        range::duration(&key("idle_timeout"), &raw.idle_timeout, &IDLE_TIMEOUT, problems);
    let retry_wait = range::duration(&key("retry_wait"), &raw.retry_wait, &RETRY_WAIT, problems);
    Some(ModelSettings {
        provider,
        base_url: base_url.trim_end_matches('/').to_owned(),
        model: raw.model.clone(),
        api_key: secrets.read(&key("api_key"), &raw.api_key, problems),
        timeout: timeout?,
        idle_timeout: idle_timeout?,
        context_window: raw.context_window,
        concurrency: raw.concurrency,
        retries: raw.retries,
        retry_wait: retry_wait?,
        proxy: net.proxy_of(&key("proxy"), &raw.proxy, secrets, problems),
    })
}
