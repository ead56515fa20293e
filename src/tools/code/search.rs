//! `search_code`: where words or patterns stand.

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::read::Lines;
use super::workspace::Place;
use super::{Halted, Page, Workspace, blocking, invalid, line, number, shown, text};
use crate::task::TaskSet;
use crate::tools::port::{Tier, Tool, ToolContext, ToolError, ToolOutput};

/// So many patterns at once.
const PATTERNS_MAX: usize = 8;
/// So many lines are shown if the model does not say.
const MATCHES_DEFAULT: usize = 40;
const MATCHES_MAX: usize = 200;
const CONTEXT_MAX: usize = 5;
/// A compiled pattern takes at most this much memory, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Of one file at most so many lines are shown, so that others are seen, too.
const MATCHES_OF_A_FILE_MAX: usize = 10;

/// `search_code`: the lines of the code that hold words or fit patterns.
#[derive(Debug)]
pub struct SearchCode {
    workspace: Workspace,
    tasks: TaskSet,
}

impl SearchCode {
    /// The tool over a workspace.
    pub fn new(workspace: Workspace, tasks: TaskSet) -> Self {
        Self { workspace, tasks }
    }
}

#[async_trait]
impl Tool for SearchCode {
    fn name(&self) -> &'static str {
        "search_code"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["search_project_code", "semantic_search_code", "grep", "grep_code"]
    }

    fn description(&self) -> &'static str {
        "Searches the team's code for lines that hold any of some words, or fit any of some regular \
         expressions (is_regex). Returns path:line: text. Ask for several spellings at once. Use \
         read_file for what stands around a hit."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "patterns": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1},
                    "minItems": 1,
                    "maxItems": PATTERNS_MAX,
                    "description": "Words as they stand in the code, or regular expressions."
                },
                "is_regex": {"type": "boolean", "default": false},
                "case_sensitive": {"type": "boolean", "default": false},
                "directory": {"type": "string", "default": "."},
                "glob": {"type": "string", "description": "Only files that fit, for example \"*.rs\"."},
                "context_lines": {"type": "integer", "minimum": 0, "maximum": CONTEXT_MAX, "default": 0},
                "max_matches": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MATCHES_MAX,
                    "default": MATCHES_DEFAULT
                }
            },
            "required": ["patterns"],
            "additionalProperties": false
        })
    }

    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("pattern", "patterns"),
            ("query", "patterns"),
            ("keyword", "patterns"),
            ("regex", "is_regex"),
            ("path", "directory"),
            ("file_pattern", "glob"),
        ]
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn path_arguments(&self) -> &'static [&'static str] {
        &["directory"]
    }

    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted::of(arguments)?;
        let directory = text(arguments, "directory").unwrap_or(".").to_owned();
        let glob = text(arguments, "glob").map(str::to_owned);
        let workspace = self.workspace.clone();
        let chars_max = context.output_chars_max;
        blocking(&self.tasks, context, "search_code", move |halted| {
            let place = workspace.find(&directory)?;
            let mut found =
                Found { page: Page::new(chars_max), hits: 0, files: 0, sources: Vec::new() };
            workspace.walk(&place, (glob.as_deref(), None), halted, |place, is_folder| {
                if !is_folder {
                    found.look(&place, &wanted, halted)?;
                }
                Ok(true)
            })?;
            Ok(found.finish(&wanted))
        })
        .await
    }
}

/// What is looked for.
struct Wanted {
    pattern: Regex,
    context_lines: usize,
    matches_max: usize,
}

impl Wanted {
    fn of(arguments: &Value) -> Result<Self, ToolError> {
        let is = |name| arguments.get(name).and_then(Value::as_bool).unwrap_or(false);
        let patterns = arguments.get("patterns").and_then(Value::as_array);
        let patterns: Vec<&str> =
            patterns.into_iter().flatten().filter_map(Value::as_str).take(PATTERNS_MAX).collect();
        let is_regex = is("is_regex");
        let one = |pattern: &&str| {
            if is_regex { format!("(?:{pattern})") } else { regex::escape(pattern) }
        };
        let joined = patterns.iter().map(one).collect::<Vec<_>>().join("|");
        let pattern = RegexBuilder::new(&joined)
            .case_insensitive(!is("case_sensitive"))
            .size_limit(PATTERN_BYTES_MAX)
            .dfa_size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| invalid(format!("patterns: {error}")))?;
        Ok(Self {
            pattern,
            context_lines: number(arguments, "context_lines").unwrap_or(0).min(CONTEXT_MAX),
            matches_max: number(arguments, "max_matches")
                .unwrap_or(MATCHES_DEFAULT)
                .min(MATCHES_MAX),
        })
    }
}

/// What was found so far. All hits are counted, some are shown.
struct Found {
    page: Page,
    hits: usize,
    files: usize,
    sources: Vec<String>,
}

impl Found {
    fn look(&mut self, place: &Place, wanted: &Wanted, halted: &Halted) -> Result<(), ToolError> {
        // What is binary, went away or cannot be read holds nothing that could be shown.
        let Ok(mut lines) = Lines::of(place) else { return Ok(()) };
        let told = shown(&place.relative);
        let mut around = Around::of(wanted.context_lines);
        let (mut hits, mut number) = (0, 0);
        while let Ok(Some(text)) = lines.next_line() {
            number += 1;
            if number % 1024 == 0 {
                halted.check()?;
            }
            let is_hit = wanted.pattern.is_match(&text);
            hits += usize::from(is_hit);
            let has_room = hits <= MATCHES_OF_A_FILE_MAX && self.hits + hits <= wanted.matches_max;
            if is_hit && has_room {
                self.show(&told, number, &text, around.taken());
            } else if around.is_behind() {
                self.page.push(&format!("{told}-{number}- {}", line(&text)));
            } else {
                around.pass(number, text);
            }
        }
        self.hits += hits;
        self.files += usize::from(hits > 0);
        Ok(())
    }

    /// Shows a hit and the lines before it.
    fn show(&mut self, told: &str, number: usize, text: &str, before: Vec<(usize, String)>) {
        for (number, text) in before {
            self.page.push(&format!("{told}-{number}- {}", line(&text)));
        }
        if self.page.push(&format!("{told}:{number}: {}", line(text.trim_start()))) {
            self.sources.push(format!("{told}:{number}"));
        }
    }

    fn finish(self, wanted: &Wanted) -> ToolOutput {
        let Self { page, hits, files, sources } = self;
        if hits == 0 {
            let text = "[no line fits]".to_owned();
            return ToolOutput { text, sources, is_news: false };
        }
        let shown = sources.len();
        let text = page.finish("narrow the search with directory, glob or a longer pattern");
        let more = if shown < hits.min(wanted.matches_max) || shown < hits {
            format!("; {shown} are shown")
        } else {
            String::new()
        };
        let text = format!("[{hits} lines in {files} files{more}]\n{text}");
        ToolOutput { text, sources, is_news: true }
    }
}

/// The lines around hits.
struct Around {
    lines: usize,
    /// Those that were passed last.
    before: Vec<(usize, String)>,
    /// How many are still shown behind a hit.
    behind: usize,
}

impl Around {
    fn of(lines: usize) -> Self {
        Self { lines, before: Vec::new(), behind: 0 }
    }

    /// What stands before a hit; as many lines are shown behind it.
    fn taken(&mut self) -> Vec<(usize, String)> {
        self.behind = self.lines;
        std::mem::take(&mut self.before)
    }

    fn is_behind(&mut self) -> bool {
        let is_behind = self.behind > 0;
        self.behind = self.behind.saturating_sub(1);
        is_behind
    }

    fn pass(&mut self, number: usize, text: String) {
        if self.lines > 0 {
            self.before.push((number, text));
            let too_many = self.before.len().saturating_sub(self.lines);
            self.before.drain(..too_many);
        }
    }
}
