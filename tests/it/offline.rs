//! A bot without a model, and one question in the terminal.

use std::time::Duration;

use serde_json::Value;

use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::bot_lines;

fn no_model() -> Options {
    Options { model: None, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_bot_answers_from_the_knowledge_in_both_languages() {
    let stage = Stage::with(no_model()).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let english = stage.sim.says("ann", &chat, "how do we deploy?").unwrap();
    let answer = stage.answer(&english).await;
    assert!(answer.contains("The knowledge base has this") && answer.contains("[deploy]"));
    assert!(answer.contains("Tuesdays"), "{answer}");
    let chinese = stage.sim.says("ann", &chat, "部署流程是什么？").unwrap();
    let answer = stage.answer(&chinese).await;
    assert!(answer.contains("在知识库中找到以下内容") && answer.contains("[deploy]"), "{answer}");
    for question in [&english, &chinese] {
        stage.verdict(question, "answered").await;
    }
    assert!(stage.model.requests().is_empty());
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_bot_says_so_when_it_finds_nothing() {
    let stage = Stage::with(no_model()).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let english = stage.sim.says("ann", &chat, "quantum chromodynamics").unwrap();
    let answer = stage.answer(&english).await;
    assert_eq!(answer, "The knowledge base has nothing about “quantum chromodynamics”.");
    let chinese = stage.sim.says("ann", &chat, "今天天气").unwrap();
    assert_eq!(stage.answer(&chinese).await, "知识库里没有找到与“今天天气”相关的内容。");
    let status = stage.sim.says("ann", &chat, "/status").unwrap();
    assert!(stage.answer(&status).await.contains("model offline"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_bot_finds_what_is_written_later() {
    let stage = Stage::with(no_model()).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let before = stage.sim.says("ann", &chat, "espresso").unwrap();
    assert!(stage.answer(&before).await.contains("nothing about"));
    let recipe = "---\nid: coffee\ntitle: Coffee\n---\nThe espresso machine is on floor three.\n";
    std::fs::write(stage.path("knowledge/coffee.md"), recipe).unwrap();
    until_answered_with(&stage, &chat, "[coffee]").await;
    std::fs::remove_file(stage.path("knowledge/coffee.md")).unwrap();
    until_answered_with(&stage, &chat, "nothing about").await;
}

/// Asks for espresso again and again: the files are looked at about once a second.
async fn until_answered_with(stage: &Stage, chat: &str, words: &str) {
    let search = async {
        loop {
            let question = stage.sim.says("ann", chat, "espresso").unwrap();
            if stage.answer(&question).await.contains(words) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, search).await.is_ok();
    assert!(in_time, "never answered with {words}: {:?}", bot_lines(stage, chat));
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_answers_in_the_terminal_without_a_daemon() {
    let stage = Stage::set(no_model()).await;
    let output = stage.cli(&["ask", "how do we", "deploy?"]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("[deploy]"));
    let output = stage.cli(&["ask", "--json", "部署流程"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["answer"].as_str().unwrap().contains("[deploy]"), "{answer}");
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(!complaint.contains("no bot in"), "{complaint}");
    let output = stage.cli(&["ask", "--bot", "nobody", "hello"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`nobody`"));
    std::fs::remove_dir_all(stage.path("bots")).unwrap();
    let alone = stage.cli(&["ask", "hello"]);
    assert!(String::from_utf8(alone.stderr).unwrap().contains("no bot in "));
    assert!(!stage.path("data").exists(), "asking leaves no trace");
    assert!(stage.sim.calls(larkspur::playground::Endpoint::Any).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_uses_the_model_and_runs_beside_the_daemon() {
    let stage = Stage::new().await;
    let output = stage.cli(&["ask", "hello there"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "answer to: hello there\n");
    assert_eq!(stage.model.requests().len(), 1);
    stage.model.assert_clean();
    let output = stage.cli(&["ask", "/version"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(env!("CARGO_PKG_VERSION")));
}
