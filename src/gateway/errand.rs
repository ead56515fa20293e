//! Errands: what the operator's configuration asks for, a schedule that is due or a webhook that
//! was called. They are stored once, like everything that starts work, and answered in the chat
//! that the configuration names. Nobody is let in or turned away for them.

use std::sync::Arc;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::notice::not_accepted;
use super::plan::planned_closing;
use super::sessions::Job;
use super::stop::Stop;
use crate::base::{SessionKey, Verdict};
use crate::envelope::{AgentMessage, DedupKey, Errand, ErrandKind, InPlace, InletError, Submitted};
use crate::store::{ClosingV1, InboxV1, Lane};

/// At most this many posts wait for one chat; a caller beyond them is asked to come again.
const POSTS_WAITING_MAX: usize = 1000;

impl Gateway {
    /// Takes an errand over: work into its line, a post straight into the outbox.
    pub(super) async fn run_errand(&self, errand: Errand) -> Result<Submitted, InletError> {
        let Errand { bot, message, keys, kind } = errand;
        let unknown = || InletError::UnknownBot(bot.clone());
        let bot = Arc::clone(self.shared.bots.get(&bot).ok_or_else(unknown)?);
        match kind {
            ErrandKind::Work => {
                let lane = self.lane_of(&message);
                let row = self.row(message, lane);
                self.accept_row(&bot, &keys, row).await
            }
            ErrandKind::Post { reason, in_place } => {
                self.post(&bot, message, &keys, (reason, in_place)).await
            }
        }
    }

    /// What is said is planned at once and waits in a line of its own: the posts of a chat arrive in
    /// the order in which they came, and behind no one's work.
    async fn post(
        &self,
        bot: &BotRuntime,
        mut message: AgentMessage,
        keys: &[DedupKey],
        (reason, in_place): (String, Option<InPlace>),
    ) -> Result<Submitted, InletError> {
        let chat = &message.reply_fn.destination().chat;
        let key = SessionKey::new(format!("{}/{chat}/posts", bot.name));
        let Some(seat) = self.shared.sessions.reserve(&key, POSTS_WAITING_MAX) else {
            let full = format!("{POSTS_WAITING_MAX} posts wait for the chat {chat}");
            return Err(InletError::Unavailable(full));
        };
        message.session.id = key.clone();
        let turn = self.next_turn();
        let text = message.content.clone();
        let row = InboxV1 { in_place, ..self.row(message, Lane::Session) };
        let closing = ClosingV1 { verdict: Verdict::Answered, reason };
        let planned = planned_closing(bot, turn, row, closing, text.as_str().into());
        let (row, changes) = planned.map_err(|error| not_accepted(&error))?;
        let submitted = self.store_once(turn, keys, &row, changes).await?;
        if submitted != Submitted::Duplicate {
            let job = Job { turn, row, stop: Stop::default(), recovered: false };
            if self.shared.sessions.take(seat, job) {
                self.start_worker(key);
            }
        }
        Ok(submitted)
    }
}
