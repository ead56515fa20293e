//! What the daemon adds to the words of a program that called a webhook.

/// One sentence of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromHook {
    /// The call had nothing to say.
    Empty {
        /// The name of the hook.
        hook: String,
    },
    /// What is longer was cut off.
    Cut,
    /// The template could not be used for this call.
    TemplateFailed {
        /// Why.
        error: String,
    },
    /// Alerts of one group.
    Alerts(AlertsSay),
}

/// A part of what is said of a group of alerts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertsSay {
    /// The group has no name.
    Unnamed,
    /// How many there are of each kind.
    Counts {
        /// Those that go on.
        firing: usize,
        /// Those that are over.
        resolved: usize,
    },
    /// None of them goes on.
    AllResolved {
        /// How many there are.
        resolved: usize,
    },
    /// Above those that go on.
    Firing,
    /// Above those that are over.
    Resolved,
    /// Those that are not listed.
    More {
        /// How many.
        number: usize,
    },
    /// When one began.
    Since {
        /// The time.
        from: String,
    },
    /// When one began and ended.
    Lasted {
        /// The beginning.
        from: String,
        /// The end.
        to: String,
    },
    /// When one ended, if nobody knows when it began.
    Until {
        /// The end.
        to: String,
    },
    /// The label of a link to what made the alert.
    Source,
}

impl FromHook {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::Empty { hook } => format!("Webhook {hook} 被调用，没有内容。"),
            Self::Cut => "……（内容过长，已截断）".to_owned(),
            Self::TemplateFailed { error } => {
                format!("（模板无法处理这次调用，以上是原始内容：{error}）")
            }
            Self::Alerts(say) => say.zh(),
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::Empty { hook } => format!("The webhook {hook} was called without content."),
            Self::Cut => "… (too long, the rest is cut off)".to_owned(),
            Self::TemplateFailed { error } => {
                format!("(The template failed on this call, so this is what it said: {error})")
            }
            Self::Alerts(say) => say.en(),
        }
    }
}

impl AlertsSay {
    fn zh(&self) -> String {
        match self {
            Self::Unnamed => "告警".to_owned(),
            Self::Counts { firing, resolved: 0 } => format!("告警中 {firing}"),
            Self::Counts { firing, resolved } => format!("告警中 {firing}，已恢复 {resolved}"),
            Self::AllResolved { resolved } => format!("已全部恢复（{resolved}）"),
            Self::Firing => "告警中".to_owned(),
            Self::Resolved => "已恢复".to_owned(),
            Self::More { number } => format!("……还有 {number} 条"),
            Self::Since { from } => format!("开始于 {from}"),
            Self::Lasted { from, to } => format!("{from} 至 {to}"),
            Self::Until { to } => format!("结束于 {to}"),
            Self::Source => "来源".to_owned(),
        }
    }

    fn en(&self) -> String {
        match self {
            Self::Unnamed => "Alerts".to_owned(),
            Self::Counts { firing, resolved: 0 } => format!("{firing} firing"),
            Self::Counts { firing, resolved } => format!("{firing} firing, {resolved} resolved"),
            Self::AllResolved { resolved } => format!("all resolved ({resolved})"),
            Self::Firing => "Firing".to_owned(),
            Self::Resolved => "Resolved".to_owned(),
            Self::More { number } => format!("… and {number} more"),
            Self::Since { from } => format!("since {from}"),
            Self::Lasted { from, to } => format!("{from} to {to}"),
            Self::Until { to } => format!("until {to}"),
            Self::Source => "source".to_owned(),
        }
    }
}
