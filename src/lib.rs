//! Larkspur: a chat-bot gateway daemon for Lark and Feishu, with an agent engine inside.
//!
//! The tour in sixty seconds: a channel verifies and decodes a foreign event into an
//! [`envelope::AgentMessage`]; the gateway stores it before anything is acknowledged and gives it
//! to its session's worker; the engine runs; the answer goes through the durable outbox back to
//! the channel. Modules stand in the order of their layers: each imports only from above.

pub mod base;
pub mod telemetry;

pub mod net;
pub mod task;

pub mod envelope;

pub mod bots;
pub mod llm;
pub mod store;

pub mod knowledge;
pub mod tools;

pub mod agent;
pub mod routing;

pub mod admin;
pub mod channels;
pub mod gateway;
pub mod playground;
pub mod scheduler;

pub mod app;
pub mod config;

pub mod cli;
