//! `AgentRun`: the loop as a pure, serialisable state machine.
//!
//! [`AgentRunV1::next_step`] says what the run needs; the driver gets it and hands the result
//! to [`AgentRunV1::apply`]. There is no clock, no I/O and no randomness in here: every input
//! carries its own time, so that the same inputs always lead to the same state.

mod state;
mod words;
mod work;

pub use state::{AgentRunV1, replay};
pub use words::{Asked, IllegalInput, Input, Outcome, RunSpec, Source, Step, ToolResult};
pub(super) use work::CallLog;

/// At most this many calls of one reply are carried out.
pub const CALLS_PER_ROUND_MAX: usize = 8;
