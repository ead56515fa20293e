//! Everything the daemon itself says to people, in every language it ships.
//!
//! One variant a sentence, so that the compiler finds a text that one language lacks. Model
//! answers, personas and recipes are not here: they are other people's words.

mod aside;
mod digest;
mod door;
mod files;
mod hook;
mod link;
mod undelivered;
mod verdict;

use std::time::Duration;

pub use aside::Aside;
use serde::{Deserialize, Serialize};

pub use digest::DigestSay;
pub use door::DoorSay;
pub use files::AboutFiles;
pub use hook::{AlertsSay, FromHook};
pub use link::LinkLine;
pub use undelivered::Undelivered;

use super::verdict::Verdict;

/// The language of the daemon's own sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locale {
    /// Simplified Chinese.
    #[default]
    #[serde(rename = "zh-CN")]
    ZhCn,
    /// American English.
    #[serde(rename = "en-US")]
    EnUs,
}

impl Locale {
    /// The locale of a text somebody wrote: Chinese if it has a Chinese character.
    pub fn of_text(text: &str) -> Self {
        let chinese = |character: char| matches!(character, '\u{4e00}'..='\u{9fff}');
        if text.chars().any(chinese) { Self::ZhCn } else { Self::EnUs }
    }

    /// The name as configuration files write it.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::ZhCn => "zh-CN",
            Self::EnUs => "en-US",
        }
    }
}

/// What `/status` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// The bot's name.
    pub bot: String,
    /// The version of the daemon.
    pub version: String,
    /// The model's name, `offline` if none is configured.
    pub model: String,
    /// Models of this bot that are not asked at the moment.
    pub resting: Vec<String>,
    /// Since when the daemon runs.
    pub uptime: Duration,
    /// Turns of this chat that wait.
    pub queued: usize,
    /// Turns of this chat that run.
    pub running: usize,
    /// How its long connection is, if it has one.
    pub link: Option<LinkLine>,
    /// Calls of the daemon to platforms since the month began (UTC); only admins are told.
    pub calls_this_month: Option<u64>,
}

/// One sentence (or short text) of the daemon, with what varies in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// The list of commands.
    Help,
    /// The answer to `/status`.
    Status(StatusLine),
    /// The answer to `/new`.
    FreshConversation,
    /// The answer to `/stop` when something ran or waited.
    Stopped {
        /// How many turns were stopped.
        turns: usize,
    },
    /// The answer to `/stop` when nothing ran.
    NothingToStop,
    /// The answer to `/ping`.
    Pong,
    /// The answer to `/version`.
    Version {
        /// The version of the daemon.
        version: String,
    },
    /// The answer to `/why` about a known event.
    Why {
        /// What became of it.
        verdict: Verdict,
        /// The details, in the words of the record; may be empty.
        reason: String,
    },
    /// The answer to `/why` without a message to ask about.
    WhyWhat,
    /// The answer to `/why` about a message nobody knows.
    WhyNeverReceived,
    /// A message that starts with a slash and names no command.
    UnknownCommand {
        /// What was written.
        word: String,
    },
    /// The session's queue is full.
    Busy,
    /// To strangers and about late messages.
    Door(DoorSay),
    /// Said outside of a turn.
    Aside(Aside),
    /// A line of a digest.
    Digest(DigestSay),
    /// Added to what a webhook brings.
    FromHook(FromHook),
    /// A message without text, attachment or quote.
    SayMore,
    /// Something about files and pictures.
    AboutFiles(AboutFiles),
    /// A prefix without a command behind it.
    PrefixUsage {
        /// `$` or `>`.
        prefix: char,
    },
    /// Work for an editor while none is connected.
    NoEditor,
    /// A preset that this bot does not have.
    NoPreset {
        /// Its name.
        preset: String,
    },
    /// Nothing could be answered.
    Apology {
        /// For finding the run in the logs.
        reference: String,
    },
    /// In front of an answer that was cut short.
    Partial,
    /// Heads the findings when no model could word them.
    SyntheticHead,
    /// No finding at all, and no model to word one.
    SyntheticNothing,
    /// In the place of the end of an answer that has too many messages.
    AnswerCut {
        /// How many characters are missing.
        chars: usize,
    },
    /// In the place of what the platform refused.
    Undelivered(Undelivered),
    /// In front of an answer that may have been sent before.
    PossiblyRepeated,
    /// The offline answerer found recipes.
    OfflineFound,
    /// The offline answerer answers because no model can be asked.
    OfflineInstead,
    /// The offline answerer found nothing.
    OfflineNothing {
        /// What was searched for.
        query: String,
    },
}

impl Say {
    /// The text in the given language.
    pub fn text(&self, locale: Locale) -> String {
        match locale {
            Locale::ZhCn => self.zh(),
            Locale::EnUs => self.en(),
        }
    }

    fn zh(&self) -> String {
        match self {
            Self::Help => HELP_ZH.to_owned(),
            Self::Status(line) => status_zh(line),
            Self::FreshConversation => "好的，已开始新的对话，之前的上下文不再使用。".to_owned(),
            Self::Stopped { turns } => format!("已停止 {turns} 个任务。"),
            Self::NothingToStop => "当前没有正在执行的任务。".to_owned(),
            Self::Pong => "在的。".to_owned(),
            Self::Version { version } => format!("Larkspur {version}"),
            Self::Why { verdict, reason } => {
                with_reason(&format!("{}（{verdict}）", verdict::zh(*verdict)), reason, "：")
            }
            Self::WhyWhat => "请回复你想询问的那条消息并发送 /why。".to_owned(),
            Self::WhyNeverReceived => {
                "没有收到过这条消息（never_received）。常见原因：群里没有 @ 我、\
                 应用没有订阅消息事件或缺少权限、新版本还没有发布、消息早于我入群。"
                    .to_owned()
            }
            Self::UnknownCommand { word } => {
                format!("没有 {word} 这个命令。发送 /help 查看全部命令。")
            }
            Self::Busy => "这个会话的排队已满，请稍后再发。".to_owned(),
            Self::Door(say) => say.text(Locale::ZhCn),
            Self::Aside(aside) => aside.zh(),
            Self::Digest(say) => say.zh(),
            Self::FromHook(say) => say.zh(),
            Self::SayMore => "我在。请把问题和 @ 写在同一条消息里。".to_owned(),
            Self::AboutFiles(about) => about.zh(),
            Self::PrefixUsage { prefix } => {
                format!("请在 {prefix} 后面写上内容，例如：{prefix} {}", prefix_example_zh(*prefix))
            }
            Self::NoEditor => "这看起来是要在编辑器里完成的工作，但目前没有连接编辑器。".to_owned(),
            Self::NoPreset { preset } => format!("这个机器人不能执行命令（没有启用 {preset}）。"),
            Self::Apology { reference } => {
                format!("抱歉，这次没能得出答案。请稍后再试；反馈时请附上编号 {reference}。")
            }
            Self::Partial => "（以下是未完成的结果）".to_owned(),
            Self::SyntheticHead => "模型暂时不可用，以下是已经查到的内容：".to_owned(),
            Self::SyntheticNothing => "模型暂时不可用，也没有查到相关内容。请稍后再试。".to_owned(),
            Self::AnswerCut { chars } => {
                format!("（回答太长：后面还有 {chars} 个字没有发送。可以让我分段继续。）")
            }
            Self::Undelivered(undelivered) => undelivered.zh(),
            Self::PossiblyRepeated => "（这条消息可能重复发送）".to_owned(),
            Self::OfflineInstead => "（模型暂时不可用，以下内容直接来自知识库。）".to_owned(),
            Self::OfflineFound => "在知识库中找到以下内容：".to_owned(),
            Self::OfflineNothing { query } => {
                format!("知识库里没有找到与“{query}”相关的内容。")
            }
        }
    }

    fn en(&self) -> String {
        match self {
            Self::Help => HELP_EN.to_owned(),
            Self::Status(line) => status_en(line),
            Self::FreshConversation => {
                "A fresh conversation: what was said before is no longer used.".to_owned()
            }
            Self::Stopped { turns: 1 } => "Stopped 1 task.".to_owned(),
            Self::Stopped { turns } => format!("Stopped {turns} tasks."),
            Self::NothingToStop => "Nothing is running here.".to_owned(),
            Self::Pong => "Here.".to_owned(),
            Self::Version { version } => format!("Larkspur {version}"),
            Self::Why { verdict, reason } => {
                with_reason(&format!("{} ({verdict})", verdict::en(*verdict)), reason, ": ")
            }
            Self::WhyWhat => "Reply to the message you mean with /why.".to_owned(),
            Self::WhyNeverReceived => "That message never arrived here (never_received). Likely \
                 causes: nobody mentioned me in the group, the app is not subscribed to message \
                 events or lacks a scope, the new version is not published, or the message is \
                 older than my membership."
                .to_owned(),
            Self::UnknownCommand { word } => {
                format!("There is no command {word}. Send /help for the list.")
            }
            Self::Busy => "This conversation's queue is full; please try again later.".to_owned(),
            Self::Door(say) => say.text(Locale::EnUs),
            Self::Aside(aside) => aside.en(),
            Self::Digest(say) => say.en(),
            Self::FromHook(say) => say.en(),
            Self::SayMore => {
                "I am here. Please put the question and the mention into one message.".to_owned()
            }
            Self::AboutFiles(about) => about.en(),
            Self::PrefixUsage { prefix } => format!(
                "Write something behind {prefix}, for example: {prefix} {}",
                prefix_example_en(*prefix)
            ),
            Self::NoEditor => {
                "This looks like work for an editor, but no editor is connected.".to_owned()
            }
            Self::NoPreset { preset } => {
                format!("This bot does not run commands ({preset} is not switched on).")
            }
            Self::Apology { reference } => format!(
                "Sorry, no answer came out of this. Please try again later; the reference is \
                 {reference}."
            ),
            Self::Partial => "(This result is incomplete.)".to_owned(),
            Self::SyntheticHead => {
                "The model is not available at the moment. This much was found:".to_owned()
            }
            Self::SyntheticNothing => "The model is not available at the moment, and nothing was \
                 found. Please try again later."
                .to_owned(),
            Self::AnswerCut { chars } => format!(
                "(The answer is too long: {chars} more characters were not sent. Ask me to go on \
                 in pieces.)"
            ),
            Self::Undelivered(undelivered) => undelivered.en(),
            Self::PossiblyRepeated => "(This message may be a repetition.)".to_owned(),
            Self::OfflineInstead => {
                "(The model is not available at the moment; this is from the knowledge base alone.)"
                    .to_owned()
            }
            Self::OfflineFound => "The knowledge base has this:".to_owned(),
            Self::OfflineNothing { query } => {
                format!("The knowledge base has nothing about “{query}”.")
            }
        }
    }
}

const HELP_ZH: &str = "可用命令：\n\
    /help 查看命令\n\
    /status 运行状态（也可以发“状态”）\n\
    /new 开始新的对话\n\
    /stop 停止当前任务并清空排队\n\
    /why 回复某条消息，查询它的处理结果\n\
    /digest 知识库的新内容\n\
    /pair 管理员：查看配对，/pair 配对码 允许某人使用\n\
    /ping 测试是否在线\n\
    /version 版本\n\
    其他内容会直接交给我回答。";

const HELP_EN: &str = "Commands:\n\
    /help this list\n\
    /status what is going on (also “status?”)\n\
    /new start a fresh conversation\n\
    /stop stop what runs here and empty the queue\n\
    /why as a reply to a message: what became of it\n\
    /digest what is new in the knowledge base\n\
    /pair for admins: who was let in; with a code, let somebody in\n\
    /ping am I there\n\
    /version the version\n\
    Anything else is a question to me.";

fn status_zh(line: &StatusLine) -> String {
    format!(
        "{} 正在运行（Larkspur {}，模型 {}）。\n已运行 {}；本会话执行中 {}，排队 {}。{}",
        line.bot,
        line.version,
        line.model,
        span_zh(line.uptime),
        line.running,
        line.queued,
        resting("\n因连续失败暂停调用的模型：", &line.resting, "、", "。")
            + &line.link.map(|link| format!("\n{}", link.zh())).unwrap_or_default()
            + &calls(line, |calls| format!("\n本月调用平台接口 {calls} 次。"))
    )
}

fn status_en(line: &StatusLine) -> String {
    format!(
        "{} is running (Larkspur {}, model {}).\nUp {}; in this conversation {} running, \
                 {} waiting.{}",
        line.bot,
        line.version,
        line.model,
        span_en(line.uptime),
        line.running,
        line.queued,
        resting("\nNot asked at the moment, because of failures: ", &line.resting, ", ", ".")
            + &line.link.map(|link| format!("\n{}", link.en())).unwrap_or_default()
            + &calls(line, |calls| format!("\n{calls} calls to the platform this month."))
    )
}

/// A line of its own; nothing if no model rests.
fn resting(begin: &str, models: &[String], between: &str, end: &str) -> String {
    if models.is_empty() {
        return String::new();
    }
    format!("{begin}{}{end}", models.join(between))
}

fn calls(line: &StatusLine, sentence: impl FnOnce(u64) -> String) -> String {
    line.calls_this_month.map(sentence).unwrap_or_default()
}

fn with_reason(sentence: &str, reason: &str, colon: &str) -> String {
    if reason.is_empty() { sentence.to_owned() } else { format!("{sentence}{colon}{reason}") }
}

fn prefix_example_zh(prefix: char) -> &'static str {
    if prefix == '$' { "git log -5" } else { "给登录页加一个导出按钮" }
}

fn prefix_example_en(prefix: char) -> &'static str {
    if prefix == '$' { "git log -5" } else { "add an export button to the login page" }
}

fn span_zh(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => format!("{} 秒", span.as_secs()),
        (0, 0, minutes) => format!("{minutes} 分钟"),
        (0, hours, minutes) => format!("{hours} 小时 {minutes} 分钟"),
        (days, hours, _) => format!("{days} 天 {hours} 小时"),
    }
}

fn span_en(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => format!("{} s", span.as_secs()),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_chinese_in_it_is_chinese() {
        assert_eq!(Locale::of_text("git status 怎么用"), Locale::ZhCn);
        assert_eq!(Locale::of_text("how do I rebase?"), Locale::EnUs);
        assert_eq!(Locale::of_text(""), Locale::EnUs);
    }

    #[test]
    fn a_verdict_keeps_its_word_in_both_languages() {
        let why = Say::Why { verdict: Verdict::NotMentioned, reason: String::new() };
        assert_eq!(why.text(Locale::ZhCn), "群消息没有 @ 我（not_mentioned）");
        assert_eq!(why.text(Locale::EnUs), "Nobody mentioned me in it (not_mentioned)");
    }

    #[test]
    fn the_status_names_the_models_that_rest_and_is_silent_if_none_does() {
        let status = |resting: &[&str], locale| {
            let line = StatusLine {
                bot: "b".to_owned(),
                version: "1".to_owned(),
                model: "m".to_owned(),
                resting: resting.iter().map(|&name| name.to_owned()).collect(),
                uptime: Duration::ZERO,
                queued: 0,
                running: 0,
                link: None,
                calls_this_month: None,
            };
            Say::Status(line).text(locale)
        };
        assert_eq!(status(&[], Locale::EnUs).lines().count(), 2);
        let last = "Not asked at the moment, because of failures: m, n.";
        assert_eq!(status(&["m", "n"], Locale::EnUs).lines().nth(2), Some(last));
        let last = "因连续失败暂停调用的模型：m、n。";
        assert_eq!(status(&["m", "n"], Locale::ZhCn).lines().nth(2), Some(last));
    }

    #[test]
    fn the_status_tells_of_a_long_connection_where_there_is_one() {
        let minutes = Duration::from_secs(180);
        let lines = [
            (LinkLine::Connected(minutes), "Long connection: up for 3 min."),
            (LinkLine::Connecting(minutes), "Long connection: down for 3 min, being tried again."),
        ];
        for (line, expected) in lines {
            assert_eq!(line.en(), expected);
        }
        assert!(LinkLine::Refused(minutes).zh().contains("已断开 3 分钟，平台拒绝连接"));
    }

    #[test]
    fn spans_are_written_in_their_largest_units() {
        assert_eq!(span_en(Duration::from_secs(59)), "59 s");
        assert_eq!(span_zh(Duration::from_secs(3 * 3600 + 120)), "3 小时 2 分钟");
        assert_eq!(span_en(Duration::from_secs(2 * 86_400 + 3600)), "2 d 1 h");
    }
}
