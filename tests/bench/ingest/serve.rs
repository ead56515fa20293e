//! The two servers that are not the daemon: its router with nothing behind it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::routing::post;
use axum::{Json, Router};
use larkspur::base::{BotName, Clock, Secret, SystemClock, Verdict};
use larkspur::channels::lark::{
    self, EventsVia, LarkBot, LarkBotSettings, LarkBots, LarkDeps, Limiter, Look, Webhook,
};
use larkspur::envelope::{Arrival, Form, Inlet, InletError, Press, PressReply, Submitted, Tone};
use larkspur::net::{HttpFactory, HttpSettings};
use larkspur::playground::Settings;
use larkspur::task::TaskSet;
use larkspur::telemetry::CallMeter;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The daemon's limits by default.
const BODY_BYTES_MAX: usize = 1 << 20;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until it is killed: `bare` reads the body and answers 200; `verify` also verifies,
/// decrypts and decodes.
pub(crate) fn run(role: &str) -> Result<()> {
    let router = match role {
        "bare" => Router::new().route("/lark/{bot}/events", post(nothing)),
        "verify" => verifying()?,
        other => bail!("unknown role {other}"),
    };
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let tasks = TaskSet::new("server", CancellationToken::new());
        larkspur::app::serve(listener, router, REQUEST_TIMEOUT, tasks).await;
        Ok(())
    })
}

async fn nothing(_body: Bytes) -> Json<Value> {
    Json(json!({}))
}

/// Takes every arrival and forgets it.
struct Forgetful;

#[async_trait]
impl Inlet for Forgetful {
    async fn submit(&self, _arrival: Arrival) -> Result<Submitted, InletError> {
        Ok(Submitted::NoWork(Verdict::Filtered))
    }

    async fn press(&self, _press: Press) -> PressReply {
        PressReply { tone: Tone::Info, text: String::new(), card: None }
    }
}

fn verifying() -> Result<Router> {
    let app = Settings::default().app;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let settings = LarkBotSettings {
        bot: BotName::new("assistant"),
        app_id: app.app_id,
        app_secret: Secret::new(app.app_secret),
        encrypt_key: Secret::new(app.encrypt_key),
        verification_token: Secret::new(app.verification_token),
        base_url: "http://127.0.0.1:1".to_owned(),
        events: EventsVia::Webhook,
        look: Look { form: Form::Card, live: true },
        picture_hosts: Vec::new(),
    };
    let deps = LarkDeps {
        client: HttpFactory::new(HttpSettings::default()).client()?,
        clock: Arc::clone(&clock),
        tasks: TaskSet::new("platform", CancellationToken::new()),
        limiter: Limiter::new(Arc::clone(&clock)),
        meter: CallMeter::default(),
    };
    let bot = LarkBot::new(settings, &deps)?;
    Ok(lark::router(Webhook {
        bots: Arc::new(LarkBots::new([Arc::new(bot)])),
        inlet: Arc::new(Forgetful),
        clock,
        body_bytes_max: BODY_BYTES_MAX,
    }))
}
