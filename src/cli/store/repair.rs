//! `larkspur store repair`: what was repaired, what is left, and going on with what is left.

use std::path::PathBuf;

use serde_json::json;

use super::Undone;
use crate::app::{self, CopyError, Remains, StoreError, StoreReport};
use crate::cli::arguments::Output;
use crate::cli::{Exit, Unsaid, say};
use crate::config::Settings;
use crate::telemetry::{self, LogFormat};

/// A store that was replaced by what could still be read of it.
struct Replaced {
    remains: Remains,
    old_files: PathBuf,
}

/// Repairs the store. One that does not open is only replaced with `accept_loss`.
pub(super) async fn repair(
    settings: &Settings,
    accept_loss: bool,
    output: Output,
) -> Result<Exit, Undone> {
    // What the repair does is an event, and its count tells how often.
    let counters = telemetry::init("warn", LogFormat::Text);
    let (replaced, report) = match app::repair(settings).await {
        Err(CopyError::Store(StoreError::Broken { .. })) if accept_loss => {
            let salvaged = tokio::task::block_in_place(|| app::accept_loss(settings));
            let (remains, old_files) = salvaged.map_err(beyond_repair)?;
            (Some(Replaced { remains, old_files }), app::repair(settings).await?)
        }
        Err(CopyError::Store(error @ StoreError::Broken { .. })) => {
            let remains = tokio::task::block_in_place(|| app::remains(settings));
            say_what_is_left(&remains.map_err(beyond_repair)?, output)?;
            return Err(beyond_repair(error));
        }
        other => (None, other?),
    };
    let repairs = counters.count("store_repaired");
    if output.json {
        let StoreReport { records, unreadable, examples } = &report;
        let given_up = replaced.map(|Replaced { remains, old_files }| {
            json!({
                "commits": remains.missing, "records": remains.damaged, "old_files": old_files,
            })
        });
        let report = json!({
            "records": records, "unreadable": unreadable, "examples": examples, "repairs": repairs,
            "given_up": given_up,
        });
        say(&report.to_string())?;
    } else {
        if let Some(replaced) = replaced {
            say_what_is_given_up(&replaced)?;
        }
        say_report(&report, repairs)?;
    }
    Ok(if report.unreadable == 0 { Exit::Done } else { Exit::Failed })
}

/// The advice of the store's own error is to do what has just been done.
fn beyond_repair(error: StoreError) -> Undone {
    match error {
        StoreError::Broken { folder, cause } => Undone(
            format!(
                "the data folder {folder} cannot be opened: {cause}. Nothing was changed. Move the \
                 folder aside and put a copy in its place with `larkspur store restore FILE`"
            ),
            Exit::TryLater,
        ),
        other => CopyError::from(other).into(),
    }
}

/// What `--accept-loss` would go on with.
fn say_what_is_left(remains: &Remains, output: Output) -> Result<(), Unsaid> {
    if output.json {
        let Remains { missing, damaged, records } = remains;
        let left = json!({"missing": missing, "damaged": damaged, "records": records});
        return say(&left.to_string());
    }
    say(&format!("Missing: {}.", lost_in_words(remains)))?;
    say(&format!("What can still be read: {}.", left_in_words(remains)))?;
    say("`larkspur store repair --accept-loss` goes on with that and keeps the old files. What is \
         missing may then be answered a second time, or never.")
}

fn say_what_is_given_up(replaced: &Replaced) -> Result<(), Unsaid> {
    say(&format!("Given up: {}.", lost_in_words(&replaced.remains)))?;
    say(&format!("What is left: {}.", left_in_words(&replaced.remains)))?;
    say(&format!(
        "The old files are in {}. They hold what people wrote, and nothing deletes them.",
        replaced.old_files.display()
    ))
}

fn say_report(report: &StoreReport, repairs: u64) -> Result<(), Unsaid> {
    let StoreReport { records, unreadable, examples } = report;
    let kinds: Vec<String> =
        records.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    say(&format!("Records: {}.", kinds.join(", ")))?;
    say(&match repairs {
        0 => "Nothing had to be repaired.".to_owned(),
        repairs => format!("Repairs: {repairs}; they are listed above."),
    })?;
    for example in examples {
        say(example)?;
    }
    if *unreadable > 0 {
        say(&format!(
            "Records that cannot be read: {unreadable}. The daemon leaves them out and goes on."
        ))?;
    }
    Ok(())
}

fn lost_in_words(remains: &Remains) -> String {
    let commits = match remains.missing {
        0 => "an unknown number of commits".to_owned(),
        1 => "the last acknowledged commit".to_owned(),
        missing => format!("the last {missing} acknowledged commits"),
    };
    match remains.damaged {
        0 => commits,
        damaged => format!("{commits}, and records of which parts are gone: {damaged}"),
    }
}

/// What decides whether the rest is worth keeping, also where there is none of it.
fn left_in_words(remains: &Remains) -> String {
    let count = |kind| remains.records.get(kind).copied().unwrap_or(0);
    format!(
        "open turns {}, conversations {}, dedup keys {}; records in all {}",
        count("inbox"),
        count("session"),
        count("dedup"),
        remains.records.values().sum::<u64>(),
    )
}
