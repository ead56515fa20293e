//! Tables and the machine they were taken on.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use larkspur::base::{Clock, SystemClock};

use crate::Plan;

const BEGIN: &str = "<!-- ingest: begin -->";
const END: &str = "<!-- ingest: end -->";

/// Several measurements of one thing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
        let last = values.len().saturating_sub(1);
        Self { median: at(last / 2), least: at(0), most: at(last) }
    }

    pub(crate) fn whole(&self) -> String {
        format!("{:.0} ({:.0} to {:.0})", self.median, self.least, self.most)
    }

    pub(crate) fn tenths(&self) -> String {
        format!("{:.1} ({:.1} to {:.1})", self.median, self.least, self.most)
    }
}

/// The head of a table.
pub(crate) fn table(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

/// A row of it.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// What ran where.
pub(crate) fn machine(plan: &Plan) -> String {
    let date = SystemClock::default().now().to_string();
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("?", |(_name, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "larkspur {}, {}, {model}, {cores} cores, Linux {}; client and server on the same cores; \
         {} rounds of {} events over {} connections.\n",
        env!("CARGO_PKG_VERSION"),
        date.get(..10).unwrap_or(&date),
        kernel.trim(),
        plan.rounds,
        plan.events,
        plan.connections,
    );
    if let Some(peers) = &plan.peers {
        text.push_str(&format!("Peers: {}.\n", versions(peers)));
    }
    text.push('\n');
    text
}

fn versions(peers: &Path) -> String {
    let said = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map_or_else(
            |error| error.to_string(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let package = peers.join("node/node_modules/@larksuiteoapi/node-sdk/package.json");
    let sdk: serde_json::Value = fs::read_to_string(package)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let python = peers.join("python/bin/python");
    let script = "from importlib.metadata import version as v; \
                  print('lark-oapi', v('lark-oapi') + ', Flask', v('flask') + ', waitress', v('waitress'))";
    format!(
        "@larksuiteoapi/node-sdk {} on Node {}; {} on {}",
        sdk.get("version").and_then(serde_json::Value::as_str).unwrap_or("?"),
        said(Path::new("node"), &["--version"]),
        said(&python, &["-c", script]),
        said(&python, &["--version"]),
    )
}

/// How busy the machine was.
pub(crate) fn load_average() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    format!("\nLoad average at the end (1, 5 and 15 minutes): {}.\n", load.join(", "))
}

/// Puts `text` between the markers of `file`.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    let old = fs::read_to_string(file)?;
    let (before, rest) = old.split_once(BEGIN).context("no begin marker")?;
    let (_old, after) = rest.split_once(END).context("no end marker")?;
    fs::write(file, format!("{before}{BEGIN}\n{text}{END}{after}"))?;
    Ok(())
}
