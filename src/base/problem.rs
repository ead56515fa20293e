//! A problem of a configuration file, with the place where to mend it.

use std::fmt;

use serde::de::DeserializeOwned;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It works, but not as one should leave it.
    Warning,
    /// The configuration is not usable.
    Error,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// The file; empty for the environment.
    pub file: String,
    /// The line, from 1; 0 if it has none.
    pub line: usize,
    /// The key path, `server.listen`; may be empty.
    pub key: String,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning: ",
            Severity::Error => "",
        };
        let line = if self.line == 0 { String::new() } else { format!(":{}", self.line) };
        let key = if self.key.is_empty() { String::new() } else { format!(" {}:", self.key) };
        write!(formatter, "{severity}{}{line}:{key} {}", self.file, self.text)
    }
}

/// Collects the problems of one file.
#[derive(Debug)]
pub struct Problems<'a> {
    file: &'a str,
    source: &'a str,
    found: Vec<Problem>,
}

impl<'a> Problems<'a> {
    /// No problem yet in the file named `file` with the text `source`.
    pub fn of(file: &'a str, source: &'a str) -> Self {
        Self { file, source, found: Vec::new() }
    }

    /// Adds an error at `key`.
    pub fn error(&mut self, key: &str, text: impl Into<String>) {
        self.add(Severity::Error, key, text.into());
    }

    /// Adds a warning at `key`.
    pub fn warn(&mut self, key: &str, text: impl Into<String>) {
        self.add(Severity::Warning, key, text.into());
    }

    fn add(&mut self, severity: Severity, key: &str, text: String) {
        let line = line_of(self.source, key).unwrap_or(0);
        self.found.push(Problem {
            severity,
            file: self.file.to_owned(),
            line,
            key: key.to_owned(),
            text,
        });
    }

    /// Whether an error is among them.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The keys of the errors.
    pub fn error_keys(&self) -> impl Iterator<Item = &str> {
        let errors = self.found.iter().filter(|problem| problem.severity == Severity::Error);
        errors.map(|problem| problem.key.as_str())
    }

    /// All of them, in the order they were found.
    pub fn into_vec(self) -> Vec<Problem> {
        self.found
    }

    /// Whether the file is TOML at all; a syntax error is noted.
    pub fn is_toml(&mut self) -> bool {
        let parsed = toml::from_str::<serde::de::IgnoredAny>(self.source);
        if let Err(error) = &parsed {
            self.syntax(error);
        }
        parsed.is_ok()
    }

    /// Reads the file's TOML into `T`, noting every unknown key; `None` if it does not fit.
    pub fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        match toml::Deserializer::parse(self.source) {
            Ok(deserializer) => self.deserialize(deserializer),
            Err(error) => {
                self.syntax(&error);
                None
            }
        }
    }

    /// Reads any source into `T`, noting every unknown key; `None` if it does not fit.
    pub fn deserialize<'de, T, D>(&mut self, deserializer: D) -> Option<T>
    where
        T: DeserializeOwned,
        D: serde::Deserializer<'de>,
    {
        let mut unknown = Vec::new();
        let mut note = |path: serde_ignored::Path<'_>| unknown.push(path.to_string());
        let mut track = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(deserializer, &mut track);
        let result = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut note));
        for key in unknown {
            self.error(&with_places(&key), "unknown key");
        }
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let key = track.path().to_string();
                let key = if key == "." { String::new() } else { key };
                let text = error.to_string();
                let text = text.lines().map(str::trim).filter(|line| !line.is_empty());
                self.error(&key, text.collect::<Vec<_>>().join(" "));
                None
            }
        }
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        let line = error.span().map_or(0, |span| line_at(self.source, span.start));
        self.found.push(Problem {
            severity: Severity::Error,
            file: self.file.to_owned(),
            line,
            key: String::new(),
            text: error.message().to_owned(),
        });
    }
}

/// `a.0.b` as `a[0].b`.
fn with_places(key: &str) -> String {
    let mut path = String::new();
    for segment in key.split('.') {
        if segment.parse::<usize>().is_ok() {
            path.push_str(&format!("[{segment}]"));
        } else {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(segment);
        }
    }
    path
}

fn line_at(source: &str, byte: usize) -> usize {
    source.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

/// The line on which `key` (or the nearest table above it) stands.
fn line_of(source: &str, key: &str) -> Option<usize> {
    let document = toml_edit::Document::parse(source).ok()?;
    let mut item = document.as_item();
    let mut line = None;
    let normal = key.replace('[', ".").replace(']', "");
    for segment in normal.split('.').filter(|segment| !segment.is_empty()) {
        let (next, span) = match segment.parse::<usize>() {
            Ok(index) => (item.get(index)?, None),
            Err(_not_an_index) => {
                let table = item.as_table_like();
                let span = table.and_then(|table| table.get_key_value(segment)?.0.span());
                match item.get(segment) {
                    Some(next) => (next, span),
                    None => return line,
                }
            }
        };
        item = next;
        if let Some(span) = span.or_else(|| item.span()) {
            line = Some(line_at(source, span.start));
        }
    }
    line
}

#[cfg(test)]
#[path = "problem_tests.rs"]
mod tests;
