//! The ways out: the proxy and the company's certificates.

use super::raw::RawNet;
use super::settings::Secrets;
use crate::base::problem::Problems;
use crate::base::{Secret, SecretRef};
use crate::net::{Certificates, Proxy};

/// The word for "no proxy" in a model whose daemon has one.
const DIRECT: &str = "direct";

/// The ways out.
#[derive(Clone, Debug, Default)]
pub struct NetSettings {
    /// What all requests go through that have no other way.
    pub proxy: Option<Proxy>,
    /// Root certificates beside the machine's.
    pub certificates: Certificates,
    /// Who is reached without a proxy, in the syntax of `NO_PROXY`.
    pub no_proxy: String,
}

impl NetSettings {
    /// The proxy of a part of the configuration that may have its own.
    pub(super) fn proxy_of(
        &self,
        key: &str,
        text: &str,
        secrets: &Secrets<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Proxy> {
        match text {
            "" => self.proxy.clone(),
            DIRECT => None,
            text => read_proxy(key, text, &self.no_proxy, secrets, problems),
        }
    }
}

pub(super) fn check(
    raw: &RawNet,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> NetSettings {
    let variable = |name| secrets.environment.get(name).filter(|value| !value.is_empty());
    let no_proxy = variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default();
    let proxy = match raw.proxy.as_str() {
        "" | DIRECT => None,
        text => read_proxy("net.proxy", text, no_proxy, secrets, problems),
    };
    let certificates = match raw.ca_file.as_str() {
        "" => Certificates::default(),
        file => read_certificates(file, secrets, problems),
    };
    NetSettings { proxy, certificates, no_proxy: no_proxy.to_owned() }
}

/// An address, or a reference to one: with a password in it, it is a secret.
fn read_proxy(
    key: &str,
    text: &str,
    no_proxy: &str,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<Proxy> {
    let reference = SecretRef::parse(text)?;
    let address: Secret = secrets
        .environment
        .secret(&reference, secrets.root)
        .map_err(|missing| problems.error(key, missing))
        .ok()?;
    let proxy = Proxy::new(address.expose(), no_proxy)
        .map_err(|error| problems.error(key, error.to_string()))
        .ok()?;
    if proxy.has_password() && matches!(reference, SecretRef::Literal(_)) {
        problems.warn(key, "a secret in a file; better write env:NAME or file:PATH");
    }
    Some(proxy)
}

fn read_certificates(
    file: &str,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Certificates {
    let read = std::fs::read(secrets.root.join(file))
        .map_err(|error| format!("the file {file} cannot be read: {error}"))
        .and_then(|text| {
            Certificates::from_pem(&text).map_err(|error| format!("the file {file}: {error}"))
        });
    read.unwrap_or_else(|text| {
        problems.error("net.ca_file", text);
        Certificates::default()
    })
}
