//! Control commands: an exact first word, or a whole message that is a known phrase.

/// What people can tell the daemon itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// List the commands.
    Help,
    /// Report what goes on.
    Status,
    /// Start a fresh conversation.
    New,
    /// Stop what runs and waits.
    Stop,
    /// Explain what became of a message.
    Why,
    /// Prove to be there.
    Ping,
    /// Name the version.
    Version,
    /// Let a stranger in, or no longer.
    Pair,
    /// Tell what is new in the knowledge base.
    Digest,
}

impl Command {
    /// Whether it changes something: such a command is not carried out when it is old.
    pub const fn changes_something(self) -> bool {
        matches!(self, Self::New | Self::Stop | Self::Pair)
    }
}

const SLASH: [(&str, Command); 12] = [
    ("/help", Command::Help),
    ("/status", Command::Status),
    ("/check", Command::Status),
    ("/new", Command::New),
    ("/clear", Command::New),
    ("/stop", Command::Stop),
    ("/cancel", Command::Stop),
    ("/why", Command::Why),
    ("/ping", Command::Ping),
    ("/version", Command::Version),
    ("/pair", Command::Pair),
    ("/digest", Command::Digest),
];

const PHRASES: [(&str, Command); 34] = [
    ("状态", Command::Status),
    ("查看状态", Command::Status),
    ("看看状态", Command::Status),
    ("现在状态", Command::Status),
    ("当前状态", Command::Status),
    ("运行状态", Command::Status),
    ("服务状态", Command::Status),
    ("连接状态", Command::Status),
    ("状态怎么样", Command::Status),
    ("现在状态怎么样", Command::Status),
    ("status", Command::Status),
    ("show status", Command::Status),
    ("帮助", Command::Help),
    ("使用说明", Command::Help),
    ("怎么用", Command::Help),
    ("help", Command::Help),
    ("help me", Command::Help),
    ("停止", Command::Stop),
    ("停下", Command::Stop),
    ("取消", Command::Stop),
    ("不要了", Command::Stop),
    ("别执行了", Command::Stop),
    ("stop", Command::Stop),
    ("cancel", Command::Stop),
    ("新对话", Command::New),
    ("清空对话", Command::New),
    ("清空上下文", Command::New),
    ("new conversation", Command::New),
    ("测试连通", Command::Ping),
    ("测试连接", Command::Ping),
    ("在吗", Command::Ping),
    ("ping", Command::Ping),
    ("版本", Command::Version),
    ("version", Command::Version),
];

const POLITE: [&str; 5] = ["请", "麻烦", "帮我", "please ", "pls "];

/// The command of a message, and what stands behind its word.
pub(super) fn command_of(text: &str) -> Option<(Command, &str)> {
    slash(text).or_else(|| phrase(text).map(|command| (command, "")))
}

fn slash(text: &str) -> Option<(Command, &str)> {
    // Chinese keyboards type the full-width slash.
    let text = text.strip_prefix(['/', '／'])?;
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (_, command) = SLASH.iter().find(|(slash, _)| {
        slash.strip_prefix('/').is_some_and(|slash| word.eq_ignore_ascii_case(slash))
    })?;
    Some((*command, rest.trim()))
}

/// A whole message that is one of the phrases, a polite word in front and punctuation behind
/// left aside. Never a scan inside a sentence.
fn phrase(text: &str) -> Option<Command> {
    let text =
        text.trim_end_matches(|end: char| end.is_whitespace() || "。！？.!?~～，,".contains(end));
    let lower = text.to_lowercase();
    let lower = lower.as_str();
    let bare = POLITE.iter().find_map(|polite| lower.strip_prefix(polite)).unwrap_or(lower).trim();
    let is = |candidate: &str| candidate == lower || candidate == bare;
    PHRASES.iter().find(|(phrase, _)| is(phrase)).map(|(_, command)| *command)
}

/// A message that is nothing but an unknown slash word. A path or a sentence is not one.
pub(super) fn unknown_slash(text: &str) -> Option<&str> {
    let word = text.strip_prefix('/')?;
    let is_word = !word.is_empty()
        && word.chars().all(|character| character.is_ascii_alphabetic() || character == '_');
    is_word.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Option<Command> {
        command_of(text).map(|(command, _)| command)
    }

    #[test]
    fn slash_words_count_in_any_case_and_only_in_front() {
        assert_eq!(word("/status"), Some(Command::Status));
        assert_eq!(word("/STATUS now"), Some(Command::Status));
        assert_eq!(word("/check"), Some(Command::Status));
        assert_eq!(word("/clear"), Some(Command::New));
        assert_eq!(command_of("/why om_1"), Some((Command::Why, "om_1")));
        assert_eq!(word("what does /status do"), None);
        assert_eq!(word("/statuses"), None);
        assert_eq!(word("／help"), Some(Command::Help), "as Chinese keyboards type it");
        assert_eq!(word("//help"), None);
    }

    #[test]
    fn phrases_count_only_as_the_whole_message() {
        for text in [
            "状态",
            "查看状态",
            "现在状态怎么样",
            "现在状态怎么样？",
            "请查看状态。",
            "status?",
            "Status",
        ] {
            assert_eq!(word(text), Some(Command::Status), "{text}");
        }
        for text in [
            "git status 怎么用",
            "解释状态机",
            "取消上一个任务的代码在哪",
            "帮我写一个 help 页面",
            "ping 一下服务器",
        ] {
            assert_eq!(word(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_lone_slash_word_is_an_unknown_command() {
        assert_eq!(unknown_slash("/foo"), Some("/foo"));
        assert_eq!(unknown_slash("/foo bar"), None);
        assert_eq!(unknown_slash("/etc/hosts"), None);
        assert_eq!(unknown_slash("/"), None);
    }
}
