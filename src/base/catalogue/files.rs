//! What the daemon says about files and pictures that people send.

/// A sentence about something that was sent along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AboutFiles {
    /// The answer to a file or picture without a word about it.
    WhatAboutIt,
    /// Behind an answer: a file could not be fetched.
    NotRead {
        /// Its name; may be empty.
        name: String,
        /// The platform's code; `None` if it did not answer in time.
        code: Option<i64>,
    },
    /// Behind an answer: a file was left alone because there were too many.
    NotOpened {
        /// Its name; may be empty.
        name: String,
    },
    /// Behind an answer to something with pictures, films or speech.
    CannotPerceive,
}

impl AboutFiles {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::WhatAboutIt => {
                "收到。需要我用它做什么？你在 10 分钟内的下一个问题会带上它。".to_owned()
            }
            Self::NotRead { name, code: Some(code) } => {
                format!("（无法读取文件{}：平台错误码 {code}。）", quoted_zh(name))
            }
            Self::NotRead { name, code: None } => {
                format!("（无法读取文件{}：平台没有及时响应。）", quoted_zh(name))
            }
            Self::NotOpened { name } => {
                format!("（文件太多，没有打开{}。）", quoted_zh(name))
            }
            Self::CannotPerceive => "（我还不能查看图片、视频或收听语音。）".to_owned(),
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::WhatAboutIt => "Got it. What shall I do with it? Your next question within 10 \
                 minutes will be about it."
                .to_owned(),
            Self::NotRead { name, code: Some(code) } => {
                format!(
                    "(I could not read the file{}: the platform's code is {code}.)",
                    quoted_en(name)
                )
            }
            Self::NotRead { name, code: None } => format!(
                "(I could not read the file{}: the platform did not answer in time.)",
                quoted_en(name)
            ),
            Self::NotOpened { name } => {
                format!("(There were too many files to open the file{}, too.)", quoted_en(name))
            }
            Self::CannotPerceive => {
                "(I cannot look at pictures and videos or listen to voice messages yet.)".to_owned()
            }
        }
    }
}

fn quoted_zh(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("“{name}”") }
}

fn quoted_en(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" “{name}”") }
}
