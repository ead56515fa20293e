//! The platform's side of event encryption and signing (feishu-protocol.md 1.2, 1.3, 1.7).
//!
//! Written apart from the channel's own code on purpose: each checks the other.

use aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use sha2::{Digest, Sha256};

/// The length of an initialisation vector and of a cipher block.
const BLOCK_BYTES: usize = 16;

/// Why an envelope cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Not padded standard base64.
    #[error("the envelope is not base64")]
    Base64,
    /// Shorter than vector and one block, or not a whole number of blocks.
    #[error("the envelope has a wrong length")]
    Length,
    /// The padding is not PKCS#7: the key is wrong or the text was damaged.
    #[error("the envelope has wrong padding")]
    Padding,
    /// The content is not UTF-8.
    #[error("the content is not UTF-8")]
    Utf8,
}

/// Encrypts `plaintext` under the app's encrypt key: base64 of the vector and the ciphertext.
pub fn seal(encrypt_key: &str, vector: [u8; BLOCK_BYTES], plaintext: &str) -> String {
    seal_bytes(encrypt_key, vector, plaintext.as_bytes())
}

/// [`seal`] for bytes that need not be text.
pub fn seal_bytes(encrypt_key: &str, vector: [u8; BLOCK_BYTES], plaintext: &[u8]) -> String {
    let key: [u8; 32] = Sha256::digest(encrypt_key.as_bytes()).into();
    let cipher = cbc::Encryptor::<Aes256>::new(&key.into(), &vector.into());
    let mut padded = plaintext.to_vec();
    padded.resize((plaintext.len() / BLOCK_BYTES + 1) * BLOCK_BYTES, 0);
    // The buffer always has room for the padding, so this cannot fail.
    let sealed = cipher.encrypt_padded::<Pkcs7>(&mut padded, plaintext.len()).unwrap_or_default();
    let mut envelope = vector.to_vec();
    envelope.extend_from_slice(sealed);
    STANDARD.encode(envelope)
}

/// Opens what [`seal`] made.
///
/// # Errors
/// See [`OpenError`].
pub fn open(encrypt_key: &str, envelope: &str) -> Result<String, OpenError> {
    let bytes = STANDARD.decode(envelope).map_err(|_not_base64| OpenError::Base64)?;
    let (vector, sealed) = bytes.split_first_chunk::<BLOCK_BYTES>().ok_or(OpenError::Length)?;
    if sealed.is_empty() || !sealed.len().is_multiple_of(BLOCK_BYTES) {
        return Err(OpenError::Length);
    }
    let key: [u8; 32] = Sha256::digest(encrypt_key.as_bytes()).into();
    let cipher = cbc::Decryptor::<Aes256>::new(&key.into(), &(*vector).into());
    let mut buffer = sealed.to_vec();
    let plain =
        cipher.decrypt_padded::<Pkcs7>(&mut buffer).map_err(|_bad_padding| OpenError::Padding)?;
    String::from_utf8(plain.to_vec()).map_err(|_not_utf8| OpenError::Utf8)
}

/// The value of `X-Lark-Signature`: over the raw body bytes, the key in the middle, no HMAC.
pub fn sign(timestamp: &str, nonce: &str, encrypt_key: &str, body: &[u8]) -> String {
    let mut digest = Sha256::new();
    digest.update(timestamp.as_bytes());
    digest.update(nonce.as_bytes());
    digest.update(encrypt_key.as_bytes());
    digest.update(body);
    hex::encode(digest.finalize())
}

/// The signature of card callbacks of the first generation (1.7): SHA-1, and the verification
/// token in the place of the encrypt key.
pub fn sign_first_card(timestamp: &str, nonce: &str, token: &str, body: &[u8]) -> String {
    let mut digest = sha1::Sha1::new();
    for piece in [timestamp.as_bytes(), nonce.as_bytes(), token.as_bytes(), body] {
        digest.update(piece);
    }
    hex::encode(digest.finalize())
}
