//! Asks the running daemon, at the address and with the token that it left in the data folder.

use std::fs;

use serde_json::Value;

use crate::base::{Locale, Say, Verdict};
use crate::config::Settings;
use crate::net::{HttpFactory, HttpSettings, read_capped};

/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What became of a message.
///
/// # Errors
/// No daemon answers; the text says what to do.
pub(super) async fn why(settings: &Settings, message: &str) -> Result<Value, String> {
    let mut path = url::Url::parse("http://daemon/admin/api/why/").map_err(|e| e.to_string())?;
    if let Ok(mut segments) = path.path_segments_mut() {
        segments.pop_if_empty().push(message);
    }
    get(settings, path.path()).await
}

async fn get(settings: &Settings, path: &str) -> Result<Value, String> {
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
    let client = HttpFactory::new(HttpSettings::default()).client();
    let request = client.map_err(|error| error.to_string())?.get(format!("http://{address}{path}"));
    let response = request.bearer_auth(token).send().await.map_err(|error| {
        let is_down = error.is_connect();
        let hint = if is_down { "; is it running?" } else { "" };
        format!("the daemon at {address} does not answer{hint}")
    })?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("the daemon at {address} answers {status}"));
    }
    let body = read_capped(response, ANSWER_BYTES_MAX).await.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body).map_err(|error| format!("the answer makes no sense: {error}"))
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
