//! Asking on a terminal, or on a pipe that answers.

use std::io::{self, BufRead, IsTerminal, Write};

/// A question is asked at most so often before the answers are taken for those of a program that
/// does not understand it.
const TRIES_MAX: usize = 5;

/// Why a dialogue ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum Cut {
    /// Nobody answers any more.
    #[error("the input ended before all was asked")]
    Ended,
    /// One question got only wrong answers.
    #[error("no answer to a question was one that can be used")]
    Hopeless,
    /// The terminal is gone.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Whoever answers.
pub(super) trait Person {
    /// Shows text.
    fn tell(&mut self, text: &str) -> io::Result<()>;
    /// The next line, without its end; `None`: there is none. `hidden`: not to be shown while it
    /// is typed.
    fn line(&mut self, hidden: bool) -> io::Result<Option<String>>;
}

/// Standard input and output.
pub(super) struct Terminal;

impl Person for Terminal {
    fn tell(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn line(&mut self, hidden: bool) -> io::Result<Option<String>> {
        if hidden && io::stdin().is_terminal() {
            return rpassword::read_password().map(Some);
        }
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

/// One question.
pub(super) struct Question<'a> {
    /// What it is about and where the answer is found; may be empty.
    pub(super) about: &'a str,
    /// The words before the place where the answer goes.
    pub(super) prompt: &'a str,
    /// What an empty line means.
    pub(super) default: &'a str,
    /// Whether the answer is a secret.
    pub(super) hidden: bool,
}

/// Asks until `read` takes the answer; what it says of a wrong one is shown.
pub(super) fn ask<T>(
    person: &mut impl Person,
    question: &Question<'_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Cut> {
    let Question { about, prompt, default, hidden } = question;
    if !about.is_empty() {
        person.tell(&format!("\n{about}\n"))?;
    }
    for _ in 0..TRIES_MAX {
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        person.tell(&format!("{prompt}{shown}: "))?;
        let line = person.line(*hidden)?.ok_or(Cut::Ended)?;
        let answer = match line.trim() {
            "" => default,
            answer => answer,
        };
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(wrong) => person.tell(&format!("  ✗ {wrong}\n"))?,
        }
    }
    Err(Cut::Hopeless)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Scripted {
        answers: VecDeque<&'static str>,
        told: String,
    }

    impl Person for Scripted {
        fn tell(&mut self, text: &str) -> io::Result<()> {
            self.told.push_str(text);
            Ok(())
        }

        fn line(&mut self, _hidden: bool) -> io::Result<Option<String>> {
            Ok(self.answers.pop_front().map(str::to_owned))
        }
    }

    fn number(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_wrong| format!("`{text}` is no number"))
    }

    fn asked(answers: &[&'static str]) -> (Result<u32, Cut>, String) {
        let question =
            Question { about: "How many?", prompt: "Count", default: "7", hidden: false };
        let mut person =
            Scripted { answers: answers.iter().copied().collect(), told: String::new() };
        let answer = ask(&mut person, &question, number);
        (answer, person.told)
    }

    #[test]
    fn a_wrong_answer_is_explained_and_asked_for_again_but_not_for_ever() {
        let (answer, told) = asked(&["many", " 3 "]);
        assert_eq!(answer.unwrap(), 3);
        assert_eq!(told, "\nHow many?\nCount [7]: \u{20}\u{20}✗ `many` is no number\nCount [7]: ");
        assert_eq!(asked(&[""]).0.unwrap(), 7, "an empty line is the default");
        assert!(matches!(asked(&["a", "b"]).0, Err(Cut::Ended)));
        assert!(matches!(asked(&["a"; 9]).0, Err(Cut::Hopeless)));
    }
}
