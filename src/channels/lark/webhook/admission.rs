//! Whether a request is genuine. Pure: headers, bytes and time in, a decision out.

use std::time::Duration;

use axum::http::HeaderMap;

use super::super::bot::LarkBot;
use super::super::event::{Opened, platform_time};
use super::super::signature::Signed;
use super::refusal::Refusal;
use crate::base::Timestamp;

const HEADER_TIMESTAMP: &str = "x-lark-request-timestamp";
const HEADER_NONCE: &str = "x-lark-request-nonce";
const HEADER_SIGNATURE: &str = "x-lark-signature";

/// How far a signed request's time may be from now. The platform retries for more than seven
/// hours, and whether it signs again is not documented.
const FRESH_WINDOW: Duration = Duration::from_secs(25 * 60 * 60);
/// The longest unsigned body that is looked at for a handshake, in bytes: what a stranger can
/// make this end decrypt.
const HANDSHAKE_BYTES_MAX: usize = 8 * 1024;

/// A request that is genuine.
#[derive(Debug)]
pub(super) enum Admitted {
    /// The platform asks whether the URL is ours.
    Handshake {
        /// What to answer.
        challenge: String,
    },
    /// An event.
    Fresh(Opened),
    /// An event whose request was signed too long ago, or too far in the future.
    Stale(Opened),
}

/// Decides whether a request is genuine.
pub(super) fn admit(
    bot: &LarkBot,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Admitted, Refusal> {
    let outer = Opened::parse(body).ok_or(Refusal::Undecodable)?;
    let signed_at = check_signature(bot, headers, body);
    // An unsigned body is opened for one reason only: it may be the handshake.
    if body.len() > HANDSHAKE_BYTES_MAX {
        signed_at?;
    }
    let opened = open(bot, outer);
    if let Ok(Content { opened, .. }) = &opened
        && opened.is_handshake()
    {
        return shake_hands(bot, opened);
    }
    let signed_at = signed_at?;
    let content = opened?;
    if !content.encrypted {
        return Err(Refusal::NotEncrypted);
    }
    let opened = content.opened;
    if !token_matches(bot, &opened) {
        return Err(Refusal::WrongToken);
    }
    if opened.head.app_id.as_deref() != Some(bot.app_id()) {
        return Err(Refusal::WrongApp);
    }
    let age = now.since(signed_at).max(signed_at.since(now));
    if age > FRESH_WINDOW { Ok(Admitted::Stale(opened)) } else { Ok(Admitted::Fresh(opened)) }
}

struct Content {
    opened: Opened,
    encrypted: bool,
}

fn open(bot: &LarkBot, outer: Opened) -> Result<Content, Refusal> {
    let Some(envelope) = &outer.encrypt else {
        return Ok(Content { opened: outer, encrypted: false });
    };
    let plain = bot.envelope_key().open(envelope).map_err(|_any| Refusal::Undecodable)?;
    let opened = Opened::parse(plain.as_bytes()).ok_or(Refusal::Undecodable)?;
    Ok(Content { opened, encrypted: true })
}

fn shake_hands(bot: &LarkBot, opened: &Opened) -> Result<Admitted, Refusal> {
    if !token_matches(bot, opened) {
        return Err(Refusal::WrongToken);
    }
    let challenge = opened.challenge.clone().ok_or(Refusal::Undecodable)?;
    Ok(Admitted::Handshake { challenge })
}

fn token_matches(bot: &LarkBot, opened: &Opened) -> bool {
    let token = opened.head.token.as_deref();
    token.is_some_and(|token| bot.verification_token().matches(token))
}

/// Checks the signature and returns when the request was signed.
fn check_signature(bot: &LarkBot, headers: &HeaderMap, body: &[u8]) -> Result<Timestamp, Refusal> {
    let signed = Signed {
        timestamp: only(headers, HEADER_TIMESTAMP)?,
        nonce: only(headers, HEADER_NONCE)?,
        signature: only(headers, HEADER_SIGNATURE)?,
    };
    if !signed.covers(bot.signing_key(), body) {
        return Err(Refusal::WrongSignature);
    }
    platform_time(signed.timestamp).ok_or(Refusal::Unsigned)
}

/// The one value of a header; of two, nobody knows which was signed.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_binary| Refusal::Unsigned),
        _ => Err(Refusal::Unsigned),
    }
}
