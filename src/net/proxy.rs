//! The proxy that requests go through, who is reached without it, and whether it is to blame.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use hyper::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tower::BoxError;
use url::Url;

use super::error::NetError;

/// This machine is reached without the proxy, whatever else is said.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// A proxy. Its address can hold a password and is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    address: Url,
    except: String,
}

impl Proxy {
    /// The proxy at `address`, `http://[user:password@]host:port`. `except` is in the syntax of
    /// `NO_PROXY`: names, addresses and networks between commas; `*` for everybody.
    ///
    /// # Errors
    /// What is wrong with the address, without repeating it.
    pub fn new(address: &str, except: &str) -> Result<Self, NetError> {
        let unusable = |text: &str| NetError::Unusable(text.to_owned());
        let address = Url::parse(address).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
            return Err(unusable("a proxy is http://HOST:PORT or https://HOST:PORT"));
        }
        let except = format!("{except},{THIS_MACHINE}");
        Ok(Self { address, except })
    }

    /// Whether the address holds a password.
    pub fn has_password(&self) -> bool {
        self.address.password().is_some()
    }

    pub(super) fn rule(&self) -> Result<reqwest::Proxy, NetError> {
        let except = reqwest::NoProxy::from_string(&self.except);
        Ok(reqwest::Proxy::all(self.address.as_str())?.no_proxy(except))
    }

    /// What is written on connections that do not come about where this is the proxy.
    pub(super) fn mark(&self) -> Mark {
        Mark { place: self.place().into(), rules: Arc::new(self.rules()) }
    }

    /// Host and port, without credentials.
    pub(super) fn place(&self) -> String {
        let host = self.address.host_str().unwrap_or_default();
        match self.address.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// How a server is reached through it; `None`: straight.
    pub(super) fn way_to(&self, server: &Uri) -> Option<Intercept> {
        self.rules().intercept(server)
    }

    /// The rules by which the client below chooses.
    fn rules(&self) -> Matcher {
        Matcher::builder().all(self.address.as_str()).no(self.except.as_str()).build()
    }
}

/// A proxy by its place, and who is reached through it.
#[derive(Clone)]
pub(super) struct Mark {
    /// Host and port, without credentials.
    place: Arc<str>,
    rules: Arc<Matcher>,
}

impl Mark {
    /// Marks a connection that did not come about.
    pub(super) fn on(&self, cause: BoxError) -> BoxError {
        Box::new(Unconnected { mark: self.clone(), cause })
    }

    fn leads_to(&self, url: &Url) -> bool {
        url.as_str().parse().is_ok_and(|url| self.rules.intercept(&url).is_some())
    }
}

/// A connection that did not come about, and the proxy that there is.
struct Unconnected {
    mark: Mark,
    cause: BoxError,
}

impl fmt::Debug for Unconnected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Unconnected").field(&self.mark.place).field(&self.cause).finish()
    }
}

impl fmt::Display for Unconnected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

impl Error for Unconnected {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_ref())
    }
}

/// The causes of an error, from the outside to the inside.
fn below(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// What a failed request has to do with the proxy, by its place: it could not be reached, it
/// refused, or the way through it led nowhere. `None`: nothing.
pub(super) fn proxy_at_fault(error: &reqwest::Error) -> Option<String> {
    let url = error.url()?;
    let found = below(error).find_map(|cause| cause.downcast_ref::<Unconnected>())?;
    if !found.mark.leads_to(url) {
        return None;
    }
    let place = &found.mark.place;
    let causes: Vec<String> = below(found).map(ToString::to_string).collect();
    // The layers below have no types that one could look at, only words.
    let says = |words: &[&str]| causes.iter().any(|cause| words.contains(&cause.as_str()));
    let what = if says(&["tcp connect error", "dns error"]) {
        "could not be reached"
    } else if says(&["tunnel error: unsuccessful", "tunnel error: proxy authorization required"]) {
        "refused to connect"
    } else {
        "gave no connection"
    };
    Some(format!("the proxy {place} {what}"))
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Proxy").field("except", &self.except).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_http_address_is_a_proxy_and_its_password_is_not_shown() {
        for bad in ["", "proxy:3128", "socks5://proxy:1080", "http://", "http://user:s3cret@"] {
            let error = Proxy::new(bad, "").unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let proxy = Proxy::new("http://user:s3cret@proxy.corp:3128", "*.corp").unwrap();
        assert!(proxy.has_password());
        assert!(!format!("{proxy:?}").contains("s3cret"));
        let marked = proxy.mark().on("refused".into());
        assert_eq!(
            format!("{marked} {marked:?}"),
            "refused Unconnected(\"proxy.corp:3128\", \"refused\")"
        );
        assert!(proxy.rule().is_ok());
    }
}
