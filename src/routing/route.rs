//! Which preset answers a message.

use crate::envelope::Channel;

/// The preset, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The preset's name; whether it exists is checked where it is looked up.
    pub preset: String,
    /// Which step decided.
    pub step: &'static str,
}

/// Names the preset: an explicit wish first, then what the bot's definition says for Lark, then
/// the channel's own.
pub fn route(channel: Channel, explicit: Option<&str>, bot_preset: &str) -> Route {
    if let Some(preset) = explicit {
        return Route { preset: preset.to_owned(), step: "explicit" };
    }
    match channel {
        Channel::Lark => Route { preset: bot_preset.to_owned(), step: "bot" },
        Channel::Http
        | Channel::Cli
        | Channel::Mcp
        | Channel::Webhook
        | Channel::Schedule
        | Channel::Internal => Route { preset: "chat".to_owned(), step: "channel" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_preset_wins_over_the_bot_and_the_channel() {
        assert_eq!(route(Channel::Lark, Some("chat"), "lark").preset, "chat");
        assert_eq!(route(Channel::Lark, None, "lark").preset, "lark");
        assert_eq!(route(Channel::Cli, None, "lark").preset, "chat");
    }
}
