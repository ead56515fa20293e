//! Channels: each turns a foreign protocol into messages and answers back into it.
//!
//! A channel knows the envelope and nothing beside it: neither the gateway nor another channel.

pub mod lark;
pub mod terminal;
pub mod webhook;
