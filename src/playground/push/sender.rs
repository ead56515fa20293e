//! One event as an HTTP request: encrypted, signed, posted, timed.

use std::time::Duration;

use serde_json::{Value, json};

use super::{PushKind, PushRecord};
use crate::base::{Clock, Timestamp};
use crate::playground::crypt;
use crate::playground::dice::Dice;
use crate::playground::limits::PUSH_CONNECT;
use crate::playground::state::Shared;
use crate::playground::world::App;

/// How many bytes of an answer are kept in the record: a card must fit.
const ANSWER_BYTES_MAX: usize = 40 * 1024;

/// A body and the headers that go with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signed {
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(String, String)>,
}

/// A client for posts to loopback: no proxy, no redirect, no root certificate.
pub(crate) fn build_client() -> Result<reqwest::Client, String> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::ClientBuilder::new()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_millis(PUSH_CONNECT.most))
        .build()
        .map_err(|error| error.to_string())
}

/// The request of one event: encrypted and signed if the app has an encrypt key.
pub(crate) fn sign_event(dice: &mut Dice, app: &App, event: &Value, now: Timestamp) -> Signed {
    let plain = event.to_string();
    if app.encrypt_key.is_empty() {
        return Signed { body: plain.into_bytes(), headers: vec![content_type()] };
    }
    let sealed = crypt::seal(&app.encrypt_key, dice.bytes(), &plain);
    let body = json!({"encrypt": sealed}).to_string().into_bytes();
    sign_body(dice, app, body, now)
}

/// Signs a body as it stands, with the headers in the platform's spelling.
pub(crate) fn sign_body(dice: &mut Dice, app: &App, body: Vec<u8>, now: Timestamp) -> Signed {
    let timestamp = (now.as_millis() / 1000).to_string();
    let nonce = dice.hex();
    let signature = crypt::sign(&timestamp, &nonce, &app.encrypt_key, &body);
    with_headers(body, timestamp, nonce, signature)
}

/// Signs a card callback of the first generation as it stands.
pub(crate) fn sign_first_card(dice: &mut Dice, app: &App, body: Vec<u8>, now: Timestamp) -> Signed {
    let timestamp = (now.as_millis() / 1000).to_string();
    let nonce = dice.hex();
    let signature = crypt::sign_first_card(&timestamp, &nonce, &app.verification_token, &body);
    with_headers(body, timestamp, nonce, signature)
}

fn with_headers(body: Vec<u8>, timestamp: String, nonce: String, signature: String) -> Signed {
    let headers = vec![
        content_type(),
        ("X-Lark-Request-Timestamp".to_owned(), timestamp),
        ("X-Lark-Request-Nonce".to_owned(), nonce),
        ("X-Lark-Signature".to_owned(), signature),
    ];
    Signed { body, headers }
}

fn content_type() -> (String, String) {
    let value = "application/json;charset=utf-8";
    ("Content-Type".to_owned(), value.to_owned())
}

/// Posts a body and waits for the answer, at most `patience` of real time.
pub(crate) async fn post(
    shared: &Shared,
    url: &str,
    signed: Signed,
    patience: Duration,
) -> PushRecord {
    let began = shared.clock.base_now();
    let at_ms = shared.clock.now().as_millis();
    let mut request = shared.client.post(url).body(signed.body);
    for (name, value) in signed.headers {
        request = request.header(name, value);
    }
    let exchange = async {
        let mut response = request.send().await?;
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if answer.len() < ANSWER_BYTES_MAX {
                answer.extend_from_slice(&chunk);
            }
        }
        answer.truncate(ANSWER_BYTES_MAX);
        Ok::<_, reqwest::Error>((response.status().as_u16(), answer))
    };
    let (status, answer) = match tokio::time::timeout(patience, exchange).await {
        Ok(Ok((status, answer))) => (Some(status), String::from_utf8_lossy(&answer).into_owned()),
        Ok(Err(error)) => (None, format!("no answer: {error}")),
        Err(_elapsed) => (None, format!("no answer within {} ms", patience.as_millis())),
    };
    let took = shared.clock.base_now().since(began).as_millis();
    PushRecord {
        kind: PushKind::Raw,
        app_id: String::new(),
        message_id: None,
        event_id: String::new(),
        event_type: String::new(),
        url: url.to_owned(),
        attempt: 1,
        at_ms,
        base_at_ms: began.as_millis(),
        took_ms: u64::try_from(took).unwrap_or(u64::MAX),
        connection: None,
        status,
        answer,
        counted: status == Some(200),
        next_try_at_ms: None,
    }
}
