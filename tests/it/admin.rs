//! The operators' routes: what is open, what is guarded, what readiness says.

use std::fs;

use larkspur::net::read_capped;
use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::json;

use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::until;

async fn status(stage: &Stage, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = http().get(stage.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body = read_capped(response, 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn token(stage: &Stage) -> String {
    fs::read_to_string(stage.path("data/admin-token")).unwrap()
}

fn bearer(stage: &Stage) -> String {
    format!("Bearer {}", token(stage))
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_readiness_are_open_and_all_else_needs_the_token() {
    let stage = Stage::new().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(status(&stage, path, &[]).await.0, 200, "{path}");
        assert_eq!(status(&stage, path, &[("Host", "evil.example")]).await.0, 200, "{path}");
    }
    let bare = token(&stage);
    let right = bearer(&stage);
    for path in ["/metrics", "/admin/api/why/om_1"] {
        for wrong in ["", "Bearer ", "Bearer wrong", &bare, &right.to_lowercase()] {
            let (code, body) = status(&stage, path, &[("Authorization", wrong)]).await;
            assert_eq!(code, 401, "{path} {wrong:?}");
            assert!(body.contains("unauthorized") && !body.contains("never_received"));
        }
        assert_eq!(status(&stage, path, &[]).await.0, 401, "{path}");
        assert_eq!(status(&stage, path, &[("Authorization", &right)]).await.0, 200, "{path}");
        for host in ["evil.example", "127.0.0.1", "localhost:1", ""] {
            let headers = [("Authorization", right.as_str()), ("Host", host)];
            let (code, body) = status(&stage, path, &headers).await;
            assert_eq!(code, 403, "{path} {host}");
            assert!(!body.contains("never_received"));
        }
    }
    assert!(!stage.log().contains(&bare), "the token is not logged");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_made_once_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let mut stage = Stage::new().await;
    let token = bearer(&stage);
    let mode = fs::metadata(stage.path("data/admin-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(token.len() >= 7 + 32);
    stage.kill();
    stage.start(&[]).await;
    assert_eq!(bearer(&stage), token);
    stage.kill();
    stage.start(&[("LARKSPUR__ADMIN__TOKEN", "chosen")]).await;
    assert_eq!(status(&stage, "/metrics", &[("Authorization", "Bearer chosen")]).await.0, 200);
    assert_eq!(status(&stage, "/metrics", &[("Authorization", &token)]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_happened() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "answered").await;
    let event_id = larkspur::playground::RetryEventId::New;
    stage.sim.duplicate(&question, 3, event_id).await.unwrap();
    let (_, metrics) = status(&stage, "/metrics", &[("Authorization", &bearer(&stage))]).await;
    let value = |event: &str| {
        let line = metrics.lines().find(|line| line.contains(&format!("\"{event}\"")));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    assert_eq!(value("accepted"), Some(1), "{metrics}");
    assert_eq!(value("duplicate"), Some(3), "{metrics}");
    assert_eq!(value("turn_closed"), Some(1), "{metrics}");
    assert!(!metrics.contains(&question) && !metrics.contains(&chat), "no ids in metrics");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_the_bot_whose_platform_cannot_be_reached() {
    let mut stage = Stage::set(Options::default()).await;
    let rule = FaultRule::next(Endpoint::Any, 1, FaultAction::Drop);
    stage.sim.fault(FaultRule { times: None, ..rule });
    stage.launch(&[]);
    until("the daemon tried", || stage.log().contains("bot_identity_failed")).await;
    let (code, body) = stage.get("/readyz").await.unwrap();
    assert_eq!(code, 503);
    assert!(body.contains("bot assistant") && body.contains("cannot be reached"), "{body}");
    assert_eq!(stage.get("/healthz").await.unwrap().0, 200, "it lives all the same");

    // Who is meant in a group cannot be told yet: the platform is asked to come again.
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let early = stage.sim.asks("ann", &group, "are you there?").unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    assert_eq!(stage.sim.pushes_of(&early)[0].status, Some(503));
    stage.sim.clear_faults();
    assert!(stage.is_ready().await);
    stage.sim.advance(std::time::Duration::from_secs(16));
    assert_eq!(stage.answer(&early).await, "answer to: are you there?");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_a_bot_file_that_is_not_in_order_and_the_others_run() {
    let mut stage = Stage::set(Options::default()).await;
    fs::write(stage.path("bots/broken.toml"), "name = \"broken\"\nmodle = \"x\"\n").unwrap();
    stage.launch(&[]);
    let named = async {
        loop {
            match stage.get("/readyz").await {
                Some((503, body)) if !body.contains("platform") => return body,
                _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    };
    let body = tokio::time::timeout(PATIENCE, named).await.unwrap();
    assert!(body.contains("broken.toml:2: modle: unknown key"), "{body}");
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "still there?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: still there?");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_and_the_repair_name_open_turns_that_cannot_be_read_and_the_daemon_works() {
    let mut stage = Stage::new().await;
    assert_eq!(stage.get("/readyz").await.unwrap(), (200, "ready\n".to_owned()));
    stage.terminate().await;
    // Two rows as another version might write them, by way of a copy.
    let copy = stage.path("copy.jsonl");
    assert!(stage.cli(&["store", "export", copy.to_str().unwrap()]).status.success());
    let mut lines: Vec<String> =
        fs::read_to_string(&copy).unwrap().lines().map(str::to_owned).collect();
    let end: serde_json::Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    let turns = ["0191b7a0-0000-7000-8000-000000000001", "0191b7a0-0000-7000-8000-000000000002"];
    for (turn, version) in turns.iter().zip([1, 9]) {
        let key = format!("69{}", turn.replace('-', ""));
        let record = json!({"kind": "inbox", "key": key, "version": version, "record": {"a": 1}});
        lines.push(record.to_string());
    }
    lines.push(json!({"rows": end["rows"].as_u64().unwrap() + 2}).to_string());
    fs::write(&copy, lines.join("\n") + "\n").unwrap();
    fs::rename(stage.path("data"), stage.path("data.old")).unwrap();
    assert!(stage.cli(&["store", "restore", copy.to_str().unwrap()]).status.success());

    for _start in 1..=2 {
        stage.start(&[]).await;
        let (code, body) = stage.get("/readyz").await.unwrap();
        assert_eq!(code, 200, "one bad row does not take the daemon out of service: {body}");
        let (first, rest) = body.split_once('\n').unwrap();
        assert_eq!(first, "ready");
        assert!(rest.starts_with("degraded: open turns that cannot be read"), "{rest}");
        assert!(rest.contains(&format!(": 2 ({}, {})", turns[0], turns[1])), "{rest}");
        let chat = stage.sim.p2p("ann").chat_id;
        let question = stage.sim.says("ann", &chat, "all well?").unwrap();
        assert_eq!(stage.answer(&question).await, "answer to: all well?");
        stage.terminate().await;
    }
    let repair = stage.cli(&["store", "repair"]);
    assert_eq!(repair.status.code(), Some(1), "{repair:?}");
    let said = String::from_utf8(repair.stdout).unwrap();
    for turn in turns {
        assert!(said.contains(&format!("{turn}: a stored inbox record")), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_says_when_the_credentials_are_refused() {
    let mut stage = Stage::set(Options::default()).await;
    stage.launch(&[("APP_SECRET", "another")]);
    until("the daemon tried", || stage.log().contains("bot_identity_failed")).await;
    let (code, body) = stage.get("/readyz").await.unwrap();
    assert_eq!(code, 503);
    assert!(body.contains("bot assistant") && body.contains("refused"), "{body}");
    assert!(!body.contains("another"), "{body}");
}
