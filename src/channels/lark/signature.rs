//! The signatures of requests: SHA-256 with the encrypt key, or, for card callbacks of the first
//! generation, SHA-1 with the verification token.
//!
//! Each is a plain hash over timestamp, nonce, secret and the raw body, not an HMAC, in lower-case
//! hexadecimal. It covers the bytes as received, so it is checked before anything is decoded.

use sha1::Sha1;
use sha2::digest::Output;
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
    /// Whether the signature belongs to `body` under the encrypt key.
    pub(super) fn covers(&self, key: &Secret, body: &[u8]) -> bool {
        self.is_hash::<Sha256>(key, body)
    }

    /// Whether it is that of a card callback of the first generation, under the verification
    /// token.
    pub(super) fn covers_first_card(&self, token: &Secret, body: &[u8]) -> bool {
        self.is_hash::<Sha1>(token, body)
    }

    /// Takes the same time wherever a wrong signature differs.
    fn is_hash<H: Digest>(&self, secret: &Secret, body: &[u8]) -> bool
    where
        Output<H>: AsRef<[u8]>,
    {
        let mut hash = H::new();
        hash.update(self.timestamp.as_bytes());
        hash.update(self.nonce.as_bytes());
        hash.update(secret.expose().as_bytes());
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

    #[test]
    fn every_vector_of_the_first_card_generation_is_covered_by_the_token_alone() {
        let vectors = vectors();
        let cases = vectors["card_v1_signature_sha1"]["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 3);
        for case in cases {
            let text = |name: &str| case[name].as_str().unwrap().to_owned();
            let token = Secret::new(text("verification_token"));
            let (timestamp, nonce) = (text("timestamp"), text("nonce"));
            let (signature, body) = (text("signature_sha1_hex"), text("body"));
            let signed = Signed { timestamp: &timestamp, nonce: &nonce, signature: &signature };
            assert!(signed.covers_first_card(&token, body.as_bytes()), "{case}");
            assert!(!signed.covers_first_card(&token, format!("{body} ").as_bytes()));
            assert!(!signed.covers_first_card(&Secret::new("other"), body.as_bytes()));
            assert!(!signed.covers(&token, body.as_bytes()), "another hash");
        }
    }
}
