//! How a playground begins: its address, its tenant, its first app, and how strict time is.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What [`super::Playground::start`] needs. The default suits a test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen; only loopback addresses are accepted. Port 0: any.
    pub listen: SocketAddr,
    /// The tenant of the default app and of users who name no other.
    pub tenant_key: String,
    /// The app that exists from the beginning and after a reset.
    pub app: AppSettings,
    /// Everything random (ids, initialisation vectors, faults by chance) follows from this.
    /// `None`: from the clock, so that no two runs give the same message ids.
    pub seed: Option<u64>,
    /// How long the app has to answer a pushed event, in real time.
    pub push_patience: Duration,
    /// How long the app has to answer the URL handshake, in real time.
    pub handshake_patience: Duration,
    /// How many times faster than its base clock the playground's clock runs; 0: it stands.
    pub time_scale: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tenant_key: "16f0d1a2b3c4d5e6".to_owned(),
            app: AppSettings::default(),
            seed: None,
            push_patience: Duration::from_secs(3),
            handshake_patience: Duration::from_secs(1),
            time_scale: 1,
        }
    }
}

/// One app of the platform and its bot. All values are invented; none is a real secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppSettings {
    /// `cli_…`
    pub app_id: String,
    /// What the token endpoint compares.
    pub app_secret: String,
    /// Empty: events are pushed in plain text and without a signature.
    pub encrypt_key: String,
    /// The `token` of every event.
    pub verification_token: String,
    /// The bot's `ou_…`; empty: derived from the app id.
    pub bot_open_id: String,
    /// The bot's name.
    pub name: String,
    /// Where events go; empty: nowhere, until it is set.
    pub event_url: String,
    /// Which messages of groups are pushed to this app.
    pub group_messages: GroupMessages,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            app_id: "cli_a1b2c3d4e5f60718".to_owned(),
            app_secret: "playground-app-secret".to_owned(),
            encrypt_key: "kX9fQ2mB7rT4vZ1nC6wL3pHd".to_owned(),
            verification_token: "vT0k3n5aMpLeQ8xY2zR7wK4jN6bG1hD3".to_owned(),
            bot_open_id: String::new(),
            name: "gateway-bot".to_owned(),
            event_url: String::new(),
            group_messages: GroupMessages::All,
        }
    }
}

/// Which messages of groups an app's permissions let it see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupMessages {
    /// Every message of a user.
    #[default]
    All,
    /// Only those that mention the bot.
    Mentioned,
}
