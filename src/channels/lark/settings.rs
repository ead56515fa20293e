//! What a Lark bot needs to be told, and the check that it is all there.
//!
//! The webhook fails closed: without both keys of the event subscription a bot does not start. The
//! long connection needs neither.
//! Reading files and the environment is the application's part.

use crate::base::{BotName, Secret};
use crate::envelope::Form;

/// How events come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsVia {
    /// The platform posts them to a URL of the daemon.
    Webhook,
    /// The daemon holds a connection to the platform.
    LongConnection,
}

/// How answers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The richest form of a text.
    pub form: Form,
    /// Whether an answer can be seen while it grows. Takes the form of a card.
    pub live: bool,
}

/// One bot on Lark or Feishu.
#[derive(Clone, Debug)]
pub struct LarkBotSettings {
    /// The bot's name, also the path segment of its event URL.
    pub bot: BotName,
    /// The app's id (`cli_…`).
    pub app_id: String,
    /// The app's secret.
    pub app_secret: Secret,
    /// The key that posted events are encrypted and signed with.
    pub encrypt_key: Secret,
    /// The token that every posted event carries.
    pub verification_token: Secret,
    /// The platform's origin, `http` or `https`: that of the app's region, or another.
    pub base_url: String,
    /// How events come in.
    pub events: EventsVia,
    /// How answers look.
    pub look: Look,
    /// The hosts (with a port, if it is not the scheme's own) whose pictures are shown in answers.
    pub picture_hosts: Vec<String>,
}

/// Why a bot cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Keys of the bot's `[lark]` section that are missing or empty.
    #[error("missing in [lark]: {}", .0.join(", "))]
    Missing(Vec<&'static str>),
    /// The base URL is not an `http` or `https` address.
    #[error("[lark] base_url is not an http or https URL")]
    BaseUrl,
}

impl LarkBotSettings {
    /// The keys that are missing or empty, by their names in the bot's `[lark]` section.
    pub fn missing_keys(&self) -> Vec<&'static str> {
        let fields = [
            ("app_id", self.app_id.as_str()),
            ("app_secret", self.app_secret.expose()),
            ("encrypt_key", self.encrypt_key.expose()),
            ("verification_token", self.verification_token.expose()),
            ("base_url", self.base_url.as_str()),
        ];
        fields
            .into_iter()
            .filter(|(name, value)| value.trim().is_empty() && self.needs(name))
            .map(|(name, _)| name)
            .collect()
    }

    /// The keys that prove a posted event genuine say nothing where none is posted.
    fn needs(&self, key: &str) -> bool {
        self.events == EventsVia::Webhook || !matches!(key, "encrypt_key" | "verification_token")
    }

    /// Checks that nothing is missing.
    ///
    /// # Errors
    /// [`SettingsError::Missing`] names every key that is missing or empty.
    pub fn check(&self) -> Result<(), SettingsError> {
        let missing = self.missing_keys();
        if missing.is_empty() { Ok(()) } else { Err(SettingsError::Missing(missing)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_missing_key_is_named() {
        let mut settings = testing::settings("http://127.0.0.1:1");
        assert_eq!(settings.check(), Ok(()));
        settings.encrypt_key = Secret::new("");
        settings.verification_token = Secret::new("  ");
        let error = settings.check().unwrap_err();
        assert_eq!(error.to_string(), "missing in [lark]: encrypt_key, verification_token");
        settings.events = EventsVia::LongConnection;
        assert_eq!(settings.check(), Ok(()));
        settings.app_secret = Secret::new("");
        assert_eq!(settings.check(), Err(SettingsError::Missing(vec!["app_secret"])));
    }
}
