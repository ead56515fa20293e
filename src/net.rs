//! Outgoing HTTP: one factory for clients, one reader for bodies.
//!
//! Every client is built here, so that time-outs, TLS and the absence of hidden settings hold for
//! all of them. No proxy is taken from the environment (the configuration names it), no redirect is followed, no process-wide
//! TLS provider is installed. [`NetError`] tells what callers must know before they repeat a
//! request: whether it can have reached the other side.

mod certificates;
mod error;
mod factory;
mod proxy;
mod read;
mod roots;

pub use certificates::{BadCertificates, Certificates};
pub use error::NetError;
pub use factory::{HttpFactory, HttpSettings};
pub use proxy::Proxy;
pub use read::read_capped;

#[cfg(test)]
#[path = "net/ways_tests.rs"]
mod ways_tests;
