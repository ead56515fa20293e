//! Words that every other module uses: ids, time, secrets, limits, retry, and what the daemon says.
//!
//! Lowest layer. No I/O, no async runtime, no logging: a value or a pure function, nothing else.

pub mod catalogue;
pub mod clock;
pub mod fault;
pub mod id;
pub mod limit;
pub mod mark;
#[cfg(test)]
pub(crate) mod mutate;
pub mod parse;
pub mod problem;
pub mod retry;
pub mod secret;
pub mod template;
pub mod verdict;

pub use catalogue::{AboutFiles, AlertsSay, Aside, FromHook, Locale, Say, Undelivered};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use fault::Faults;
pub use id::{BotName, ChatId, MessageId, SessionKey, TurnId, UserId};
pub use problem::Problem;
pub use retry::{Backoff, Disposition, Origin};
pub use secret::{Secret, SecretRef};
pub use template::{Template, TemplateError};
pub use verdict::Verdict;
