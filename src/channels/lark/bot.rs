//! One bot of the channel, and the set of those that run.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::api::{LarkApi, LarkApp, LarkDeps};
use super::buttons::ButtonKey;
use super::crypto::EnvelopeKey;
use super::identity::Identity;
use super::link::LinkCell;
use super::settings::{EventsVia, LarkBotSettings, Look, SettingsError};
use crate::base::{BotName, Secret};
use crate::envelope::Form;

/// What belongs to one app: its keys, its identity, its API client.
#[derive(Debug)]
pub struct LarkBot {
    name: BotName,
    app_id: String,
    envelope_key: EnvelopeKey,
    signing_key: Secret,
    verification_token: Secret,
    buttons: ButtonKey,
    look: Look,
    picture_hosts: Vec<String>,
    identity: Arc<Identity>,
    api: LarkApi,
    /// Where events come in by a long connection.
    link: Option<LinkCell>,
}

impl LarkBot {
    /// A bot from its settings. Makes no call.
    ///
    /// # Errors
    /// [`SettingsError`] names the settings that are missing or wrong: such a bot must not start.
    pub fn new(settings: LarkBotSettings, deps: &LarkDeps) -> Result<Self, SettingsError> {
        settings.check()?;
        let identity = Arc::new(Identity::default());
        let buttons = ButtonKey::derive(&settings.bot, &settings.app_secret);
        let app = LarkApp {
            app_id: settings.app_id.clone(),
            app_secret: settings.app_secret,
            base_url: settings.base_url,
        };
        let api = LarkApi::new(app, deps, Arc::clone(&identity))?;
        Ok(Self {
            name: settings.bot,
            app_id: settings.app_id,
            envelope_key: EnvelopeKey::derive(&settings.encrypt_key),
            signing_key: settings.encrypt_key,
            verification_token: settings.verification_token,
            buttons,
            look: settings.look,
            picture_hosts: settings.picture_hosts,
            identity,
            api,
            link: (settings.events == EventsVia::LongConnection).then(LinkCell::default),
        })
    }

    /// The bot's name.
    pub fn name(&self) -> &BotName {
        &self.name
    }

    /// The app's id.
    pub fn app_id(&self) -> &str {
        &self.app_id
    }

    /// Who the bot is on the platform, as far as it is known.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The client of the bot's app.
    pub fn api(&self) -> &LarkApi {
        &self.api
    }

    /// The hosts whose pictures are shown.
    pub(super) fn picture_hosts(&self) -> &[String] {
        &self.picture_hosts
    }

    /// The richest form of its texts.
    pub(super) fn form(&self) -> Form {
        self.look.form
    }

    /// Whether its answers can be seen while they grow.
    pub(super) fn grows(&self) -> bool {
        self.look.live && self.look.form == Form::Card
    }

    pub(super) fn buttons(&self) -> &ButtonKey {
        &self.buttons
    }

    /// The state of its long connection, if it has one.
    pub(super) fn link_cell(&self) -> Option<&LinkCell> {
        self.link.as_ref()
    }

    /// Gives up on answers of the platform earlier.
    #[cfg(test)]
    pub(super) fn hurry(&mut self, timeout: std::time::Duration) {
        self.api.hurry(timeout);
    }

    pub(super) fn envelope_key(&self) -> &EnvelopeKey {
        &self.envelope_key
    }

    pub(super) fn signing_key(&self) -> &Secret {
        &self.signing_key
    }

    pub(super) fn verification_token(&self) -> &Secret {
        &self.verification_token
    }
}

/// The bots that run, by name. Can be replaced while requests are served.
#[derive(Default)]
pub struct LarkBots {
    bots: RwLock<HashMap<BotName, Arc<LarkBot>>>,
}

impl LarkBots {
    /// The given bots.
    pub fn new(bots: impl IntoIterator<Item = Arc<LarkBot>>) -> Self {
        let set = Self::default();
        set.replace(bots);
        set
    }

    /// Replaces the whole set; requests under way finish with the bot they began with.
    pub fn replace(&self, bots: impl IntoIterator<Item = Arc<LarkBot>>) {
        let by_name = bots.into_iter().map(|bot| (bot.name.clone(), bot)).collect();
        *self.bots.write().unwrap_or_else(PoisonError::into_inner) = by_name;
    }

    /// The bot of that name.
    pub fn get(&self, name: &BotName) -> Option<Arc<LarkBot>> {
        let bots = self.bots.read().unwrap_or_else(PoisonError::into_inner);
        bots.get(name).map(Arc::clone)
    }

    /// All bots, in no particular order.
    pub fn all(&self) -> Vec<Arc<LarkBot>> {
        let bots = self.bots.read().unwrap_or_else(PoisonError::into_inner);
        bots.values().map(Arc::clone).collect()
    }
}

impl fmt::Debug for LarkBots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bots = self.bots.read().unwrap_or_else(PoisonError::into_inner);
        formatter.debug_set().entries(bots.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn refused(change: impl FnOnce(&mut LarkBotSettings)) -> SettingsError {
        let mut settings = testing::settings("http://127.0.0.1:1");
        change(&mut settings);
        LarkBot::new(settings, &testing::deps(&testing::clock())).unwrap_err()
    }

    #[test]
    fn a_bot_without_its_keys_is_not_made() {
        let missing = refused(|settings| settings.encrypt_key = Secret::new(""));
        assert_eq!(missing, SettingsError::Missing(vec!["encrypt_key"]));
        for url in ["open.feishu.cn", "ftp://open.feishu.cn", "http://"] {
            let error = refused(|settings| settings.base_url = url.to_owned());
            assert_eq!(error, SettingsError::BaseUrl, "{url}");
        }
    }

    #[test]
    fn a_replaced_set_forgets_the_old_bots() {
        let bot = Arc::new(testing::bot("http://127.0.0.1:1", &testing::clock()));
        let bots = LarkBots::new([Arc::clone(&bot)]);
        assert_eq!(bots.all().len(), 1);
        assert!(bots.get(bot.name()).is_some());
        bots.replace([]);
        assert!(bots.get(bot.name()).is_none());
    }
}
