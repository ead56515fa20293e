//! What is said at the door: to strangers, about letting them in, about late messages.

use std::time::Duration;

use super::{Locale, span_en, span_zh};

/// One sentence at the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorSay {
    /// A stranger may be let in.
    Hint {
        /// What an admin must send.
        code: String,
    },
    /// The answer to `/pair CODE`: whose code it was.
    Done {
        /// Who was let in.
        user: String,
    },
    /// The answer to `/pair CODE` with a code that nobody has.
    Unknown,
    /// The answer to `/pair CODE` after too many wrong codes.
    TooMany,
    /// The answer to `/pair`.
    List {
        /// Who was let in.
        people: Vec<String>,
        /// How many codes wait.
        waiting: usize,
    },
    /// The answer to `/pair revoke`.
    Revoked {
        /// Who.
        user: String,
    },
    /// The answer to `/pair revoke` about somebody who was not let in so.
    Nobody {
        /// Who.
        user: String,
    },
    /// A command that only admins may give.
    AdminsOnly,
    /// A message came too late to be answered.
    TooLate {
        /// How old it was.
        ago: Duration,
    },
    /// In front of the answer to a late message.
    SentAgo {
        /// How old it is.
        ago: Duration,
    },
}

impl DoorSay {
    pub(super) fn text(&self, locale: Locale) -> String {
        match locale {
            Locale::ZhCn => self.zh(),
            Locale::EnUs => self.en(),
        }
    }

    fn zh(&self) -> String {
        match self {
            Self::Hint { code } => {
                format!("你还不在我的允许名单中。请让我的管理员在 24 小时内向我发送：/pair {code}")
            }
            Self::Done { user } => format!("好的，{user} 现在可以和我对话了。"),
            Self::Unknown => "没有这个配对码，或者它已过期。".to_owned(),
            Self::TooMany => "错误的配对码太多了，请一小时后再试。".to_owned(),
            Self::List { people, waiting } => {
                let count = people.len();
                let head = format!("已配对 {count} 人，等待确认的配对码 {waiting} 个。");
                let tail = "/pair CODE 确认，/pair revoke ID 取消。";
                in_lines(&head, people, tail)
            }
            Self::Revoked { user } => format!("已取消 {user} 的配对。"),
            Self::Nobody { user } => format!("{user} 没有配对。"),
            Self::AdminsOnly => "这个命令只有管理员可以使用。".to_owned(),
            Self::TooLate { ago } => format!(
                "这条消息在发送 {} 后才到达，没有处理。如果仍然需要，请再发一次。",
                span_zh(*ago)
            ),
            Self::SentAgo { ago } => format!("（这条消息发送于 {} 前）", span_zh(*ago)),
        }
    }

    fn en(&self) -> String {
        match self {
            Self::Hint { code } => format!(
                "You are not on my lists. Ask one of my admins to send me this within 24 hours: \
                 /pair {code}"
            ),
            Self::Done { user } => format!("{user} may talk to me now."),
            Self::Unknown => "Nobody has that code, or it has expired.".to_owned(),
            Self::TooMany => "Too many wrong codes; please try again in an hour.".to_owned(),
            Self::List { people, waiting } => {
                let count = people.len();
                let head = format!("Let in by code: {count}. Codes that wait: {waiting}.");
                let tail = "/pair CODE lets somebody in, /pair revoke ID ends it.";
                in_lines(&head, people, tail)
            }
            Self::Revoked { user } => format!("{user} may no longer talk to me by a code."),
            Self::Nobody { user } => format!("{user} was not let in by a code."),
            Self::AdminsOnly => "Only my admins may give that command.".to_owned(),
            Self::TooLate { ago } => format!(
                "This message arrived {} after it was sent and was left unanswered. Please send \
                 it again if it still matters.",
                span_en(*ago)
            ),
            Self::SentAgo { ago } => format!("(Sent {} ago.)", span_en(*ago)),
        }
    }
}

fn in_lines(head: &str, items: &[String], tail: &str) -> String {
    let items = items.iter().map(String::as_str);
    let lines: Vec<&str> =
        std::iter::once(head).chain(items).chain(std::iter::once(tail)).collect();
    lines.join("\n")
}
