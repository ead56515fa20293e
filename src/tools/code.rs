//! The tools that look into a team's code: `list_files`, `read_file`, `search_code`.
//!
//! Everything stays inside of one folder, the [`Workspace`], and some of what is in there is never
//! shown. Files are read on threads meant for it; a run that is stopped stops them between two files.

mod list;
mod read;
mod search;
mod secrets;
mod workspace;

use std::path::Path;

use serde_json::Value;

use super::port::{ToolContext, ToolError, ToolErrorCode};
use crate::base::limit::prefix_chars;
use crate::task::TaskSet;

pub use list::ListFiles;
pub use read::ReadFile;
pub use search::SearchCode;
pub use workspace::Workspace;

/// The longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 400;

/// Runs blocking work that ends when the run is stopped, or when nobody waits for it any more.
async fn blocking<T: Send + 'static>(
    tasks: &TaskSet,
    context: &ToolContext,
    name: &'static str,
    work: impl FnOnce(&Halted) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let token = context.cancel.child_token();
    let halted = Halted(token.clone());
    // A call that took too long is dropped, and its thread ends at its next look at this.
    let _ends_with_the_call = token.drop_guard();
    let done = tasks.blocking(name, move || work(&halted)).await;
    done.unwrap_or_else(|| Err(failed("the tool broke down".to_owned())))
}

/// Whether to stop.
struct Halted(tokio_util::sync::CancellationToken);

impl Halted {
    fn check(&self) -> Result<(), ToolError> {
        if self.0.is_cancelled() {
            let text = "the run was stopped".to_owned();
            return Err(ToolError { code: ToolErrorCode::Cancelled, text });
        }
        Ok(())
    }
}

fn failed(text: String) -> ToolError {
    ToolError { code: ToolErrorCode::Failed, text }
}

fn invalid(text: String) -> ToolError {
    ToolError { code: ToolErrorCode::InvalidArguments, text }
}

fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn number(arguments: &Value, name: &str) -> Option<usize> {
    arguments.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

/// How a path is written for people and models.
fn shown(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.is_empty() { ".".to_owned() } else { path.into_owned() }
}

/// A line as it is shown: without control characters, and cut with a mark.
fn line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|letter| if letter.is_control() && letter != '\t' { '\u{fffd}' } else { letter })
        .collect();
    let kept = prefix_chars(&clean, LINE_CHARS_MAX);
    if kept.len() == clean.len() { clean } else { format!("{kept}… [line cut]") }
}

/// Lines, as many as there is room for, and a last one that tells how many are left out.
#[derive(Debug)]
struct Page {
    text: String,
    chars_left: usize,
    left_out: usize,
}

impl Page {
    /// Room for the last line is kept free.
    fn new(chars_max: usize) -> Self {
        Self { text: String::new(), chars_left: chars_max.saturating_sub(80), left_out: 0 }
    }

    /// Adds a line; what follows one that did not fit is counted and no more.
    fn push(&mut self, line: &str) -> bool {
        let chars = line.chars().count() + 1;
        if self.left_out > 0 || chars > self.chars_left {
            self.left_out += 1;
            return false;
        }
        self.chars_left -= chars;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// The text, with `what` to do about what is left out.
    fn finish(mut self, what: &str) -> String {
        if self.left_out > 0 {
            self.text.push_str(&format!("[{} more lines; {what}]", self.left_out));
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
