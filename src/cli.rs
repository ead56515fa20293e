//! The command line: words in, an exit code out.

mod admin_client;
mod arguments;
mod commands;
mod demo;
mod events;
mod init;
mod jobs;
mod store;

use std::ffi::OsString;
use std::io::{self, Write};

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
    /// What it was to write could not be written.
    Unwritten,
    /// Try again later: the data are in use or cannot be opened now.
    TryLater,
    /// The configuration is wrong.
    Configuration,
}

impl Exit {
    /// The code: 0, 1, 64, 74, 75 or 78.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 64,
            Self::Unwritten => 74,
            Self::TryLater => 75,
            Self::Configuration => 78,
        }
    }
}

/// Runs the command line of this process.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    obey(words).unwrap_or_else(|unsaid| {
        complain(&format!("larkspur: {unsaid}"));
        Exit::Unwritten
    })
}

fn obey(words: impl IntoIterator<Item = OsString>) -> Result<Exit, Unsaid> {
    match Arguments::try_parse_from(words) {
        Ok(arguments) => commands::run(arguments, Environment::of_process()),
        Err(error) if error.use_stderr() => {
            complain(&error.to_string());
            Ok(Exit::Usage)
        }
        Err(help) => {
            say(&help.to_string())?;
            Ok(Exit::Done)
        }
    }
}

/// An answer that nobody got.
#[derive(Debug, thiserror::Error)]
#[error("standard output cannot be written: {0}")]
struct Unsaid(io::Error);

/// Writes an answer to standard output.
fn say(text: &str) -> Result<(), Unsaid> {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    heard(write!(out, "{text}{line_end}").and_then(|()| out.flush()))
}

/// A reader that went away (`| head`) has what it wanted; a full disk is a failure.
fn heard(written: io::Result<()>) -> Result<(), Unsaid> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Unsaid(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a complaint to standard error.
fn complain(text: &str) {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    write!(io::stderr().lock(), "{text}{line_end}").unwrap_or_default();
}
