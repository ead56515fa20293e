//! `larkspur jobs`: what runs by the clock, asked of the running daemon.

use serde_json::Value;

use super::admin_client::{Verb, ask, path_to};
use super::arguments::Output;
use super::{Exit, Unsaid, complain, say};
use crate::config::Settings;

const HEADS: [&str; 6] = ["NAME", "BOT", "NEXT RUN", "LAST RUN", "MISSED", "ZONE"];

/// Lists the schedules.
pub(super) async fn run(settings: Settings, output: Output) -> Result<Exit, Unsaid> {
    let answer = match ask(&settings, Verb::Get, &path_to(&["jobs"])).await {
        Ok(answer) => answer,
        Err(error) => {
            complain(error.text());
            return Ok(Exit::TryLater);
        }
    };
    let jobs = answer.get("jobs").and_then(Value::as_array).cloned().unwrap_or_default();
    if output.json {
        say(&answer.to_string())?;
    } else if jobs.is_empty() {
        say("No bot has schedules. They are [[schedules]] of its file: see bots/README.md.")?;
    } else {
        say(&table(&jobs))?;
    }
    Ok(Exit::Done)
}

/// A line a schedule, times in its own zone.
fn table(jobs: &[Value]) -> String {
    let mut rows = vec![HEADS.map(ToOwned::to_owned)];
    rows.extend(jobs.iter().map(row));
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let line = |row: &[String; 6]| {
        let cells = row.iter().enumerate();
        let padded = cells.map(|(column, cell)| format!("{cell:<width$}", width = width(column)));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn row(job: &Value) -> [String; 6] {
    let text = |name: &str| job.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let minute = |name: &str| {
        let time = text(name).replace('T', " ");
        if time.is_empty() { "-".to_owned() } else { time.chars().take(16).collect() }
    };
    let missed = job.get("missed").and_then(Value::as_u64).unwrap_or_default().to_string();
    [text("name"), text("bot"), minute("next_run"), minute("last_run"), missed, text("timezone")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_read_a_table_in_local_time() {
        let jobs = [
            json!({"name": "morning-digest", "bot": "b", "timezone": "Asia/Shanghai", "missed": 2,
                   "next_run": "2026-12-02T09:00:00+08:00", "last_run": null, "paused": false}),
        ];
        let expected = "NAME            BOT  NEXT RUN          LAST RUN  MISSED  ZONE\n\
                        morning-digest  b    2026-12-02 09:00  -         2       Asia/Shanghai";
        assert_eq!(table(&jobs), expected);
    }
}
