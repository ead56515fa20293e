//! What can go wrong with a request, sorted by whether the other side may have seen it.

use std::error::Error;

use super::proxy::proxy_at_fault;
use crate::base::Disposition;
use crate::base::limit::ellipsis;

/// The longest cause kept from the libraries below, in characters.
const CAUSE_CHARS_MAX: usize = 300;

/// A request did not give a complete response. Texts name no URL, since URLs can hold tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The client or the request could not be built: nothing was sent.
    #[error("the request cannot be made: {0}")]
    Unusable(String),
    /// No connection came about: surely nothing was sent.
    #[error("no connection: {0}")]
    NotConnected(String),
    /// Time ran out. The request may have been sent and acted on.
    #[error("no answer in time: {0}")]
    TimedOut(String),
    /// The connection broke. The request may have been sent and acted on.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The body is longer than the reader accepts. The request was acted on.
    #[error("the answer is longer than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
}

impl NetError {
    /// Whether the other side cannot have seen the request, so that repeating it is harmless.
    pub fn is_surely_unsent(&self) -> bool {
        match self {
            Self::Unusable(_) | Self::NotConnected(_) => true,
            Self::TimedOut(_) | Self::Broken(_) | Self::TooLarge { .. } => false,
        }
    }

    /// What the caller should do, if repeating the request does no harm.
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::NotConnected(_) | Self::TimedOut(_) | Self::Broken(_) => {
                Disposition::Retry { after: None }
            }
            Self::Unusable(_) | Self::TooLarge { .. } => Disposition::Reject,
        }
    }
}

impl From<reqwest::Error> for NetError {
    fn from(error: reqwest::Error) -> Self {
        // A connect time-out is both; that nothing was sent is the stronger statement.
        let (connect, timeout) = (error.is_connect(), error.is_timeout());
        let builder = error.is_builder();
        if connect {
            return Self::NotConnected(unconnected(&error));
        }
        let cause = cause_of(&error.without_url());
        if builder {
            Self::Unusable(cause)
        } else if timeout {
            Self::TimedOut(cause)
        } else {
            Self::Broken(cause)
        }
    }
}

/// Why no connection came about, and with what.
pub fn unconnected(error: &reqwest::Error) -> String {
    let place = proxy_at_fault(error).or_else(|| {
        let (host, port) =
            error.url().and_then(|url| url.host_str().zip(url.port_or_known_default()))?;
        Some(format!("{host}:{port}"))
    });
    let cause = cause_of(error);
    place.map_or_else(|| cause.clone(), |place| format!("{place}: {cause}"))
}

/// The innermost cause says what happened; the layers above it only say where.
fn cause_of(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    ellipsis(&cause.to_string(), CAUSE_CHARS_MAX)
}
