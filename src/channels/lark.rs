//! The Lark and Feishu channel: event webhook, long connection, bot API client, message conversion.
//!
//! One [`LarkBot`] holds what belongs to one app: keys, identity, API client. [`LarkBots`] is the
//! set of those that run; the webhook ([`router`]), the long connections
//! ([`hold_link`]) and the way out ([`LarkOutlet`]) share it.
//! Wire names and wire shapes stay inside this module. Nothing is stored here: an event is
//! acknowledged only after the [`crate::envelope::Inlet`] took it over.

mod api;
mod bot;
mod buttons;
mod content;
mod crypto;
mod dispatch;
mod event;
mod forward;
#[cfg(feature = "test-support")]
pub mod fuzzing;
mod growing;
mod identity;
mod link;
#[cfg(feature = "test-support")]
pub mod measure;
mod outlet;
mod people;
mod pictures;
mod render;
mod settings;
mod signature;
mod socket;
mod webhook;

pub use api::{
    ApiError, BotInfo, Download, Endpoint, Failure, LarkApi, LarkApp, LarkDeps, Limiter,
    MessageRecord, Said,
};
pub use bot::{LarkBot, LarkBots};
pub use buttons::ButtonKey;
pub use identity::{Identity, IdentityState, learn_identity};
pub use outlet::LarkOutlet;
pub use render::Known;
pub use settings::{EventsVia, LarkBotSettings, Look, SettingsError};
pub use socket::{LinkDeps, hold_link};
pub use webhook::{Webhook, router};

#[cfg(test)]
mod testing;
