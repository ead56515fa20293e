//! Bot definitions: one TOML file a bot, read and checked.
//!
//! A definition is data. Secrets stay references here; files of knowledge and the platform are
//! opened elsewhere.

mod definition;

pub use definition::{
    Access, AtAllWord, BotDefinition, DoubtRule, Groups, LarkSection, MentionWord, Region,
    SessionWord, Transport, load,
};
