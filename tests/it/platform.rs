//! The platform's faults on the way out: one visible answer all the same.

use larkspur::playground::{
    CallRecord, Endpoint, FaultAction, FaultRule, OwnReactions, RateLimits, UuidRepeat,
};

use crate::llm_script::Mode;
use crate::stage::{PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, text};

fn refuse(status: u16, code: i64) -> FaultAction {
    FaultAction::Refuse { status, code, reset_s: None }
}

fn failed(stage: &Stage, endpoint: Endpoint) -> usize {
    stage.sim.calls(endpoint).iter().filter(|call| call.fault).count()
}

/// The fault strikes replies twice; the answer is seen once and its verdict is `answered`.
async fn survives(action: FaultAction) {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 2, action.clone()));
    let question = stage.sim.says("ann", &chat, "through?").unwrap();
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines, ["answer to: through?", "answer to: the last question"], "{action:?}");
    assert_eq!(failed(&stage, Endpoint::Reply), 2, "{action:?}");
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), 4, "{action:?}");
    let why = stage.why(&question);
    let ids = why["message_ids"].as_array().unwrap();
    assert_eq!(ids.len(), 1);
    assert_eq!(ids[0], stage.sim.answers_to(&question)[0].message_id.as_str());
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_without_and_with_headers_is_waited_out() {
    survives(refuse(429, 99_991_400)).await;
    survives(FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(1) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_that_the_platform_asks_for_is_kept() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let action = FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(2) };
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
    let question = stage.sim.says("ann", &chat, "patient?").unwrap();
    stage.verdict(&question, "answered").await;
    let calls = stage.sim.calls(Endpoint::Reply);
    assert_eq!(calls.len(), 2);
    assert!(calls[1].at_ms - calls[0].at_ms >= 2000, "{calls:?}");
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}

/// The reference list of cases calls 230020 "target gone"; the protocol page says that it is a
/// rate limit, and the protocol page is right.
#[tokio::test(flavor = "multi_thread")]
async fn rate_limits_in_the_body_are_waited_out() {
    survives(refuse(400, 99_991_400)).await;
    survives(refuse(400, 230_020)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_error_is_tried_again() {
    survives(refuse(500, 0)).await;
    survives(refuse(503, 2200)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_or_after_the_work_gives_one_message() {
    survives(FaultAction::Drop).await;
    survives(FaultAction::DropAfter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_makes_no_sense_gives_one_message() {
    for body in ["<html>bad gateway</html>", "", "{\"code\":0}", "[]", "{\"code\":0,\"data\":{}}"] {
        survives(FaultAction::Garble { status: 200, body: body.to_owned() }).await;
    }
    survives(FaultAction::Garble { status: 502, body: "<html>".to_owned() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_platform_gives_one_message() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for action in [FaultAction::Delay { ms: 800 }, FaultAction::Slow { ms: 800 }] {
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
        let question = stage.sim.says("ann", &chat, "slow?").unwrap();
        stage.verdict(&question, "answered").await;
    }
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), 2);
}

/// The platform takes longer than the client waits: the try is in doubt, and the next ones meet
/// their own `uuid` in flight (230049).
#[tokio::test(flavor = "multi_thread")]
async fn a_platform_slower_than_the_client_waits_gives_one_message() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, FaultAction::Slow { ms: 11_500 }));
    let question = stage.sim.says("ann", &chat, "very slow?").unwrap();
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    let codes: Vec<i64> =
        stage.sim.calls(Endpoint::Reply).iter().map(|call: &CallRecord| call.code).collect();
    assert!(codes.contains(&230_049), "{codes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_the_platform_works_gives_one_message() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, FaultAction::Slow { ms: 1500 }));
    let question = stage.sim.says("ann", &chat, "in flight?").unwrap();
    let flying = || !stage.log().is_empty() && stage.model.requests().len() == 1;
    crate::talk::until("the reply is on its way", flying).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    stage.kill();
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
}

/// Where the platform answers the repetition of a `uuid` with an error, the daemon looks whether
/// the first try arrived.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_uuid_that_is_an_error_is_found_in_the_chat() {
    let stage = Stage::new().await;
    stage.sim.switch(|switches| switches.uuid_repeat = UuidRepeat::Error);
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, FaultAction::DropAfter));
    let question = stage.sim.says("ann", &chat, "doubtful?").unwrap();
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    let why = stage.why(&question);
    assert_eq!(why["message_ids"][0], stage.sim.answers_to(&question)[0].message_id.as_str());
    assert!(text(&why, "reason").contains("found in the chat"), "{why}");
}

/// Where the chat cannot be read either, nobody knows: it must not say that it did not arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_uuid_that_is_an_error_is_in_doubt_where_nobody_can_look() {
    let stage = Stage::new().await;
    stage.sim.switch(|switches| switches.uuid_repeat = UuidRepeat::Error);
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, FaultAction::DropAfter));
    stage.sim.fault(FaultRule::next(Endpoint::List, 1, refuse(400, 230_027)));
    let question = stage.sim.says("ann", &chat, "doubtful?").unwrap();
    stage.verdict(&question, "in_doubt").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
    let why = stage.why(&question);
    let reason = text(&why, "reason");
    assert!(reason.contains("230001") && reason.contains("230027"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_costs_one_refresh_and_one_repetition() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.model.set_mode(Mode::script([late(500, "with a new token")]));
    // Without a sign the reply is the only call that can meet the revoked token.
    stage.sim.fault(FaultRule::next(Endpoint::React, 1, refuse(400, 231_003)));
    let question = stage.sim.says("ann", &chat, "token?").unwrap();
    asked(&stage, 1).await;
    crate::talk::until("the sign stands", || !stage.sim.calls(Endpoint::React).is_empty()).await;
    let tokens = stage.sim.calls(Endpoint::Token).len();
    stage.sim.revoke_tokens();
    stage.verdict(&question, "answered").await;
    assert_eq!(stage.answer(&question).await, "with a new token");
    assert_eq!(stage.sim.calls(Endpoint::Token).len(), tokens + 1);
    let codes: Vec<i64> = stage.sim.calls(Endpoint::Reply).iter().map(|call| call.code).collect();
    assert_eq!(codes, [99_991_663, 0]);
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_stays_refused_ends_after_one_repetition() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let rule =
        FaultRule { times: None, ..FaultRule::next(Endpoint::Reply, 1, refuse(400, 99_991_663)) };
    stage.sim.fault(rule);
    let question = stage.sim.says("ann", &chat, "token?").unwrap();
    stage.verdict(&question, "failed").await;
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), 2);
    assert!(text(&stage.why(&question), "reason").contains("99991663"));
    assert!(bot_lines(&stage, &chat).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_was_removed_gives_up_at_once_and_says_the_code() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    stage.model.set_mode(Mode::script([late(400, "too late")]));
    let question = stage.sim.asks("ann", &group, "still here?").unwrap();
    asked(&stage, 1).await;
    stage.sim.change_chat(&group, |chat| chat.bots.clear()).unwrap();
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    assert!(text(&why, "reason").contains("230002"), "{why}");
    assert_eq!(why["message_ids"].as_array().unwrap().len(), 0);
    let calls = stage.sim.calls(Endpoint::Reply);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(bot_lines(&stage, &group).is_empty());
    // Others are served on.
    let chat = stage.sim.p2p("ben").chat_id;
    barrier(&stage, "ben", &chat).await;
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_for_good_are_tried_once() {
    let stage = Stage::new().await;
    for (number, code) in [230_013, 230_035, 232_009, 99_991_672].into_iter().enumerate() {
        let chat = stage.sim.p2p(&format!("user{number}")).chat_id;
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, refuse(400, code)));
        let question = stage.sim.says(&format!("user{number}"), &chat, "no?").unwrap();
        stage.verdict(&question, "failed").await;
        assert!(text(&stage.why(&question), "reason").contains(&code.to_string()));
        assert_eq!(stage.sim.calls(Endpoint::Reply).len(), number + 1);
        assert!(bot_lines(&stage, &chat).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_chat_that_waits_for_the_platform_does_not_hold_up_another() {
    let stage = Stage::new().await;
    let (slow, quick) = (stage.sim.p2p("ann").chat_id, stage.sim.p2p("ben").chat_id);
    // The limit of a chat, which says nothing about others.
    let action = FaultAction::Refuse { status: 400, code: 230_020, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
    let first = stage.sim.says("ann", &slow, "slow").unwrap();
    crate::talk::until("the fault struck", || failed(&stage, Endpoint::Reply) == 1).await;
    let second = stage.sim.says("ben", &quick, "quick").unwrap();
    for question in [&second, &first] {
        stage.verdict(question, "answered").await;
    }
    let calls = stage.sim.calls(Endpoint::Reply);
    let answered = |question: &str| {
        calls.iter().position(|call| call.code == 0 && call.path.contains(question)).unwrap()
    };
    assert!(answered(&second) < answered(&first), "the quick one is answered first: {calls:?}");
    assert_eq!((bot_lines(&stage, &slow).len(), bot_lines(&stage, &quick).len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_limits_of_the_platform_are_not_even_met() {
    let stage = Stage::new().await;
    stage.sim.switch(|switches| switches.rate_limits = RateLimits::On);
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let questions: Vec<String> = (0..14)
        .map(|number| stage.sim.asks("ann", &group, &format!("number {number}")).unwrap())
        .collect();
    for question in &questions {
        stage.verdict(question, "answered").await;
    }
    let expected: Vec<String> =
        (0..14).map(|number| format!("answer to: number {number}")).collect();
    assert_eq!(bot_lines(&stage, &group), expected);
    let refused = stage.sim.calls(Endpoint::Reply).iter().filter(|call| call.code != 0).count();
    assert_eq!(refused, 0, "the daemon is faster than it may be");
}

#[tokio::test(flavor = "multi_thread")]
async fn being_told_of_its_own_signs_changes_nothing() {
    let stage = Stage::new().await;
    stage.sim.switch(|switches| switches.own_reactions = OwnReactions::Pushed);
    stage.model.set_mode(Mode::script([late(300, "done")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    stage.verdict(&question, "answered").await;
    let unreacted = || stage.sim.calls(Endpoint::Unreact).len() == 1;
    crate::talk::until("the sign is gone", unreacted).await;
    assert!(stage.sim.pushed(PATIENCE).await);
    let told = stage.sim.pushes();
    assert!(told.len() >= 3 && told.iter().all(|push| push.status == Some(200)), "{told:?}");
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["done"]);
}
