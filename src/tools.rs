//! Tools: what a run can do besides talking.
//!
//! A [`Tool`] declares its name, schema and tier and does one thing. Whether it may run is
//! decided before, by the engine's pipeline; a tool never asks that itself. [`coerce()`] makes a
//! model's arguments fit the schema before anything else looks at them, [`near_names`] helps with
//! names that no tool has.

mod code;
mod coerce;
mod knowledge;
mod near;
mod port;

pub use code::{ListFiles, ReadFile, SearchCode, Workspace};
pub use coerce::{canonical_json, coerce, coerce_to_schema};
pub use knowledge::{GetRecipe, SearchKnowledge};
pub use near::near_names;
pub use port::{Tier, Tool, ToolContext, ToolError, ToolErrorCode, ToolOutput, ToolRegistry};
