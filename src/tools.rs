//! Tools: what a run can do besides talking.
//!
//! A [`Tool`] declares its name, schema and tier and does one thing. Whether it may run is
//! decided before, by the engine's pipeline; a tool never asks that itself.

mod port;

pub use port::{Tier, Tool, ToolContext, ToolError, ToolErrorCode, ToolOutput, ToolRegistry};
