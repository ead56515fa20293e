//! The command line: words in, an exit code out.

mod admin_client;
mod arguments;
mod commands;
mod events;
mod store;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use self::arguments::Arguments;
use crate::config::Environment;

/// How the process ends, as other programs read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It worked.
    Done,
    /// It failed in a way that has no code of its own.
    Failed,
    /// The command line is wrong.
    Usage,
    /// Try again later: the data are in use or cannot be opened now.
    TryLater,
    /// The configuration is wrong.
    Configuration,
}

impl Exit {
    /// The code: 0, 1, 64, 75 or 78.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 64,
            Self::TryLater => 75,
            Self::Configuration => 78,
        }
    }
}

/// Runs the command line of this process.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_answer = !error.use_stderr();
            let text = error.to_string();
            return if is_answer {
                say(&text);
                Exit::Done
            } else {
                complain(&text);
                Exit::Usage
            };
        }
    };
    commands::run(arguments, Environment::of_process())
}

/// Writes an answer to standard output.
fn say(text: &str) {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    // A reader that went away (`| head`) is no failure of ours.
    write!(std::io::stdout().lock(), "{text}{line_end}").unwrap_or_default();
}

/// Writes a complaint to standard error.
fn complain(text: &str) {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    write!(std::io::stderr().lock(), "{text}{line_end}").unwrap_or_default();
}
