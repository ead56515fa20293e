//! The app's access token: fetched once for everybody who waits, renewed before it ends.
//!
//! The platform hands out the same token while 30 minutes or more of it remain, and a new one
//! after that, both valid. So it is renewed when less remains, and asking earlier is pointless.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::error::{ApiError, Failure};
use super::transport::{Call, Endpoint, LarkApp, Transport};
use crate::base::{Clock, Secret, Timestamp};

/// A token with less than this left is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 60);
/// While a token is still valid, a renewal that failed or brought no longer life is not tried
/// again before this.
const RENEW_PAUSE: Duration = Duration::from_secs(60);

/// The cached token of one app.
#[derive(Debug)]
pub(super) struct TokenCache {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// How many fetches have ended, readable without the lock.
    fetches: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Token>,
    asked_at: Option<Timestamp>,
    failure: Option<ApiError>,
}

#[derive(Clone, Debug)]
struct Token {
    text: Arc<Secret>,
    ends_at: Timestamp,
}

#[derive(Deserialize)]
struct TokenAnswer {
    tenant_access_token: String,
    #[serde(default)]
    expire: u64,
}

impl TokenCache {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), fetches: AtomicU64::new(0) }
    }

    /// A token that is valid as far as its life goes. Whoever comes while it is fetched waits for
    /// that one fetch and shares its outcome, good or bad.
    pub(super) async fn get(
        &self,
        transport: &Transport,
        app: &LarkApp,
    ) -> Result<Arc<Secret>, ApiError> {
        let seen = self.fetches.load(Ordering::SeqCst);
        let mut state = self.state.lock().await;
        let now = self.clock.now();
        if let Some(token) = state.usable(now) {
            return Ok(token);
        }
        let waited_for_it = self.fetches.load(Ordering::SeqCst) != seen;
        if let Some(failure) = state.failure.clone().filter(|_| waited_for_it) {
            return Err(failure);
        }
        state.asked_at = Some(now);
        let fetched = fetch(transport, app, now).await;
        self.fetches.fetch_add(1, Ordering::SeqCst);
        match fetched {
            Ok(token) => {
                let text = Arc::clone(&token.text);
                state.token = Some(token);
                state.failure = None;
                Ok(text)
            }
            // The old token goes on as long as it lives.
            Err(failure) => state.valid(now).ok_or_else(|| {
                state.failure = Some(failure.clone());
                failure
            }),
        }
    }

    /// Forgets `refused`, unless it was replaced meanwhile.
    pub(super) async fn forget(&self, refused: &Arc<Secret>) {
        let mut state = self.state.lock().await;
        if let Some(token) = &state.token
            && Arc::ptr_eq(&token.text, refused)
        {
            state.token = None;
        }
    }
}

impl State {
    fn valid(&self, now: Timestamp) -> Option<Arc<Secret>> {
        let token = self.token.as_ref().filter(|token| token.ends_at > now)?;
        Some(Arc::clone(&token.text))
    }

    /// The token, unless it is time to renew it.
    fn usable(&self, now: Timestamp) -> Option<Arc<Secret>> {
        let token = self.token.as_ref()?;
        let lasting = token.ends_at.since(now) >= RENEW_BEFORE;
        let just_asked = self.asked_at.is_some_and(|asked_at| now.since(asked_at) < RENEW_PAUSE);
        self.valid(now).filter(|_| lasting || just_asked)
    }
}

async fn fetch(transport: &Transport, app: &LarkApp, now: Timestamp) -> Result<Token, ApiError> {
    let call = Call {
        endpoint: Endpoint::TenantToken,
        method: Method::POST,
        path: &["auth", "v3", "tenant_access_token", "internal"],
        query: &[],
        body: Some(json!({
            "app_id": app.app_id,
            "app_secret": app.app_secret.expose(),
        })),
    };
    let answer: Value = transport.exchange(&call, None).await?;
    let answer = serde_json::from_value::<TokenAnswer>(answer)
        .ok()
        .filter(|answer| !answer.tenant_access_token.is_empty())
        .ok_or(ApiError {
            endpoint: Endpoint::TenantToken,
            status: None,
            failure: Failure::Undecodable,
            retry_after: None,
        })?;
    Ok(Token {
        text: Arc::new(Secret::new(answer.tenant_access_token)),
        ends_at: now.after(Duration::from_secs(answer.expire)),
    })
}
