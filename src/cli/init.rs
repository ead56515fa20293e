//! `larkspur init`: asks, explains where each value is found, writes the files, and checks them.

mod dialogue;
mod plan;
mod words;
mod write;

use std::path::{Path, PathBuf};

use self::dialogue::{Cut, Person, Question, Terminal, ask};
use self::plan::{Answers, App, Kept, ModelChoice};
use self::words::Words;
use self::write::{WriteError, write_all};
use super::{Exit, Unsaid, complain, say};
use crate::base::Locale;
use crate::config::{Environment, known_models};

/// What the command line says already.
pub(super) struct Wish {
    pub(super) dir: PathBuf,
    pub(super) locale: Locale,
    /// Take the defaults instead of asking.
    pub(super) yes: bool,
    /// Replace files, keeping the old ones beside.
    pub(super) force: bool,
    /// Another address of the platform.
    pub(super) base_url: String,
}

/// Asks, writes and checks. `check` is what `larkspur check` does with a configuration file.
pub(super) fn run(
    wish: &Wish,
    check: impl FnOnce(&Path) -> Result<Exit, Unsaid>,
) -> Result<Exit, Unsaid> {
    let told = |words: Words| words.text(wish.locale);
    let answers = match interview(wish) {
        Ok(answers) => answers,
        Err(cut) => {
            complain(&format!("larkspur: {cut}; nothing was written"));
            return Ok(Exit::Failed);
        }
    };
    match write_all(&wish.dir, &answers.files(), wish.force) {
        Ok(written) => {
            for path in written {
                say(&format!("+ {}", path.display()))?;
            }
        }
        Err(error) => {
            complain(&format!("larkspur: {error}"));
            let exists = matches!(error, WriteError::Exists(_));
            return Ok(if exists { Exit::Failed } else { Exit::Unwritten });
        }
    }
    say(&format!("\n{}", told(Words::Checked)))?;
    let checked = check(&wish.dir.join("config/larkspur.toml"))?;
    let variables = answers.variables();
    if !variables.is_empty() {
        say(&format!("\n{}\n  {}", told(Words::Variables), variables.join("\n  ")))?;
    }
    let next = match &answers.app {
        Some(App { webhook: Some(_), .. }) => Words::NextWebhook,
        Some(App { webhook: None, .. }) => Words::NextSocket,
        None => Words::NextTerminal,
    };
    say(&format!("\n{}", told(next).replace("{bot}", &answers.bot)))?;
    // What is still to be set in the environment is no fault of these files.
    Ok(if variables.is_empty() { checked } else { Exit::Done })
}

fn interview(wish: &Wish) -> Result<Answers, Cut> {
    if wish.yes {
        let mut silent = Nobody;
        return Interview { person: &mut silent, locale: wish.locale }.all(wish);
    }
    let mut terminal = Terminal;
    terminal.tell(Words::Greeting.text(wish.locale))?;
    Interview { person: &mut terminal, locale: wish.locale }.all(wish)
}

/// Who takes every default.
struct Nobody;

impl Person for Nobody {
    fn tell(&mut self, _text: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn line(&mut self, _hidden: bool) -> std::io::Result<Option<String>> {
        Ok(Some(String::new()))
    }
}

/// The questions in their order.
struct Interview<'a, P> {
    person: &'a mut P,
    locale: Locale,
}

impl<P: Person> Interview<'_, P> {
    fn all(mut self, wish: &Wish) -> Result<Answers, Cut> {
        let bot = self.ask(Words::Bot, Words::BotPrompt, "assistant", |text| {
            let is_plain = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
            check(text, !text.is_empty() && text.chars().all(is_plain), Words::WrongName)?;
            // Whoever does not answer takes what comes, and is told so at the end.
            let file = wish.dir.join(format!("bots/{text}.toml"));
            check(text, wish.yes || wish.force || !file.exists(), Words::NameTaken)
        })?;
        let app = self.app()?;
        let model = self.model()?;
        let is_entry = |entry: &str| {
            let starts = ["ou_", "on_", "@department/", "@group/"];
            ["@tenant", "*", "@chat-owner"].contains(&entry)
                || starts.iter().any(|start| entry.len() > start.len() && entry.starts_with(start))
        };
        let users = self.list(Words::Users, Words::UsersPrompt, "@tenant", is_entry)?;
        let admins = self.list(Words::Admins, Words::AdminsPrompt, "", is_entry)?;
        let digest_chat = match &app {
            Some(_) => self.ask(Words::Digest, Words::DigestPrompt, "", |text| {
                let rest = text.strip_prefix("oc_").unwrap_or_default();
                let is_id = rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                check(text, text.is_empty() || (!rest.is_empty() && is_id), Words::WrongChat)
            })?,
            None => String::new(),
        };
        Ok(Answers {
            locale: self.locale,
            bot,
            app,
            model,
            users,
            admins,
            digest_chat: Some(digest_chat).filter(|chat| !chat.is_empty()),
            base_url: wish.base_url.clone(),
        })
    }

    fn app(&mut self) -> Result<Option<App>, Cut> {
        let id = self.ask(Words::AppId, Words::AppIdPrompt, "", |text| {
            let rest = text.strip_prefix("cli_").unwrap_or_default();
            let is_id = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric());
            check(text, text.is_empty() || is_id, Words::WrongAppId)
        })?;
        if id.is_empty() {
            return Ok(None);
        }
        let region = self.ask(Words::Region, Words::RegionPrompt, "feishu", |text| {
            check(text, ["feishu", "lark"].contains(&text), Words::WrongWord)
        })?;
        let (about, prompt) = (Words::AppSecret, Words::AppSecretPrompt);
        let secret = self.secret(about, prompt, "LARK_APP_SECRET", "app-secret")?;
        let transport =
            self.ask(Words::Transport, Words::TransportPrompt, "websocket", |text| {
                check(text, ["websocket", "webhook"].contains(&text), Words::WrongWord)
            })?;
        let webhook = if transport == "webhook" { Some(self.webhook()?) } else { None };
        Ok(Some(App { id, region, secret, webhook }))
    }

    /// What is needed where events come to a URL of the daemon.
    fn webhook(&mut self) -> Result<(Kept, Kept), Cut> {
        let (about, prompt) = (Words::EncryptKey, Words::EncryptKeyPrompt);
        let key = self.secret(about, prompt, "LARK_ENCRYPT_KEY", "encrypt-key")?;
        let (about, prompt) = (Words::Token, Words::TokenPrompt);
        let token = self.secret(about, prompt, "LARK_VERIFICATION_TOKEN", "verification-token")?;
        Ok((key, token))
    }

    fn model(&mut self) -> Result<Option<ModelChoice>, Cut> {
        let known = known_models();
        let provider = self.ask(Words::Model, Words::ModelPrompt, "none", |text| {
            let is_known = known.iter().any(|model| model.provider == text);
            check(text, is_known || ["none", "ollama", "other"].contains(&text), Words::WrongWord)
        })?;
        if provider == "none" {
            return Ok(None);
        }
        let known = known.iter().find(|model| model.provider == provider);
        let usual = known.map_or("", |model| model.model);
        let model = self.bare(Words::ModelNamePrompt, usual, |text| {
            check(text, !text.is_empty(), Words::Empty)
        })?;
        let base_url = if provider == "other" {
            self.bare(Words::BaseUrlPrompt, "", |text| {
                let is_http = text.starts_with("http://") || text.starts_with("https://");
                check(text, is_http, Words::WrongUrl)
            })?
        } else {
            String::new()
        };
        let variable = known.map_or("MODEL_API_KEY", |model| model.key_variable);
        let key = match provider.as_str() {
            "ollama" => None,
            _ => Some(self.secret(
                Words::ModelKey,
                Words::ModelKeyPrompt,
                variable,
                "model-api-key",
            )?),
        };
        let provider = if provider == "other" { "openai".to_owned() } else { provider };
        Ok(Some(ModelChoice { provider, model, base_url, key }))
    }

    fn ask(
        &mut self,
        about: Words,
        prompt: Words,
        default: &str,
        read: impl Fn(&str) -> Result<String, Words>,
    ) -> Result<String, Cut> {
        let (about, prompt) = (about.text(self.locale), prompt.text(self.locale));
        let question = Question { about, prompt, default, hidden: false };
        let locale = self.locale;
        ask(self.person, &question, |text| {
            read(text).map_err(|words| words.text(locale).to_owned())
        })
    }

    /// A question that needs no explanation.
    fn bare(
        &mut self,
        prompt: Words,
        default: &str,
        read: impl Fn(&str) -> Result<String, Words>,
    ) -> Result<String, Cut> {
        let question =
            Question { about: "", prompt: prompt.text(self.locale), default, hidden: false };
        let locale = self.locale;
        ask(self.person, &question, |text| {
            read(text).map_err(|words| words.text(locale).to_owned())
        })
    }

    fn list(
        &mut self,
        about: Words,
        prompt: Words,
        default: &str,
        is_entry: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, Cut> {
        let entries = |text: &str| -> Vec<String> {
            let entries = text.split([',', '，', ' ']).map(str::trim);
            entries.filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
        };
        let answer = self.ask(about, prompt, default, |text| {
            let all_are = entries(text).iter().all(|entry| is_entry(entry));
            check(text, all_are, Words::WrongEntry)
        })?;
        Ok(entries(&answer))
    }

    /// A secret: into a file of its own, or left to the environment.
    fn secret(
        &mut self,
        about: Words,
        prompt: Words,
        variable: &'static str,
        file: &str,
    ) -> Result<Kept, Cut> {
        let (about, prompt) = (about.text(self.locale), prompt.text(self.locale));
        let question = Question { about, prompt, default: "", hidden: true };
        let value = ask(self.person, &question, |text| Ok(text.to_owned()))?;
        Ok(match value.as_str() {
            "" => Kept::Environment(variable),
            _ => Kept::File { name: file.to_owned(), value },
        })
    }
}

fn check(text: &str, is_right: bool, wrong: Words) -> Result<String, Words> {
    if is_right { Ok(text.to_owned()) } else { Err(wrong) }
}

/// The language of an environment: Chinese where it says so.
pub(super) fn locale_of(environment: &Environment) -> Locale {
    let said = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let said = said.into_iter().find_map(|name| environment.get(name).filter(|it| !it.is_empty()));
    if said.is_some_and(|said| said.starts_with("zh")) { Locale::ZhCn } else { Locale::EnUs }
}
