//! The files of bots, and what such a file alone cannot know.

use std::path::PathBuf;

use super::environment::Environment;
use super::models::Provider;
use super::settings::Settings;
use crate::base::problem::Problems;
use crate::base::{Problem, SecretRef};
use crate::bots::{self, BotDefinition, Need};

/// Reads all bot files in the order of their names. A file that is not in order is left out.
pub(super) fn load_bots(
    settings: &Settings,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Vec<BotDefinition> {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&settings.bots_dir) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => {
            let name = settings.bots_dir.display().to_string();
            let mut folder = Problems::of(&name, "");
            folder.warn("", format!("no bots, the folder cannot be read: {error}"));
            problems.extend(folder.into_vec());
            return Vec::new();
        }
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut bots: Vec<BotDefinition> = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let source = match std::fs::read_to_string(&file) {
            Ok(source) => source,
            Err(error) => {
                let mut unreadable = Problems::of(&name, "");
                unreadable.error("", format!("the file cannot be read: {error}"));
                problems.extend(unreadable.into_vec());
                continue;
            }
        };
        let (definition, found) = bots::load(&file, &source);
        problems.extend(found);
        let Some(definition) = definition else { continue };
        let mut checked = Problems::of(&name, &source);
        check_bot(&definition, &bots, settings, environment, &mut checked);
        let usable = !checked.has_errors() || only_secrets_are_missing(&definition, &checked);
        problems.extend(checked.into_vec());
        if usable {
            bots.push(definition);
        }
    }
    bots
}

/// What a bot file alone cannot know.
fn check_bot(
    bot: &BotDefinition,
    others: &[BotDefinition],
    settings: &Settings,
    environment: &Environment,
    problems: &mut Problems<'_>,
) {
    if others.iter().any(|other| other.name == bot.name) {
        problems.error("name", format!("another file defines a bot named `{}`", bot.name));
    }
    if let Some(model) = &bot.model
        && !settings.models.contains_key(model)
    {
        problems.error("model", format!("the configuration has no [models.{model}]"));
    }
    for model in &bot.fallback_models {
        match settings.models.get(model) {
            None => {
                let text = format!("the configuration has no [models.{model}]");
                problems.error("fallback_models", text);
            }
            Some(found) if found.provider == Provider::Offline => {
                let text = format!("`{model}` is offline: that one steps in by itself");
                problems.error("fallback_models", text);
            }
            Some(_) => {}
        }
    }
    if let Err(error) = crate::agent::preset(&bot.preset) {
        problems.error("preset", error.to_string());
    }
    if !bot.workspace.as_os_str().is_empty() && !settings.root.join(&bot.workspace).is_dir() {
        let text = format!("there is no folder {}", bot.workspace.display());
        problems.warn("workspace", text);
    }
    for folder in &bot.knowledge {
        if !settings.root.join(folder).is_dir() {
            problems.warn("knowledge", format!("there is no folder {}", folder.display()));
        }
    }
    let Some(lark) = &bot.lark else { return };
    // What is not needed is not read.
    let needed = lark.secrets().into_iter().filter(|(_, _, need)| *need == Need::Required);
    for (key, text, _) in needed {
        let key = &format!("lark.{key}");
        match SecretRef::parse(text) {
            None => problems.error(key, "is missing: the bot does not start on Lark without it"),
            Some(reference) => {
                if let Err(missing) = environment.secret(&reference, &settings.root) {
                    problems.error(key, format!("{missing}: the bot does not start on Lark"));
                }
            }
        }
    }
}

/// A bot without its keys is a bot all the same: it answers in the terminal, and the daemon
/// says why it is not on Lark.
fn only_secrets_are_missing(bot: &BotDefinition, problems: &Problems<'_>) -> bool {
    bot.lark.is_some() && problems.error_keys().all(|key| key.starts_with("lark."))
}
