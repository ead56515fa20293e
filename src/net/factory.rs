//! Builds HTTP clients that all behave the same.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use tower::timeout::TimeoutLayer;
use tower::util::MapErrLayer;

use super::certificates::Certificates;
use super::error::NetError;
use super::proxy::Proxy;
use super::roots::LazyRoots;

/// Idle connections kept for each host.
const IDLE_PER_HOST_MAX: usize = 64;

/// What all clients of the daemon have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// The longest time until a connection stands, TLS included.
    pub connect_timeout: Duration,
    /// The longest time from the start of a request to the end of its response body.
    pub timeout: Duration,
    /// How the daemon calls itself.
    pub user_agent: String,
    /// What requests go through; `None`: straight to the server.
    pub proxy: Option<Proxy>,
    /// Root certificates that are trusted beside the machine's.
    pub certificates: Certificates,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            user_agent: concat!("larkspur/", env!("CARGO_PKG_VERSION")).to_owned(),
            proxy: None,
            certificates: Certificates::default(),
        }
    }
}

/// Builds [`reqwest::Client`]s. Clones share the TLS settings and the loaded root certificates.
///
/// A client costs some ten microseconds (5 measured, the first one 200). The machine's root
/// certificates (20 to 50 ms, read by the platform's rules) are loaded when the first TLS server
/// shows its certificate, never by a daemon that only talks plain HTTP.
/// Clients speak HTTP/1.1, so that dropping a request closes its connection and the other side
/// notices at once.
#[derive(Clone, Debug)]
pub struct HttpFactory {
    settings: HttpSettings,
    provider: Arc<CryptoProvider>,
    roots: Arc<LazyRoots>,
}

impl HttpFactory {
    /// A factory with the given settings. Does no I/O.
    pub fn new(settings: HttpSettings) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = LazyRoots::new(Arc::clone(&provider), settings.certificates.clone());
        Self { settings, roots: Arc::new(roots), provider }
    }

    /// The same factory with another proxy, or none.
    #[must_use]
    pub fn through(&self, proxy: Option<Proxy>) -> Self {
        let settings = HttpSettings { proxy, ..self.settings.clone() };
        Self { settings, ..self.clone() }
    }

    /// A client with the total time-out of the settings.
    ///
    /// # Errors
    /// [`NetError::Unusable`] if the settings make no client (a user agent with a line break).
    pub fn client(&self) -> Result<reqwest::Client, NetError> {
        self.client_within(self.settings.timeout)
    }

    /// A client whose requests may take up to `timeout` in all, for slow or streaming services.
    ///
    /// # Errors
    /// As [`HttpFactory::client`].
    #[expect(clippy::disallowed_methods, reason = "the one place that builds HTTP clients")]
    pub fn client_within(&self, timeout: Duration) -> Result<reqwest::Client, NetError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls()?)
            .http1_only()
            .no_proxy()
            // A small packed body can be a huge one, and limits count what is read.
            .no_gzip()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .tcp_nodelay(true)
            .user_agent(self.settings.user_agent.as_str());
        let connect_timeout = self.settings.connect_timeout;
        let client = match &self.settings.proxy {
            None => client.connect_timeout(connect_timeout),
            // The client's own time limit stands outside of all layers and would not be marked.
            Some(proxy) => {
                let mark = proxy.mark();
                client
                    .proxy(proxy.rule()?)
                    .connector_layer(TimeoutLayer::new(connect_timeout))
                    .connector_layer(MapErrLayer::new(move |error| mark.on(error)))
            }
        };
        Ok(client.build()?)
    }

    /// Whether the root certificates have been read.
    #[cfg(test)]
    pub(super) fn roots_loaded(&self) -> bool {
        self.roots.is_loaded()
    }

    pub(super) fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    pub(super) fn tls(&self) -> Result<rustls::ClientConfig, NetError> {
        let verifier = Arc::clone(&self.roots);
        let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| NetError::Unusable(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(tls)
    }
}

impl Default for HttpFactory {
    fn default() -> Self {
        Self::new(HttpSettings::default())
    }
}
