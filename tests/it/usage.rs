//! Calls of the platform: how many there are, and who is told.

use std::fs;

use larkspur::playground::Endpoint;

use crate::stage::{Options, Stage, http};
use crate::talk::barrier;

const DAY_MS: u64 = 86_400_000;

async fn metrics(stage: &Stage) -> String {
    let token = fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let request = http().get(stage.url("/metrics")).bearer_auth(token.trim());
    let response = request.send().await.unwrap();
    let body = larkspur::net::read_capped(response, 1 << 20).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The calls of one method this month, as `/metrics` has them.
async fn counted(stage: &Stage, method: &str) -> u64 {
    let metrics = metrics(stage).await;
    let lines = metrics.lines().filter(|line| line.starts_with("larkspur_platform_calls_total{"));
    let lines = lines.filter(|line| line.contains(&format!("method=\"{method}\"")));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn made(stage: &Stage, endpoint: Endpoint) -> u64 {
    u64::try_from(stage.sim.calls(endpoint).len()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_counted_over_an_orderly_restart() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(stage.terminate().await.code(), Some(0));
    stage.start(&[]).await;
    barrier(&stage, "ann", &chat).await;
    let table = [
        ("reply_message", Endpoint::Reply),
        ("tenant_access_token", Endpoint::Token),
        ("bot_info", Endpoint::BotInfo),
    ];
    for (method, endpoint) in table {
        assert_eq!(counted(&stage, method).await, made(&stage, endpoint), "{method}");
    }
    assert_eq!(counted(&stage, "reply_message").await, 2);
    let app = format!("app=\"{}\"", stage.sim.app_id());
    assert!(metrics(&stage).await.contains(&app));
}

/// Even one that is started anew every day of the month. Between the start and the first message
/// nothing is called: the one task that calls on its own ends with the identity (a test of the
/// channel says so), and tokens are renewed by those who use them.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_daemon_makes_less_than_a_hundred_calls_a_month() {
    const DAYS_OF_A_MONTH: usize = 31;
    let mut stage = Stage::set(Options::default()).await;
    let mut calls = Vec::new();
    for day in 0..3u64 {
        let before = stage.sim.calls(Endpoint::Any).len();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &(day * DAY_MS).to_string())]).await;
        assert_eq!(stage.terminate().await.code(), Some(0));
        calls.push(stage.sim.calls(Endpoint::Any).len() - before);
    }
    assert_eq!(calls, [2, 2, 2], "a token and the own identity");
    assert!(calls[0] * DAYS_OF_A_MONTH < 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_tells_admins_and_nobody_else_how_much_was_called() {
    let mut stage = Stage::set(Options::default()).await;
    let file = stage.path("bots/assistant.toml");
    let definition = fs::read_to_string(&file).unwrap();
    let admins = format!("[access]\nadmins = [\"{}\"]", stage.sim.user("ann").open_id);
    fs::write(&file, definition.replace("[access]", &admins)).unwrap();
    stage.start(&[]).await;
    for (user, is_told) in [("ann", true), ("ben", false)] {
        let chat = stage.sim.p2p(user).chat_id;
        let asked = stage.sim.says(user, &chat, "/status").unwrap();
        let answer = stage.answer(&asked).await;
        assert_eq!(answer.contains("calls to the platform this month"), is_told, "{answer}");
    }
}
