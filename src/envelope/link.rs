//! Standing connections of bots to their platforms, as others see them.

use crate::base::{BotName, Timestamp};

/// How the connection of one bot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether it stands.
    pub state: LinkState,
    /// When the last event came in, since the daemon runs.
    pub last_event: Option<Timestamp>,
    /// How often it came about.
    pub connects: u64,
    /// How many frames came in.
    pub frames: u64,
    /// How many events were given up whose pieces did not come together.
    pub fragments_dropped: u64,
}

/// Whether a connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It does.
    Connected {
        /// Since when.
        since: Timestamp,
    },
    /// It does not, and is tried again and again.
    Connecting {
        /// Since when it does not.
        since: Timestamp,
        /// Why the last try failed.
        last_error: Option<String>,
    },
    /// The platform refuses it; tried again now and then, for somebody may put it right.
    Refused {
        /// Since when it does not stand.
        since: Timestamp,
        /// Why, in words for the operator.
        error: String,
    },
}

/// The connections of all bots that have one, implemented by a channel.
pub trait Links: Send + Sync {
    /// How the connection of a bot is; `None`: it has none and needs none.
    fn link(&self, bot: &BotName) -> Option<Link>;

    /// All of them, by the names of the bots.
    fn links(&self) -> Vec<(BotName, Link)>;
}
