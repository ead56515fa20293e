//! Tenant access tokens: how they are given, how long they live, who a call comes from
//! (feishu-protocol.md section 4).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as Extracted;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::limits::{TOKEN_LIFE, TOKEN_REUSED_FROM};
use super::refusal::{Refusal, plain_success, success};
use super::state::{Shared, State};
use crate::base::Timestamp;

#[derive(Clone, Debug)]
struct Token {
    text: String,
    app_id: String,
    expires: Timestamp,
}

/// The tokens given out and not yet expired.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Vec<Token>);

impl Tokens {
    /// Makes every token invalid, as the platform may at any time.
    pub(crate) fn revoke_all(&mut self) {
        self.0.clear();
    }
}

/// `POST /open-apis/auth/v3/tenant_access_token/internal`. No content type is required.
pub(crate) async fn issue(
    Extracted(shared): Extracted<Arc<Shared>>,
    body: Bytes,
) -> Result<Response, Refusal> {
    let bad = || Refusal::new(10_003, "invalid param");
    let body: Value = serde_json::from_slice(&body).map_err(|_not_json| bad())?;
    let field = |name: &str| {
        body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).ok_or_else(bad)
    };
    let (app_id, secret) = (field("app_id")?, field("app_secret")?);
    let now = shared.now();
    let mut state = shared.lock();
    // Judged by the code alone; the status of these two is 200.
    let Some(app) = state.world.app(app_id) else {
        return Err(Refusal::new(10_014, "app not exist or not usable").with_status(StatusCode::OK));
    };
    if app.app_secret != secret {
        return Err(Refusal::new(10_015, "app secret invalid").with_status(StatusCode::OK));
    }
    let app_id = app.app_id.clone();
    let token = fresh_or_same(&mut state, app_id, now);
    drop(state);
    Ok(plain_success(&json!({
        "code": 0,
        "msg": "ok",
        "tenant_access_token": token.text,
        "expire": token.expires.since(now).as_secs(),
    })))
}

/// The app's token while it has enough life left, else a new one; the old stays valid to its end.
fn fresh_or_same(state: &mut State, app_id: String, now: Timestamp) -> Token {
    state.tokens.0.retain(|token| token.expires > now);
    let reusable = state.tokens.0.iter().rev().find(|token| {
        token.app_id == app_id && token.expires.since(now) >= TOKEN_REUSED_FROM.seconds()
    });
    if let Some(token) = reusable {
        return token.clone();
    }
    let token = Token {
        text: format!("t-g104{}", state.dice.hex()),
        app_id,
        expires: now.after(TOKEN_LIFE.seconds()),
    };
    state.tokens.0.push(token.clone());
    token
}

/// The app that a call comes from.
pub(crate) fn caller(
    state: &State,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<String, Refusal> {
    let missing = || Refusal::new(99_991_661, "Missing access token for authorization");
    let value = headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
    let token = value
        .to_str()
        .ok()
        .and_then(|value| value.strip_prefix("Bearer "))
        .filter(|token| !token.is_empty())
        .ok_or_else(missing)?;
    if token.starts_with("u-") {
        return Err(Refusal::new(
            99_991_668,
            "Invalid access token: user tokens are not simulated",
        ));
    }
    if !token.starts_with("t-") {
        return Err(Refusal::new(
            99_991_671,
            "Invalid access token for authorization. The access token must start with `t-` or `u-`.",
        ));
    }
    let known = state.tokens.0.iter().find(|known| known.text == token && known.expires > now);
    known.map(|known| known.app_id.clone()).ok_or_else(|| {
        Refusal::new(99_991_663, "Invalid access token for authorization. Please make a test attempt with the correct token.")
    })
}

/// `GET /open-apis/bot/v3/info`: the bot stands at the top level.
pub(crate) async fn bot_info(
    Extracted(shared): Extracted<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let now = shared.now();
    let state = shared.lock();
    let app_id = caller(&state, &headers, now)?;
    let Some(app) = state.world.app(&app_id) else {
        return Err(Refusal::new(99_991_662, "app disabled"));
    };
    Ok(plain_success(&json!({
        "code": 0,
        "msg": "ok",
        "bot": {
            "activate_status": 2,
            "app_name": app.name,
            "avatar_url": "",
            "ip_white_list": [],
            "open_id": app.open_id,
        },
    })))
}

/// A success without data.
pub(crate) fn done() -> Response {
    success(&json!({}))
}
