//! The signature of an event request: SHA-256 over timestamp, nonce, key and the raw body.
//!
//! It is a plain hash of the concatenation, not an HMAC, in lower-case hexadecimal. It covers the
//! bytes as received, so it is checked before anything is decoded.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::base::Secret;

/// The three header values that sign a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed<'a> {
    /// Unix seconds, as written.
    pub(super) timestamp: &'a str,
    /// The platform's random text.
    pub(super) nonce: &'a str,
    /// Lower-case hexadecimal.
    pub(super) signature: &'a str,
}

impl Signed<'_> {
    /// Whether the signature belongs to `body` under `key`. Takes the same time wherever a wrong
    /// signature differs.
    pub(super) fn covers(&self, key: &Secret, body: &[u8]) -> bool {
        let mut hash = Sha256::new();
        hash.update(self.timestamp.as_bytes());
        hash.update(self.nonce.as_bytes());
        hash.update(key.expose().as_bytes());
        hash.update(body);
        let expected = hex::encode(hash.finalize());
        expected.as_bytes().ct_eq(self.signature.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::vectors;
    use super::*;

    #[test]
    fn every_vector_is_covered_and_a_changed_byte_is_not() {
        let vectors = vectors();
        let cases = vectors["event_signature_sha256"]["cases"].as_array().unwrap();
        assert!(cases.len() >= 5);
        for case in cases {
            let text = |name: &str| case[name].as_str().unwrap().to_owned();
            let key = Secret::new(text("encrypt_key"));
            let (timestamp, nonce) = (text("timestamp"), text("nonce"));
            let (signature, body) = (text("signature_sha256_hex"), text("body"));
            let signed = Signed { timestamp: &timestamp, nonce: &nonce, signature: &signature };
            assert!(signed.covers(&key, body.as_bytes()), "{case}");
            assert!(!signed.covers(&key, format!("{body} ").as_bytes()));
            assert!(!signed.covers(&Secret::new("other"), body.as_bytes()));
            let upper = signature.to_uppercase();
            let shouted = Signed { signature: &upper, ..signed };
            assert!(!shouted.covers(&key, body.as_bytes()));
        }
    }
}
