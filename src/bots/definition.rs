//! The format of `bots/<name>.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::access;
use super::lark::LarkSection;
use super::schedule::{self, ScheduleDefinition};
use super::stale::{self, StaleRule};
use crate::base::problem::Problems;
use crate::base::{Locale, Problem};

/// The most messages beside the bot that a question may be given.
const HISTORY_MAX: usize = 100;
/// The most messages of a session that can be allowed to wait.
const QUEUE_LENGTH_MAX: usize = 1_000_000;

/// One bot, as its file defines it. Every key has a default but `name`.
#[derive(Clone, Debug, Deserialize)]
pub struct BotDefinition {
    /// The bot's name: lower-case letters, digits, `-`; also a segment of its URL.
    pub name: String,
    /// The key of a model of the main configuration; `None`: the offline answerer.
    #[serde(default)]
    pub model: Option<String>,
    /// Further models, asked in this order when the one before does not answer.
    #[serde(default)]
    pub fallback_models: Vec<String>,
    /// Its preset on Lark.
    #[serde(default = "default_preset")]
    pub preset: String,
    /// The language of the daemon's own sentences; `None`: the daemon's.
    #[serde(default)]
    pub locale: Option<Locale>,
    /// Who it is, for the model.
    #[serde(default)]
    pub persona: String,
    /// Folders of recipes; relative paths start at the root of the configuration.
    #[serde(default)]
    pub knowledge: Vec<PathBuf>,
    /// The folder with the code that its tools read; a relative path starts at the root of the
    /// configuration. Empty: there is none.
    #[serde(default)]
    pub workspace: PathBuf,
    /// The page of a recipe, `{path}` in the place of its file; empty: it has none.
    #[serde(default)]
    pub knowledge_url: String,
    /// Whether it says who it is when it comes into a chat.
    #[serde(default = "default_welcome")]
    pub welcome: bool,
    /// Questions that its welcome offers to press, at most five.
    #[serde(default)]
    pub examples: Vec<String>,
    /// What to do with a send that may have arrived when nobody can tell.
    #[serde(default)]
    pub in_doubt: DoubtRule,
    /// Its app on Lark or Feishu; `None`: it does not talk there.
    #[serde(default)]
    pub lark: Option<LarkSection>,
    /// Whom it talks to.
    #[serde(default)]
    pub access: Access,
    /// How it behaves in groups and in order.
    #[serde(default)]
    pub groups: Groups,
    /// What it does by the clock.
    #[serde(default)]
    pub schedules: Vec<ScheduleDefinition>,
}

impl BotDefinition {
    /// A bot with nothing but a name.
    pub fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            model: None,
            fallback_models: Vec::new(),
            preset: default_preset(),
            locale: None,
            persona: String::new(),
            knowledge: Vec::new(),
            knowledge_url: String::new(),
            workspace: PathBuf::new(),
            welcome: default_welcome(),
            examples: Vec::new(),
            in_doubt: DoubtRule::default(),
            lark: None,
            access: Access::default(),
            groups: Groups::default(),
            schedules: Vec::new(),
        }
    }
}

const fn default_welcome() -> bool {
    true
}

fn default_preset() -> String {
    "lark".to_owned()
}

/// What to do with a doubtful send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtRule {
    /// Send it again, marked.
    #[default]
    Resend,
    /// Leave it.
    Drop,
}

/// Whom a bot talks to. Closed by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Who may talk to it; see [`super::Entry`].
    pub users: Vec<String>,
    /// Chat ids, `*`.
    pub chats: Vec<String>,
    /// Who may always talk to it, and do what only admins may; see [`super::Entry`].
    pub admins: Vec<String>,
}

/// Whether it must be named in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MentionWord {
    /// It must.
    #[default]
    Required,
    /// Every message is for it.
    Optional,
    /// It must, unless somebody replies to it or goes on talking to it.
    Smart,
}

/// What one conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionWord {
    /// Everybody in a chat shares one.
    #[default]
    Chat,
    /// Each person in a chat has their own.
    User,
    /// Each thread has its own, and what is outside of threads has one.
    Thread,
}

/// What messages of other bots mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BotsWord {
    /// Nothing.
    #[default]
    Ignore,
    /// Those that name the bot are heard, a few in a row.
    Mentioned,
}

/// What naming everybody means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtAllWord {
    /// Nothing.
    #[default]
    Ignore,
    /// The bot is named.
    Answer,
}

/// How a bot behaves in groups, and how messages wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Groups {
    /// Whether it must be named.
    pub mention: MentionWord,
    /// What naming everybody means.
    pub at_all: AtAllWord,
    /// What messages of other bots mean.
    pub bots: BotsWord,
    /// At most this many messages beside the bot are given to it as context.
    pub history: usize,
    /// What one conversation is.
    pub session: SessionWord,
    /// What becomes of messages that arrive late.
    pub stale: StaleRule,
    /// At most this many messages of a session wait; what comes then is refused politely.
    pub queue_max: usize,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            mention: MentionWord::default(),
            at_all: AtAllWord::default(),
            bots: BotsWord::default(),
            history: 20,
            session: SessionWord::default(),
            stale: StaleRule::default(),
            queue_max: 64,
        }
    }
}

/// Reads one bot file. `None` if it is not usable; the problems say why.
pub fn load(path: &Path, source: &str) -> (Option<BotDefinition>, Vec<Problem>) {
    let file = path.display().to_string();
    let mut problems = Problems::of(&file, source);
    let definition = problems.read::<BotDefinition>();
    if let Some(definition) = &definition {
        check(definition, &mut problems);
    }
    let usable = !problems.has_errors();
    (definition.filter(|_| usable), problems.into_vec())
}

/// A welcome offers at most so many questions.
const EXAMPLES_MAX: usize = 5;
/// The longest of them, in characters: more does not fit on a button.
const EXAMPLE_CHARS_MAX: usize = 60;

fn check_examples(examples: &[String], problems: &mut Problems<'_>) {
    if examples.len() > EXAMPLES_MAX {
        problems.error("examples", format!("at most {EXAMPLES_MAX} questions"));
    }
    let fits = |example: &String| {
        !example.trim().is_empty() && example.chars().count() <= EXAMPLE_CHARS_MAX
    };
    if !examples.iter().all(fits) {
        problems.error("examples", format!("each has from 1 to {EXAMPLE_CHARS_MAX} characters"));
    }
}

fn check(definition: &BotDefinition, problems: &mut Problems<'_>) {
    check_examples(&definition.examples, problems);
    let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-' | '_');
    if definition.name.is_empty() || !definition.name.chars().all(is_plain) {
        problems.error("name", "a name has lower-case letters, digits, `-` and `_`");
    }
    if definition.model.is_none() && !definition.fallback_models.is_empty() {
        problems.error("fallback_models", "a bot without a `model` has none to fall back from");
    }
    if !(1..=QUEUE_LENGTH_MAX).contains(&definition.groups.queue_max) {
        problems.error("groups.queue_max", format!("it is from 1 to {QUEUE_LENGTH_MAX}"));
    }
    if definition.groups.history > HISTORY_MAX {
        problems.error("groups.history", format!("at most {HISTORY_MAX} messages can be kept"));
    }
    stale::check(&definition.groups.stale, problems);
    check_knowledge_url(&definition.knowledge_url, problems);
    schedule::check(definition, problems);
    if let Some(lark) = &definition.lark {
        if lark.app_id.is_empty() {
            problems.error("lark.app_id", "the id of the app is missing (cli_…)");
        }
        if !lark.base_url.is_empty() && url::Url::parse(&lark.base_url).is_err() {
            problems.error("lark.base_url", "this is not a URL");
        }
        for (key, value, _) in lark.secrets() {
            if !value.is_empty() && !value.starts_with("env:") && !value.starts_with("file:") {
                problems.warn(
                    &format!("lark.{key}"),
                    "a secret in a file; better write env:NAME or file:PATH",
                );
            }
        }
    }
    access::check(&definition.access, definition.lark.is_some(), problems);
}

/// A page of the web with a place for the file.
fn check_knowledge_url(template: &str, problems: &mut Problems<'_>) {
    let is_page = |url: url::Url| matches!(url.scheme(), "http" | "https");
    let makes_pages = || url::Url::parse(&template.replace("{path}", "x")).is_ok_and(is_page);
    let is_template = template.contains("{path}") && makes_pages();
    if !template.is_empty() && !is_template {
        let text = "write it like \"https://git.example.com/kb/blob/main/{path}\"";
        problems.error("knowledge_url", text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(source: &str) -> (Option<BotDefinition>, Vec<String>) {
        let (definition, problems) = load(Path::new("bots/b.toml"), source);
        (definition, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_name_is_enough() {
        let (definition, problems) = load_text("name = \"b\"");
        let definition = definition.unwrap();
        assert!(problems.is_empty());
        assert_eq!((definition.preset.as_str(), definition.groups.queue_max), ("lark", 64));
        assert_eq!(definition.access, Access::default(), "closed by default");
    }

    #[test]
    fn all_problems_are_found_at_once() {
        let source = "name = \"B b\"\npersone = \"x\"\n[lark]\napp_id = \"\"\napp_secret = \"s\"\n";
        let (definition, problems) = load_text(source);
        assert!(definition.is_none());
        assert_eq!(
            problems,
            [
                "bots/b.toml:2: persone: unknown key",
                "bots/b.toml:1: name: a name has lower-case letters, digits, `-` and `_`",
                "bots/b.toml:4: lark.app_id: the id of the app is missing (cli_…)",
                "warning: bots/b.toml:5: lark.app_secret: a secret in a file; better write \
                 env:NAME or file:PATH",
                "warning: bots/b.toml: access.users: nobody but admins may talk to this bot",
                "warning: bots/b.toml: access.chats: only admins are heard, and in private chats \
                 who was paired",
            ]
        );
    }

    #[test]
    fn wrong_values_of_the_rules_are_named_with_their_lines() {
        let table = [
            ("[access]\nusers = [\"ou_1\", \"@tennant\"]", "3: access.users[1]", "`@tennant`"),
            ("[access]\nadmins = [\n  \"@group/\",\n]", "4: access.admins[0]", "`@group/`"),
            ("[access]\nchats = [\"@tenant\"]", "3: access.chats[0]", "ids of chats"),
            ("[groups]\nmention = \"clever\"", "3: groups.mention", "`clever`"),
            ("[groups]\nbots = \"all\"", "3: groups.bots", "`ignore` or `mentioned`"),
            ("[groups]\nat_all = 1", "3: groups.at_all", "at_all = 1"),
            ("[groups]\nsession = \"x\"", "3: groups.session", "`x`"),
            ("[groups]\nhistory = 101", "3: groups.history", "at most 100"),
            ("[groups]\nhistory = -1", "3: groups.history", "invalid value"),
            ("examples = ['1', '2', '3', '4', '5', '6']", "2: examples", "at most 5 questions"),
            ("examples = [' ']", "2: examples", "from 1 to 60 characters"),
            ("knowledge_url = \"https://git.example.com/kb\"", "2: knowledge_url", "{path}"),
            ("knowledge_url = \"kb/{path}\"", "2: knowledge_url", "https://"),
            ("knowledge_url = \"javascript:{path}\"", "2: knowledge_url", "https://"),
            ("[groups]\nqueue_max = 0", "3: groups.queue_max", "from 1 to 1000000"),
            ("[groups]\nqueue_max = 1000001", "3: groups.queue_max", "from 1 to 1000000"),
            ("[groups]\nstale = { after = \"0s\" }", "3: groups.stale.after", "at least \"1s\""),
            ("[groups]\nstale = { after = \"999ms\" }", "3: groups.stale.after", "at least"),
            ("[groups]\nstale = { after = \"soon\" }", "3: groups.stale.after", "`soon`"),
            ("[groups]\nstale = { after = 600 }", "3: groups.stale.after", "a string"),
            ("[groups]\nstale = { then = \"x\" }", "3: groups.stale.then", "`annotate`"),
            ("[groups]\nstale = { when = \"1h\" }", "3: groups.stale.when", "unknown key"),
        ];
        for (lines, place, text) in table {
            let (definition, problems) = load_text(&format!("name = \"b\"\n{lines}"));
            assert!(definition.is_none(), "{lines}");
            let place = format!("bots/b.toml:{place}: ");
            let is_named = |problem: &String| problem.starts_with(&place) && problem.contains(text);
            assert!(problems.iter().any(is_named), "{problems:?}");
        }
    }

    #[test]
    fn the_rules_of_groups_are_read_with_their_units() {
        let lines = "[groups]\nmention = \"smart\"\nbots = \"mentioned\"\nsession = \"thread\"\n\
                     stale = { after = \"2h\", then = \"merge\" }";
        let (definition, problems) = load_text(&format!("name = \"b\"\n{lines}"));
        let groups = definition.unwrap().groups;
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!((groups.mention, groups.bots), (MentionWord::Smart, BotsWord::Mentioned));
        assert_eq!((groups.session, groups.history), (SessionWord::Thread, 20));
        let after = std::time::Duration::from_secs(7200);
        assert_eq!(groups.stale, StaleRule { after, then: crate::bots::StaleWord::Merge });
    }
}
