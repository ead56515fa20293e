//! Typed ids. A chat is never passed where a message is meant.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::{ContextV7, Timestamp as UuidTime, Uuid};

use super::clock::Timestamp;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it came; nothing is checked or changed.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The name of a bot definition, as in its file; also a path segment of its URL.
    BotName
);
text_id!(
    /// A conversation as its channel names it (`oc_…` on Lark).
    ChatId
);
text_id!(
    /// A message as its channel names it (`om_…` on Lark).
    MessageId
);
text_id!(
    /// A person or program as its channel names it (`ou_…` on Lark).
    UserId
);
text_id!(
    /// What is kept in order: one bot in one chat, or finer, as the bot's session policy says.
    SessionKey
);

/// One unit of accepted work, from the durable inbox row to the receipt.
///
/// Time-ordered (UUID version 7), so that rows keyed by it stand in order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(Uuid);

impl TurnId {
    /// The length of [`TurnId::as_bytes`].
    pub const BYTES: usize = 16;

    /// The big-endian bytes: their order is the order of arrival.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        self.0.as_bytes()
    }

    /// Reads what people were told; `None` if it is no turn's id.
    pub fn read(text: &str) -> Option<Self> {
        Uuid::parse_str(text.trim()).ok().map(Self)
    }

    /// Reads what [`TurnId::as_bytes`] gave.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// Reads the text form; `None` if it is not a turn id.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }

    /// 32 hexadecimal digits, for places with a narrow alphabet or a short limit.
    pub fn simple(&self) -> String {
        self.0.simple().to_string()
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Debug for TurnId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TurnId({})", self.0)
    }
}

/// Makes [`TurnId`]s that rise within the process even when the clock stands still.
#[derive(Debug, Default)]
pub struct TurnIds {
    context: std::sync::Mutex<ContextV7>,
}

impl TurnIds {
    /// A fresh id for work that arrives at `now`.
    pub fn next(&self, now: Timestamp) -> TurnId {
        let context = self.context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (seconds, nanos) = now.parts();
        TurnId(Uuid::new_v7(UuidTime::from_unix(&*context, seconds, nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_ids_rise_while_the_clock_stands_still() {
        let ids = TurnIds::default();
        let now = Timestamp::from_millis(1_760_000_000_000);
        let made: Vec<TurnId> = (0..1000).map(|_| ids.next(now)).collect();
        let mut sorted = made.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(made, sorted);
    }

    #[test]
    fn a_turn_id_survives_its_text_and_byte_forms() {
        let id = TurnIds::default().next(Timestamp::from_millis(1));
        assert_eq!(TurnId::parse(&id.to_string()), Some(id));
        assert_eq!(TurnId::from_bytes(*id.as_bytes()), id);
        assert_eq!(TurnId::parse("om_1"), None);
    }
}
