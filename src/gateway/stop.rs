//! How a turn is ended from outside: by a person, or because what it is about is gone.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::base::Verdict;
use crate::store::ClosingV1;

/// The signal that ends a turn, and what the turn is then closed with. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop {
    token: CancellationToken,
    closing: Arc<OnceLock<ClosingV1>>,
}

impl Stop {
    /// Ends the turn. The first closing counts.
    pub(super) fn end(&self, closing: &ClosingV1) {
        self.closing.get_or_init(|| closing.clone());
        self.token.cancel();
    }

    /// Fires when the turn is ended.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Whether it was ended.
    pub(super) fn is_ended(&self) -> bool {
        self.token.is_cancelled()
    }

    /// What a turn that came to `closing` is closed with: the work and the delivery know only
    /// that they were stopped, not why.
    pub(super) fn restated(&self, closing: ClosingV1) -> ClosingV1 {
        match self.closing.get() {
            Some(told)
                if closing.verdict == Verdict::Stopped && told.verdict != closing.verdict =>
            {
                told.clone()
            }
            Some(_) | None => closing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closing(verdict: Verdict, reason: &str) -> ClosingV1 {
        ClosingV1 { verdict, reason: reason.to_owned() }
    }

    #[test]
    fn only_a_turn_that_was_stopped_is_closed_with_the_reason_of_its_end() {
        let stop = Stop::default();
        let stopped = closing(Verdict::Stopped, "before it was delivered");
        assert_eq!(stop.restated(stopped.clone()), stopped);
        let recalled = closing(Verdict::Recalled, "");
        stop.end(&recalled);
        stop.end(&closing(Verdict::Failed, "later"));
        assert!(stop.is_ended() && stop.token().is_cancelled());
        assert_eq!(stop.restated(stopped.clone()), recalled);
        let answered = closing(Verdict::Answered, "");
        assert_eq!(stop.restated(answered.clone()), answered, "it was quicker");
        let by_hand = Stop::default();
        by_hand.end(&closing(Verdict::Stopped, ""));
        assert_eq!(by_hand.restated(stopped.clone()), stopped, "the details stay");
    }
}
