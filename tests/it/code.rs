//! Questions about a team's code: the tools that read it, through the real loop.

use serde_json::json;

use crate::llm_script::{Mode, ToolCall, Turn};
use crate::stage::{Options, Stage};
use crate::talk::text;

/// A stage whose bot has a workspace with two files and a key in it.
async fn with_code() -> Stage {
    let options = Options { bot: "workspace = \"code\"".to_owned(), ..Options::default() };
    let mut stage = Stage::set(options).await;
    let write = |name: &str, text: &str| {
        let file = stage.path(&format!("code/{name}"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("src/pool.rs", "/// Connections.\npub fn pool_size() -> usize {\n    32\n}\n");
    write("README.md", "# Shop\n");
    write(".env", "TOKEN=hunter2\n");
    stage.start(&[]).await;
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_the_code_is_answered_from_its_files() {
    let stage = with_code().await;
    stage.model.set_mode(Mode::script([
        Turn::calls(vec![
            ToolCall::new("list_files", &json!({})),
            // By another name, as models do.
            ToolCall::new("grep", &json!({"query": "pool_size"})),
        ]),
        Turn::call("read_file", &json!({"path": "src/pool.rs", "start_line": "2", "to": 3})),
        Turn::text("32, says src/pool.rs:3."),
    ]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "how large is the pool?").unwrap();
    assert_eq!(stage.answer(&question).await, "32, says src/pool.rs:3.");
    let requests = stage.model.requests();
    let tools = ["search_knowledge", "get_recipe", "list_files", "read_file", "search_code"];
    assert_eq!(requests[0].tools(), tools);
    assert!(requests[0].system().contains("path:line"), "{}", requests[0].system());
    let first = requests[1].fresh_results();
    assert_eq!(first[0], "README.md\nsrc/\nsrc/pool.rs");
    assert_eq!(first[1], "[1 lines in 1 files]\nsrc/pool.rs:2: pub fn pool_size() -> usize {");
    let read = requests[2].fresh_results();
    assert_eq!(read[0], "    2 | pub fn pool_size() -> usize {\n    3 |     32");
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_must_not_read_is_refused_and_the_refusal_is_on_record() {
    let stage = with_code().await;
    std::fs::write(stage.path("outside.txt"), "hunter2").unwrap();
    let read = |path: &str| ToolCall::new("read_file", &json!({"file_path": path}));
    let full = stage.path("outside.txt");
    let paths = ["../outside.txt", full.to_str().unwrap(), ".env", "src/../../outside.txt"];
    let calls = paths.iter().map(|path| read(path)).collect();
    stage.model.set_mode(Mode::script([Turn::calls(calls), Turn::text("I may not.")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "what is the token?").unwrap();
    assert_eq!(stage.answer(&question).await, "I may not.");
    let results = stage.model.requests()[1].fresh_results();
    assert_eq!(results.len(), paths.len());
    for (path, result) in paths.iter().zip(&results) {
        assert!(result.contains("blocked_by_policy"), "{path}: {result}");
        assert!(!result.contains("hunter2"), "{path}: {result}");
    }
    assert!(!stage.log().contains("hunter2"));
    stage.verdict(&question, "answered").await;
    assert_eq!(text(&stage.why(&question), "verdict"), "answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_without_a_workspace_has_no_such_tools_and_one_that_is_missing_is_named() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.answer(&question).await;
    let requests = stage.model.requests();
    assert_eq!(requests[0].tools(), ["search_knowledge", "get_recipe"]);
    assert!(!requests[0].system().contains("path:line"));
    let options = Options { bot: "workspace = \"nowhere\"".to_owned(), ..Options::default() };
    let stage = Stage::set(options).await;
    let output = stage.command(&["check"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("workspace: there is no folder nowhere"), "{told}");
}
