//! Turns that failed: what is kept of them, and doing them again.

use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::Value;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::{asked, barrier, bot_lines};

/// `larkspur events failed --json`.
pub(crate) fn failed_turns(stage: &Stage) -> Vec<Value> {
    let output = stage.cli(&["events", "failed", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    list["events"].as_array().unwrap().clone()
}

/// `larkspur events replay ID --json`.
pub(crate) fn replay(stage: &Stage, id: &str) -> Value {
    let output = stage.cli(&["events", "replay", id, "--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Somebody asks, and the model fails.
async fn fails(stage: &Stage, chat: &str, text: &str) -> String {
    stage.model.set_mode(Mode::Same(Turn::unauthorized()));
    let question = stage.sim.says("ann", chat, text).unwrap();
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    assert!(why["reason"].as_str().unwrap().starts_with("the model failed: "), "{why}");
    stage.model.set_mode(Mode::Echo);
    question
}

fn answers(stage: &Stage, chat: &str, text: &str) -> usize {
    let expected = format!("answer to: {text}");
    bot_lines(stage, chat).into_iter().filter(|line| *line == expected).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_at_once_do_a_failed_turn_again_once() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = fails(&stage, &chat, "again?").await;
    let id = failed_turns(&stage)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(stage.why(&id), stage.why(&question), "the number that people are told is known");
    let token = std::fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let url = stage.url(&format!("/admin/api/events/failed/{id}/replay"));
    let requests = (0..20).map(|_| async {
        let response = http().post(&url).bearer_auth(&token).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let body = larkspur::net::read_capped(response, 1 << 16).await.unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()
    });
    let told = futures_util::future::join_all(requests).await;
    let new = told.iter().filter(|answer| answer["new"] == true).count();
    assert_eq!(new, 1, "{told:?}");
    assert!(told.iter().all(|answer| answer["turn"] == told[0]["turn"]), "{told:?}");
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(answers(&stage, &chat, "again?"), 1);
    assert_eq!(stage.why(&question)["turn"], told[0]["turn"], "the newest counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_around_the_acceptance_of_a_replay_neither_loses_nor_doubles_it() {
    // The first passage is the question's own acceptance.
    for point in ["accept.before_commit", "accept.after_commit"] {
        let mut stage = Stage::set(Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", &format!("{point}:2"))]).await;
        let chat = stage.sim.p2p("ann").chat_id;
        let question = fails(&stage, &chat, "again?").await;
        let id = failed_turns(&stage)[0]["id"].as_str().unwrap().to_owned();
        let output = stage.cli(&["events", "replay", &id]);
        assert_eq!(output.status.code(), Some(75), "{point}: {output:?}");
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");

        stage.start(&[]).await;
        let told = replay(&stage, &id);
        let was_stored = point == "accept.after_commit";
        assert_eq!(told["replayed"][0]["new"], !was_stored, "{point}: {told}");
        stage.verdict(&question, "answered").await;
        barrier(&stage, "ann", &chat).await;
        assert_eq!(answers(&stage, &chat, "again?"), 1, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_fails_is_a_failed_turn_of_its_own() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = fails(&stage, &chat, "hopeless?").await;
    let first = failed_turns(&stage)[0]["id"].as_str().unwrap().to_owned();
    stage.model.set_mode(Mode::Same(Turn::unauthorized()));
    let second = replay(&stage, &first)["replayed"][0]["turn"].as_str().unwrap().to_owned();
    asked(&stage, 2).await;
    let both = async {
        while failed_turns(&stage).len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, both).await.unwrap();
    let listed = failed_turns(&stage);
    assert_eq!(listed[1]["id"], second.as_str());
    assert_eq!(listed[1]["content"], "hopeless?");
    stage.model.set_mode(Mode::Echo);
    let output = stage.cli(&["events", "replay", "--all", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["replayed"].as_array().unwrap().len(), 1, "only the last is open: {told}");
    stage.verdict(&question, "answered").await;
    assert_eq!(answers(&stage, &chat, "hopeless?"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_platform_refuses_can_be_asked_for_again() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let refusal = FaultAction::Refuse { status: 400, code: 230_002, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, refusal));
    let question = stage.sim.says("ann", &chat, "can you hear me?").unwrap();
    stage.verdict(&question, "failed").await;
    let failed = failed_turns(&stage);
    assert!(failed[0]["reason"].as_str().unwrap().contains("230002"), "{failed:?}");
    let told = stage.cli(&["events", "failed"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("can you hear me?") && told.contains(&chat), "{told}");
    replay(&stage, failed[0]["id"].as_str().unwrap());
    stage.verdict(&question, "answered").await;
    assert_eq!(answers(&stage, &chat, "can you hear me?"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_nobody_keeps_and_a_daemon_that_is_down_are_told_apart() {
    let mut stage = Stage::new().await;
    let nobody = "01890000-0000-7000-8000-000000000001";
    for id in [nobody, "om_1", "../why/om_1"] {
        let output = stage.cli(&["events", "replay", id]);
        assert_eq!(output.status.code(), Some(1), "{id}: {output:?}");
    }
    assert_eq!(stage.cli(&["events", "replay"]).status.code(), Some(64));
    assert_eq!(stage.cli(&["events", "replay", nobody, "--all"]).status.code(), Some(64));
    let output = stage.cli(&["events", "replay", "--all"]);
    assert_eq!(output.status.code(), Some(0), "nothing failed, nothing to do: {output:?}");
    for (path, code) in [
        ("/admin/api/events/failed", "unauthorized"),
        ("/admin/api/events/failed?after=x", "unauthorized"),
    ] {
        let (status, body) = stage.get(path).await.unwrap();
        assert_eq!(status, 401, "{path}");
        assert!(body.contains(code), "{body}");
    }
    stage.kill();
    assert_eq!(stage.cli(&["events", "failed"]).status.code(), Some(75));
    assert_eq!(stage.cli(&["events", "replay", nobody]).status.code(), Some(75));
}
