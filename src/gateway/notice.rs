//! Events that are no messages: told apart, noted, and acted on if they bring news.

use std::sync::Arc;

use super::flow::Gateway;
use crate::base::Verdict;
use crate::base::limit::ellipsis;
use crate::envelope::{InletError, News, Notice, Submitted};
use crate::store::StoreError;
use crate::telemetry::Event;

/// The longest part of an event type that is kept, in characters.
const TYPE_CHARS_MAX: usize = 80;

impl Gateway {
    /// Takes an event over that brings news. What it changes is durable on return.
    pub(super) async fn hear(&self, notice: Notice) -> Result<Submitted, InletError> {
        let unknown = || InletError::UnknownBot(notice.bot.clone());
        let bot = Arc::clone(self.shared.bots.get(&notice.bot).ok_or_else(unknown)?);
        match notice.news.clone() {
            News::Nothing => Ok(self.note_once(notice)),
            News::Met(meeting) => self.meet(&bot, notice, &meeting).await,
            News::Parted(chat) => self.part(&bot, notice, &chat).await,
            News::TakenBack(message, chat) => {
                let taken_back = self.take_back(notice, &message).await;
                if let (Ok(Submitted::NoWork(_)), Some(chat)) = (&taken_back, chat) {
                    self.forget_overheard(&bot, &chat, message);
                }
                taken_back
            }
        }
    }

    /// Notes an event without effect, and that it came again if it did. Only the process knows
    /// that: nothing comes of it either way.
    pub(super) fn note_once(&self, notice: Notice) -> Submitted {
        // A message that starts no work is judged anew each time and keeps its verdict.
        let is_ordinary = notice.verdict == Verdict::Filtered;
        if is_ordinary && !self.shared.notices.insert(notice.key) {
            return self.repeated(&notice);
        }
        self.note(notice)
    }

    /// Notes that an event came again.
    pub(super) fn repeated(&self, notice: &Notice) -> Submitted {
        Event::Duplicate.emit();
        let kind = ellipsis(&notice.event_type, TYPE_CHARS_MAX);
        self.keep_note(&notice.bot, notice.subject.clone(), Verdict::Duplicate, &kind);
        Submitted::Duplicate
    }

    /// Notes an event. Busy platforms tell much that nobody needs: each type is logged once, and
    /// counted always.
    pub(super) fn note(&self, notice: Notice) -> Submitted {
        let kind = ellipsis(&notice.event_type, TYPE_CHARS_MAX);
        let is_first = self.shared.event_types.insert(kind.clone());
        let (bot, verdict) = (notice.bot.as_str(), notice.verdict.word());
        Event::Noted { bot, kind: &kind, verdict, is_first }.emit();
        self.keep_note(&notice.bot, notice.subject, notice.verdict, &kind);
        Submitted::NoWork(notice.verdict)
    }
}

/// The store could not take an event: the platform will send it again.
pub(super) fn not_accepted(error: &StoreError) -> InletError {
    Event::NotAccepted { error }.emit();
    InletError::Unavailable(error.to_string())
}
