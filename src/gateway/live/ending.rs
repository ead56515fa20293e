//! What becomes of a growing message when its turn ends. Decisions only.

use crate::base::{Aside, Locale, MessageId, Say, Verdict};
use crate::envelope::{Destination, Draft, Growing, Operation};
use crate::store::{SendState, SendV1};

/// A growing message that may stand in the chat, and what it showed last.
#[derive(Clone, Debug)]
pub(in crate::gateway) struct Grown {
    growth: String,
    lives: u32,
    /// Its id, where that is known.
    message: Option<MessageId>,
    shown: Draft,
}

impl Grown {
    /// The one among a turn's sends, if there is one. `shown`: what this process showed in it.
    pub(in crate::gateway) fn among(sends: &[(u16, SendV1)], shown: Draft) -> Option<Self> {
        let (_, send) = sends.first()?;
        let Operation::Show { growth, lives, .. } = &send.operation else { return None };
        if send.state == SendState::Abandoned {
            return None;
        }
        let message = send.delivered_id.as_deref().map(MessageId::new);
        Some(Self { growth: growth.clone(), lives: *lives, message, shown })
    }
}

/// How a growing message ends: with the answer's first words, if there are any.
pub(in crate::gateway) fn ending(
    grown: Grown,
    text: Option<String>,
    verdict: Verdict,
    (destination, locale): (&Destination, Locale),
) -> Operation {
    let Grown { growth, lives, message, mut shown } = grown;
    match (text, message) {
        // What it answers was taken back.
        (None, Some(message)) if verdict == Verdict::Recalled => {
            return Operation::Recall { message };
        }
        (Some(text), _) => shown.text = text,
        (None, _) => {
            let mark = Say::Aside(Aside::Halted).text(locale);
            let gap = if shown.text.is_empty() { "" } else { "\n\n" };
            shown.text.push_str(gap);
            shown.text.push_str(&mark);
        }
    }
    Operation::Finalise {
        growing: Growing::last(&growth, lives),
        destination: destination.clone(),
        draft: shown,
    }
}

/// Whether a turn's growing message surely never came up.
pub(in crate::gateway) fn never_came(sends: &[SendV1]) -> bool {
    sends.iter().any(|send| is_show(send) && send.state == SendState::Abandoned)
}

/// Whether a send is the beginning of a growing message: what it says comes with another send.
pub(in crate::gateway) const fn is_show(send: &SendV1) -> bool {
    matches!(send.operation, Operation::Show { .. })
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
