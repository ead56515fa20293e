//! The ways in and out of the daemon: each channel verifies and decodes foreign events, and
//! carries out what the outbox asks.
//!
//! Channels meet the gateway only in [`crate::envelope`]; they never import it or each other.

pub mod lark;
