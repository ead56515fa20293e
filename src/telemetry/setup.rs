//! The log output of the process.

use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use super::Counters;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

/// Starts logging to standard error and returns the counters. Called once, by the binary.
///
/// `filter` is in the syntax of `RUST_LOG` (`"info"`, `"larkspur=debug,info"`); a filter that
/// does not parse becomes `info`. A second call keeps the first output.
pub fn init(filter: &str, format: LogFormat) -> Counters {
    let counters = Counters::default();
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_bad_filter| EnvFilter::new("info"));
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
    };
    let output = lines.with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(counters.clone()).with(output);
    if subscriber.try_init().is_err() {
        tracing::debug!("logging was started before");
    }
    counters
}
