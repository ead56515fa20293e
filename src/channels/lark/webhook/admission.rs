//! Whether a request is genuine. Pure: headers, bytes and time in, a decision out.

use std::borrow::Cow;
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
const HEADER_REFRESH: &str = "x-refresh-token";

/// How far a signed request's time may be from now. The platform retries for more than seven
/// hours, and whether it signs again is not documented.
const FRESH_WINDOW: Duration = Duration::from_secs(25 * 60 * 60);
/// The longest unsigned body that is looked at for a handshake, in bytes: what a stranger can
/// make this end decrypt.
const HANDSHAKE_BYTES_MAX: usize = 8 * 1024;

/// A request that is genuine.
#[derive(Debug)]
pub(super) enum Admitted<'a> {
    /// The platform asks whether the URL is ours.
    Handshake {
        /// What to answer.
        challenge: String,
    },
    /// An event.
    Fresh(Opened<'a>),
    /// An event whose request was signed too long ago, or too far in the future.
    Stale(Opened<'a>),
}

/// A request whose envelope is open.
#[derive(Debug)]
pub(super) struct Received<'a> {
    signature: Result<Signature, Refusal>,
    plain: Result<Cow<'a, [u8]>, Refusal>,
}

/// Checks a request's signature and opens its envelope. A body comes encrypted or, from where the
/// platform knows no key, as it is. Its signature says as much about it either way.
pub(super) fn receive<'a>(
    bot: &LarkBot,
    headers: &HeaderMap,
    body: &'a [u8],
) -> Result<Received<'a>, Refusal> {
    let outer = Opened::parse(body).ok_or(Refusal::Undecodable)?;
    let signature = check_signature(bot, headers, body);
    // An unsigned body is opened for one reason only: it may be the handshake.
    if body.len() > HANDSHAKE_BYTES_MAX {
        signature?;
    }
    let plain = match &outer.encrypt {
        None => Ok(Cow::Borrowed(body)),
        Some(envelope) => match bot.envelope_key().open(envelope) {
            Ok(plain) => Ok(Cow::Owned(plain.into_bytes())),
            Err(_any) => Err(Refusal::Undecodable),
        },
    };
    Ok(Received { signature, plain })
}

/// Decides whether a request is genuine.
pub(super) fn admit<'a>(
    bot: &LarkBot,
    received: &'a Received<'_>,
    now: Timestamp,
) -> Result<Admitted<'a>, Refusal> {
    let plain = received.plain.as_ref().map_err(|refusal| *refusal);
    let opened = plain.and_then(|plain| Opened::parse(plain).ok_or(Refusal::Undecodable));
    if let Ok(opened) = &opened
        && opened.is_handshake()
    {
        return shake_hands(bot, opened);
    }
    let signature = received.signature?;
    let opened = opened?;
    check_addressee(bot, &opened, signature.secret)?;
    let age = now.since(signature.at).max(signature.at.since(now));
    if age > FRESH_WINDOW { Ok(Admitted::Stale(opened)) } else { Ok(Admitted::Fresh(opened)) }
}

/// Whether the signature may vouch for this content, and whether the content is for this app.
///
/// Card callbacks of the first generation carry neither the verification token nor an app: the
/// secret of this bot in their signature is what says that they are for it. Whether they are
/// signed with the encrypt key where there is one is not documented, so either secret will do.
/// For everything else the verification token is not secret enough: every event carries it.
fn check_addressee(
    bot: &LarkBot,
    opened: &Opened<'_>,
    secret: SigningSecret,
) -> Result<(), Refusal> {
    if opened.first_card.is_some() {
        return Ok(());
    }
    if secret == SigningSecret::VerificationToken {
        return Err(Refusal::WrongSignature);
    }
    if !token_matches(bot, opened) {
        return Err(Refusal::WrongToken);
    }
    if opened.head.app_id.as_deref() != Some(bot.app_id()) {
        return Err(Refusal::WrongApp);
    }
    Ok(())
}

fn shake_hands<'a>(bot: &LarkBot, opened: &Opened<'_>) -> Result<Admitted<'a>, Refusal> {
    if !token_matches(bot, opened) {
        return Err(Refusal::WrongToken);
    }
    let challenge = opened.challenge.as_deref().ok_or(Refusal::Undecodable)?.to_owned();
    Ok(Admitted::Handshake { challenge })
}

fn token_matches(bot: &LarkBot, opened: &Opened<'_>) -> bool {
    let token = opened.head.token.as_deref();
    token.is_some_and(|token| bot.verification_token().matches(token))
}

/// Which of the bot's secrets a request was signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SigningSecret {
    EncryptKey,
    VerificationToken,
}

/// A signature that is right.
#[derive(Clone, Copy, Debug)]
struct Signature {
    secret: SigningSecret,
    at: Timestamp,
}

fn check_signature(bot: &LarkBot, headers: &HeaderMap, body: &[u8]) -> Result<Signature, Refusal> {
    let signed = Signed {
        timestamp: only(headers, HEADER_TIMESTAMP)?,
        nonce: only(headers, HEADER_NONCE)?,
        signature: only(headers, HEADER_SIGNATURE)?,
    };
    let secret = if signed.covers(bot.signing_key(), body) {
        SigningSecret::EncryptKey
    } else if signed.covers_first_card(bot.verification_token(), body) {
        SigningSecret::VerificationToken
    } else {
        return Err(Refusal::WrongSignature);
    };
    let at = platform_time(signed.timestamp).ok_or(Refusal::Unsigned)?;
    Ok(Signature { secret, at })
}

/// The one value of a header; of two, nobody knows which was signed.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_binary| Refusal::Unsigned),
        _ => Err(Refusal::Unsigned),
    }
}

/// The header by which a repeated press of the first generation is known.
pub(super) fn refresh_token(headers: &HeaderMap) -> Option<&str> {
    only(headers, HEADER_REFRESH).ok()
}
