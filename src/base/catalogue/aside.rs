//! What the daemon says when nobody asked it a question: welcomes, and answers to presses in cards.

/// One sentence said outside of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// The bot was added to a group.
    WelcomeGroup {
        /// The bot's name.
        bot: String,
    },
    /// A private chat with the bot was opened.
    WelcomePrivate {
        /// The bot's name.
        bot: String,
    },
    /// Somebody pressed what this bot knows nothing of, or no more.
    PressUnknown,
    /// Somebody pressed a question, which is on its way.
    PressAsked,
    /// The question that somebody pressed, above its answer.
    Asked {
        /// The question.
        question: String,
    },
    /// Somebody pressed a question that was asked by this button already.
    PressAgain,
    /// Somebody pressed a button in another chat than it was made for.
    PressElsewhere,
    /// Somebody pressed a button that is too old.
    PressExpired,
    /// Somebody pressed who may not.
    PressNotAllowed,
    /// Somebody pressed while the bot is ending.
    PressLater,
    /// Above the steps of the work, in one line.
    Steps {
        /// How many they are.
        steps: usize,
        /// The tool of the last one.
        last: String,
    },
    /// Below an answer that stays unfinished.
    Halted,
}

impl Aside {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::WelcomeGroup { bot } => format!(
                "大家好，我是 {bot}。需要我时，请在消息里 @ 我并写上问题；发送 @我 /help 查看可用命令。"
            ),
            Self::WelcomePrivate { bot } => {
                format!("你好，我是 {bot}。直接发消息提问即可；发送 /help 查看可用命令。")
            }
            Self::PressAsked => "已提问，回答马上就来。".to_owned(),
            Self::Asked { question } => format!("「{question}」"),
            Self::PressAgain => "已经提问过了，请看卡片下方的回答。".to_owned(),
            Self::PressElsewhere => {
                "这个按钮只在原来的会话里有效。请直接在这里发消息提问。".to_owned()
            }
            Self::PressExpired => "这个按钮已过期。请直接发消息提问。".to_owned(),
            Self::PressUnknown => "这个按钮已失效。请直接发消息提问。".to_owned(),
            Self::PressNotAllowed => "你没有权限使用这个按钮。".to_owned(),
            Self::PressLater => "机器人暂时不可用，请稍后再点。".to_owned(),
            Self::Steps { steps, last } => format!("已执行 {steps} 步：{last}"),
            Self::Halted => "（已停止，回答未完成）".to_owned(),
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::WelcomeGroup { bot } => format!(
                "Hello, I am {bot}. When you need me, mention me in a message together with your \
                 question; mention me with /help for the commands."
            ),
            Self::WelcomePrivate { bot } => {
                format!("Hello, I am {bot}. Just send me your question; /help shows the commands.")
            }
            Self::PressAsked => "Asked; the answer is on its way.".to_owned(),
            Self::Asked { question } => format!("“{question}”"),
            Self::PressAgain => "This was asked already; the answer is below the card.".to_owned(),
            Self::PressElsewhere => "This button works only in the chat it was made for. Please \
                 send me your question here as a message."
                .to_owned(),
            Self::PressExpired => {
                "This button is too old. Please send me your question as a message.".to_owned()
            }
            Self::PressUnknown => "This button is not valid any more. Please send me your \
                 question as a message."
                .to_owned(),
            Self::PressNotAllowed => "You may not use this button.".to_owned(),
            Self::PressLater => {
                "The bot is not available now; please press again later.".to_owned()
            }
            Self::Steps { steps: 1, last } => format!("1 step: {last}"),
            Self::Steps { steps, last } => format!("{steps} steps: {last}"),
            Self::Halted => "(stopped; the answer is not complete)".to_owned(),
        }
    }
}
