//! `larkspur events`: the turns that failed, asked of the running daemon.

use serde_json::{Value, json};

use super::admin_client::{Unanswered, Verb, ask, path_to};
use super::arguments::{EventsCommand, Output};
use super::{Exit, Unsaid, complain, say};
use crate::base::{Timestamp, limit};
use crate::config::Settings;

/// Of a message and of a reason, lists for people show this many characters.
const SHOWN_CHARS_MAX: usize = 100;

/// Runs one of the commands.
pub(super) async fn run(settings: Settings, what: EventsCommand) -> Result<Exit, Unsaid> {
    match what {
        EventsCommand::Failed(output) => list(&settings, output).await,
        EventsCommand::Replay { id: Some(id), output, .. } => {
            replay(&settings, vec![id], output).await
        }
        EventsCommand::Replay { id: None, output, .. } => match failed_turns(&settings).await {
            Ok(turns) => {
                let open = turns.iter().filter(|turn| field(turn, "replayed").is_empty());
                let ids = open.map(|turn| field(turn, "id").to_owned()).collect();
                replay(&settings, ids, output).await
            }
            Err(error) => Ok(unanswered(&error)),
        },
    }
}

async fn list(settings: &Settings, output: Output) -> Result<Exit, Unsaid> {
    let turns = match failed_turns(settings).await {
        Ok(turns) => turns,
        Err(error) => return Ok(unanswered(&error)),
    };
    if output.json {
        say(&json!({"events": turns}).to_string())?;
    } else if turns.is_empty() {
        say("No turn failed, as far as they are kept.")?;
    } else {
        for turn in &turns {
            say(&in_words(turn))?;
        }
        say("Have one done again: larkspur events replay ID; all of them: --all")?;
    }
    Ok(Exit::Done)
}

/// All failed turns, page by page.
async fn failed_turns(settings: &Settings) -> Result<Vec<Value>, Unanswered> {
    let mut turns = Vec::new();
    let mut query = String::new();
    loop {
        let path = format!("{}{query}", path_to(&["events", "failed"]));
        let mut page = ask(settings, Verb::Get, &path).await?;
        if let Some(Value::Array(rows)) = page.get_mut("events") {
            turns.append(rows);
        }
        match field(&page, "next") {
            "" => return Ok(turns),
            next => query = format!("?after={next}"),
        }
    }
}

async fn replay(settings: &Settings, ids: Vec<String>, output: Output) -> Result<Exit, Unsaid> {
    let (mut replayed, mut refused) = (Vec::new(), Vec::new());
    let mut exit = Exit::Done;
    for id in ids {
        let path = path_to(&["events", "failed", &id, "replay"]);
        match ask(settings, Verb::Post, &path).await {
            Ok(answer) => {
                let turn = field(&answer, "turn").to_owned();
                let is_new = answer.get("new") == Some(&Value::Bool(true));
                if !output.json {
                    let again =
                        if is_new { "is done again as" } else { "was done again before, as" };
                    say(&format!("{id} {again} {turn}"))?;
                }
                replayed.push(json!({"id": id, "turn": turn, "new": is_new}));
            }
            Err(error) => {
                exit = refusal(&id, &error, exit);
                if let Unanswered::Refused { code, .. } = &error {
                    refused.push(json!({"id": id, "code": code}));
                } else {
                    break;
                }
            }
        }
    }
    if output.json {
        say(&json!({"replayed": replayed, "refused": refused}).to_string())?;
    } else if replayed.is_empty() && refused.is_empty() && exit == Exit::Done {
        say("There is nothing to do again.")?;
    }
    Ok(exit)
}

/// Says why one was not done again; the worst of the exits stays.
fn refusal(id: &str, error: &Unanswered, so_far: Exit) -> Exit {
    let (text, exit) = match error {
        Unanswered::NoDaemon(text) => (text.clone(), Exit::TryLater),
        Unanswered::Refused { code, text } => match code.as_str() {
            "not_found" => ("no failed turn of that id is kept".to_owned(), Exit::Failed),
            "unknown_bot" => ("its bot does not run".to_owned(), Exit::Failed),
            "busy" => ("its conversation is busy, try again later".to_owned(), Exit::TryLater),
            _other => (text.clone(), Exit::TryLater),
        },
    };
    complain(&format!("larkspur: {id}: {text}"));
    if so_far == Exit::Done { exit } else { so_far }
}

fn unanswered(error: &Unanswered) -> Exit {
    complain(error.text());
    Exit::TryLater
}

fn field<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn in_words(turn: &Value) -> String {
    let text = |name: &str| field(turn, name);
    let short = |name: &str| {
        let one_line = text(name).split_whitespace().collect::<Vec<_>>().join(" ");
        limit::ellipsis(&one_line, SHOWN_CHARS_MAX)
    };
    let at = turn.get("at").and_then(Value::as_u64).unwrap_or_default();
    let mut lines = format!(
        "{}  {}  {}\n  bot {}, chat {}, sender {}, message {}\n  reason: {}\n  message: {}",
        text("id"),
        Timestamp::from_millis(at),
        text("verdict"),
        text("bot"),
        text("chat"),
        text("sender"),
        text("message"),
        short("reason"),
        short("content"),
    );
    if !text("replayed").is_empty() {
        lines.push_str(&format!("\n  done again as {}", text("replayed")));
    }
    lines
}
