//! Who may call: the address must be ours by name (another name that leads here is a trick of a
//! foreign page), and what comes from a foreign page is refused.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Scripts and styles are files of ours; nothing is loaded from elsewhere, nothing is embedded.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// What the headers say of where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A page of this address.
    Own,
    /// Another page.
    Foreign,
    /// No browser, or one that says nothing.
    Unsaid,
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn is_own_name(headers: &HeaderMap) -> bool {
    let host = text(headers, header::HOST).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_matches(['[', ']']);
    let is_loopback = name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

fn origin(headers: &HeaderMap) -> Origin {
    let host = text(headers, header::HOST).unwrap_or_default();
    let site = text(headers, "sec-fetch-site");
    let page = headers.get(header::ORIGIN).map(|page| page.to_str().unwrap_or("?"));
    let is_foreign = site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
        || page.is_some_and(|page| page != format!("http://{host}"));
    match (is_foreign, site == Some("same-origin") || page.is_some()) {
        (true, _) => Origin::Foreign,
        (false, true) => Origin::Own,
        (false, false) => Origin::Unsaid,
    }
}

fn refused(sentence: &'static str) -> Response {
    let mut response = Response::new(Body::from(sentence));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}

/// For pages and the control API: our own name; posts of foreign pages are refused.
pub(crate) async fn known_host_only(request: Request, next: Next) -> Response {
    if !is_own_name(request.headers()) {
        return refused("this address answers to its own name only\n");
    }
    if !request.method().is_safe() && origin(request.headers()) == Origin::Foreign {
        return refused("a foreign page may not act here\n");
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    response
}

/// For what the page posts: the browser must say that the page is ours.
pub(super) async fn own_page_only(request: Request, next: Next) -> Response {
    match origin(request.headers()) {
        Origin::Own => next.run(request).await,
        Origin::Foreign | Origin::Unsaid => refused("only the page itself may act here\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_the_own_page_counts_as_own() {
        let host = ("host", "127.0.0.1:7600");
        let table = [
            (vec![host], Origin::Unsaid),
            (vec![host, ("origin", "http://127.0.0.1:7600")], Origin::Own),
            (vec![host, ("sec-fetch-site", "same-origin")], Origin::Own),
            (vec![host, ("sec-fetch-site", "none")], Origin::Unsaid),
            (vec![host, ("sec-fetch-site", "cross-site")], Origin::Foreign),
            (vec![host, ("sec-fetch-site", "same-site")], Origin::Foreign),
            (vec![host, ("origin", "http://127.0.0.1:7601")], Origin::Foreign),
            (vec![host, ("origin", "null")], Origin::Foreign),
            (vec![host, ("origin", "https://evil.example")], Origin::Foreign),
        ];
        for (pairs, expected) in table {
            assert_eq!(origin(&headers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn names_of_others_are_not_ours() {
        for (host, is_own) in [
            ("127.0.0.1:7600", true),
            ("localhost", true),
            ("[::1]:80", true),
            ("evil.example:7600", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static(host));
            assert_eq!(is_own_name(&headers), is_own, "{host}");
        }
    }
}
