//! What the server tells its clients to do, in seconds on the wire.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Until the server says otherwise: the defaults of the official clients.
const PING_INTERVAL: Duration = Duration::from_secs(120);
const RECONNECT_INTERVAL: Duration = Duration::from_secs(120);
const RECONNECT_NONCE: Duration = Duration::from_secs(30);
/// No interval is longer, whatever the server says: a bot must not be away for hours.
const INTERVAL_MAX: Duration = Duration::from_secs(600);

/// How often to ping, and how to come back. The number of tries that the server allows is not
/// read: a bot never gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(in crate::channels::lark) struct ClientConfig {
    /// Between two pings.
    #[serde(rename = "PingInterval", deserialize_with = "ping_interval")]
    pub(super) ping_interval: Duration,
    /// The longest wait between two tries.
    #[serde(rename = "ReconnectInterval", deserialize_with = "reconnect_interval")]
    pub(super) reconnect_interval: Duration,
    /// After a loss, the first try comes within this.
    #[serde(rename = "ReconnectNonce", deserialize_with = "reconnect_nonce")]
    pub(super) reconnect_nonce: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            ping_interval: PING_INTERVAL,
            reconnect_interval: RECONNECT_INTERVAL,
            reconnect_nonce: RECONNECT_NONCE,
        }
    }
}

impl ClientConfig {
    /// Reads what a pong carries; `None` if it carries nothing that can be read.
    pub(in crate::channels::lark) fn read(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }

    /// What holds of every one, whatever the server said.
    #[cfg(feature = "test-support")]
    pub(in crate::channels::lark) fn is_sound(self) -> bool {
        let spans = [self.ping_interval, self.reconnect_interval, self.reconnect_nonce];
        !self.ping_interval.is_zero() && spans.iter().all(|span| *span <= INTERVAL_MAX)
    }
}

fn ping_interval<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    Ok(seconds(input, PING_INTERVAL)?.max(Duration::from_secs(1)))
}

fn reconnect_interval<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    Ok(seconds(input, RECONNECT_INTERVAL)?.max(Duration::from_secs(1)))
}

fn reconnect_nonce<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    seconds(input, RECONNECT_NONCE)
}

/// A number of seconds; what is none, or negative, is the default.
fn seconds<'de, D: Deserializer<'de>>(input: D, default: Duration) -> Result<Duration, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    Ok(value.as_u64().map_or(default, |seconds| Duration::from_secs(seconds).min(INTERVAL_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_the_default_and_nothing_is_endless() {
        let seconds = |text: &str| {
            let config = ClientConfig::read(text.as_bytes()).unwrap();
            [config.ping_interval, config.reconnect_interval, config.reconnect_nonce]
                .map(|span| span.as_secs())
        };
        let said =
            r#"{"ReconnectCount":1,"ReconnectInterval":7,"ReconnectNonce":3,"PingInterval":9}"#;
        assert_eq!(seconds(said), [9, 7, 3]);
        assert_eq!(seconds("{}"), [120, 120, 30]);
        let zero = r#"{"ReconnectInterval":0,"ReconnectNonce":0,"PingInterval":0}"#;
        assert_eq!(seconds(zero), [1, 1, 0]);
        let odd = r#"{"ReconnectInterval":-1,"ReconnectNonce":"x","PingInterval":null,"New":[]}"#;
        assert_eq!(seconds(odd), [120, 120, 30]);
        let huge = r#"{"ReconnectInterval":1e3,"ReconnectNonce":99999,"PingInterval":99999}"#;
        assert_eq!(seconds(huge), [600, 120, 600]);
        assert_eq!(ClientConfig::read(b""), None);
        assert_eq!(ClientConfig::read(b"[]x"), None);
    }
}
