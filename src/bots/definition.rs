//! The format of `bots/<name>.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::base::problem::Problems;
use crate::base::{Locale, Problem};

/// One bot, as its file defines it. Every key has a default but `name`.
#[derive(Clone, Debug, Deserialize)]
pub struct BotDefinition {
    /// The bot's name: lower-case letters, digits, `-`; also a segment of its URL.
    pub name: String,
    /// The key of a model of the main configuration; `None`: the offline answerer.
    #[serde(default)]
    pub model: Option<String>,
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
}

impl BotDefinition {
    /// A bot with nothing but a name.
    pub fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            model: None,
            preset: default_preset(),
            locale: None,
            persona: String::new(),
            knowledge: Vec::new(),
            in_doubt: DoubtRule::default(),
            lark: None,
            access: Access::default(),
            groups: Groups::default(),
        }
    }
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

/// How events reach a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The platform posts them to a URL of the daemon.
    #[default]
    Webhook,
}

/// A bot's app on Lark or Feishu.
#[derive(Clone, Debug, Deserialize)]
pub struct LarkSection {
    /// `cli_…`
    pub app_id: String,
    /// A secret reference.
    #[serde(default)]
    pub app_secret: String,
    /// A secret reference; needed for the webhook transport.
    #[serde(default)]
    pub encrypt_key: String,
    /// A secret reference; needed for the webhook transport.
    #[serde(default)]
    pub verification_token: String,
    /// `feishu` or `lark`: which of the two platforms.
    #[serde(default)]
    pub region: Region,
    /// The address of the platform's API; empty: the region's own.
    #[serde(default)]
    pub base_url: String,
    /// How events come in.
    #[serde(default)]
    pub transport: Transport,
}

/// Which of the two platforms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Region {
    /// open.feishu.cn
    #[default]
    Feishu,
    /// open.larksuite.com
    Lark,
}

impl LarkSection {
    /// The address of the platform's API, without a slash at its end.
    pub fn api_url(&self) -> String {
        let url = match (self.base_url.as_str(), self.region) {
            ("", Region::Feishu) => "https://open.feishu.cn",
            ("", Region::Lark) => "https://open.larksuite.com",
            (url, _) => url,
        };
        url.trim_end_matches('/').to_owned()
    }
}

/// Whom a bot talks to. Closed by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Access {
    /// User ids, `*`, `@tenant`.
    pub users: Vec<String>,
    /// Chat ids, `*`.
    pub chats: Vec<String>,
    /// User ids that may always talk to it.
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
    /// What one conversation is.
    pub session: SessionWord,
    /// At most this many messages of a session wait; what comes then is refused politely.
    pub queue_max: usize,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            mention: MentionWord::default(),
            at_all: AtAllWord::default(),
            session: SessionWord::default(),
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

fn check(definition: &BotDefinition, problems: &mut Problems<'_>) {
    let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-' | '_');
    if definition.name.is_empty() || !definition.name.chars().all(is_plain) {
        problems.error("name", "a name has lower-case letters, digits, `-` and `_`");
    }
    if definition.groups.queue_max == 0 {
        problems.error("groups.queue_max", "at least one message must be able to wait");
    }
    if let Some(lark) = &definition.lark {
        if lark.app_id.is_empty() {
            problems.error("lark.app_id", "the id of the app is missing (cli_…)");
        }
        if !lark.base_url.is_empty() && url::Url::parse(&lark.base_url).is_err() {
            problems.error("lark.base_url", "this is not a URL");
        }
        for (key, value) in [
            ("lark.app_secret", &lark.app_secret),
            ("lark.encrypt_key", &lark.encrypt_key),
            ("lark.verification_token", &lark.verification_token),
        ] {
            if !value.is_empty() && !value.starts_with("env:") && !value.starts_with("file:") {
                problems.warn(key, "a secret in a file; better write env:NAME or file:PATH");
            }
        }
    }
    if definition.lark.is_some() && definition.access.users.is_empty() {
        problems.warn("access.users", "nobody but admins may talk to this bot");
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
            ]
        );
    }

    #[test]
    fn the_region_gives_the_address_unless_one_is_written() {
        let url = |lines: &str| {
            let (definition, _) =
                load_text(&format!("name = \"b\"\n[lark]\napp_id = \"cli_1\"\n{lines}"));
            definition.unwrap().lark.unwrap().api_url()
        };
        assert_eq!(url(""), "https://open.feishu.cn");
        assert_eq!(url("region = \"lark\""), "https://open.larksuite.com");
        assert_eq!(url("base_url = \"http://127.0.0.1:9/\""), "http://127.0.0.1:9");
    }
}
