//! Whether a call is genuine. Pure: headers, bytes and time in, a decision out.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::refusal::Refusal;
use crate::base::{Secret, Timestamp};

/// How far a signed call's time may be from now.
const FRESH_WINDOW: Duration = Duration::from_secs(5 * 60);

/// How a signature is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Hexadecimal, in either case.
    Hex,
    /// Base64 with its padding.
    Base64,
}

/// A signature by HMAC with SHA-256.
#[derive(Clone, Debug)]
pub struct Hmac {
    /// The key.
    pub secret: Secret,
    /// The header of the signature.
    pub header: String,
    /// How it is written.
    pub encoding: Encoding,
    /// What stands before it.
    pub prefix: String,
    /// The header with the time, in Unix seconds, that is signed with the body as `TIME.BODY`.
    pub timestamp_header: Option<String>,
}

/// How callers prove who they are.
#[derive(Clone, Debug)]
pub enum Verify {
    /// Not at all: only this machine can call.
    Nothing,
    /// By a signature.
    Hmac(Hmac),
    /// By this token in the header `Authorization`.
    Bearer(Secret),
    /// By this `user:password` in the header `Authorization`.
    Basic(Secret),
}

impl Verify {
    /// Decides whether a call is genuine; the time it was signed at, if it says so.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Refusal> {
        match self {
            Self::Nothing => Ok(None),
            Self::Hmac(hmac) => hmac.check(headers, body, now),
            Self::Bearer(token) => {
                let given = authorization(headers, "bearer")?;
                equal(token, given.as_bytes())
            }
            Self::Basic(pair) => {
                let given = STANDARD.decode(authorization(headers, "basic")?);
                equal(pair, &given.map_err(|_broken| Refusal::WrongAuthorization)?)
            }
        }
    }
}

/// What the header `Authorization` says by a scheme.
fn authorization<'h>(headers: &'h HeaderMap, scheme: &str) -> Result<&'h str, Refusal> {
    let said = only(headers, AUTHORIZATION.as_str()).ok_or(Refusal::Unauthorized)?;
    let (named, given) = said.trim().split_once(' ').ok_or(Refusal::WrongAuthorization)?;
    let is_it = named.eq_ignore_ascii_case(scheme);
    is_it.then(|| given.trim_start()).ok_or(Refusal::WrongAuthorization)
}

/// The digests are compared: nobody learns how long the secret is either. A call that says nothing
/// of its time was not signed at any.
fn equal(secret: &Secret, given: &[u8]) -> Result<Option<Timestamp>, Refusal> {
    let (known, given) = (Sha256::digest(secret.expose()), Sha256::digest(given));
    let is_same = bool::from(known.as_slice().ct_eq(given.as_slice()));
    if is_same { Ok(None) } else { Err(Refusal::WrongAuthorization) }
}

impl Hmac {
    fn check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Refusal> {
        let signature = only(headers, &self.header).ok_or(Refusal::Unsigned)?;
        let time = match &self.timestamp_header {
            Some(name) => Some(only(headers, name).ok_or(Refusal::Unsigned)?),
            None => None,
        };
        let given = self.decode(signature).ok_or(Refusal::WrongSignature)?;
        let expected = self.signature(time, body).ok_or(Refusal::WrongSignature)?;
        if !bool::from(expected.as_slice().ct_eq(given.as_slice())) {
            return Err(Refusal::WrongSignature);
        }
        let Some(time) = time else { return Ok(None) };
        let seconds: u64 = time.parse().map_err(|_no_number| Refusal::Stale)?;
        let at = Timestamp::from_millis(seconds.saturating_mul(1000));
        if now.since(at).max(at.since(now)) > FRESH_WINDOW {
            Err(Refusal::Stale)
        } else {
            Ok(Some(at))
        }
    }

    fn decode(&self, signature: &str) -> Option<Vec<u8>> {
        let written = signature.strip_prefix(&self.prefix)?;
        match self.encoding {
            Encoding::Hex => hex::decode(written).ok(),
            Encoding::Base64 => STANDARD.decode(written).ok(),
        }
    }

    fn signature(&self, time: Option<&str>, body: &[u8]) -> Option<Vec<u8>> {
        let mut mac = hmac::Hmac::<Sha256>::new_from_slice(self.secret.expose().as_bytes()).ok()?;
        if let Some(time) = time {
            mac.update(time.as_bytes());
            mac.update(b".");
        }
        mac.update(body);
        Some(mac.finalize().into_bytes().to_vec())
    }
}

/// The one value of a header; of two, nobody knows which was meant.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test case of RFC 4231.
    const SIGNATURE: &str = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const BODY: &[u8] = b"what do ya want for nothing?";

    fn hmac() -> Hmac {
        Hmac {
            secret: Secret::new("Jefe"),
            header: "X-Signature-256".to_owned(),
            encoding: Encoding::Hex,
            prefix: "sha256=".to_owned(),
            timestamp_header: None,
        }
    }

    fn checked(hmac: &Hmac, pairs: &[(&'static str, &str)], now: u64) -> Option<Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        hmac.check(&headers, BODY, Timestamp::from_millis(now * 1000)).err()
    }

    #[test]
    fn the_published_vector_is_genuine_and_nothing_beside_it_is() {
        let good = format!("sha256={SIGNATURE}");
        let upper = format!("sha256={}", SIGNATURE.to_uppercase());
        let wrong = good.replace("5bd", "5be");
        let name = "x-signature-256";
        assert_eq!(checked(&hmac(), &[(name, &good)], 0), None);
        assert_eq!(checked(&hmac(), &[(name, &upper)], 0), None);
        for bad in [wrong.as_str(), SIGNATURE, "sha256=", "sha256=zz", ""] {
            assert_eq!(checked(&hmac(), &[(name, bad)], 0), Some(Refusal::WrongSignature), "{bad}");
        }
        assert_eq!(checked(&hmac(), &[], 0), Some(Refusal::Unsigned));
        assert_eq!(checked(&hmac(), &[(name, &good), (name, &good)], 0), Some(Refusal::Unsigned));
        let base64 = STANDARD.encode(hex::decode(SIGNATURE).unwrap());
        let other = Hmac { encoding: Encoding::Base64, prefix: String::new(), ..hmac() };
        assert_eq!(checked(&other, &[(name, &base64)], 0), None);
    }

    #[test]
    fn a_token_or_a_password_is_genuine_and_nothing_beside_it_is() {
        let said = |verify: &Verify, values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("authorization", value.parse().unwrap());
            }
            verify.check(&headers, BODY, Timestamp::default()).err()
        };
        let bearer = Verify::Bearer(Secret::new("a token"));
        for good in ["Bearer a token", "bearer  a token"] {
            assert_eq!(said(&bearer, &[good]), None, "{good}");
        }
        let basic = Verify::Basic(Secret::new("user:password"));
        let pair = STANDARD.encode("user:password");
        assert_eq!(said(&basic, &[&format!("Basic {pair}")]), None);
        let long = format!("Basic {}", STANDARD.encode("user:password2"));
        let as_bearer = format!("Bearer {pair}");
        let bad = [
            "a token",
            "Bearer",
            "Bearer ",
            "Bearer a",
            "Bearer a tokens",
            "Basic a token",
            "Basic !",
            "Basic ",
            &long,
            &as_bearer,
        ];
        for (verify, bad) in bad.iter().flat_map(|bad| [(&bearer, bad), (&basic, bad)]) {
            assert_eq!(said(verify, &[bad]), Some(Refusal::WrongAuthorization), "{bad}");
            assert_eq!(said(verify, &[]), Some(Refusal::Unauthorized));
            assert_eq!(said(verify, &[bad, bad]), Some(Refusal::Unauthorized));
        }
    }

    #[test]
    fn a_signed_time_counts_for_five_minutes_both_ways() {
        let timed = Hmac { timestamp_header: Some("X-Time".to_owned()), ..hmac() };
        let signature = hex::encode(timed.signature(Some("10000"), BODY).unwrap());
        let signature = format!("sha256={signature}");
        let call = [("x-signature-256", signature.as_str()), ("x-time", "10000")];
        for (now, expected) in [
            (10_000, None),
            (10_300, None),
            (9_700, None),
            (10_301, Some(Refusal::Stale)),
            (9_699, Some(Refusal::Stale)),
        ] {
            assert_eq!(checked(&timed, &call, now), expected, "{now}");
        }
        let moved = [("x-signature-256", signature.as_str()), ("x-time", "10001")];
        assert_eq!(checked(&timed, &moved, 10_000), Some(Refusal::WrongSignature));
        assert_eq!(checked(&timed, &call[..1], 10_000), Some(Refusal::Unsigned));
    }
}
