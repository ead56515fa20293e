//! Presets: what the one engine is told to be. Data only.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a run is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// One loop from question to answer.
    Single,
}

/// A named bundle of tools and the words that explain them to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Talking, and looking things up in the knowledge base.
    Conversation,
    /// Reading the team's code.
    CodeAnalysis,
}

impl Capability {
    /// The tools it brings.
    pub const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Conversation => &["search_knowledge", "get_recipe"],
            Self::CodeAnalysis => &["list_files", "read_file", "search_code"],
        }
    }

    /// What the model is told about it, where it brings any tool.
    pub const fn fragment(self) -> &'static str {
        match self {
            Self::Conversation => {
                "For anything that the team may have written down, search the knowledge base \
                 before you answer. Cite what you use as [recipe id]. If the search finds \
                 nothing, say so instead of guessing."
            }
            Self::CodeAnalysis => {
                "You can look into the team's code with list_files, search_code and read_file. Before                  you say anything about the code, read it; cite what you use as path:line, and say                  what you could not find."
            }
        }
    }
}

/// One way to run the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The name people and bot files use.
    pub name: &'static str,
    /// What the run can do.
    pub capabilities: &'static [Capability],
    /// How the run is put together.
    pub strategy: Strategy,
    /// At most this many rounds with the model.
    pub iterations_max: u32,
    /// At most this long; then the run answers with what it has.
    pub wall_time: Duration,
    /// The longest reply of the model, in tokens.
    pub max_tokens: u32,
    /// 0 is sober.
    pub temperature: f64,
}

impl Preset {
    /// The names of the tools of all its capabilities, in order, each once.
    pub fn tools(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for name in self.capabilities.iter().flat_map(|capability| capability.tools()) {
            if !names.contains(name) {
                names.push(*name);
            }
        }
        names
    }
}

const PRESETS: [Preset; 2] = [
    Preset {
        name: "chat",
        capabilities: &[Capability::Conversation, Capability::CodeAnalysis],
        strategy: Strategy::Single,
        iterations_max: 8,
        wall_time: Duration::from_secs(120),
        max_tokens: 4096,
        temperature: 0.7,
    },
    Preset {
        name: "lark",
        capabilities: &[Capability::Conversation, Capability::CodeAnalysis],
        strategy: Strategy::Single,
        iterations_max: 12,
        wall_time: Duration::from_secs(180),
        max_tokens: 4096,
        temperature: 0.7,
    },
];

/// No preset has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no preset `{name}`; there are: {}", preset_names().join(", "))]
pub struct UnknownPreset {
    /// What was asked for.
    pub name: String,
}

/// The preset of that name.
///
/// # Errors
/// [`UnknownPreset`], which names all there are.
pub fn preset(name: &str) -> Result<Preset, UnknownPreset> {
    PRESETS
        .into_iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| UnknownPreset { name: name.to_owned() })
}

/// All names.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_preset_names_all_there_are() {
        let error = preset("larq").unwrap_err().to_string();
        assert_eq!(error, "there is no preset `larq`; there are: chat, lark");
    }

    #[test]
    fn the_chat_presets_have_their_numbers() {
        let numbers = |name: &str| {
            let preset = preset(name).unwrap();
            (preset.iterations_max, preset.wall_time.as_secs(), preset.max_tokens)
        };
        assert_eq!(numbers("chat"), (8, 120, 4096));
        assert_eq!(numbers("lark"), (12, 180, 4096));
    }
}
