//! Verifies servers against the machine's root certificates, which are read at first use, and
//! those of the configuration.
//!
//! The verification itself is the platform verifier's; only its construction is put off. A failed
//! load is not kept: the next connection tries again.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::certificates::Certificates;

/// The platform's verifier, built when the first certificate is to be judged.
#[derive(Debug)]
pub(super) struct LazyRoots {
    provider: Arc<CryptoProvider>,
    extra: Certificates,
    verifier: OnceLock<Verifier>,
}

impl LazyRoots {
    /// `extra` is trusted as well.
    pub(super) fn new(provider: Arc<CryptoProvider>, extra: Certificates) -> Self {
        Self { provider, extra, verifier: OnceLock::new() }
    }

    /// Whether the certificates have been read.
    #[cfg(test)]
    pub(super) fn is_loaded(&self) -> bool {
        self.verifier.get().is_some()
    }

    fn verifier(&self) -> Result<&Verifier, Error> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        // Two first connections at once may both read the files; one result is kept.
        let provider = Arc::clone(&self.provider);
        let loaded = Verifier::new_with_extra_roots(self.extra.all(), provider)?;
        Ok(self.verifier.get_or_init(|| loaded))
    }
}

impl ServerCertVerifier for LazyRoots {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        // Asked while the client says hello, before any certificate is seen.
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
