//! Bots whose events come by a long connection: the daemon needs no address that others reach.

use std::fs;
use std::time::Duration;

use larkspur::net::read_capped;
use larkspur::playground::{
    Break, CardPress, ClientConfig, Endpoint, FaultAction, FaultRule, FragmentOrder,
    LongConnection, SocketFault, Transport,
};
use serde_json::json;

use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::until;

/// What the platform tells its clients: to be quick.
pub(crate) fn quick() -> ClientConfig {
    ClientConfig {
        reconnect_count: -1,
        reconnect_interval: 1,
        reconnect_nonce: 0,
        ping_interval: 1,
    }
}

/// A stage whose bot knows the app's secret alone; the daemon does not run yet.
pub(crate) async fn set(options: Options, settings: LongConnection) -> Stage {
    let stage = Stage::set(options).await;
    let keys = "encrypt_key = \"env:KEY\"\nverification_token = \"env:TOKEN\"\n";
    stage.edit_bot(keys, "transport = \"websocket\"\n");
    stage.sim.set_transport(Transport::Websocket);
    stage.sim.set_long_connection(&stage.sim.app_id(), settings).unwrap();
    stage
}

/// The same, connected.
pub(crate) async fn connected() -> Stage {
    let settings = LongConnection { client: quick(), ..LongConnection::default() };
    let mut stage = set(Options::default(), settings).await;
    stage.start(&[]).await;
    stage
}

/// Waits until the bot is connected by another connection than this.
pub(crate) async fn reconnected(stage: &Stage, before: &str) {
    let other = || stage.sim.connections().iter().any(|open| open.device_id != before);
    until("another connection", other).await;
}

pub(crate) fn device(stage: &Stage) -> String {
    stage.sim.connections()[0].device_id.clone()
}

/// Waits until `/readyz` says these words.
pub(crate) async fn said(stage: &Stage, words: &str) -> String {
    let said = async {
        loop {
            match stage.get("/readyz").await {
                Some((503, text)) if text.contains(words) => return text,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, said).await.expect("readiness says so")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_over_a_long_connection_is_answered_and_its_state_is_told() {
    let stage = connected().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "how is it going?").unwrap();
    assert!(stage.answer(&question).await.contains("how is it going?"));
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let named = stage.sim.asks("ann", &group, "部署进度如何?").unwrap();
    assert!(stage.answer(&named).await.contains("部署进度如何?"));
    let status = stage.sim.says("ann", &chat, "/status").unwrap();
    let told = stage.answer(&status).await;
    assert!(told.contains("\nLong connection: up for "), "{told}");
    let token = fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let metrics = http().get(stage.url("/metrics")).bearer_auth(token).send().await.unwrap();
    let metrics = read_capped(metrics, 1 << 20).await.unwrap();
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    for line in [
        "larkspur_link_connected{bot=\"assistant\"} 1",
        "larkspur_link_connects_total{bot=\"assistant\"} 1",
        "larkspur_events_total{event=\"link_up\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    // Where an app is told of its own reactions there are more than the three messages, and the last of
    // them may be on their way.
    let connection = || stage.sim.connections().remove(0);
    let all_acknowledged = || connection().events >= 3 && connection().acks == connection().events;
    until("all acknowledgements", all_acknowledged).await;
    assert_eq!(connection().strays, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_in_shuffled_pieces_is_put_together() {
    let settings = LongConnection {
        client: quick(),
        fragment_bytes: 37,
        fragment_order: FragmentOrder::Shuffled,
        ..LongConnection::default()
    };
    let mut stage = set(Options::default(), settings).await;
    stage.start(&[]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let text = "分片🧩".repeat(40);
    let question = stage.sim.says("ann", &chat, &text).unwrap();
    assert!(stage.answer(&question).await.contains(&text));
    assert_eq!(stage.sim.pushes_of(&question).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_over_a_long_connection_is_answered() {
    let stage = connected().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let button = json!({"tag": "button", "name": "approve", "value": {"act": "approve"}});
    let outcome = stage.sim.press(CardPress::new("ann", &group, button)).await.unwrap();
    assert_eq!(outcome.client_error, 0, "{outcome:?}");
    let (_, said) = outcome.toast.unwrap();
    assert!(said.starts_with("This button is not valid any more."), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_a_connection_ends_no_message_is_lost_or_answered_twice() {
    let stage = connected().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for (number, action) in
        [FaultAction::Drop, FaultAction::DropAfter, FaultAction::Socket { how: SocketFault::Close }]
            .into_iter()
            .enumerate()
    {
        let before = device(&stage);
        stage.sim.fault(FaultRule::next(Endpoint::Event, 1, action));
        let question = stage.sim.says("ann", &chat, &format!("question {number}")).unwrap();
        reconnected(&stage, &before).await;
        stage.sim.advance(Duration::from_secs(15));
        assert!(stage.answer(&question).await.contains(&format!("question {number}")));
        assert_eq!(stage.answers(&question).await.len(), 1);
    }
    for how in [Break::Close, Break::Abort] {
        let before = device(&stage);
        assert_eq!(stage.sim.break_connections(None, how), 1);
        reconnected(&stage, &before).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_breaks_loses_nothing_and_doubles_nothing() {
    let stage = connected().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let mut questions = Vec::new();
    for number in 0..12 {
        let before = device(&stage);
        questions.push(stage.sim.says("ann", &chat, &format!("question {number}")).unwrap());
        let how = if number % 2 == 0 { Break::Abort } else { Break::Close };
        stage.sim.break_connections(None, how);
        reconnected(&stage, &before).await;
    }
    // What was not acknowledged comes again.
    stage.sim.advance(Duration::from_secs(15));
    stage.sim.advance(Duration::from_secs(5 * 60));
    for (number, question) in questions.iter().enumerate() {
        assert!(stage.answer(question).await.contains(&format!("question {number}")));
        assert_eq!(stage.answers(question).await.len(), 1, "question {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_sent_while_the_daemon_is_away_comes_after_its_start() {
    let mut stage = connected().await;
    assert!(stage.terminate().await.success());
    until("the goodbye", || stage.sim.connections().is_empty()).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "anybody there?").unwrap();
    until("a failed push", || !stage.sim.pushes_of(&question).is_empty()).await;
    stage.start(&[]).await;
    stage.sim.advance(Duration::from_secs(15));
    assert!(stage.answer(&question).await.contains("anybody there?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_credentials_are_told_by_readiness_and_end_no_daemon() {
    let settings = LongConnection { client: quick(), ..LongConnection::default() };
    let mut stage = set(Options::default(), settings).await;
    let code = 1_000_040_345;
    let action = FaultAction::Refuse { status: 200, code, reset_s: None };
    stage.sim.fault(FaultRule::by_chance(Endpoint::Discovery, 1000, action));
    stage.launch(&[]);
    let words = "bot assistant: no long connection since ";
    let told = said(&stage, words).await;
    let reason = "the credentials are refused: the app secret is wrong (code 1000040345";
    assert!(told.contains(reason), "{told}");
    assert!(stage.terminate().await.success(), "it waits for the next try, and stops at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_secret_a_bot_of_a_long_connection_does_not_start_and_check_says_so() {
    let stage = set(Options::default(), LongConnection::default()).await;
    let check = stage.cli(&["check"]);
    let printed = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success(), "the keys of the webhook are not missed: {printed}");
    stage.edit_bot("app_secret = \"env:APP_SECRET\"", "app_secret = \"env:NOT_SET\"");
    let check = stage.cli(&["check"]);
    let printed = [check.stdout, check.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(!check.status.success() && printed.contains("lark.app_secret"), "{printed}");
}
