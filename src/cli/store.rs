//! `larkspur store`: looking after the data.

use serde_json::Value;

use super::admin_client::{Verb, ask, path_to};
use super::arguments::{Output, StoreCommand};
use super::{Exit, complain, say};
use crate::config::Settings;

/// Runs one of the commands.
pub(super) async fn run(settings: Settings, what: StoreCommand) -> Exit {
    match what {
        StoreCommand::Expire(output) => expire(&settings, output).await,
    }
}

async fn expire(settings: &Settings, output: Output) -> Exit {
    let swept = match ask(settings, Verb::Post, &path_to(&["store", "expire"])).await {
        Ok(swept) => swept,
        Err(error) => {
            complain(error.text());
            return Exit::TryLater;
        }
    };
    if output.json {
        say(&swept.to_string());
        return Exit::Done;
    }
    let Some(deleted) = swept.get("deleted").and_then(Value::as_object) else {
        say("The daemon is at it; its log says what is gone (`expired`).");
        return Exit::Done;
    };
    let gone = deleted.iter().filter(|(_, count)| count.as_u64() != Some(0));
    let lines: Vec<String> = gone.map(|(what, count)| format!("{what}: {count}")).collect();
    say(&if lines.is_empty() {
        "Nothing was too old.".to_owned()
    } else {
        format!("Deleted: {}.", lines.join(", "))
    });
    Exit::Done
}
