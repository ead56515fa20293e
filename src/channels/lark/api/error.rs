//! Errors of the API client: what happened, what to do, and what the platform may have done.

use std::fmt;
use std::time::Duration;

use super::codes::{Meaning, hint, is_known, meaning};
use super::transport::Endpoint;
use crate::base::{Disposition, Origin};
use crate::envelope::Certainty;

/// The pause after a refusal for speed that names none: the span of the platform's limits.
const PAUSE: Duration = Duration::from_secs(1);
/// How the platform words it that a message is gone, where it gives no known code.
const GONE_WORDS: [&str; 3] = ["withdrawn", "recalled", "has been deleted"];

/// What went wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection was made, so nothing was sent; why.
    NotConnected(String),
    /// Not sent: it would be faster than the platform allows.
    TooFast,
    /// No complete answer within the time limit.
    TimedOut,
    /// The connection broke.
    Broken,
    /// The answer is too long, no JSON, or lacks what was asked for.
    Undecodable,
    /// The platform answered with an error.
    Refused {
        /// Its own code, where the answer had one.
        code: Option<i64>,
        /// Its words, cut and cleaned.
        message: String,
    },
}

/// A call to the platform that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ApiError {
    pub(super) endpoint: Endpoint,
    pub(super) status: Option<u16>,
    pub(super) failure: Failure,
    pub(super) retry_after: Option<Duration>,
}

impl ApiError {
    /// Which call it was.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// What happened.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The platform's own code, if it gave one.
    pub fn code(&self) -> Option<i64> {
        match &self.failure {
            Failure::Refused { code, .. } => *code,
            Failure::NotConnected(_)
            | Failure::TooFast
            | Failure::TimedOut
            | Failure::Broken
            | Failure::Undecodable => None,
        }
    }

    /// The platform's own words, if it gave some.
    pub(in crate::channels::lark) fn words(&self) -> &str {
        match &self.failure {
            Failure::Refused { message, .. } => message,
            Failure::NotConnected(_)
            | Failure::TooFast
            | Failure::TimedOut
            | Failure::Broken
            | Failure::Undecodable => "",
        }
    }

    /// Whether the platform was not even reached.
    pub(super) fn is_unconnected(&self) -> bool {
        matches!(self.failure, Failure::NotConnected(_))
    }

    pub(super) fn meaning(&self) -> Option<Meaning> {
        self.code().map(|code| meaning(self.endpoint, code))
    }

    fn is_server_failure(&self) -> bool {
        self.status.is_some_and(|status| status >= 500)
    }

    /// What the caller should do.
    pub fn disposition(&self) -> Disposition {
        let retry = Disposition::Retry { after: self.retry_after };
        if !matches!(self.failure, Failure::Refused { .. }) {
            return retry;
        }
        match (self.meaning(), self.status) {
            (Some(Meaning::Slower | Meaning::InFlight), _) | (_, Some(429 | 408 | 500..)) => retry,
            // Without a code it is the gateway or a proxy that does not accept who we are.
            (Some(Meaning::Token | Meaning::App), _) | (None, Some(401 | 407)) => {
                Disposition::Fatal
            }
            (
                Some(
                    Meaning::Gone
                    | Meaning::Content
                    | Meaning::Words
                    | Meaning::Stale
                    | Meaning::Never,
                )
                | None,
                _,
            ) => Disposition::Reject,
        }
    }

    /// Whether the platform may have done what was asked all the same. A send also reads, a token
    /// or a thread: what fails there failed before anything was sent.
    pub fn certainty(&self) -> Certainty {
        if !self.endpoint.writes() {
            return Certainty::NotSent;
        }
        match &self.failure {
            Failure::NotConnected(_) | Failure::TooFast => Certainty::NotSent,
            Failure::TimedOut | Failure::Broken | Failure::Undecodable => {
                Certainty::MayHaveBeenSent
            }
            Failure::Refused { .. } => match self.meaning() {
                Some(Meaning::Slower) => Certainty::NotSent,
                Some(Meaning::InFlight) => Certainty::MayHaveBeenSent,
                _ if self.is_server_failure() => Certainty::MayHaveBeenSent,
                _ => Certainty::NotSent,
            },
        }
    }

    /// Whose failure it is.
    pub fn origin(&self) -> Origin {
        match self.meaning() {
            // Credentials, rights and quota are what this daemon was configured with.
            Some(Meaning::Token | Meaning::App) => Origin::Internal,
            _ => Origin::Platform,
        }
    }

    /// Whether what the call was about does not exist any more.
    pub(in crate::channels::lark) fn is_gone(&self) -> bool {
        self.meaning() == Some(Meaning::Gone)
    }

    /// Whether the message that was to be answered is not there any more. The platform says so by
    /// several codes, and sometimes by words alone.
    pub(in crate::channels::lark) fn is_target_gone(&self) -> bool {
        let Failure::Refused { code, message } = &self.failure else { return false };
        if self.endpoint != Endpoint::Reply {
            return false;
        }
        let says_nothing_else = !code.is_some_and(|code| is_known(self.endpoint, code))
            && !self.is_server_failure()
            && self.status != Some(429);
        let words = message.to_ascii_lowercase();
        self.is_gone() || (says_nothing_else && GONE_WORDS.iter().any(|gone| words.contains(gone)))
    }

    /// Whether a message is refused for what it says. A code that the table does not know may mean
    /// that, too; all that is known to speak of the chat, the app or the person does not.
    pub(in crate::channels::lark) fn is_content_refused(&self) -> bool {
        let is_unknown = self.code().is_some_and(|code| !is_known(self.endpoint, code));
        let is_of_content = matches!(self.meaning(), Some(Meaning::Content | Meaning::Words));
        let may_be = is_unknown || is_of_content;
        may_be && self.disposition() == Disposition::Reject && !self.is_target_gone()
    }

    /// Whether a message is refused for its words, which no other form will change.
    pub(in crate::channels::lark) fn are_words_refused(&self) -> bool {
        self.meaning() == Some(Meaning::Words)
    }

    /// Whether a later change was made, or this one itself.
    pub(in crate::channels::lark) fn is_out_of_sequence(&self) -> bool {
        self.meaning() == Some(Meaning::Stale)
    }

    /// How long nothing more of the kind should be sent, if the platform wants it slower.
    pub(super) fn asks_for_pause(&self) -> Option<Duration> {
        let is_slower = self.meaning() == Some(Meaning::Slower) || self.status == Some(429);
        is_slower.then(|| self.retry_after.unwrap_or(PAUSE))
    }

    /// Whether a new token may help.
    pub(super) fn wants_new_token(&self) -> bool {
        self.meaning() == Some(Meaning::Token)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.endpoint.name())?;
        match &self.failure {
            Failure::NotConnected(cause) => {
                write!(formatter, "no connection to the platform: {cause}")?;
            }
            Failure::TooFast => formatter.write_str("held back to stay below the rate limit")?,
            Failure::TimedOut => formatter.write_str("no answer in time")?,
            Failure::Broken => formatter.write_str("the connection broke")?,
            Failure::Undecodable => formatter.write_str("an answer that makes no sense")?,
            Failure::Refused { code: None, .. } if self.status == Some(407) => {
                formatter.write_str("a proxy on the way to the platform wants credentials")?;
            }
            Failure::Refused { code, message } => {
                formatter.write_str("the platform refused")?;
                if let Some(code) = code {
                    write!(formatter, " with code {code}")?;
                }
                if !message.is_empty() {
                    write!(formatter, " ({message})")?;
                }
            }
        }
        if let Some(status) = self.status {
            write!(formatter, ", HTTP {status}")?;
        }
        match self.code().and_then(hint) {
            Some(hint) => write!(formatter, ": {hint}"),
            None => Ok(()),
        }
    }
}
