//! What a channel knows about an event besides its text: enough to admit it without asking anyone.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::message::{AgentMessage, Channel};
use crate::base::{BotName, ChatId, MessageId, Timestamp, UserId, Verdict};

/// Tells one event from another across redeliveries.
///
/// It begins with the event's own time (the same in every redelivery), so that expiry is a range
/// delete and fresh keys stand together; the digest makes it unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DedupKey {
    time: Timestamp,
    digest: [u8; 16],
}

impl DedupKey {
    /// The length of [`DedupKey::to_bytes`].
    pub const BYTES: usize = 24;

    /// A key for the event made at `time` (as the platform says it) and told apart by `parts`.
    pub fn new(time: Timestamp, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // The length in front keeps ("ab", "c") and ("a", "bc") apart.
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let mut digest = [0; 16];
        for (to, from) in digest.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self { time, digest }
    }

    /// The event's own time.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// Time first, big-endian: byte order is time order.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let time = self.time.as_millis().to_be_bytes();
        for (to, from) in bytes.iter_mut().zip(time.into_iter().chain(self.digest)) {
            *to = from;
        }
        bytes
    }
}

/// One person or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// Two parties.
    Private,
    /// A group.
    Group,
}

/// Who a sender is to the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The bot itself.
    Itself,
    /// Somebody of the bot's own tenant.
    Colleague,
    /// Somebody of another tenant.
    Outsider,
}

/// Whether and how a message addresses the bot, and who its sender is to the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressing {
    /// Private or group.
    pub chat_kind: ChatKind,
    /// The bot was named.
    pub mentions_bot: bool,
    /// Everybody was named.
    pub mentions_all: bool,
    /// Who the sender is to the bot.
    pub sender: Relation,
    /// Every id by which lists may name the sender, the message's own among them.
    pub sender_ids: Vec<UserId>,
}

/// A message as a channel submits it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The bot it is for.
    pub bot: BotName,
    /// The message.
    pub message: AgentMessage,
    /// Any of these seen before makes it a duplicate. At least one.
    pub keys: Vec<DedupKey>,
    /// What admission needs to know.
    pub addressing: Addressing,
}

/// A chat in which the bot may be welcome: it was added to a group, or somebody opened a private
/// chat with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The chat.
    pub chat: ChatId,
    /// Private or group.
    pub chat_kind: ChatKind,
    /// Who added the bot or opened the chat.
    pub person: UserId,
    /// Who that is to the bot.
    pub relation: Relation,
}

/// What an event tells that somebody here acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    Nothing,
    /// The bot came into a chat.
    Met(Meeting),
    /// The bot is in this chat no more, or the chat itself is gone.
    Parted(ChatId),
    /// A message was taken back, in a chat as far as that is told.
    TakenBack(MessageId, Option<ChatId>),
}

/// An event that is not a message: it is told apart, noted, and acted on if it brings news.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The channel it came through.
    pub channel: Channel,
    /// The bot it is for.
    pub bot: BotName,
    /// The platform's name of the event type.
    pub event_type: String,
    /// The id people could ask about: of the message concerned, else of the event.
    pub subject: String,
    /// Tells redeliveries apart.
    pub key: DedupKey,
    /// What to note about it: `filtered` for ordinary notices, else why a message starts no work.
    pub verdict: Verdict,
    /// What it tells.
    pub news: News,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dedup_keys_stand_in_order_of_time_and_differ_by_every_part() {
        let early = DedupKey::new(Timestamp::from_millis(1), &["bot", "om_2"]);
        let late = DedupKey::new(Timestamp::from_millis(256), &["bot", "om_1"]);
        assert!(early.to_bytes() < late.to_bytes());
        let time = Timestamp::from_millis(1);
        assert_ne!(DedupKey::new(time, &["ab", "c"]), DedupKey::new(time, &["a", "bc"]));
        assert_eq!(DedupKey::new(time, &["ab", "c"]), DedupKey::new(time, &["ab", "c"]));
    }
}
