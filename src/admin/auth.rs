//! The guard in front of everything that is not open.

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};

use crate::base::Secret;

/// Lets in who shows the token and means this daemon.
#[derive(Clone, Debug)]
pub struct Guard {
    token: Secret,
    hosts: Vec<String>,
}

impl Guard {
    /// A guard for `token`; requests must name one of `hosts` (with port) as their host.
    pub fn new(token: Secret, hosts: Vec<String>) -> Self {
        Self { token, hosts }
    }

    /// Whether a request may pass.
    ///
    /// # Errors
    /// 403 for a foreign or missing Host header (a web page that rebinds its name to this
    /// machine), 401 for a missing or wrong token.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Err(StatusCode::FORBIDDEN);
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let bearer = values.next().and_then(|value| value.to_str().ok());
        let token = bearer.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        if values.next().is_some() || !self.token.matches(token) {
            return Err(StatusCode::UNAUTHORIZED);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn checked(host: &'static str, authorization: &[&'static str]) -> Result<(), StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        for value in authorization {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        let hosts = vec!["127.0.0.1:8787".to_owned()];
        Guard::new(Secret::new("token"), hosts).check(&headers)
    }

    #[test]
    fn only_the_token_lets_in_and_only_under_a_known_name() {
        assert_eq!(checked("127.0.0.1:8787", &["Bearer token"]), Ok(()));
        let unauthorised = Err(StatusCode::UNAUTHORIZED);
        assert_eq!(checked("127.0.0.1:8787", &["Bearer tokem"]), unauthorised);
        assert_eq!(checked("127.0.0.1:8787", &["token"]), unauthorised);
        assert_eq!(checked("127.0.0.1:8787", &[]), unauthorised);
        assert_eq!(checked("127.0.0.1:8787", &["Bearer token", "Bearer token"]), unauthorised);
        assert_eq!(checked("evil.example", &["Bearer token"]), Err(StatusCode::FORBIDDEN));
    }
}
