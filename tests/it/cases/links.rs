//! Component `transport`, the cases of the long connection that show from outside. Those that need
//! another clock stand beside the code.

use std::time::Duration;

use larkspur::playground::{Break, Endpoint, FaultAction, FaultRule, LongConnection};

use crate::long_connection::{connected, device, quick, reconnected, said, set};
use crate::stage::{Options, Stage};
use crate::talk::until;

async fn is_answered(stage: &Stage) {
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    assert!(stage.answer(&question).await.contains("hello"));
}

/// The connection is dead for ever after the budget of reconnects that the server gave.
#[tokio::test(flavor = "multi_thread")]
async fn p012_a_budget_of_one_reconnect_ends_nothing() {
    let stage = connected().await;
    let client = larkspur::playground::ClientConfig { reconnect_count: 1, ..quick() };
    let settings = LongConnection { client, ..LongConnection::default() };
    stage.sim.set_long_connection(&stage.sim.app_id(), settings).unwrap();
    let pings = || stage.sim.connections()[0].pings;
    let before = pings();
    until("two more pings", || pings() >= before + 2).await;
    let down = FaultAction::Refuse { status: 503, code: 0, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Discovery, 2, down));
    let before = device(&stage);
    stage.sim.break_connections(None, Break::Abort);
    said(&stage, "the long connection is down since").await;
    reconnected(&stage, &before).await;
    is_answered(&stage).await;
}

/// An endpoint that hangs kills the connection.
#[tokio::test(flavor = "multi_thread")]
async fn p013_an_endpoint_that_hangs_twice_is_waited_out() {
    let stage = connected().await;
    is_answered(&stage).await;
    let hangs = FaultAction::Delay { ms: 60_000 };
    stage.sim.fault(FaultRule::next(Endpoint::Discovery, 2, hangs));
    let before = device(&stage);
    stage.sim.break_connections(None, Break::Abort);
    let told = said(&stage, "no answer in time").await;
    assert!(told.contains("; the last event came at "), "{told}");
    reconnected(&stage, &before).await;
    is_answered(&stage).await;
}

/// A half-open socket is never noticed.
#[tokio::test(flavor = "multi_thread")]
async fn p014_a_platform_that_says_nothing_any_more_is_left_for_a_new_connection() {
    let stage = connected().await;
    let before = device(&stage);
    assert_eq!(stage.sim.break_connections(None, Break::Freeze), 1);
    reconnected(&stage, &before).await;
    is_answered(&stage).await;
}

/// What messages cause closes the connection.
#[tokio::test(flavor = "multi_thread")]
async fn p017_messages_share_one_connection() {
    let settings = LongConnection { client: quick(), ..LongConnection::default() };
    let mut stage = set(Options::default(), settings).await;
    stage.start(&[]).await;
    let before = device(&stage);
    for _ in 0..3 {
        is_answered(&stage).await;
    }
    stage.sim.advance(Duration::from_secs(60));
    assert_eq!(device(&stage), before);
    assert_eq!(stage.sim.calls(Endpoint::Discovery).len(), 1);
}
