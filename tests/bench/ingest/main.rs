//! What accepting an event costs, beside the official SDKs and beside doing nothing.
//!
//!     cargo bench --bench ingest -- [--rounds N] [--events N] [--connections N]
//!         [--peers FOLDER] [--sizes FOLDER] [--only NAME,NAME] [--other PROGRAM]
//!         [--readme FILE]
//!
//! Without arguments a quick run of Larkspur alone. `tests/bench/ingest.sh` installs the SDKs
//! (`--peers`), fills big stores (`--sizes`) and writes the tables into README.md (`--readme`).
//! What each row is and how far to trust it stands there.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and talks to whoever started it"
)]

mod events;
mod fill;
mod load;
mod platform;
mod report;
mod rounds;
mod serve;
mod servers;
mod sizes;

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) events: usize,
    pub(crate) connections: usize,
    /// Where the SDKs are installed.
    pub(crate) peers: Option<PathBuf>,
    /// Where the big stores are, or will be.
    pub(crate) sizes: Option<PathBuf>,
    /// Only these contenders and stores.
    pub(crate) only: Vec<String>,
    /// Another build of the daemon, to compare with.
    pub(crate) other: Option<PathBuf>,
    pub(crate) readme: Option<PathBuf>,
}

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [serve, role] = words.as_slice()
        && serve == "serve"
    {
        return serve::run(role);
    }
    let plan = plan(&words)?;
    let mut text = report::machine(&plan);
    text.push_str(&rounds::run(&plan)?);
    if let Some(folder) = &plan.sizes {
        text.push_str(&sizes::run(&plan, folder)?);
    }
    text.push_str(&report::load_average());
    println!("{text}");
    match &plan.readme {
        Some(file) => report::write(file, &text),
        None => Ok(()),
    }
}

fn plan(words: &[String]) -> Result<Plan> {
    let mut given = HashMap::new();
    for pair in words.chunks(2) {
        let [name, value] = pair else { bail!("{} has no value", words.join(" ")) };
        given.insert(name.trim_start_matches("--").to_owned(), value.clone());
    }
    let number = |name: &str, default: usize| -> Result<usize> {
        given.get(name).map_or(Ok(default), |text| {
            text.parse().with_context(|| format!("--{name} {text} is no number"))
        })
    };
    Ok(Plan {
        rounds: number("rounds", 3)?,
        events: number("events", 4000)?,
        connections: number("connections", 64)?,
        peers: given.get("peers").map(PathBuf::from),
        sizes: given.get("sizes").map(PathBuf::from),
        only: given
            .get("only")
            .map(|names| names.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        other: given.get("other").map(PathBuf::from),
        readme: given.get("readme").map(PathBuf::from),
    })
}
