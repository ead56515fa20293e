//! Whom is a message for, and which preset answers it: decisions without I/O.
//!
//! [`Classifier`] tells commands, work for an editor and questions apart; [`route()`] names the
//! preset. A layer that asks a model can stand behind the rules; the rules alone always give an
//! answer.

mod classify;
mod command;
mod route;
mod tables;

pub use classify::{Classified, Classifier, Intent, Method};
pub use command::Command;
pub use route::{Route, route};
