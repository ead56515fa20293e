//! Outgoing HTTP: one factory for clients, one reader for bodies, and connections for what is no
//! client of HTTP but takes the same way out.
//!
//! Every client is built here, so that time-outs, TLS and the absence of hidden settings hold for
//! all of them. A proxy and further root certificates come from the configuration, none from the
//! environment; no redirect is followed, no process-wide TLS provider is installed. [`NetError`]
//! tells what callers must know before they repeat a request: whether it can have reached the
//! other side.

mod certificates;
mod dial;
mod error;
mod factory;
mod proxy;
mod read;
mod roots;

pub use certificates::{BadCertificates, Certificates};
pub use dial::{Stream, Wire};
pub use error::{NetError, unconnected};
pub use factory::{HttpFactory, HttpSettings};
pub use proxy::Proxy;
pub use read::read_capped;

#[cfg(test)]
#[path = "net/ways_tests.rs"]
mod ways_tests;
