//! The address to connect to, and what it means if there is none. Pure but for the one call.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::super::api::{ApiError, LarkApi};
use super::config::ClientConfig;
use crate::base::limit::one_line;

/// The longest text of the platform's that is kept, in characters.
const WORDS_CHARS_MAX: usize = 200;

/// A connection limit, wherever it is told.
const CODE_TOO_MANY: i64 = 1_000_040_350;

/// The codes that need somebody to act, and what has to be done. All others may be over in a
/// moment: the platform is busy (1), failed inside (1000040343), or says something new.
const REFUSALS: [(i64, &str); 7] = [
    (403, "the credentials are refused: this app may not connect"),
    (514, "the credentials are refused: they were not recognised"),
    (1_000_040_344, "the credentials are refused: none arrived"),
    (1_000_040_345, "the credentials are refused: the app secret is wrong"),
    (1_000_040_346, "the credentials are refused: there is no app of this id"),
    (CODE_TOO_MANY, "the app has too many long connections: other processes hold them"),
    (
        1_000_040_351,
        "the credentials are refused: the app belongs to the other region (key `region`)",
    ),
];

/// Where to connect to, once.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Holds a ticket: never shown.
    pub(super) url: Url,
    /// What pings carry.
    pub(super) service: i32,
    /// What the server wants of its clients.
    pub(super) config: ClientConfig,
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Address")
            .field("host", &self.url.host_str())
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(super) struct Trouble {
    /// Whether nothing will change until somebody acts.
    pub(super) is_refusal: bool,
    /// For the operator; no address in it.
    pub(super) words: String,
}

impl Trouble {
    /// One that may be over in a moment.
    pub(super) fn passing(words: impl fmt::Display) -> Self {
        Self { is_refusal: false, words: one_line(&words.to_string(), WORDS_CHARS_MAX) }
    }

    fn of_code(code: i64, words: &str) -> Self {
        let meaning = REFUSALS.iter().find(|(known, _)| *known == code).map(|(_, meaning)| meaning);
        let said = one_line(words, WORDS_CHARS_MAX);
        let meaning = meaning.copied();
        let head = meaning.unwrap_or("the platform gives no address");
        let words = if said.is_empty() {
            format!("{head} (code {code})")
        } else {
            format!("{head} (code {code}: {said})")
        };
        Self { is_refusal: meaning.is_some(), words }
    }
}

/// Asks for an address. It is good for one connection and a short while.
pub(super) async fn discover(api: &LarkApi) -> Result<Address, Trouble> {
    judge(&api.link_address().await)
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "URL")]
    url: String,
    #[serde(default, rename = "ClientConfig")]
    config: Option<ClientConfig>,
}

/// What the platform's answer to the question for an address means.
fn judge(answer: &Result<Value, ApiError>) -> Result<Address, Trouble> {
    match answer {
        Ok(answer) => address(answer),
        Err(error) => Err(match (error.code(), error.words()) {
            (Some(code), words) => Trouble::of_code(code, words),
            (None, _) => Trouble::passing(error),
        }),
    }
}

fn address(answer: &Value) -> Result<Address, Trouble> {
    let bad = || Trouble::passing("the platform gave an address that makes no sense");
    let data = answer.get("data").ok_or_else(bad)?;
    let Data { url, config } = Data::deserialize(data).map_err(|_another_shape| bad())?;
    let url = Url::parse(&url).map_err(|_malformed| bad())?;
    if !matches!(url.scheme(), "ws" | "wss") {
        return Err(bad());
    }
    let service = url.query_pairs().find(|(name, _)| name == "service_id");
    let service = service.and_then(|(_, value)| value.parse().ok()).unwrap_or_default();
    Ok(Address { url, service, config: config.unwrap_or_default() })
}

/// What it means that a server answered the handshake with something else than a WebSocket.
/// `said` gives the platform's own headers.
pub(super) fn rejection<'h>(status: u16, said: impl Fn(&str) -> Option<&'h str>) -> Trouble {
    let number = |name| said(name).and_then(|text| text.trim().parse::<i64>().ok());
    let words = said("handshake-msg").unwrap_or_default();
    match (number("handshake-status"), number("handshake-autherrcode")) {
        (Some(514), Some(CODE_TOO_MANY)) => Trouble::of_code(CODE_TOO_MANY, words),
        (Some(403), _) => Trouble::of_code(403, words),
        // Most likely a ticket that is too old; the next try brings a new one.
        (Some(code), _) => Trouble::passing(format!("the server rejects: {code} {words}")),
        (None, _) => Trouble::passing(format!("the server answers with HTTP {status} {words}")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::super::testing::{self, Platform};
    use super::*;

    const CALL: &str = "POST /callback/ws/endpoint";
    const URL: &str = "wss://msg.example.com/ws/v2?fpid=493&device_id=7&access_key=k\
                       &service_id=33554678&ticket=secret";

    async fn ask(status: u16, body: &Value) -> Result<Address, Trouble> {
        let platform = Platform::start().await;
        platform.on(CALL, status, body);
        let answer = discover(&platform.api(&testing::clock())).await;
        let seen = platform.seen().remove(0);
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/callback/ws/endpoint"));
        let asked = json!({"AppID": testing::APP, "AppSecret": "app-secret-of-the-test"});
        assert_eq!(seen.body, asked);
        answer
    }

    #[tokio::test]
    async fn an_address_tells_the_service_and_what_the_server_wants() {
        let config = json!({"ReconnectCount": 1, "ReconnectInterval": 7, "PingInterval": 9});
        let body = json!({"code": 0, "msg": "", "data": {"URL": URL, "ClientConfig": config}});
        let address = ask(200, &body).await.unwrap();
        assert_eq!((address.url.as_str(), address.service), (URL, 33_554_678));
        assert_eq!(address.config.ping_interval, Duration::from_secs(9));
        let shown = format!("{address:?}");
        assert!(!shown.contains("secret") && !shown.contains("access_key"), "{shown}");
        // Without a word about intervals there are defaults.
        let body = json!({"code": 0, "data": {"URL": "ws://127.0.0.1:1/?service_id=x"}});
        let address = ask(200, &body).await.unwrap();
        assert_eq!((address.service, address.config), (0, ClientConfig::default()));
    }

    #[tokio::test]
    async fn every_code_is_waited_out_or_reported_as_its_meaning_is() {
        let refused = "the credentials are refused";
        let table = [
            (1, None),
            (403, Some(refused)),
            (514, Some(refused)),
            (1_000_040_343, None),
            (1_000_040_344, Some(refused)),
            (1_000_040_345, Some(refused)),
            (1_000_040_346, Some(refused)),
            (1_000_040_350, Some("too many long connections")),
            (1_000_040_351, Some("the other region")),
            (77, None),
        ];
        for (code, meaning) in table {
            for data in [json!({"code": code, "msg": "said", "data": {}}), json!({"code": code})] {
                let trouble = ask(200, &data).await.unwrap_err();
                assert_eq!(trouble.is_refusal, meaning.is_some(), "{trouble}");
                assert!(trouble.words.contains(&format!("code {code}")), "{trouble}");
                assert!(trouble.words.contains(meaning.unwrap_or("")), "{trouble}");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_no_address_is_asked_for_again() {
        let answers = [
            (500, json!({})),
            (502, json!("bad gateway")),
            (404, json!({"data": {"URL": URL}})),
            (200, json!({"code": 0})),
            (200, json!({"code": 0, "data": {}})),
            (200, json!({"code": 0, "data": {"URL": "https://example.com/"}})),
            (200, json!({"code": 0, "data": {"URL": "nonsense ticket=secret"}})),
        ];
        for (status, body) in answers {
            let trouble = ask(status, &body).await.unwrap_err();
            assert!(!trouble.is_refusal, "{trouble}");
            assert!(!trouble.words.contains("secret"), "{trouble}");
        }
    }

    #[test]
    fn a_rejected_handshake_is_refused_for_too_many_connections_or_forbidden_alone() {
        let table = [
            (&[("handshake-status", "514"), ("handshake-autherrcode", "1000040350")][..], true),
            (&[("handshake-status", "514"), ("handshake-autherrcode", "7")][..], false),
            (&[("handshake-status", "403"), ("handshake-msg", "no")][..], true),
            (&[("handshake-status", "600")][..], false),
            (&[][..], false),
        ];
        for (headers, is_refusal) in table {
            let said = |name: &str| {
                headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
            };
            let trouble = rejection(400, said);
            assert_eq!(trouble.is_refusal, is_refusal, "{headers:?}: {trouble}");
        }
    }
}
