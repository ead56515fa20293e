//! Templates of operators: text with places for what a foreign program said.
//!
//! A template cannot read files or include others, its work and its output have limits, and it
//! has few filters: what it is given comes from outside.

use std::io::{self, Write};

use minijinja::value::{Serde, Value};
use minijinja::{Environment, ErrorKind, UndefinedBehavior, filters, tests as checks};

use super::limit::prefix_bytes;

/// The work that one rendering may take, in steps of the template's machine.
pub const FUEL_MAX: u64 = 50_000;

/// A template whose syntax is right.
#[derive(Clone, Debug)]
pub struct Template(String);

/// Why a template cannot be used, or not for this content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the template: {text}")]
pub struct TemplateError {
    /// The line within the template, from 1; 0 if nobody knows.
    pub line: usize,
    /// What is wrong.
    pub text: String,
}

impl From<minijinja::Error> for TemplateError {
    fn from(error: minijinja::Error) -> Self {
        let text = match error.detail() {
            Some(detail) => format!("{} ({detail})", error.kind()),
            None => error.kind().to_string(),
        };
        Self { line: error.line().unwrap_or(0), text }
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// Wrong syntax, and a filter or test that does not exist as far as an empty content shows it.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let environment = environment();
        let parsed = environment.template_from_str(source)?;
        let unknown =
            [ErrorKind::UnknownFilter, ErrorKind::UnknownTest, ErrorKind::UnknownFunction];
        match parsed.render(Value::from(Serde(serde_json::json!({})))) {
            Err(error) if unknown.contains(&error.kind()) => Err(error.into()),
            Ok(_) | Err(_) => Ok(Self(source.to_owned())),
        }
    }

    /// The text for `content`, at most `bytes_max` bytes of it; a name that the content lacks is
    /// an empty text. Also says whether something was cut off.
    ///
    /// # Errors
    /// The content does not fit what the template does with it, or the work is too much.
    pub fn render(
        &self,
        content: &serde_json::Value,
        bytes_max: usize,
    ) -> Result<(String, bool), TemplateError> {
        let environment = environment();
        let template = environment.template_from_str(&self.0)?;
        let mut sheet = Sheet { written: Vec::new(), bytes_max, is_full: false };
        let rendered =
            template.render_captured_to(Value::from(Serde(content)), &mut sheet).map(|_| ());
        match rendered {
            // A full sheet stops the work by an error.
            Err(error) if !sheet.is_full => Err(error.into()),
            Ok(()) | Err(_) => {
                let text = String::from_utf8_lossy(&sheet.written);
                let text = prefix_bytes(text.trim_end_matches('\u{fffd}'), bytes_max);
                Ok((text.to_owned(), sheet.is_full))
            }
        }
    }
}

fn environment<'source>() -> Environment<'source> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(FUEL_MAX));
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("items", filters::items);
    environment.add_filter("join", filters::join);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("round", filters::round);
    environment.add_filter("tojson", filters::tojson);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("upper", filters::upper);
    environment.add_test("defined", checks::is_defined);
    environment.add_test("undefined", checks::is_undefined);
    environment.add_test("none", checks::is_none);
    environment
}

/// Takes so much and no more.
struct Sheet {
    written: Vec<u8>,
    bytes_max: usize,
    is_full: bool,
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max.saturating_sub(self.written.len());
        let (taken, rest) = bytes.split_at(room.min(bytes.len()));
        self.written.extend_from_slice(taken);
        if rest.is_empty() {
            return Ok(bytes.len());
        }
        self.is_full = true;
        Err(io::Error::from(io::ErrorKind::WriteZero))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_says_what_it_finds_and_nothing_for_what_it_does_not() {
        let content = json!({"alert": {"title": "CPU <90%>"}, "hosts": ["a", "b"], "level": null});
        for (template, text) in [
            ("{{ alert.title }}", "CPU <90%>"),
            ("{{ no.such.name }}.", "."),
            ("{% for h in hosts %}[{{ h }}]{% endfor %}", "[a][b]"),
            ("{{ hosts | join(', ') }}", "a, b"),
            ("{% if level is none %}-{% endif %}{{ x | default('?') }}", "-?"),
        ] {
            let rendered = Template::parse(template).unwrap().render(&content, 1000);
            assert_eq!(rendered, Ok((text.to_owned(), false)), "{template}");
        }
    }

    #[test]
    fn a_wrong_template_is_known_before_it_is_used_with_its_line() {
        for template in
            ["a\n{{ x", "a\n{{ x | nosuch }}", "a\n{% include 'x' %}", "a\n{{ range(9) }}"]
        {
            assert_eq!(Template::parse(template).unwrap_err().line, 2, "{template}");
        }
    }

    #[test]
    fn work_and_output_have_limits() {
        let many: Vec<u32> = (0..2000).collect();
        let content = json!({"many": many, "long": "状".repeat(1000)});
        let endless = "{% for a in many %}{% for b in many %}{% endfor %}{% endfor %}";
        assert!(Template::parse(endless).unwrap().render(&content, 1000).is_err());
        let long = Template::parse("{{ long }}").unwrap().render(&content, 100).unwrap();
        assert_eq!(long, ("状".repeat(33), true));
    }
}
