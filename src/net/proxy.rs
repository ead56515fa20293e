//! The proxy that requests go through, and who is reached without it.

use std::fmt;

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
        assert!(proxy.rule().is_ok());
    }
}
