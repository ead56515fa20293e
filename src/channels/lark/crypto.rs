//! The encryption of the event envelope: AES-256-CBC under the SHA-256 of the configured key.
//!
//! Strict everywhere: padded standard base64, whole blocks, PKCS#7 padding checked in full, valid
//! UTF-8. A text that fails any of these is refused, never repaired.

use std::fmt;

use aes::Aes256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use sha2::{Digest, Sha256};

use crate::base::Secret;

/// The length of the initialisation vector in front of the ciphertext, and of a block.
const BLOCK_BYTES: usize = 16;

/// Why an envelope could not be opened. Tells nothing about the key or the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EnvelopeError {
    /// Not padded standard base64.
    #[error("the envelope is not base64")]
    Base64,
    /// No room for an initialisation vector and at least one block, or a broken block.
    #[error("the envelope has a wrong length")]
    Length,
    /// Encrypted with another key, or damaged.
    #[error("the envelope does not decrypt")]
    Padding,
    /// The content is not text.
    #[error("the envelope's content is not UTF-8")]
    Utf8,
}

/// The key that opens one app's envelopes.
#[derive(Clone)]
pub(super) struct EnvelopeKey([u8; 32]);

impl EnvelopeKey {
    /// Derives the key from the configured text, whatever its length.
    pub(super) fn derive(encrypt_key: &Secret) -> Self {
        Self(Sha256::digest(encrypt_key.expose().as_bytes()).into())
    }

    /// Opens an envelope: base64 of the initialisation vector and the ciphertext.
    pub(super) fn open(&self, envelope: &str) -> Result<String, EnvelopeError> {
        let mut bytes = STANDARD.decode(envelope).map_err(|_malformed| EnvelopeError::Base64)?;
        let (vector, ciphertext) =
            bytes.split_first_chunk_mut::<BLOCK_BYTES>().ok_or(EnvelopeError::Length)?;
        if ciphertext.is_empty() || ciphertext.len() % BLOCK_BYTES != 0 {
            return Err(EnvelopeError::Length);
        }
        let plain = Decryptor::<Aes256>::new(&self.0.into(), &(*vector).into())
            .decrypt_padded::<Pkcs7>(ciphertext)
            .map_err(|_unpadded| EnvelopeError::Padding)?;
        String::from_utf8(plain.to_vec()).map_err(|_not_text| EnvelopeError::Utf8)
    }
}

impl fmt::Debug for EnvelopeKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::vectors;
    use super::*;
    use crate::base::mutate::{Mutator, rounds};

    fn key(case: &serde_json::Value) -> EnvelopeKey {
        EnvelopeKey::derive(&Secret::new(case["encrypt_key"].as_str().unwrap()))
    }

    #[test]
    fn every_valid_vector_opens_to_its_plaintext() {
        let vectors = vectors();
        let cases = vectors["aes_256_cbc"]["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 19);
        for case in cases {
            let key = key(case);
            assert_eq!(hex::encode(key.0), case["key_sha256_hex"], "{case}");
            let opened = key.open(case["encrypt"].as_str().unwrap());
            assert_eq!(opened.as_deref(), Ok(case["plaintext"].as_str().unwrap()));
        }
    }

    #[test]
    fn every_invalid_vector_is_refused() {
        let vectors = vectors();
        let cases = vectors["aes_256_cbc"]["invalid"].as_array().unwrap();
        assert_eq!(cases.len(), 9);
        for case in cases {
            let opened = key(case).open(case["encrypt"].as_str().unwrap());
            assert!(opened.is_err(), "{case}");
        }
    }

    #[test]
    fn base64_without_padding_or_with_white_space_is_refused() {
        let vectors = vectors();
        let case = &vectors["aes_256_cbc"]["cases"][1];
        let envelope = case["encrypt"].as_str().unwrap();
        let key = key(case);
        assert!(key.open(envelope).is_ok());
        assert_eq!(key.open(envelope.trim_end_matches('=')), Err(EnvelopeError::Base64));
        assert_eq!(key.open(&format!("{envelope}\n")), Err(EnvelopeError::Base64));
    }

    #[test]
    fn no_damaged_envelope_makes_the_decryption_panic() {
        let mut mutator = Mutator::seeded("damaged envelopes");
        for case in vectors()["aes_256_cbc"]["cases"].as_array().unwrap() {
            let key = key(case);
            let envelope = case["encrypt"].as_str().unwrap();
            for _ in 0..rounds() {
                let damaged = mutator.damage_text(envelope);
                // Some damage to the first block only changes the first bytes of the text.
                if let Ok(text) = key.open(&damaged) {
                    assert!(text.len() < 2 * envelope.len(), "{damaged}");
                }
            }
        }
    }
}
