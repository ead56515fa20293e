//! The `[lark]` section of a bot's definition.

use serde::Deserialize;

/// How events reach a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The platform posts them to a URL of the daemon.
    #[default]
    Webhook,
    /// The daemon holds a connection to the platform.
    Websocket,
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
    /// The richest form of its texts.
    #[serde(default)]
    pub render: RenderWord,
    /// Whether its answers can be seen while they grow.
    #[serde(default = "default_live")]
    pub live: bool,
    /// The hosts whose pictures are shown in its answers.
    #[serde(default)]
    pub picture_hosts: Vec<String>,
}

const fn default_live() -> bool {
    true
}

/// The form of a bot's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenderWord {
    /// Cards: headings, tables, code.
    #[default]
    Card,
    /// Rich text: links, lists, code.
    Post,
    /// Plain text, Markdown as it was written.
    Text,
}

/// Whether a bot starts without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It does not.
    Required,
    /// It does.
    Optional,
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
    /// The secrets by the names of their keys, and whether the bot starts without them.
    pub fn secrets(&self) -> [(&'static str, &str, Need); 3] {
        let of_events = match self.transport {
            Transport::Webhook => Need::Required,
            Transport::Websocket => Need::Optional,
        };
        [
            ("app_secret", &self.app_secret, Need::Required),
            ("encrypt_key", &self.encrypt_key, of_events),
            ("verification_token", &self.verification_token, of_events),
        ]
    }

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::definition::{BotDefinition, load};
    use super::*;

    fn load_text(source: &str) -> (Option<BotDefinition>, Vec<String>) {
        let (definition, problems) = load(Path::new("bots/b.toml"), source);
        (definition, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_long_connection_needs_the_secret_of_the_app_alone() {
        let needed = |transport: &str| {
            let lines = format!("[lark]\napp_id = \"cli_1\"\ntransport = \"{transport}\"");
            let (definition, problems) = load_text(&format!("name = \"b\"\n{lines}"));
            let Some(definition) = definition else { return Err(problems.concat()) };
            let secrets = definition.lark.as_ref().unwrap().secrets();
            let needed = secrets.iter().filter(|(_, _, need)| *need == Need::Required);
            Ok(needed.map(|(key, _, _)| *key).collect::<Vec<_>>())
        };
        assert_eq!(needed("webhook").unwrap(), ["app_secret", "encrypt_key", "verification_token"]);
        assert_eq!(needed("websocket").unwrap(), ["app_secret"]);
        assert!(needed("pigeon").unwrap_err().contains("`webhook` or `websocket`"));
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

    #[test]
    fn answers_are_growing_cards_unless_something_else_is_written() {
        let look = |lines: &str| {
            let source = format!("name = \"b\"\n[lark]\napp_id = \"cli_1\"\n{lines}");
            let lark = load_text(&source).0.unwrap().lark.unwrap();
            (lark.render, lark.live)
        };
        assert_eq!(look(""), (RenderWord::Card, true));
        assert_eq!(look("render = \"post\"\nlive = false"), (RenderWord::Post, false));
        let (definition, problems) =
            load_text("name = \"b\"\n[lark]\napp_id = \"cli_1\"\nrender = \"html\"");
        assert!(definition.is_none() && problems.concat().contains("render"), "{problems:?}");
    }
}
