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
}

impl FromHook {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::Empty { hook } => format!("Webhook {hook} 被调用，没有内容。"),
            Self::Cut => "……（内容过长，已截断）".to_owned(),
            Self::TemplateFailed { error } => {
                format!("（模板无法处理这次调用，以上是原始内容：{error}）")
            }
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::Empty { hook } => format!("The webhook {hook} was called without content."),
            Self::Cut => "… (too long, the rest is cut off)".to_owned(),
            Self::TemplateFailed { error } => {
                format!("(The template failed on this call, so this is what it said: {error})")
            }
        }
    }
}
