//! What was answered, and the files that follow from it.

use std::fmt::Write as _;

use crate::base::Locale;

/// A secret as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// In the environment, under this name.
    Environment(&'static str),
    /// In a file of its own, which is written.
    File {
        /// Below the folder `secrets`.
        name: String,
        /// What it holds.
        value: String,
    },
}

impl Kept {
    /// As configuration files refer to it.
    fn reference(&self) -> String {
        match self {
            Self::Environment(name) => format!("\"env:{name}\""),
            Self::File { name, .. } => format!("\"file:secrets/{name}\""),
        }
    }
}

/// An app on Lark or Feishu.
pub(super) struct App {
    pub(super) id: String,
    pub(super) region: String,
    pub(super) secret: Kept,
    /// Encrypt key and verification token, if events come to a URL of the daemon; without: over
    /// the long connection.
    pub(super) webhook: Option<(Kept, Kept)>,
}

/// A model.
pub(super) struct ModelChoice {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) base_url: String,
    pub(super) key: Option<Kept>,
}

/// All answers.
pub(super) struct Answers {
    pub(super) locale: Locale,
    pub(super) bot: String,
    /// Without: the bot answers in the terminal alone.
    pub(super) app: Option<App>,
    /// Without: the knowledge base alone answers.
    pub(super) model: Option<ModelChoice>,
    pub(super) users: Vec<String>,
    pub(super) admins: Vec<String>,
    /// The chat of the morning digest.
    pub(super) digest_chat: Option<String>,
    /// Another address of the platform.
    pub(super) base_url: String,
}

/// A file to be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Relative to the folder.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) is_secret: bool,
    /// Whether one that is there already stays as it is.
    pub(super) yields: bool,
}

impl Answers {
    /// Every file, in the order in which people read them.
    pub(super) fn files(&self) -> Vec<File> {
        let file =
            |path: String, text: String| File { path, text, is_secret: false, yields: false };
        let ours = |path: &str, text: &str| File {
            yields: true,
            ..file(path.to_owned(), text.to_owned())
        };
        let mut files = vec![
            file("config/larkspur.toml".to_owned(), self.main()),
            file(format!("bots/{}.toml", self.bot), self.bot_file()),
            file(".env.example".to_owned(), self.env_example()),
            ours(".gitignore", "/data\n/secrets\n/.env\n"),
            ours("knowledge/first-recipe.md", RECIPE),
        ];
        for kept in self.secrets() {
            if let Kept::File { name, value } = kept {
                let (path, text) = (format!("secrets/{name}"), value.clone());
                files.push(File { path, text, is_secret: true, yields: false });
            }
        }
        files
    }

    /// The variables that must be set before the daemon starts.
    pub(super) fn variables(&self) -> Vec<&'static str> {
        let variable = |kept: &Kept| match kept {
            Kept::Environment(name) => Some(*name),
            Kept::File { .. } => None,
        };
        self.secrets().into_iter().filter_map(variable).collect()
    }

    fn secrets(&self) -> Vec<&Kept> {
        let mut kept = Vec::new();
        if let Some(app) = &self.app {
            kept.push(&app.secret);
            kept.extend(app.webhook.iter().flat_map(|(key, token)| [key, token]));
        }
        kept.extend(self.model.as_ref().and_then(|model| model.key.as_ref()));
        kept
    }

    fn main(&self) -> String {
        let mut text = format!(
            "# Every key is described in the commented defaults that the program carries.\n\
             locale = \"{}\"\n\n[server]\nlisten = \"127.0.0.1:8787\"\n",
            self.locale.tag()
        );
        if let Some(ModelChoice { provider, model, base_url, key }) = &self.model {
            let (model, base_url) = (quoted(model), quoted(base_url));
            let key = key.as_ref().map_or_else(|| "\"\"".to_owned(), Kept::reference);
            write!(
                text,
                "\n[models.main]\nprovider = \"{provider}\"\nbase_url = {base_url}   # \"\": the \
                 provider's own server\nmodel = {model}\napi_key = {key}\n"
            )
            .unwrap_or_default();
        }
        text
    }

    fn bot_file(&self) -> String {
        let model = if self.model.is_some() { "model = \"main\"\n" } else { "" };
        let mut text = format!(
            "name = \"{}\"\n{model}persona = \"\"\nknowledge = [\"knowledge\"]\n",
            self.bot
        );
        if let Some(app) = &self.app {
            write!(
                text,
                "\n[lark]\napp_id = \"{}\"\napp_secret = {}\nregion = \"{}\"\n",
                app.id,
                app.secret.reference(),
                app.region,
            )
            .unwrap_or_default();
            match &app.webhook {
                Some((key, token)) => write!(
                    text,
                    "transport = \"webhook\"\nencrypt_key = {}\nverification_token = {}\n",
                    key.reference(),
                    token.reference(),
                ),
                None => writeln!(text, "transport = \"websocket\""),
            }
            .unwrap_or_default();
            if !self.base_url.is_empty() {
                writeln!(text, "base_url = {}", quoted(&self.base_url)).unwrap_or_default();
            }
        }
        let (users, admins) = (list(&self.users), list(&self.admins));
        write!(text, "\n[access]\nusers = {users}\nchats = [\"*\"]\nadmins = {admins}\n")
            .unwrap_or_default();
        text.push_str(&self.schedule());
        text
    }

    /// The morning digest, as comments where no chat was named.
    fn schedule(&self) -> String {
        let (mark, chat) = match &self.digest_chat {
            Some(chat) if self.app.is_some() => ("", chat.as_str()),
            Some(_) | None => ("# ", "oc_…"),
        };
        let lines = [
            "[[schedules]]".to_owned(),
            "name = \"morning-digest\"".to_owned(),
            "cron = \"0 9 * * 1-5\"".to_owned(),
            "timezone = \"Asia/Shanghai\"".to_owned(),
            "action = \"knowledge_digest\"".to_owned(),
            format!("chat = \"{chat}\""),
        ];
        let lines = lines.map(|line| format!("{mark}{line}\n"));
        format!("\n{}", lines.concat())
    }

    fn env_example(&self) -> String {
        let mut text = "# Copy it to .env, fill it in, and keep it private. The daemon reads the \
                        environment\n# (systemd: EnvironmentFile=, a shell: set -a; . ./.env; set \
                        +a), not this file.\n"
            .to_owned();
        for name in self.variables() {
            writeln!(text, "{name}=").unwrap_or_default();
        }
        text
    }
}

/// As TOML writes a text: what JSON escapes, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(entries: &[String]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
    format!("[{}]", entries.join(", "))
}

const RECIPE: &str = "---\nid: first-recipe\ntitle: How this team works with the bot 怎么和机器人一起工作\n\
kind: fact\nstatus: active\ntags: [start]\n---\n\
Write down what people ask again and again: one file a topic, in this folder. The bot finds it\n\
with the next question. 把大家反复问的写成一个个 Markdown 文件，保存后马上就能被问到。\n";
