//! The app's access token: fetched once for everybody who waits, renewed before it ends.
//!
//! The platform hands out the same token while 30 minutes or more of it remain, and a new one
//! after that, both valid. So it is renewed when less remains, and asking earlier is pointless.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{ApiError, Failure};
use super::transport::{Call, Endpoint, LarkApp, Transport};
use crate::base::{Clock, Secret, Timestamp};

/// A token with less than this left is renewed, beside the calls that still use it.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 60);
/// A token with less than this left is not used while a new one can be had: a call must arrive
/// before it ends, however long it is on its way.
const USED_UNTIL: Duration = Duration::from_secs(3 * 60);
/// While a token is still good, a renewal that failed or brought no longer life is not tried
/// again before this.
const RENEW_PAUSE: Duration = Duration::from_secs(60);

/// The cached token of one app.
#[derive(Debug)]
pub(super) struct TokenCache {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Held by the one who fetches.
    fetching: tokio::sync::Mutex<()>,
    /// How many fetches have ended.
    fetches: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Token>,
    asked_at: Option<Timestamp>,
    /// Somebody was told to have it renewed, and that has not ended.
    is_renewing: bool,
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
        Self {
            clock,
            state: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
            fetches: AtomicU64::new(0),
        }
    }

    /// The token to use without waiting, and whether it is for the caller to have it renewed
    /// meanwhile; `None`: there is none that lasts.
    pub(super) fn present(&self) -> Option<(Arc<Secret>, bool)> {
        let now = self.clock.now();
        let mut state = self.lock();
        let token = state.lasting(now, USED_UNTIL)?;
        let is_old = state.lasting(now, RENEW_BEFORE).is_none();
        let wants_renewal = is_old && !state.is_renewing && !state.just_asked(now);
        state.is_renewing |= wants_renewal;
        Some((token, wants_renewal))
    }

    /// The renewal that [`TokenCache::present`] asked for has ended, well or not.
    pub(super) fn renewal_ended(&self) {
        self.lock().is_renewing = false;
    }

    /// A new token. Whoever comes while it is fetched waits for that one fetch and shares its
    /// outcome, good or bad; if that is bad, the old token goes on as long as it lives.
    pub(super) async fn renew(
        &self,
        transport: &Transport,
        app: &LarkApp,
    ) -> Result<Arc<Secret>, ApiError> {
        let seen = self.fetches.load(Ordering::SeqCst);
        let _turn = self.fetching.lock().await;
        let now = self.clock.now();
        if let Some(outcome) = self.outcome_of_others(seen, now) {
            return outcome;
        }
        self.lock().asked_at = Some(now);
        let fetched = fetch(transport, app, now).await;
        let mut state = self.lock();
        self.fetches.fetch_add(1, Ordering::SeqCst);
        match fetched {
            Ok(token) => {
                let text = Arc::clone(&token.text);
                state.token = Some(token);
                state.failure = None;
                Ok(text)
            }
            Err(failure) => {
                state.failure = Some(failure.clone());
                state.lasting(now, Duration::ZERO).ok_or(failure)
            }
        }
    }

    /// What the fetch brought that ended while the caller waited, or had ended just before.
    fn outcome_of_others(
        &self,
        seen: u64,
        now: Timestamp,
    ) -> Option<Result<Arc<Secret>, ApiError>> {
        let state = self.lock();
        let waited = self.fetches.load(Ordering::SeqCst) != seen;
        let failure = state.failure.clone().filter(|_| waited || state.just_asked(now));
        let token = state.lasting(now, RENEW_BEFORE).or_else(|| {
            // It brought nothing better than this.
            state.lasting(now, Duration::ZERO).filter(|_| waited || failure.is_some())
        });
        match (token, failure) {
            (Some(token), _) => Some(Ok(token)),
            (None, Some(failure)) if waited => Some(Err(failure)),
            (None, _) => None,
        }
    }

    #[cfg(test)]
    pub(super) fn is_renewing(&self) -> bool {
        self.lock().is_renewing
    }

    /// Forgets `refused`, unless it was replaced meanwhile.
    pub(super) fn forget(&self, refused: &Arc<Secret>) {
        let mut state = self.lock();
        if let Some(token) = &state.token
            && Arc::ptr_eq(&token.text, refused)
        {
            state.token = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The token, if it lives longer than `span`.
    fn lasting(&self, now: Timestamp, span: Duration) -> Option<Arc<Secret>> {
        let token = self.token.as_ref()?;
        let left = token.ends_at.since(now);
        (left > Duration::ZERO && left >= span).then(|| Arc::clone(&token.text))
    }

    fn just_asked(&self, now: Timestamp) -> bool {
        self.asked_at.is_some_and(|asked_at| now.since(asked_at) < RENEW_PAUSE && asked_at <= now)
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
