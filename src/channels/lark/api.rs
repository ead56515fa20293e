//! The bot API client of one app.
//!
//! Each call has a time limit, a limit of the answer's size, and an error that says three things:
//! whether the platform may have acted all the same, whether to try again, and since when.
//! Retrying is the caller's affair; the one exception is an invalid token, which is renewed once.

mod answers;
mod card;
mod cardkit;
mod client;
mod codes;
mod error;
mod limiter;
mod pace;
mod people;
mod raw;
mod scopes;
mod text;
mod token;
mod transport;

pub use answers::{BotInfo, MessageRecord};
pub use card::Said;
pub(super) use card::{card_json, fits_card};
pub(super) use cardkit::Change;
pub use client::{LarkApi, LarkDeps};
pub use error::{ApiError, Failure};
pub use limiter::Limiter;
pub use raw::Download;
pub(super) use text::{TEXT_BYTES_MAX, neutralise};
pub use transport::{Endpoint, LarkApp};

#[cfg(test)]
#[path = "api_tests.rs"]
mod tests;
