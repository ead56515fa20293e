//! What the channel's tests share: fixtures, settings, a client for plain HTTP.

mod draft;
mod inlet;
mod platform;

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{EventsVia, LarkBot, LarkBotSettings, LarkDeps, Limiter, Look};
use crate::base::{BotName, Clock, ManualClock, Secret, Timestamp};
use crate::envelope::Form;
use crate::task::TaskSet;
use crate::telemetry::CallMeter;

pub(crate) use draft::{Draft, encrypt, first_card};
pub(crate) use inlet::{SLOW_CHAT, TestInlet};
pub(crate) use platform::{Platform, Seen, TOKEN_CALL};

pub(crate) const OWN: &str = "ou_7d8ab35462c56ebb06618cc2950362a1";
pub(crate) const APP: &str = "cli_a1b2c3d4e5f60718";
pub(crate) const ENCRYPT_KEY: &str = "kX9fQ2mB7rT4vZ1nC6wL3pHd";
pub(crate) const TOKEN: &str = "vT0k3n5aMpLeQ8xY2zR7wK4jN6bG1hD3";
pub(crate) const NOW_MS: u64 = 1_760_000_000_000;

pub(crate) fn fixture(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/");
    std::fs::read_to_string(format!("{root}{path}")).unwrap()
}

pub(crate) fn vectors() -> Value {
    serde_json::from_str(&fixture("feishu-vectors.json")).unwrap()
}

pub(crate) fn event_file(name: &str) -> String {
    fixture(&format!("feishu-events/{name}"))
}

pub(crate) fn settings(base_url: &str) -> LarkBotSettings {
    LarkBotSettings {
        bot: BotName::new("assistant"),
        app_id: APP.to_owned(),
        app_secret: Secret::new("app-secret-of-the-test"),
        encrypt_key: Secret::new(ENCRYPT_KEY),
        verification_token: Secret::new(TOKEN),
        base_url: base_url.to_owned(),
        events: EventsVia::Webhook,
        look: Look { form: Form::Card, live: true },
        picture_hosts: Vec::new(),
    }
}

pub(crate) fn clock() -> ManualClock {
    ManualClock::at(Timestamp::from_millis(NOW_MS))
}

pub(crate) fn bot(base_url: &str, clock: &ManualClock) -> LarkBot {
    LarkBot::new(settings(base_url), &deps(clock)).unwrap()
}

/// A bot whose events come by a long connection.
pub(crate) fn linked(name: &str, base_url: &str, clock: &ManualClock) -> LarkBot {
    let (bot, events) = (BotName::new(name), EventsVia::LongConnection);
    LarkBot::new(LarkBotSettings { bot, events, ..settings(base_url) }, &deps(clock)).unwrap()
}

/// A message as an event, in a private chat.
pub(crate) fn private_message(message_id: &str, chat: &str, text: &str) -> String {
    let content = serde_json::json!({ "text": text }).to_string();
    let event = serde_json::json!({
        "sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user", "tenant_key": "t"},
        "message": {
            "message_id": message_id, "create_time": NOW_MS.to_string(), "chat_id": chat,
            "chat_type": "p2p", "message_type": "text", "content": content,
        },
    });
    let header = serde_json::json!({
        "event_id": format!("event-{message_id}"), "event_type": "im.message.receive_v1",
        "create_time": NOW_MS.to_string(), "tenant_key": "t", "app_id": APP,
    });
    serde_json::json!({"schema": "2.0", "header": header, "event": event}).to_string()
}

pub(crate) fn deps(clock: &ManualClock) -> LarkDeps {
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    LarkDeps {
        client: client(),
        limiter: Limiter::new(Arc::clone(&clock)),
        clock,
        tasks: TaskSet::new("test", CancellationToken::new()),
        meter: CallMeter::default(),
    }
}

/// A client that trusts nobody: the tests speak plain HTTP.
pub(crate) fn client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::ClientBuilder::new().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
}
