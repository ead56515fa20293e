//! What the daemon tells its operators: typed events, each one log sentence and one counter.
//!
//! An [`Event`] carries what varies in fields; the sentence is constant. Levels say what the
//! operator must do: `error` act now, `warn` look, `info` nothing. No secret and no message text
//! is ever a field.

mod calls;
mod counters;
mod event;
mod setup;

pub use calls::{CallMeter, MonthOfCalls, month_of};
pub use counters::Counters;
pub use event::{Event, Shown};
pub use setup::{LogFormat, check_filter, init};
