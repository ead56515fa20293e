//! Bot definitions: one TOML file a bot, read and checked.
//!
//! A definition is data. Secrets stay references here; files of knowledge and the platform are
//! opened elsewhere.

mod access;
mod definition;
mod stale;

pub use access::Entry;
pub use definition::{
    Access, AtAllWord, BotDefinition, BotsWord, DoubtRule, Groups, LarkSection, MentionWord,
    Region, SessionWord, Transport, load,
};
pub use stale::{StaleRule, StaleWord};
