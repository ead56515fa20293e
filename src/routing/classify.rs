//! The intent classifier: rules in a fixed order, each with a confidence.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::command::{Command, command_of, unknown_slash};
use super::tables::{BOT_SIGNALS, IDE_SIGNALS, QUESTION, WRAPPERS};
use crate::envelope::Channel;
use crate::telemetry::Event;

/// A rule is believed without a second opinion from this confidence on.
const CONFIDENCE_ACCEPTED: f64 = 0.8;

/// Whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The daemon itself.
    System {
        /// What it is told.
        command: Command,
        /// What stands behind the command's word.
        argument: String,
    },
    /// The daemon, but it knows no such command.
    UnknownCommand {
        /// The word.
        word: String,
    },
    /// A command for the machine, behind `$`. Empty: the sender needs a hint.
    RemoteExec {
        /// The command.
        command: String,
    },
    /// Work for an editor, the wrapping words removed. Empty: the sender needs a hint.
    IdeAgent {
        /// The work.
        command: String,
    },
    /// A question to the bot.
    BotAgent,
}

/// How an intent was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A rule that is believed.
    Rule,
    /// A rule that a model should confirm where there is one.
    Weak,
    /// Nothing matched.
    Fallback,
}

/// An intent with how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// Whom the message is for.
    pub intent: Intent,
    /// From 0 to 1.
    pub confidence: f64,
    /// How it was found.
    pub method: Method,
    /// The addressee was named (a command, a prefix, a wrapper), not guessed from the words.
    pub explicit: bool,
}

impl Classified {
    fn named(intent: Intent, confidence: f64) -> Self {
        Self { intent, confidence, method: Method::Rule, explicit: true }
    }

    fn guessed(intent: Intent, confidence: f64, method: Method) -> Self {
        Self { intent, confidence, method, explicit: false }
    }
}

/// The classifier. Its patterns are compiled at their first use: that takes some ten
/// milliseconds, which a start has better use for.
#[derive(Debug, Default)]
pub struct Classifier {
    rules: OnceLock<Option<Rules>>,
}

#[derive(Debug)]
struct Rules {
    wrappers: Vec<Regex>,
    ide: Vec<Regex>,
    bot: Vec<Regex>,
    question: Regex,
}

impl Rules {
    fn compile() -> Result<Self, regex::Error> {
        Ok(Self {
            wrappers: compile(&WRAPPERS)?,
            ide: compile(&IDE_SIGNALS)?,
            bot: compile(&BOT_SIGNALS)?,
            question: pattern(QUESTION)?,
        })
    }
}

impl Classifier {
    /// The rules; `None` if a pattern of the tables does not compile, which a test rules out.
    fn rules(&self) -> Option<&Rules> {
        let compiled = self.rules.get_or_init(|| match Rules::compile() {
            Ok(rules) => Some(rules),
            Err(error) => {
                Event::Impossible { what: &error.to_string() }.emit();
                None
            }
        });
        compiled.as_ref()
    }

    /// Compiles the rules now, so that the first message does not have to wait for it.
    pub fn warm_up(&self) {
        self.rules();
    }

    /// Whom `text` is for. Never fails: what nothing matches is for the bot.
    pub fn classify(&self, text: &str, channel: Channel) -> Classified {
        let text = text.trim();
        if text.is_empty() {
            return Classified::guessed(Intent::BotAgent, 1.0, Method::Rule);
        }
        if let Some(named) = self.named(text, channel) {
            return named;
        }
        let Some(rules) = self.rules() else {
            return Classified::guessed(Intent::BotAgent, 0.5, Method::Fallback);
        };
        rules.by_signals(text)
    }

    /// Whether [`Classifier::classify`] finds a command to the daemon, known or not. Much cheaper:
    /// a command is always named, so the signals need not be searched for.
    pub fn is_control(&self, text: &str, channel: Channel) -> bool {
        self.named(text.trim(), channel).is_some_and(|named| {
            matches!(named.intent, Intent::System { .. } | Intent::UnknownCommand { .. })
        })
    }

    /// Whom a text names in so many words.
    fn named(&self, text: &str, channel: Channel) -> Option<Classified> {
        if let Some(intent) = system(text) {
            return Some(Classified::named(intent, 1.0));
        }
        if channel == Channel::Lark
            && let Some(intent) = prefixed(text)
        {
            return Some(Classified::named(intent, 1.0));
        }
        let command = self.rules()?.unwrap_editor(text)?;
        let intent = match command_of(command) {
            Some((command, argument)) => Intent::System { command, argument: argument.to_owned() },
            None => Intent::IdeAgent { command: command.to_owned() },
        };
        Some(Classified::named(intent, 0.95))
    }
}

impl Rules {
    /// `text` without the wrapper in front of it; `None` if there is none, or nothing but it.
    fn unwrap_editor<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.wrappers.iter().find_map(|wrapper| {
            let found = wrapper.find(text)?;
            let rest = text.get(found.end()..)?.trim();
            (!rest.is_empty()).then_some(rest)
        })
    }

    fn by_signals(&self, text: &str) -> Classified {
        let hits = |groups: &[Regex]| groups.iter().filter(|group| group.is_match(text)).count();
        let ide = hits(&self.ide);
        let bot = hits(&self.bot) + usize::from(self.question.is_match(text));
        let (winner, loser) = (ide.max(bot), ide.min(bot));
        if winner == 0 {
            let intent = Intent::BotAgent;
            return Classified::guessed(intent, 0.5, Method::Fallback);
        }
        let intent = if ide > bot {
            Intent::IdeAgent { command: text.to_owned() }
        } else {
            Intent::BotAgent
        };
        let tenths = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / 10.0;
        if winner >= 2 && winner > loser {
            let confidence = (0.6 + tenths(winner)).min(0.95);
            if confidence >= CONFIDENCE_ACCEPTED {
                return Classified::guessed(intent, confidence, Method::Rule);
            }
        }
        let confidence = 0.5 + tenths(winner - loser);
        Classified::guessed(intent, confidence, Method::Weak)
    }
}

fn system(text: &str) -> Option<Intent> {
    if let Some((command, argument)) = command_of(text) {
        return Some(Intent::System { command, argument: argument.to_owned() });
    }
    unknown_slash(text).map(|word| Intent::UnknownCommand { word: word.to_owned() })
}

fn prefixed(text: &str) -> Option<Intent> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(Intent::RemoteExec { command: rest.trim().to_owned() });
    }
    let rest = text.strip_prefix('>')?;
    Some(Intent::IdeAgent { command: rest.trim().to_owned() })
}

fn compile(patterns: &[&str]) -> Result<Vec<Regex>, regex::Error> {
    patterns.iter().map(|text| pattern(text)).collect()
}

fn pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).case_insensitive(true).build()
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
