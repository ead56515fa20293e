//! Requests as the platform makes them: encrypted, signed, or not.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeEncrypt, KeyIvInit};
use serde_json::json;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{ENCRYPT_KEY, NOW_MS, TOKEN};

const NONCE: &str = "1034561823";

/// An encrypted body, as the platform makes it.
pub(crate) fn encrypt(plain: &str) -> String {
    let key = Sha256::digest(ENCRYPT_KEY.as_bytes());
    let vector = [7; 16];
    let mut buffer = plain.as_bytes().to_vec();
    buffer.resize(plain.len() + 16, 0);
    let sealed = cbc::Encryptor::<aes::Aes256>::new(&key, &vector.into())
        .encrypt_padded::<Pkcs7>(&mut buffer, plain.len())
        .unwrap();
    let envelope = STANDARD.encode([&vector[..], sealed].concat());
    json!({ "encrypt": envelope }).to_string()
}

/// The headers of a card callback of the first generation.
pub(crate) fn first_card(body: &str) -> Draft {
    let timestamp = (NOW_MS / 1000).to_string();
    let signature = hex::encode(Sha1::digest(format!("{timestamp}{NONCE}{TOKEN}{body}")));
    let mut draft = Draft::signed_at(body, &timestamp);
    draft.headers[2].1 = signature;
    draft
}

fn sign(timestamp: &str, body: &str) -> String {
    hex::encode(Sha256::digest(format!("{timestamp}{NONCE}{ENCRYPT_KEY}{body}")))
}

/// A request in the making.
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Draft {
    pub(crate) fn unsigned(body: &str) -> Self {
        Self {
            path: "/lark/assistant/events".to_owned(),
            content_type: Some("application/json;charset=utf-8"),
            headers: Vec::new(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn signed(body: &str) -> Self {
        Self::signed_at(body, &(NOW_MS / 1000).to_string())
    }

    pub(crate) fn signed_at(body: &str, timestamp: &str) -> Self {
        let mut draft = Self::unsigned(body);
        draft.headers = vec![
            ("X-Lark-Request-Timestamp", timestamp.to_owned()),
            ("X-Lark-Request-Nonce", NONCE.to_owned()),
            ("X-Lark-Signature", sign(timestamp, body)),
        ];
        draft
    }

    pub(crate) fn request(self) -> Request {
        let mut builder = Request::builder().method(Method::POST).uri(self.path);
        if let Some(content_type) = self.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        builder.body(Body::from(self.body)).unwrap()
    }
}
