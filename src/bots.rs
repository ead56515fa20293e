//! Bot definitions: one TOML file a bot, read and checked.
//!
//! A definition is data. Secrets stay references here; files of knowledge and the platform are
//! opened elsewhere.

mod access;
mod cron;
mod definition;
mod lark;
mod schedule;
mod stale;
mod timetable;

pub use access::Entry;
pub use definition::{
    Access, AtAllWord, BotDefinition, BotsWord, DoubtRule, Groups, MentionWord, SessionWord, load,
};
pub use lark::{LarkSection, Need, Region, RenderWord, Transport};
pub use schedule::{ActionWord, EmptyWord, Misfire, MisfireWord, ScheduleDefinition};
pub use stale::{StaleRule, StaleWord};
pub use timetable::{Timetable, TimetableError, local_minute};
