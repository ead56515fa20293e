//! How a playground begins: its address, its tenant, its first app, and how strict time is.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::SOCKET_PING;

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
    /// How events reach this app.
    pub transport: Transport,
    /// How the platform behaves on the app's long connections.
    pub long_connection: LongConnection,
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
            transport: Transport::Webhook,
            long_connection: LongConnection::default(),
        }
    }
}

/// How events reach an app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// They are posted to its event URL.
    #[default]
    Webhook,
    /// They go over one of the connections that it has opened.
    Websocket,
}

/// What the platform tells an app's clients, and how it cuts what it sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LongConnection {
    /// Told at discovery, and in a pong once it has changed.
    pub client: ClientConfig,
    /// A longer payload is cut into pieces of at most so many bytes; 0: as the switch
    /// `fragment_size` says.
    pub fragment_bytes: usize,
    /// In which order the pieces go out.
    pub fragment_order: FragmentOrder,
    /// How often the platform sends a ping of the WebSocket's own, in real seconds.
    pub ping_every_s: u64,
}

impl Default for LongConnection {
    fn default() -> Self {
        Self {
            client: ClientConfig::default(),
            fragment_bytes: 0,
            fragment_order: FragmentOrder::InOrder,
            ping_every_s: SOCKET_PING.most,
        }
    }
}

/// What a client is told: all in seconds but the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "PascalCase")]
pub struct ClientConfig {
    /// How often it may try to connect again; -1: for ever.
    pub reconnect_count: i64,
    /// How long it waits between two tries.
    pub reconnect_interval: u64,
    /// The first try waits for up to this.
    pub reconnect_nonce: u64,
    /// How often it sends a ping.
    pub ping_interval: u64,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            reconnect_count: -1,
            reconnect_interval: 120,
            reconnect_nonce: 30,
            ping_interval: 120,
        }
    }
}

/// In which order the pieces of one event go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FragmentOrder {
    /// The first one first.
    #[default]
    InOrder,
    /// The last one first.
    Reversed,
    /// In any order.
    Shuffled,
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
