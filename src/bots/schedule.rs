//! What a bot does by the clock.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::definition::BotDefinition;
use super::timetable::{Timetable, TimetableError};
use crate::base::parse;
use crate::base::problem::Problems;

/// The most schedules of a bot.
const SCHEDULES_MAX: usize = 100;
/// The longest prompt, in characters.
const PROMPT_CHARS_MAX: usize = 4000;
/// How late a run may be made up for. Longer than that nobody would know any more that it was done.
const WITHIN_LEAST: Duration = Duration::from_secs(60);
const WITHIN_MOST: Duration = Duration::from_secs(24 * 3600);

/// Work at certain times.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ScheduleDefinition {
    /// Its name, unique within the bot.
    pub name: String,
    /// Five fields: minute, hour, day, month, day of the week.
    pub cron: String,
    /// An IANA name.
    pub timezone: String,
    /// What is done.
    pub action: ActionWord,
    /// The chat it is done in.
    pub chat: String,
    /// What is asked, if the action is a prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What becomes of times at which nothing ran.
    #[serde(default)]
    pub misfire: Misfire,
    /// What becomes of a digest without news; `None`: it is left out.
    #[serde(default)]
    pub when_empty: Option<EmptyWord>,
}

/// What a schedule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionWord {
    /// Tells what is new in the knowledge base.
    KnowledgeDigest,
    /// Tells what a group talked about. Not there yet.
    ChatDigest,
    /// Asks the bot.
    Prompt,
}

/// What becomes of a digest without news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyWord {
    /// It is not posted.
    Skip,
    /// It is posted and says so.
    Post,
}

/// What becomes of times at which nothing ran: the daemon was down, the clock was put forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Misfire {
    /// Which of them are made up for.
    pub policy: MisfireWord,
    /// Those of so long ago at most.
    #[serde(deserialize_with = "duration")]
    pub within: Duration,
}

impl Default for Misfire {
    fn default() -> Self {
        Self { policy: MisfireWord::default(), within: Duration::from_secs(2 * 3600) }
    }
}

/// Which missed times are made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MisfireWord {
    /// None.
    Skip,
    /// The last.
    #[default]
    Once,
    /// Each.
    All,
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    parse::duration(&text).map_err(serde::de::Error::custom)
}

impl ScheduleDefinition {
    /// When it is due.
    ///
    /// # Errors
    /// Its cron expression or its zone makes no sense.
    pub fn timetable(&self) -> Result<Timetable, TimetableError> {
        Timetable::new(&self.cron, &self.timezone)
    }
}

pub(super) fn check(bot: &BotDefinition, problems: &mut Problems<'_>) {
    if bot.schedules.len() > SCHEDULES_MAX {
        problems.error("schedules", format!("at most {SCHEDULES_MAX} schedules can be kept"));
    }
    for (place, schedule) in bot.schedules.iter().enumerate() {
        let key = |name: &str| format!("schedules[{place}].{name}");
        let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-' | '_');
        if schedule.name.is_empty() || !schedule.name.chars().all(is_plain) {
            problems.error(&key("name"), "a name has lower-case letters, digits, `-` and `_`");
        }
        if bot.schedules.iter().take(place).any(|other| other.name == schedule.name) {
            let text = format!("another schedule is named `{}`", schedule.name);
            problems.error(&key("name"), text);
        }
        match schedule.timetable() {
            Ok(_timetable) => {}
            Err(error @ TimetableError::Cron(_)) => problems.error(&key("cron"), error.to_string()),
            Err(error @ TimetableError::Zone(_)) => {
                problems.error(&key("timezone"), error.to_string());
            }
        }
        if schedule.chat.trim().is_empty() {
            problems.error(&key("chat"), "the id of the chat is missing (oc_…)");
        } else if bot.lark.is_none() {
            problems.error(&key("chat"), "the bot has no [lark]: it is in no chat");
        }
        if !(WITHIN_LEAST..=WITHIN_MOST).contains(&schedule.misfire.within) {
            problems.error(&key("misfire.within"), "it is from \"1m\" to \"24h\"");
        }
        check_action(bot, schedule, &key, problems);
    }
}

fn check_action(
    bot: &BotDefinition,
    schedule: &ScheduleDefinition,
    key: &dyn Fn(&str) -> String,
    problems: &mut Problems<'_>,
) {
    let prompt = schedule.prompt.as_deref().map(str::trim);
    match (schedule.action, prompt) {
        (ActionWord::ChatDigest, _) => {
            let text = "there is no `chat_digest` yet; `knowledge_digest` or `prompt`";
            problems.error(&key("action"), text);
        }
        (ActionWord::Prompt, None | Some("")) => {
            problems.error(&key("prompt"), "what the bot is to be asked is missing");
        }
        (ActionWord::Prompt, Some(prompt)) if prompt.chars().count() > PROMPT_CHARS_MAX => {
            let text = format!("it has at most {PROMPT_CHARS_MAX} characters");
            problems.error(&key("prompt"), text);
        }
        (ActionWord::Prompt, Some(prompt)) if prompt.starts_with(['/', '／']) => {
            let text = "it is a question to the bot, no command; for /digest there is \
                        action = \"knowledge_digest\"";
            problems.error(&key("prompt"), text);
        }
        (ActionWord::Prompt, Some(_question)) => {
            if schedule.when_empty.is_some() {
                problems.error(&key("when_empty"), "it is for digests: a prompt is never empty");
            }
        }
        (ActionWord::KnowledgeDigest, Some(_)) => {
            problems.error(&key("prompt"), "it goes with action = \"prompt\"");
        }
        (ActionWord::KnowledgeDigest, None) => {
            if schedule.misfire.policy == MisfireWord::All {
                let text = "a digest tells everything since the last one: `once` or `skip`";
                problems.error(&key("misfire.policy"), text);
            }
            if bot.knowledge.is_empty() {
                problems.warn(&key("action"), "the bot has no `knowledge` to tell of");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::load;
    use super::*;

    const BOT: &str = "name = \"b\"\nknowledge = [\"k\"]\n[lark]\napp_id = \"cli_1\"\n";

    fn schedule(changes: &[(&str, &str)]) -> String {
        let mut lines = vec![
            ("name", "\"morning\""),
            ("cron", "\"0 9 * * 1-5\""),
            ("timezone", "\"Asia/Shanghai\""),
            ("action", "\"knowledge_digest\""),
            ("chat", "\"oc_1\""),
        ];
        for (key, value) in changes {
            lines.retain(|(name, _)| name != key);
            lines.push((key, value));
        }
        let lines = lines.iter().map(|(key, value)| format!("{key} = {value}\n"));
        format!("[[schedules]]\n{}", lines.collect::<String>())
    }

    fn read(text: &str) -> (Option<BotDefinition>, Vec<String>) {
        let (definition, problems) = load(Path::new("b.toml"), text);
        let problems = problems.iter().map(ToString::to_string);
        (definition, problems.filter(|problem| !problem.contains("access.")).collect())
    }

    #[test]
    fn the_least_that_a_schedule_says_gives_the_rest() {
        let (definition, problems) = read(&format!("{BOT}{}", schedule(&[])));
        assert!(problems.is_empty(), "{problems:?}");
        let schedules = definition.unwrap().schedules;
        let within = Duration::from_secs(7200);
        assert_eq!(schedules[0].misfire, Misfire { policy: MisfireWord::Once, within });
        assert_eq!(schedules[0].when_empty, None);
    }

    /// What is written, and the line, key and words of the problem.
    type Row<'a> = (&'a [(&'a str, &'a str)], usize, &'a str, &'a str);

    #[test]
    fn what_is_wrong_is_named_with_its_key_and_line() {
        let table: [Row<'_>; 17] = [
            (&[("name", "\"Morning one\"")], 10, "name", "lower-case"),
            (&[("cron", "\"0 25 * * *\"")], 10, "cron", "`25` is no hour"),
            (&[("cron", "\"0 0 30 2 *\"")], 10, "cron", "no day of any year"),
            (&[("timezone", "\"Shanghai\"")], 10, "timezone", "`Shanghai`"),
            (&[("chat", "\"\"")], 10, "chat", "is missing"),
            (&[("action", "\"chat_digest\"")], 10, "action", "no `chat_digest` yet"),
            (&[("action", "\"dance\"")], 10, "action", "unknown variant `dance`"),
            (&[("action", "\"prompt\"")], 5, "prompt", "is missing"),
            (&[("prompt", "\"hello\"")], 11, "prompt", "goes with"),
            (&[("action", "\"prompt\""), ("prompt", "\"/digest\"")], 11, "prompt", "no command"),
            (&[("when_empty", "\"shout\"")], 11, "when_empty", "unknown variant"),
            (&[("misfire", "{ within = \"59s\" }")], 11, "misfire.within", "from \"1m\""),
            (&[("misfire", "{ within = \"25h\" }")], 11, "misfire.within", "to \"24h\""),
            (&[("misfire", "{ within = 5 }")], 11, "misfire.within", "a string"),
            (&[("misfire", "{ policy = \"all\" }")], 11, "misfire.policy", "everything since"),
            (&[("misfire", "{ wihtin = \"2h\" }")], 11, "misfire.wihtin", "unknown key"),
            (&[("whem", "1")], 11, "whem", "unknown key"),
        ];
        for (changes, line, key, text) in table {
            let (definition, problems) = read(&format!("{BOT}{}", schedule(changes)));
            assert!(definition.is_none(), "{changes:?}");
            assert_eq!(problems.len(), 1, "{changes:?}: {problems:?}");
            let place = format!("b.toml:{line}: schedules[0].{key}: ");
            let problem = &problems[0];
            assert!(problem.starts_with(&place) && problem.contains(text), "{problem}");
        }
    }

    #[test]
    fn a_name_is_given_once_and_there_is_a_chat_to_speak_in() {
        let twice = format!("{BOT}{}{}", schedule(&[]), schedule(&[]));
        let (_, problems) = read(&twice);
        assert_eq!(problems, ["b.toml:12: schedules[1].name: another schedule is named `morning`"]);
        let (_, problems) = read(&format!("name = \"b\"\nknowledge = [\"k\"]\n{}", schedule(&[])));
        assert!(problems[0].contains("schedules[0].chat: the bot has no [lark]"), "{problems:?}");
    }
}
