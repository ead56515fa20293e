//! Asks the running daemon, at the address and with the token that it left in the data folder.

use std::fs;
use std::io::Write;
use std::time::Duration;

use serde_json::Value;

use crate::base::{Locale, Say, Verdict};
use crate::config::Settings;
use crate::net::{HttpFactory, HttpSettings, read_capped};

/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// The longest time for a copy of the store.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(3600);

/// No answer that could be used.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// No daemon answers; the text says what to do.
    NoDaemon(String),
    /// The daemon refuses.
    Refused {
        /// What it said, for people.
        text: String,
        /// The stable code of its refusal; may be empty.
        code: String,
    },
}

impl Unanswered {
    /// For people.
    pub(super) fn text(&self) -> &str {
        let (Self::NoDaemon(text) | Self::Refused { text, .. }) = self;
        text
    }
}

/// What is asked of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// To tell something.
    Get,
    /// To do something.
    Post,
}

/// What became of a message.
///
/// # Errors
/// No daemon answers; the text says what to do.
pub(super) async fn why(settings: &Settings, message: &str) -> Result<Value, String> {
    let path = path_to(&["why", message]);
    ask(settings, Verb::Get, &path).await.map_err(|error| error.text().to_owned())
}

/// A path of the operators' routes, its segments written as URLs have them.
pub(super) fn path_to(segments: &[&str]) -> String {
    let Ok(mut url) = url::Url::parse("http://daemon/admin/api/") else { return String::new() };
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url.path().to_owned()
}

/// Asks the daemon and reads its JSON.
///
/// # Errors
/// Nobody answers, or the daemon refuses.
pub(super) async fn ask(settings: &Settings, verb: Verb, path: &str) -> Result<Value, Unanswered> {
    let no_daemon = Unanswered::NoDaemon;
    let (address, token) = address_and_token(settings).map_err(no_daemon)?;
    let client = HttpFactory::new(HttpSettings::default()).client();
    let client = client.map_err(|error| no_daemon(error.to_string()))?;
    let url = format!("http://{address}{path}");
    let request = match verb {
        Verb::Get => client.get(url),
        Verb::Post => client.post(url),
    };
    let response = request.bearer_auth(token).send().await.map_err(|error| {
        let is_down = error.is_connect();
        let hint = if is_down { "; is it running?" } else { "" };
        no_daemon(format!("the daemon at {address} does not answer{hint}"))
    })?;
    let status = response.status();
    let body = read_capped(response, ANSWER_BYTES_MAX).await;
    let body = body.map_err(|error| no_daemon(error.to_string()))?;
    let answer = serde_json::from_slice::<Value>(&body);
    if status.is_success() {
        return answer.map_err(|error| no_daemon(format!("the answer makes no sense: {error}")));
    }
    Err(Unanswered::Refused {
        text: format!("the daemon at {address} answers {status}"),
        code: code_in(answer.ok()),
    })
}

/// The stable code in a refusal; empty if there is none.
fn code_in(problem: Option<Value>) -> String {
    let code = problem.and_then(|problem| Some(problem.get("code")?.as_str()?.to_owned()));
    code.unwrap_or_default()
}

/// Writes what the daemon sends to `out`, as it comes.
///
/// # Errors
/// Nobody answers, the daemon refuses or breaks off, or `out` does not take it.
pub(super) async fn download(
    settings: &Settings,
    path: &str,
    out: &mut dyn Write,
) -> Result<(), Unanswered> {
    let no_daemon = Unanswered::NoDaemon;
    let (address, token) = address_and_token(settings).map_err(no_daemon)?;
    let client = HttpFactory::new(HttpSettings::default()).client_within(DOWNLOAD_TIMEOUT);
    let client = client.map_err(|error| no_daemon(error.to_string()))?;
    let request = client.get(format!("http://{address}{path}")).bearer_auth(token);
    let mut response = request.send().await.map_err(|_error| {
        no_daemon(format!("the data folder is in use, but no daemon answers at {address}"))
    })?;
    let status = response.status();
    if !status.is_success() {
        let body = read_capped(response, ANSWER_BYTES_MAX).await.unwrap_or_default();
        let code = code_in(serde_json::from_slice(&body).ok());
        let text = match code.as_str() {
            "copying" => format!("the daemon at {address} is making a copy already"),
            _other => format!("the daemon at {address} answers {status}"),
        };
        return Err(Unanswered::Refused { text, code });
    }
    let broke_off = |_error| no_daemon(format!("the daemon at {address} broke off"));
    while let Some(chunk) = response.chunk().await.map_err(broke_off)? {
        out.write_all(&chunk).map_err(|error| Unanswered::Refused {
            text: format!("the copy cannot be written: {error}"),
            code: String::new(),
        })?;
    }
    Ok(())
}

fn address_and_token(settings: &Settings) -> Result<(String, String), String> {
    let kept = |name: &str| {
        let file = settings.data_dir.join(name);
        fs::read_to_string(&file).map(|text| text.trim().to_owned()).map_err(|error| {
            format!("no daemon has run here: {} cannot be read: {error}", file.display())
        })
    };
    let address = kept("listen")?;
    let token = match &settings.admin_token {
        Some(token) => token.expose().to_owned(),
        None => kept("admin-token")?,
    };
    Ok((address, token))
}

/// The answer for people, as the chat's `/why` words it.
pub(super) fn in_words(why: &Value, locale: Locale) -> String {
    let text = |key: &str| why.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let verdict = why.get("verdict").cloned().and_then(|word| serde_json::from_value(word).ok());
    match verdict {
        Some(Verdict::NeverReceived) => Say::WhyNeverReceived.text(locale),
        Some(verdict) => Say::Why { verdict, reason: text("reason") }.text(locale),
        // A newer daemon may know more words.
        None => text("verdict"),
    }
}
