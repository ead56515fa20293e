//! The way of a message, as operators and the playground's web chat read it.

use std::fs;

use larkspur::net::read_capped;
use serde_json::Value;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, Stage, http};
use crate::talk::told_closed;

/// `GET /admin/api/path/ID`.
async fn path(stage: &Stage, message: &str) -> Value {
    let token = fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let url = stage.url(&format!("/admin/api/path/{message}"));
    let response = http().get(url).bearer_auth(token.trim()).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    serde_json::from_slice(&read_capped(response, 1 << 20).await.unwrap()).unwrap()
}

fn kinds(path: &Value) -> Vec<&str> {
    let steps = path["steps"].as_array().unwrap();
    steps.iter().map(|step| step["kind"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_of_a_message_is_told_step_by_step_and_without_its_words() {
    let search = Turn::call("search_knowledge", &serde_json::json!({"query": "deployment"}));
    let turns = [search, Turn::text("Tuesdays it is.")];
    let options = Options { model: Some(Mode::script(turns)), ..Options::default() };
    let stage = Stage::with(options).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "when does deployment happen?").unwrap();
    let answer = stage.answers(&question).await.remove(0);
    told_closed(&stage, &question).await;
    let told = path(&stage, &question).await;
    assert_eq!(
        (told["verdict"].as_str(), told["message"].as_str()),
        (Some("answered"), Some(question.as_str()))
    );
    let expected = ["accepted", "begun", "model", "decision", "tool", "model", "send", "closed"];
    let mut kinds = kinds(&told);
    // A decision is written with the reply that led to it: both may have one time.
    if kinds[2] == "decision" {
        kinds.swap(2, 3);
    }
    assert_eq!(kinds, expected, "{told}");
    let times: Vec<u64> =
        told["steps"].as_array().unwrap().iter().map(|step| step["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{told}");
    let text = told.to_string();
    assert!(text.contains("allow search_knowledge") && text.contains(&answer.message_id), "{text}");
    assert!(!text.contains("Tuesdays") && !text.contains("deployment"), "{text}");
    let of_answer = path(&stage, &answer.message_id).await;
    assert_eq!(of_answer["steps"], told["steps"], "an answer's way is its question's");
    assert_eq!(of_answer["began_with"], question.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_started_no_work_and_what_never_came_have_a_way_too() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let unasked = stage.sim.says("ann", &group, "nobody is meant").unwrap();
    stage.verdict(&unasked, "not_mentioned").await;
    let told = path(&stage, &unasked).await;
    assert_eq!((kinds(&told), told["verdict"].as_str()), (vec!["note"], Some("not_mentioned")));
    let never = path(&stage, "om_never").await;
    assert_eq!((kinds(&never).len(), never["verdict"].as_str()), (0, Some("never_received")));
    let refused = stage.get("/admin/api/path/om_never").await.unwrap();
    assert_eq!(refused.0, 401, "it is for operators");
}
