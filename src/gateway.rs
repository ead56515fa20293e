//! The conversation plane: from an arrival to a delivered answer.
//!
//! Read `flow.rs` first: it tells the story of a message from its arrival to its session's
//! worker; `turn.rs` goes on from there to the outbox. Whatever happens to the process, an open
//! inbox row is found again by `recovery.rs`, and a turn goes on where its journal ends.

mod admit;
mod attention;
mod bot;
mod bounded;
mod cards;
mod clearance;
mod close;
mod commands;
mod decline;
mod deliver;
mod digest;
mod doubt;
mod errand;
mod failed;
mod flow;
mod in_place;
mod instead;
mod journal;
mod late;
mod live;
mod lookups;
#[cfg(feature = "test-support")]
pub mod measure;
mod names;
mod notice;
mod outbox;
mod overheard;
mod pairing;
mod path;
mod plan;
mod press;
mod recall;
mod recovery;
mod replay;
mod sessions;
mod settle;
mod split;
mod stop;
mod turn;
mod waiting;
mod welcome;
mod why;
mod working;

pub use admit::{Admission, AdmissionRules, BOT_TURNS_MAX, Circumstances, MentionRule, admit};
pub use bot::{BotRuntime, InDoubt, SessionScope};
pub use close::end_as_failed;
pub use flow::{Gateway, GatewayDeps};
pub use recovery::LeftOpen;
