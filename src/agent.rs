//! The engine: one loop of thinking and acting, configured by presets.
//!
//! [`AgentRunV1`] decides and does nothing; [`Driver`] does and decides nothing. Every input is
//! journalled before it is applied, so that replaying the journal gives the identical run. The
//! engine knows neither store nor channels: it writes through [`Journal`].

mod clean;
mod driver;
mod pipeline;
mod policy;
mod ports;
mod preset;
mod prompt;
mod run;
mod summary;
mod window;

pub use clean::clean_growing_answer;
pub use driver::{DriveError, Driver, Halt};
pub use pipeline::Pipeline;
pub use policy::{Action, Decision, Facts, PolicyVerdict, decide};
pub use ports::{Journal, JournalEntryV1, JournalError, Progress, Record, called};
pub use preset::{Capability, Preset, Strategy, UnknownPreset, preset, preset_names};
pub use prompt::{NO_WORDS, PromptParts, system_prompt};
pub use run::{
    AgentRunV1, Asked, CALLS_PER_ROUND_MAX, IllegalInput, Input, Outcome, RunSpec, Source, Step,
    ToolResult, replay,
};
pub use window::{Compaction, CompactionLevel};
