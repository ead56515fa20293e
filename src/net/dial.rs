//! Connections for what is no client of HTTP: through the same proxy, with the same certificates.

use std::io;
use std::sync::Arc;

use hyper::Uri;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower::{Service, service_fn};
use url::Url;

use super::error::NetError;
use super::factory::HttpFactory;

/// A connection, whatever it is made of.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that stands.
pub type Stream = Box<dyn Wire>;

/// Where to connect to.
struct Place {
    host: String,
    port: u16,
    is_secure: bool,
}

impl HttpFactory {
    /// A connection to the server of `url`, with TLS for `https` and `wss`. A proxy of the settings
    /// is asked for a tunnel, also for what is not encrypted.
    ///
    /// # Errors
    /// [`NetError::Unusable`] if the URL names no server, else [`NetError::NotConnected`]; the
    /// texts name the server or the proxy, and nothing else of the URL.
    pub async fn dial(&self, url: &Url) -> Result<Stream, NetError> {
        let place = Place::of(url)?;
        let patience = self.settings().connect_timeout;
        match tokio::time::timeout(patience, self.connect(&place)).await {
            Ok(connected) => connected,
            Err(_elapsed) => Err(self.failed(&place, "no connection in time")),
        }
    }

    async fn connect(&self, place: &Place) -> Result<Stream, NetError> {
        let failed = |error: io::Error| self.failed(place, &error.to_string());
        let wire: Stream = match self.intercept(place) {
            None => plain(&place.host, place.port).await.map_err(failed)?,
            Some(way) => self.tunnel(&way, place).await?,
        };
        if place.is_secure {
            self.secure(wire, &place.host).await.map_err(failed)
        } else {
            Ok(wire)
        }
    }

    fn intercept(&self, place: &Place) -> Option<Intercept> {
        self.settings().proxy.as_ref()?.way_to(&place.uri()?)
    }

    async fn tunnel(&self, way: &Intercept, place: &Place) -> Result<Stream, NetError> {
        let failed = |error: &dyn std::fmt::Display| self.failed(place, &error.to_string());
        let proxy = Place::of_uri(way.uri());
        let mut wire: Stream =
            plain(&proxy.host, proxy.port).await.map_err(|error| failed(&error))?;
        if proxy.is_secure {
            wire = self.secure(wire, &proxy.host).await.map_err(|error| failed(&error))?;
        }
        let mut wire = Some(TokioIo::new(wire));
        let connected = service_fn(move |_proxy: Uri| {
            let wire = wire.take().ok_or(io::ErrorKind::NotConnected);
            async move { wire.map_err(io::Error::from) }
        });
        let mut tunnel = Tunnel::new(way.uri().clone(), connected);
        if let Some(credentials) = way.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let target = place.uri().ok_or_else(|| no_server("its name cannot be written"))?;
        let wire = tunnel.call(target).await.map_err(|error| failed(&error))?;
        Ok(wire.into_inner())
    }

    async fn secure(&self, wire: Stream, host: &str) -> io::Result<Stream> {
        let tls = self.tls().map_err(io::Error::other)?;
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::new(tls)).connect(name, wire).await?;
        Ok(Box::new(stream))
    }

    fn failed(&self, place: &Place, cause: &str) -> NetError {
        let server = format!("{}:{}", place.host, place.port);
        let proxy = self.settings().proxy.as_ref().filter(|_| self.intercept(place).is_some());
        NetError::NotConnected(match proxy {
            Some(proxy) => format!("{server} through the proxy {}: {cause}", proxy.place()),
            None => format!("{server}: {cause}"),
        })
    }
}

impl Place {
    fn of(url: &Url) -> Result<Self, NetError> {
        let (is_secure, port) = match url.scheme() {
            "https" | "wss" => (true, 443),
            "http" | "ws" => (false, 80),
            _ => return Err(no_server("its scheme is none of http, https, ws, wss")),
        };
        // An address of IPv6 stands in brackets, which are no part of it.
        let host = url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned());
        let host = host.ok_or_else(|| no_server("it names no server"))?;
        Ok(Self { host, port: url.port().unwrap_or(port), is_secure })
    }

    fn of_uri(uri: &Uri) -> Self {
        let is_secure = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Self { host, port, is_secure }
    }

    /// In the form in which proxies and their exceptions look at servers.
    fn uri(&self) -> Option<Uri> {
        let host = &self.host;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{host}:{}/", self.port).parse().ok()
    }
}

async fn plain(host: &str, port: u16) -> io::Result<Stream> {
    let stream = TcpStream::connect((host, port)).await?;
    // What is sent is small and waited for.
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

fn no_server(what: &str) -> NetError {
    NetError::Unusable(format!("the URL cannot be connected to: {what}"))
}
