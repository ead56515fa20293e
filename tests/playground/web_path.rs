//! The path drawer, without a daemon, with one, and with one that does not answer.

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use larkspur::task::TaskSet;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{App, Client, PATIENCE, playground};
use crate::web::Browser;

/// A daemon that tells one way of every message.
pub(crate) struct Daemon {
    pub(crate) url: String,
    tasks: TaskSet,
}

impl Daemon {
    pub(crate) async fn answering(answer: serde_json::Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let tell = move |Path(_message): Path<String>, headers: HeaderMap| {
            let is_known = headers["authorization"] == "Bearer secret-token";
            let answer = answer.to_string();
            async move { if is_known { Ok(answer) } else { Err(StatusCode::UNAUTHORIZED) } }
        };
        let router = Router::new().route("/admin/api/path/{message}", get(tell));
        let tasks = TaskSet::new("test daemon", CancellationToken::new());
        let cancel = tasks.cancellation().clone();
        tasks.spawn("serve", async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                _ended = IntoFuture::into_future(axum::serve(listener, router)) => {}
            }
        });
        Self { url, tasks }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.tasks.cancellation().cancel();
    }
}

#[tokio::test]
async fn the_path_of_a_message_joins_pushes_calls_and_the_steps_of_the_daemon() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let chat = sim.group("g1", &["u1"]).chat_id;
    let client = Client::of(&sim).await;
    let browser = Browser::at(&sim);
    let message = sim.asks("u1", "g1", "hello").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    sim.advance(Duration::from_millis(500));
    let answer = client.reply(&message, "hi").await.data("/message_id").to_owned();
    let path = |message: &str| format!("/web/path?lang=en&me=u1&chat={chat}&message={message}");
    let alone = browser.get(&path(&message)).await.text;
    assert!(alone.contains("data-test=\"no-daemon\""), "{alone}");
    assert!(alone.contains(&app.url) && alone.contains("/reply") && alone.contains("HTTP 200"));
    let told = json!({
        "message": message, "verdict": "answered", "reason": "all is well", "at": 1, "turn": null,
        "message_ids": [message], "steps": [
            {"at": 1_760_000_000_100_u64, "took_ms": 12, "kind": "accepted", "title": "Accepted", "detail": "d"},
            {"at": 1_760_000_000_900_u64, "took_ms": null, "kind": "closed", "title": "Closed", "detail": ""},
        ],
    });
    let daemon = Daemon::answering(told).await;
    let curl = Client::anonymous(&sim);
    let known = json!({"url": daemon.url, "token": "secret-token"});
    assert_eq!(curl.call("PUT", "/sim/v1/daemon", Some(&known)).await.status, 200);
    for id in [&message, &answer] {
        let whole = browser.get(&path(id)).await.text;
        let order = ["answered", "all is well", "POST http", "Accepted", "/reply", "Closed"];
        let places: Vec<usize> = order.iter().map(|word| whole.find(word).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?} {whole}");
        assert!(!whole.contains("secret-token"));
    }
    sim.set_daemon(&daemon.url, "wrong").unwrap();
    let silent = browser.get(&path(&message)).await.text;
    assert!(silent.contains("data-test=\"daemon-silent\"") && silent.contains("HTTP 401"));
    sim.set_daemon("http://127.0.0.1:9", "x").unwrap();
    assert!(browser.get(&path(&message)).await.text.contains("data-test=\"daemon-silent\""));
    assert!(sim.set_daemon("ftp://x", "x").is_err());
    assert_eq!(browser.get(&path("om_nobody")).await.status, 204);
}
