//! One HTTP exchange with the platform: request, limited reading, classification of the outcome.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::super::settings::SettingsError;
use super::client::LarkDeps;
use super::error::{ApiError, Failure};
use super::raw;
use super::scopes::{SCOPE_CODES, ScopeNotices};
use crate::base::limit::ellipsis;
use crate::base::{Clock, Secret};
use crate::net::{NetError, read_capped};
use crate::telemetry::CallMeter;

/// How long one exchange may take.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, in bytes: a page of fifty messages of the greatest length fits.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest error text kept of the platform's, in characters.
const MESSAGE_CHARS_MAX: usize = 200;
/// The longest wait taken over from the platform. Its longest limit is a minute's: what says more
/// is asked again then, and may say so again.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// The gateway's header that says how many seconds to wait.
const HEADER_RATE_LIMIT_RESET: &str = "x-ogw-ratelimit-reset";

/// The app a client speaks for, and where the platform is.
#[derive(Clone, Debug)]
pub struct LarkApp {
    /// The app's id.
    pub app_id: String,
    /// The app's secret.
    pub app_secret: Secret,
    /// The platform's origin; a path in it is kept as a prefix.
    pub base_url: String,
}

/// The calls this client makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The app's access token.
    TenantToken,
    /// The bot's own identity.
    BotInfo,
    /// A new message.
    Create,
    /// A reply to a message.
    Reply,
    /// Replacing the card of a message.
    ChangeCard,
    /// Making a card that can be changed after it was sent.
    CreateEntity,
    /// Replacing such a card.
    UpdateEntity,
    /// Replacing a text of such a card.
    StreamText,
    /// Changing the settings of such a card.
    EntitySettings,
    /// Taking a message back.
    Recall,
    /// Adding a reaction.
    React,
    /// Removing a reaction.
    Unreact,
    /// Listing reactions.
    Reactions,
    /// Reading one message.
    GetMessage,
    /// Reading a chat's messages.
    History,
    /// Reading a person's departments.
    GetUser,
    /// Listing a person's user groups.
    UserGroups,
    /// Reading people's names.
    UserNames,
    /// Reading a chat.
    GetChat,
    /// Downloading what a message carries.
    Resource,
    /// Uploading a picture.
    UploadImage,
    /// The address of the long connection.
    LinkAddress,
}

impl Endpoint {
    /// Whether it changes something in a chat.
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Reply
                | Self::ChangeCard
                | Self::UpdateEntity
                | Self::StreamText
                | Self::EntitySettings
                | Self::Recall
                | Self::React
                | Self::Unreact
        )
    }

    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TenantToken => "tenant_access_token",
            Self::BotInfo => "bot_info",
            Self::Create => "create_message",
            Self::Reply => "reply_message",
            Self::ChangeCard => "change_card",
            Self::CreateEntity => "create_card_entity",
            Self::UpdateEntity => "update_card_entity",
            Self::StreamText => "stream_card_text",
            Self::EntitySettings => "card_entity_settings",
            Self::Recall => "recall_message",
            Self::React => "add_reaction",
            Self::Unreact => "remove_reaction",
            Self::Reactions => "list_reactions",
            Self::GetMessage => "get_message",
            Self::History => "list_messages",
            Self::GetUser => "get_user",
            Self::UserGroups => "list_user_groups",
            Self::UserNames => "get_user_names",
            Self::GetChat => "get_chat",
            Self::Resource => "download_resource",
            Self::UploadImage => "upload_image",
            Self::LinkAddress => "long_connection_address",
        }
    }
}

/// One request, without its token.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub(super) endpoint: Endpoint,
    pub(super) method: Method,
    /// Behind `open-apis`, for most; escaped where needed.
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<Value>,
}

/// The way to the platform, for one app.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
    app_id: String,
    base_url: Url,
    clock: Arc<dyn Clock>,
    meter: CallMeter,
    scopes: Arc<ScopeNotices>,
    pub(super) timeout: Duration,
}

impl Transport {
    pub(super) fn new(app: &LarkApp, deps: &LarkDeps) -> Result<Self, SettingsError> {
        let base_url = Url::parse(&app.base_url).map_err(|_malformed| SettingsError::BaseUrl)?;
        if !matches!(base_url.scheme(), "http" | "https") {
            return Err(SettingsError::BaseUrl);
        }
        Ok(Self {
            client: deps.client.clone(),
            app_id: app.app_id.clone(),
            base_url,
            clock: Arc::clone(&deps.clock),
            meter: deps.meter.clone(),
            scopes: Arc::default(),
            timeout: REQUEST_TIMEOUT,
        })
    }

    /// Carries out a call; `Ok` holds the whole answer, whose code is 0.
    pub(super) async fn exchange(
        &self,
        call: &Call<'_>,
        token: Option<&Secret>,
    ) -> Result<Value, ApiError> {
        let mut request = self.request(call, token);
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        if call.endpoint == Endpoint::LinkAddress {
            // As the official clients ask.
            request = request.header("locale", "zh");
        }
        self.carry_out(call, request).await
    }

    /// Carries out a call with a body of another type than JSON.
    pub(super) async fn upload(
        &self,
        call: &Call<'_>,
        token: &Secret,
        (content_type, body): (&str, Vec<u8>),
    ) -> Result<Value, ApiError> {
        let request = self.request(call, Some(token));
        let request = request.header(CONTENT_TYPE, content_type).body(body);
        self.carry_out(call, request).await
    }

    /// For what is fetched from elsewhere.
    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    fn request(&self, call: &Call<'_>, token: Option<&Secret>) -> RequestBuilder {
        let request =
            self.client.request(call.method.clone(), self.url(call)).timeout(self.timeout);
        match token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    async fn carry_out(&self, call: &Call<'_>, request: RequestBuilder) -> Result<Value, ApiError> {
        let failed = |status: Option<u16>, error: NetError| ApiError {
            endpoint: call.endpoint,
            status,
            failure: classify(&error),
            retry_after: None,
        };
        let response = request.send().await.map_err(|error| failed(None, error.into()));
        if !matches!(&response, Err(error) if error.is_unconnected()) {
            self.meter.count(&self.app_id, call.endpoint.name(), self.clock.now());
        }
        let response = response?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        if call.endpoint == Endpoint::Resource && raw::is_file(&response) {
            return raw::answer(response).await.map_err(|error| failed(Some(status), error));
        }
        let body = read_capped(response, ANSWER_BYTES_MAX).await;
        let body = body.map_err(|error| failed(Some(status), error))?;
        judge(status, &body).map_err(|refusal| {
            let code = refusal.code.unwrap_or_default();
            if SCOPE_CODES.contains(&code) {
                let origin = self.base_url.as_str();
                self.scopes.report(&self.app_id, origin, &refusal.words, self.clock.now());
            }
            ApiError {
                endpoint: call.endpoint,
                status: Some(status),
                failure: refusal.into(),
                retry_after,
            }
        })
    }

    fn url(&self, call: &Call<'_>) -> Url {
        let mut url = self.base_url.clone();
        // Only addresses without a hierarchy have no segments, and the constructor refuses them.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            // The one call that is no part of the open API.
            if call.endpoint != Endpoint::LinkAddress {
                segments.push("open-apis");
            }
            segments.extend(call.path);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        url
    }
}

fn classify(error: &NetError) -> Failure {
    match error {
        NetError::Unusable(cause) | NetError::NotConnected(cause) => {
            Failure::NotConnected(cause.clone())
        }
        NetError::TimedOut(_) => Failure::TimedOut,
        NetError::Broken(_) => Failure::Broken,
        NetError::TooLarge { .. } => Failure::Undecodable,
    }
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    msg: Option<String>,
}

/// What an answer that is no success says.
struct Refusal {
    /// The answer was meant to be a success and makes no sense.
    is_garbled: bool,
    code: Option<i64>,
    words: String,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        if refusal.is_garbled {
            return Self::Undecodable;
        }
        Self::Refused { code: refusal.code, message: clean(&refusal.words) }
    }
}

/// Success is code 0 in an answer of status 2xx, nothing else.
fn judge(status: u16, body: &[u8]) -> Result<Value, Refusal> {
    let succeeded = (200..300).contains(&status);
    let outcome = serde_json::from_slice::<Outcome>(body).ok();
    let code = outcome.as_ref().and_then(|outcome| outcome.code);
    if succeeded && code == Some(0) {
        let garbled = |_| Refusal { is_garbled: true, code: None, words: String::new() };
        return serde_json::from_slice(body).map_err(garbled);
    }
    Err(Refusal {
        is_garbled: succeeded && code.is_none(),
        code: code.filter(|code| *code != 0),
        words: outcome.and_then(|outcome| outcome.msg).unwrap_or_default(),
    })
}

fn clean(message: &str) -> String {
    let one_line: String = message
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    ellipsis(one_line.trim(), MESSAGE_CHARS_MAX)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |value: &reqwest::header::HeaderValue| {
        let seconds: u64 = value.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
    };
    headers
        .get(HEADER_RATE_LIMIT_RESET)
        .and_then(seconds)
        .or_else(|| headers.get(RETRY_AFTER).and_then(seconds))
}
