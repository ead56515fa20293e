//! The demo's files: the same that anybody writes for a bot of their own.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::BOT;
use crate::base::Locale;
use crate::config::FoundModel;
use crate::playground::AppSettings;

/// The sample recipes, as they stand in the repository.
const RECIPES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/bots/knowledge");

/// How the demo knows its own files again.
const MARK: &str = "# Written by `larkspur demo` at each start.";

/// What the files say.
pub(super) struct Sample<'a> {
    /// The language of bot and daemon.
    pub(super) locale: Locale,
    /// The playground's address.
    pub(super) platform: &'a str,
    /// The chat of the digest.
    pub(super) group: &'a str,
    /// The model whose key was found.
    pub(super) model: Option<&'a FoundModel>,
    /// The app as the playground knows it.
    pub(super) app: &'a AppSettings,
}

impl Sample<'_> {
    /// Writes all files below `folder`; recipes that are there already stay. Returns the main
    /// configuration's path.
    pub(super) fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        refuse_foreign(folder)?;
        for name in ["config", "bots", "knowledge", "secrets"] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
        }
        // The playground begins anew with every start: what the daemon remembers of an earlier one
        // would be of chats and days that are gone.
        match fs::remove_dir_all(folder.join("data")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let AppSettings { app_secret, encrypt_key, verification_token, .. } = self.app;
        for (name, secret) in [
            ("app-secret", app_secret),
            ("encrypt-key", encrypt_key),
            ("verification-token", verification_token),
        ] {
            write_private(&folder.join("secrets").join(name), secret)?;
        }
        for recipe in RECIPES.files() {
            let path = folder.join("knowledge").join(recipe.path());
            if !path.exists() {
                fs::write(path, recipe.contents())?;
            }
        }
        fs::write(folder.join("bots").join(format!("{BOT}.toml")), self.bot())?;
        let config = folder.join("config/larkspur.toml");
        fs::write(&config, self.config())?;
        Ok(config)
    }

    fn config(&self) -> String {
        let mut text = format!(
            r#"{MARK}
locale = "{}"

[server]
listen = "127.0.0.1:0"
drain_timeout = "5s"
"#,
            self.locale.tag()
        );
        if let Some(FoundModel { provider, model, base_url, key_variable }) = self.model {
            // Names come from the command line and the environment: quoted as TOML wants it.
            let (model, base_url) = (quoted(model), quoted(base_url));
            write!(
                text,
                "\n[models.main]\nprovider = \"{provider}\"\nmodel = {model}\nbase_url = \
                 {base_url}\napi_key = \"env:{key_variable}\"\n"
            )
            .unwrap_or_default();
        }
        text
    }

    fn bot(&self) -> String {
        let (persona, examples) = match self.locale {
            Locale::ZhCn => (
                "你是这个团队的助手，回答简短，并说明出处。",
                ["为什么机器人没有回答？", "怎么备份数据？", "群里怎么向机器人提问？"],
            ),
            Locale::EnUs => (
                "You are the assistant of this team. You answer briefly and say where you know it \
                 from.",
                [
                    "Why is the bot silent?",
                    "How do I back up the data?",
                    "How do I write a recipe?",
                ],
            ),
        };
        let model = if self.model.is_some() { "model = \"main\"\n" } else { "" };
        let examples = examples.map(|example| format!("\"{example}\"")).join(", ");
        let AppSettings { app_id, .. } = self.app;
        let (platform, group) = (self.platform, self.group);
        format!(
            r#"{MARK}
name = "{BOT}"
{model}persona = "{persona}"
knowledge = ["knowledge"]
knowledge_url = "{platform}/pages/{{path}}"
examples = [{examples}]

[lark]
app_id = "{app_id}"
app_secret = "file:secrets/app-secret"
encrypt_key = "file:secrets/encrypt-key"
verification_token = "file:secrets/verification-token"
base_url = "{platform}"

[access]
users = ["@tenant"]
chats = ["*"]

[[schedules]]
name = "morning-digest"
cron = "0 9 * * *"
timezone = "Asia/Shanghai"
action = "knowledge_digest"
chat = "{group}"
when_empty = "post"
"#
        )
    }
}

/// Files that the demo did not write are somebody's configuration.
fn refuse_foreign(folder: &Path) -> io::Result<()> {
    let bot = format!("bots/{BOT}.toml");
    let is_foreign = |name: &&str| {
        let text = fs::read_to_string(folder.join(name));
        text.map_or_else(
            |error| error.kind() != io::ErrorKind::NotFound,
            |text| !text.starts_with(MARK),
        )
    };
    // What the demo replaces besides, is the demo's if the configuration is.
    let is_ours = folder.join("config/larkspur.toml").exists();
    let kept = ["data", "secrets"].into_iter().find(|name| folder.join(name).exists());
    let foreign = ["config/larkspur.toml", bot.as_str()].into_iter().find(is_foreign);
    match foreign.or(kept.filter(|_| !is_ours)) {
        None => Ok(()),
        Some(name) => {
            let text = format!("{} is there and not of a demo", folder.join(name).display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
        }
    }
}

fn quoted(text: &str) -> String {
    // What JSON escapes, TOML reads.
    serde_json::Value::from(text).to_string()
}

/// Readable by this user alone.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
