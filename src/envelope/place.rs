//! Posts that tell one state after the other of the same thing.

use serde::{Deserialize, Serialize};

/// What a post tells the state of: a later post of the same takes the place of its message, where
/// the channel can do that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlace {
    /// Tells it from everything else that is told in the chat.
    pub key: String,
    /// Whether it is over: what comes next of it begins a new message.
    pub is_last: bool,
}
