//! The log output of the process.

use tracing_subscriber::filter::{EnvFilter, LevelFilter};
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

/// Whether [`init`] understands `filter`. A word alone must be a level: taken for the name of a part
/// of the program, as the syntax has it, a mistyped level would silence all the others.
///
/// # Errors
/// What is wrong with it.
pub fn check_filter(filter: &str) -> Result<(), String> {
    let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty());
    for word in words.filter(|word| !word.contains('[')) {
        let level = word.rsplit_once('=').map_or(word, |(_part, level)| level);
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "`{word}` is no level: off, error, warn, info, debug or trace, or PART=LEVEL"
            ));
        }
    }
    EnvFilter::try_new(filter).map(drop).map_err(|error| error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_level_is_no_filter() {
        for good in ["info", "WARN", "larkspur=debug,info", "warn,genai=off", "off", ""] {
            assert_eq!(check_filter(good), Ok(()), "{good}");
        }
        for bad in ["inof", "info,blub", "larkspur=loud", "lou d!!=,", "warn, genai=off"] {
            assert!(check_filter(bad).is_err(), "{bad}");
        }
    }
}
