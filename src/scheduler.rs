//! Work by the clock: schedules of bots become errands, each of their times once.
//!
//! What is due is decided by a pure function in `due.rs`. The driver here looks at the clock once
//! a second, never sleeps longer (a clock may be moved), hands what is due to the inlet and notes
//! in the store how far it is. A crash in between changes nothing: the same time makes the same
//! errand, whose keys the inlet knows.

mod driver;
mod due;
mod record;

pub use driver::{Scheduler, SchedulerDeps};
