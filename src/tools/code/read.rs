//! `read_file`: lines of a file, with their numbers.

use std::io::{BufRead, BufReader, Read};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::workspace::Place;
use super::{Halted, Page, Workspace, blocking, failed, invalid, line, number, shown, text};
use crate::task::TaskSet;
use crate::tools::port::{Tier, Tool, ToolContext, ToolError, ToolOutput};

/// A file is looked at no further than this, in bytes.
const BYTES_MAX: u64 = 32 * 1024 * 1024;
/// A line longer than this is not kept whole, in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Whether a file is binary shows in its beginning.
const HEAD_BYTES: usize = 8 * 1024;

/// `read_file`: a file or a part of it.
#[derive(Debug)]
pub struct ReadFile {
    workspace: Workspace,
    tasks: TaskSet,
}

impl ReadFile {
    /// The tool over a workspace.
    pub fn new(workspace: Workspace, tasks: TaskSet) -> Self {
        Self { workspace, tasks }
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["read_project_file", "open_file", "cat"]
    }

    fn description(&self) -> &'static str {
        "Reads a file of the team's code, with the number of each line in front of it. Name the lines \
         if you know them: long files are cut, and the last line then says how to go on. Cite what \
         you use as path:line."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The file, from the root of the code."
                },
                "start_line": {"type": "integer", "minimum": 1, "default": 1},
                "end_line": {"type": "integer", "minimum": 1, "description": "The last line to read."}
            },
            "required": ["file_path"],
            "additionalProperties": false
        })
    }

    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("from", "start_line"),
            ("offset", "start_line"),
            ("to", "end_line"),
        ]
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn path_arguments(&self) -> &'static [&'static str] {
        &["file_path"]
    }

    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let path = text(arguments, "file_path").unwrap_or_default().to_owned();
        let first = number(arguments, "start_line").unwrap_or(1).max(1);
        let last = number(arguments, "end_line").unwrap_or(usize::MAX);
        if last < first {
            return Err(invalid(format!("end_line {last} is before start_line {first}")));
        }
        let workspace = self.workspace.clone();
        let chars_max = context.output_chars_max;
        blocking(&self.tasks, context, "read_file", move |halted| {
            let place = workspace.find(&path)?;
            read(&place, first..=last, chars_max, halted)
        })
        .await
    }
}

fn read(
    place: &Place,
    wanted: std::ops::RangeInclusive<usize>,
    chars_max: usize,
    halted: &Halted,
) -> Result<ToolOutput, ToolError> {
    let told = shown(&place.relative);
    let mut lines = Lines::of(place)?;
    let mut page = Page::new(chars_max);
    let (mut number, mut shown_last) = (0, 0);
    while let Some(text) = lines.next_line()? {
        halted.check()?;
        number += 1;
        if wanted.contains(&number) && page.push(&format!("{number:>5} | {}", line(&text))) {
            shown_last = number;
        }
    }
    let first = *wanted.start();
    if number == 0 {
        let text = format!("[`{told}` is empty]");
        return Ok(ToolOutput { text, sources: Vec::new(), is_news: false });
    }
    if first > number {
        return Err(invalid(format!("`{told}` has only {number} lines")));
    }
    let how = format!("go on with start_line {} of {number}", shown_last + 1);
    let text = page.finish(&how);
    let sources = vec![told.clone(), format!("{told}:{first}")];
    Ok(ToolOutput { text, sources, is_news: true })
}

/// The lines of a text file, one after the other: the file need not fit the memory.
pub(super) struct Lines {
    reader: BufReader<std::io::Take<std::fs::File>>,
    told: String,
}

impl Lines {
    /// Opens a file; one that is binary is refused.
    pub(super) fn of(place: &Place) -> Result<Self, ToolError> {
        let told = shown(&place.relative);
        let mut reader = BufReader::with_capacity(HEAD_BYTES, place.open()?.take(BYTES_MAX));
        let head = reader.fill_buf().map_err(|error| unreadable(&told, &error))?;
        if head.contains(&0) {
            return Err(failed(format!("`{told}` is a binary file, or in UTF-16")));
        }
        Ok(Self { reader, told })
    }

    /// The next line without its end; what is no UTF-8 in it is replaced.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, ToolError> {
        let mut bytes = Vec::new();
        let mut limited = self.reader.by_ref().take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut bytes);
        if read.map_err(|error| unreadable(&self.told, &error))? == 0 {
            return Ok(None);
        }
        if bytes.last() != Some(&b'\n') {
            self.skip_line()?;
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Passes over the rest of a line that is too long.
    fn skip_line(&mut self) -> Result<(), ToolError> {
        loop {
            let buffer = self.reader.fill_buf().map_err(|error| unreadable(&self.told, &error))?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = buffer.len();
            self.reader.consume(end.map_or(length, |at| at + 1));
            if end.is_some() || length == 0 {
                return Ok(());
            }
        }
    }
}

fn unreadable(told: &str, error: &std::io::Error) -> ToolError {
    failed(format!("`{told}` cannot be read: {error}"))
}
