//! Which pictures of an answer are shown: those of hosts that the operator names. A model that could
//! have any address fetched could carry anything to anybody in it.

use url::Url;

use super::bot::LarkBot;
use super::render::pictures;
use crate::telemetry::Event;

/// A message shows at most so many; the rest are links.
const PICTURES_MAX: usize = 5;

/// The keys of a text's pictures, by their addresses. What cannot be had stays a link.
pub(super) async fn keys(bot: &LarkBot, text: &str) -> Vec<(String, String)> {
    let hosts = bot.picture_hosts();
    if hosts.is_empty() {
        return Vec::new();
    }
    let allowed = pictures(text).into_iter().filter(|url| is_of(url, hosts)).take(PICTURES_MAX);
    let brought = allowed.map(|url| async move {
        match bot.api().bring_picture(&url).await {
            Ok(key) => Some((url, key)),
            Err(error) => {
                Event::SideEffectFailed { what: "picture", error: &error }.emit();
                None
            }
        }
    });
    futures_util::future::join_all(brought).await.into_iter().flatten().collect()
}

/// Whether an address is one of the web and of these hosts; a port belongs to the host.
fn is_of(url: &str, hosts: &[String]) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let with_port = url.port().map(|port| format!("{host}:{port}"));
    let host = with_port.as_deref().unwrap_or(host);
    matches!(url.scheme(), "http" | "https") && hosts.iter().any(|named| named == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_are_named_are_asked() {
        let hosts =
            ["wiki.example".to_owned(), "127.0.0.1:80".to_owned(), "localhost:99".to_owned()];
        for (url, expected) in [
            ("https://wiki.example/a.png", true),
            ("https://WIKI.example/a.png", true),
            ("http://localhost:99/a.png", true),
            ("http://localhost/a.png", false),
            ("https://wiki.example:8443/a.png", false),
            ("https://wiki.example.evil/a.png", false),
            ("https://wiki.example@evil.example/a.png", false),
            ("ftp://wiki.example/a.png", false),
            ("//wiki.example/a.png", false),
        ] {
            assert_eq!(is_of(url, &hosts), expected, "{url}");
        }
    }
}
