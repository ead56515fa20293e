//! What the gateway remembers of its chats while it runs: who talks to a bot, how often bots had
//! the word, what was already said once. In memory and bounded; a restart forgets it, but for the
//! bots' own messages: `recovery.rs` reads those back.

use std::time::Duration;

use super::bounded::Bounded;
use crate::base::{BotName, ChatId, MessageId, SessionKey, Timestamp, UserId};
use crate::envelope::{AgentMessage, Incoming, Relation, SenderKind};

/// A person who asked goes on talking to the bot for so long without naming it.
const TALK_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Of late messages that are dropped, one in this time is answered with the reason.
const LATE_NOTICE_EVERY: Duration = Duration::from_secs(10 * 60);
/// How many talks and chats are remembered.
const REMEMBERED_MAX: usize = 10_000;
/// How many of the bots' own messages are remembered.
const SPOKEN_MAX: usize = 50_000;
/// Of these so many are kept for certain; a start reads no more.
pub(super) const SPOKEN_KEPT: usize = SPOKEN_MAX / 2;

/// The place of a talk: bot, chat, thread, person.
type Talk = (BotName, ChatId, Option<String>, UserId);

/// The memory.
#[derive(Debug)]
pub(super) struct Attention {
    talks: Bounded<Talk, Timestamp>,
    spoken: Bounded<(BotName, MessageId), ()>,
    bot_turns: Bounded<(BotName, ChatId), usize>,
    warned: Bounded<(BotName, ChatId), ()>,
    late: Bounded<(SessionKey, UserId), Timestamp>,
}

impl Default for Attention {
    fn default() -> Self {
        Self {
            talks: Bounded::new(REMEMBERED_MAX),
            spoken: Bounded::new(SPOKEN_MAX),
            bot_turns: Bounded::new(REMEMBERED_MAX),
            warned: Bounded::new(REMEMBERED_MAX),
            late: Bounded::new(REMEMBERED_MAX),
        }
    }
}

/// The platform's name of the thread that a message is in.
pub(super) fn thread_of(message: &AgentMessage) -> Option<&str> {
    message.reply_fn.destination().thread.as_ref().map(|thread| thread.id.as_str())
}

fn talk(message: &AgentMessage) -> Talk {
    let destination = message.reply_fn.destination();
    let thread = thread_of(message).map(str::to_owned);
    (destination.bot.clone(), destination.chat.clone(), thread, message.sender.id.clone())
}

fn place(message: &AgentMessage) -> (BotName, ChatId) {
    let destination = message.reply_fn.destination();
    (destination.bot.clone(), destination.chat.clone())
}

impl Attention {
    /// Takes notice of an arrival, before anything is decided about it.
    pub(super) fn hears(&self, incoming: &Incoming) {
        let message = &incoming.message;
        if message.sender.kind == SenderKind::User && incoming.addressing.sender != Relation::Itself
        {
            self.bot_turns.remove(&place(message));
        }
    }

    /// Whether a message replies to the bot, or its sender goes on talking to it: soon, in the
    /// same place, and to nobody else.
    pub(super) fn is_in_talk(&self, incoming: &Incoming, now: Timestamp) -> bool {
        let message = &incoming.message;
        if let Some(quoted) = &message.quotes {
            return self.is_own(&incoming.bot, quoted);
        }
        let names_others = !message.mentions.is_empty() || incoming.addressing.mentions_all;
        let last = self.talks.get(&talk(message));
        !names_others && last.is_some_and(|last| now.since(last) <= TALK_WINDOW)
    }

    /// How many turns other bots had in a row in the chat of a message.
    pub(super) fn bot_turns(&self, message: &AgentMessage) -> usize {
        self.bot_turns.get(&place(message)).unwrap_or(0)
    }

    /// Remembers that a message became a turn.
    pub(super) fn accepted(&self, message: &AgentMessage, now: Timestamp) {
        match message.sender.kind {
            SenderKind::Agent => {
                let turns = self.bot_turns(message);
                self.bot_turns.put(place(message), turns + 1);
            }
            SenderKind::User | SenderKind::System => {
                if !message.is_private {
                    self.talks.put(talk(message), now);
                }
            }
        }
    }

    /// Remembers a message of the bot.
    pub(super) fn spoke(&self, bot: &BotName, message: MessageId) {
        self.spoken.insert((bot.clone(), message));
    }

    /// Whether a message is the bot's own: some platforms tell of it as if a person had sent it.
    pub(super) fn is_own(&self, bot: &BotName, message: &MessageId) -> bool {
        self.spoken.contains(&(bot.clone(), message.clone()))
    }

    /// Whether this is the first warning about a chat.
    pub(super) fn warns(&self, message: &AgentMessage) -> bool {
        self.warned.insert(place(message))
    }

    /// Whether the sender of a late message should be told that it is dropped.
    pub(super) fn tells_late(&self, message: &AgentMessage, now: Timestamp) -> bool {
        let key = (message.session.id.clone(), message.sender.id.clone());
        let is_due = self.late.get(&key).is_none_or(|last| now.since(last) >= LATE_NOTICE_EVERY);
        if is_due {
            self.late.put(key, now);
        }
        is_due
    }

    /// The sender of a late message was not told after all.
    pub(super) fn takes_back_late(&self, message: &AgentMessage) {
        self.late.remove(&(message.session.id.clone(), message.sender.id.clone()));
    }
}
