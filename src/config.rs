//! Configuration: defaults, file, environment; read, checked, and turned into settings.
//!
//! The only reader of the environment and of configuration files. All problems are found at
//! once, each with its file, key and line. Nobody below sees more of it than its own settings.

mod bots;
mod environment;
mod found;
mod hooks;
mod models;
mod net;
mod range;
mod raw;
mod settings;

pub use environment::Environment;
pub use found::{FoundModel, KnownModel, found_model, known_models};
pub use hooks::{HookPreset, HookSettings, ProofSettings, SignatureSettings};
pub use models::{ModelSettings, Provider};
pub use net::NetSettings;
pub use settings::{
    Loaded, RetentionSettings, ServerSettings, Settings, StoreEngine, load, load_file,
};

/// The commented defaults, which are also the documentation.
pub const DEFAULT_TOML: &str = include_str!("../config/default.toml");
