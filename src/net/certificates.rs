//! Root certificates that are trusted beside those of the machine.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Some root certificates; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates(Vec<CertificateDer<'static>>);

/// A text that is not certificates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCertificates {
    /// There is no certificate in it.
    #[error("there is no certificate in it (PEM, `-----BEGIN CERTIFICATE-----`)")]
    None,
    /// One is damaged.
    #[error("certificate {number} in it is damaged: {cause}")]
    Damaged {
        /// Counted from 1.
        number: usize,
        /// Why.
        cause: String,
    },
}

impl Certificates {
    /// All certificates of a PEM text. Other things in it (keys, comments) are passed over.
    ///
    /// # Errors
    /// [`BadCertificates`] if there is none, or one that cannot serve as a root.
    pub fn from_pem(text: &[u8]) -> Result<Self, BadCertificates> {
        let mut certificates = Vec::new();
        let mut trial = RootCertStore::empty();
        for (certificate, number) in CertificateDer::pem_slice_iter(text).zip(1..) {
            let damaged = |cause: String| BadCertificates::Damaged { number, cause };
            let certificate = certificate.map_err(|error| damaged(error.to_string()))?;
            trial.add(certificate.clone()).map_err(|error| damaged(error.to_string()))?;
            certificates.push(certificate);
        }
        if certificates.is_empty() { Err(BadCertificates::None) } else { Ok(Self(certificates)) }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = CertificateDer<'static>> {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_whole_certificate_is_refused() {
        let bad = |text: &str| Certificates::from_pem(text.as_bytes()).unwrap_err();
        assert_eq!(bad(""), BadCertificates::None);
        assert_eq!(bad("no certificate"), BadCertificates::None);
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(bad(junk), BadCertificates::Damaged { number: 1, .. }));
        let not_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        assert!(matches!(bad(not_base64), BadCertificates::Damaged { number: 1, .. }));
    }

    #[test]
    fn every_certificate_of_a_bundle_is_taken() {
        let made = |name: &str| {
            let key = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
            key.cert.pem()
        };
        let bundle = format!("# the company's roots\n{}{}", made("a.test"), made("b.test"));
        let certificates = Certificates::from_pem(bundle.as_bytes()).unwrap();
        assert_eq!(certificates.all().count(), 2);
    }
}
