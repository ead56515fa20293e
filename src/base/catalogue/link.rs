//! How a bot's connection to its platform is, in `/status`.

use std::time::Duration;

use super::{span_en, span_zh};

/// The state of a connection, and for how long it has been so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLine {
    /// It stands.
    Connected(Duration),
    /// It does not.
    Connecting(Duration),
    /// The platform refuses it.
    Refused(Duration),
}

impl LinkLine {
    pub(super) fn zh(self) -> String {
        match self {
            Self::Connected(span) => format!("长连接：已连接 {}。", span_zh(span)),
            Self::Connecting(span) => format!("长连接：已断开 {}，正在重连。", span_zh(span)),
            Self::Refused(span) => {
                format!("长连接：已断开 {}，平台拒绝连接，请管理员检查。", span_zh(span))
            }
        }
    }

    pub(super) fn en(self) -> String {
        match self {
            Self::Connected(span) => format!("Long connection: up for {}.", span_en(span)),
            Self::Connecting(span) => {
                format!("Long connection: down for {}, being tried again.", span_en(span))
            }
            Self::Refused(span) => format!(
                "Long connection: down for {}; the platform refuses it, an operator should look.",
                span_en(span)
            ),
        }
    }
}
