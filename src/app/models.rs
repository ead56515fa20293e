//! The models of the configuration, each built once and shared by the bots that name it, so that
//! its breaker knows of all calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::AppError;
use crate::base::Clock;
use crate::bots::BotDefinition;
use crate::config::{ModelSettings, Provider, Settings};
use crate::llm::{
    FallbackModel, Gate, Model, OfflineModel, ProviderModel, ProviderSettings, ResilientModel,
    RetryRules, WireFormat,
};
use crate::net::{HttpFactory, HttpSettings};

/// The way out that the configuration describes.
pub(super) fn http(settings: &Settings) -> HttpFactory {
    HttpFactory::new(HttpSettings {
        proxy: settings.net.proxy.clone(),
        certificates: settings.net.certificates.clone(),
        ..HttpSettings::default()
    })
}

/// The models by their names in the configuration, the offline answerer left out.
#[derive(Default)]
pub(super) struct Models(BTreeMap<String, Arc<dyn Model>>);

impl Models {
    /// Builds all of them. Does no I/O.
    pub(super) fn new(settings: &Settings, clock: &Arc<dyn Clock>) -> Result<Self, AppError> {
        let http = http(settings);
        let gates = gates(settings);
        let mut models: BTreeMap<String, Arc<dyn Model>> = BTreeMap::new();
        for (name, model) in &settings.models {
            let Some(format) = format_of(model.provider) else { continue };
            let http = http.through(model.proxy.clone());
            let provider = ProviderModel::new(provider_settings(model, format), &http)?;
            let rules = RetryRules { retries: model.retries, first_wait: model.retry_wait };
            let gate = gates.get(model.base_url.as_str()).cloned();
            let gate = gate.unwrap_or_else(|| Gate::new(model.concurrency));
            let resilient = ResilientModel::new(Arc::new(provider), rules, gate, Arc::clone(clock));
            models.insert(name.clone(), Arc::new(resilient));
        }
        Ok(Self(models))
    }

    /// What a bot asks. Without a model, the offline answerer.
    pub(super) fn of(&self, bot: &BotDefinition) -> Arc<dyn Model> {
        let named = |name: &String| self.0.get(name).map(Arc::clone);
        match bot.model.as_ref().and_then(named) {
            Some(first) => {
                let others = bot.fallback_models.iter().filter_map(named).collect();
                Arc::new(FallbackModel::new(first, others))
            }
            None => Arc::new(OfflineModel::new()),
        }
    }
}

const fn format_of(provider: Provider) -> Option<WireFormat> {
    match provider {
        Provider::OpenAi | Provider::Ollama => Some(WireFormat::ChatCompletions),
        Provider::DeepSeek => Some(WireFormat::DeepSeek),
        Provider::Anthropic => Some(WireFormat::Anthropic),
        Provider::Gemini => Some(WireFormat::Gemini),
        Provider::Offline => None,
    }
}

/// One gate a server, as wide as the most careful of its models wants it.
fn gates(settings: &Settings) -> BTreeMap<&str, Gate> {
    let mut widths: BTreeMap<&str, usize> = BTreeMap::new();
    for model in settings.models.values() {
        let width = widths.entry(&model.base_url).or_insert(model.concurrency);
        *width = (*width).min(model.concurrency);
    }
    widths.into_iter().map(|(server, width)| (server, Gate::new(width))).collect()
}

fn provider_settings(model: &ModelSettings, format: WireFormat) -> ProviderSettings {
    ProviderSettings {
        name: model.model.clone(),
        format,
        base_url: model.base_url.clone(),
        model: model.model.clone(),
        api_key: model.api_key.clone(),
        timeout: model.timeout,
        idle_timeout: model.idle_timeout,
        context_window: model.context_window,
    }
}
