use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::{SessionKey, UserId};
use crate::tools::port::{Tool, ToolOutput};

/// A folder with a little of everything.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("README.md", b"# Project\n");
    write("src/main.rs", b"fn main() {\n    println!(\"Hello\");\n}\n");
    write("src/lib.rs", "pub fn 问候() {}\n// TODO: greet\npub fn later() {}\n".as_bytes());
    write("src/deep/er/est.rs", b"// TODO: later\n");
    write("target/out.rs", b"// TODO: never seen\n");
    write(".gitignore", b"target/\n");
    write(".env", b"TOKEN=TODO\n");
    write(".env.example", b"TOKEN=\n");
    write(".git/config", b"[remote]\n");
    write("deploy/server.key", b"TODO\n");
    write("logo.bin", b"TODO\0\x01\x02\n");
    folder
}

fn context(chars: usize) -> ToolContext {
    ToolContext {
        session: SessionKey::new("s"),
        sender: UserId::new("u"),
        cancel: CancellationToken::new(),
        output_chars_max: chars,
    }
}

struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    fn over(folder: &TempDir) -> Self {
        let workspace = Workspace::open(folder.path(), &[folder.path().join("own")]).unwrap();
        let tasks = TaskSet::new("test", CancellationToken::new());
        Self(vec![
            Arc::new(ListFiles::new(workspace.clone(), tasks.clone())),
            Arc::new(ReadFile::new(workspace.clone(), tasks.clone())),
            Arc::new(SearchCode::new(workspace, tasks)),
        ])
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.within(name, arguments, &context(6000)).await
    }

    async fn within(
        &self,
        name: &str,
        arguments: Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.0.iter().find(|tool| tool.name() == name).unwrap();
        tool.execute(&arguments, context).await
    }

    async fn text(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap().text
    }

    async fn refusal(&self, name: &str, arguments: Value) -> (ToolErrorCode, String) {
        let error = self.call(name, arguments).await.unwrap_err();
        (error.code, error.text)
    }
}

#[tokio::test]
async fn files_are_listed_in_order_without_what_is_ignored_or_never_shown() {
    let folder = project();
    let tools = Tools::over(&folder);
    let listed = tools.text("list_files", json!({})).await;
    let expected = ".env.example\n.gitignore\nREADME.md\ndeploy/\nlogo.bin\nsrc/\nsrc/deep/\n\
                    src/lib.rs\nsrc/main.rs";
    assert_eq!(listed, expected);
    let found = tools.text("list_files", json!({"glob": "*.rs"})).await;
    assert_eq!(found, "src/deep/er/est.rs\nsrc/lib.rs\nsrc/main.rs");
    let below = tools.text("list_files", json!({"directory": "src/deep", "depth": 1})).await;
    assert_eq!(below, "src/deep/er/");
    let nothing = tools.call("list_files", json!({"glob": "*.go"})).await.unwrap();
    assert!(!nothing.is_news && nothing.text.contains("nothing that fits"), "{nothing:?}");
}

#[tokio::test]
async fn a_file_is_read_with_numbers_and_as_far_as_there_is_room() {
    let folder = project();
    let tools = Tools::over(&folder);
    let read = tools.call("read_file", json!({"file_path": "src/lib.rs"})).await.unwrap();
    let expected = "    1 | pub fn 问候() {}\n    2 | // TODO: greet\n    3 | pub fn later() {}";
    assert_eq!((read.text.as_str(), read.is_news), (expected, true));
    assert_eq!(read.sources, ["src/lib.rs", "src/lib.rs:1"]);
    let part = json!({"file_path": "src/lib.rs", "start_line": 2, "end_line": 2});
    assert_eq!(tools.text("read_file", part).await, "    2 | // TODO: greet");
    let long: Vec<String> = (1..=1000).map(|number| format!("line {number}")).collect();
    fs::write(folder.path().join("long.txt"), long.join("\n")).unwrap();
    let context = context(300);
    let read =
        tools.within("read_file", json!({"file_path": "long.txt"}), &context).await.unwrap().text;
    assert!(read.chars().count() <= 300, "{}", read.len());
    assert!(read.ends_with("more lines; go on with start_line 15 of 1000]"), "{read}");
    let beyond = json!({"file_path": "long.txt", "start_line": 2000});
    assert_eq!(tools.refusal("read_file", beyond).await.1, "`long.txt` has only 1000 lines");
    let wide = format!("{}\nnext\n", "x".repeat(200_000));
    fs::write(folder.path().join("wide.txt"), wide).unwrap();
    let read = tools.text("read_file", json!({"file_path": "wide.txt"})).await;
    assert!(read.contains("[line cut]") && read.ends_with("    2 | next"), "{}", read.len());
}

#[tokio::test]
async fn words_and_patterns_are_found_with_their_places() {
    let folder = project();
    let tools = Tools::over(&folder);
    let found = tools.call("search_code", json!({"patterns": ["todo", "问候"]})).await.unwrap();
    let expected = "[3 lines in 2 files]\nsrc/deep/er/est.rs:1: // TODO: later\n\
                    src/lib.rs:1: pub fn 问候() {}\nsrc/lib.rs:2: // TODO: greet";
    assert_eq!(found.text, expected);
    assert_eq!(found.sources, ["src/deep/er/est.rs:1", "src/lib.rs:1", "src/lib.rs:2"]);
    let pattern = json!({
        "patterns": ["fn \\w+\\(\\)"], "is_regex": true, "glob": "main.rs", "context_lines": 1,
    });
    assert_eq!(
        tools.text("search_code", pattern).await,
        "[1 lines in 1 files]\nsrc/main.rs:1: fn main() {\nsrc/main.rs-2-     println!(\"Hello\");"
    );
    let exact = json!({"patterns": ["todo"], "case_sensitive": true});
    let nothing = tools.call("search_code", exact).await.unwrap();
    assert_eq!((nothing.text.as_str(), nothing.is_news), ("[no line fits]", false));
    let literal = json!({"patterns": ["main() {"]});
    assert!(tools.text("search_code", literal).await.contains("src/main.rs:1"));
    let few = json!({"patterns": ["o"], "max_matches": 2});
    assert!(tools.text("search_code", few).await.contains("; 2 are shown]"));
    let wrong = tools.refusal("search_code", json!({"patterns": ["("], "is_regex": true})).await;
    assert_eq!(wrong.0, ToolErrorCode::InvalidArguments);
}

#[tokio::test]
async fn nothing_outside_and_nothing_secret_is_ever_shown() {
    let folder = project();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "TODO outside").unwrap();
    let here = |name: &str| folder.path().join(name);
    symlink(outside.path().join("secret.txt"), here("link.txt")).unwrap();
    symlink(outside.path(), here("linked")).unwrap();
    symlink(here(".env"), here("harmless.txt")).unwrap();
    fs::create_dir(here("own")).unwrap();
    fs::write(here("own/bot.toml"), "TODO own").unwrap();
    let tools = Tools::over(&folder);
    let full = outside.path().join("secret.txt");
    let refused = [
        "../secret.txt",
        "src/../../secret.txt",
        full.to_str().unwrap(),
        "/etc/passwd",
        "link.txt",
        "linked/secret.txt",
        "harmless.txt",
        ".env",
        ".ENV",
        ".git/config",
        "deploy/server.key",
        "own/bot.toml",
        "a\0b",
        "",
        "src",
        "no/such/file",
    ];
    for path in refused {
        let arguments = json!({"file_path": path});
        let (code, text) = tools.refusal("read_file", arguments).await;
        assert!(!text.contains("TODO") && !text.contains("root:"), "{path}: {code:?} {text}");
    }
    for directory in ["..", "linked", ".git", "own", "/"] {
        tools.refusal("list_files", json!({"directory": directory})).await;
        tools.refusal("search_code", json!({"directory": directory, "patterns": ["x"]})).await;
    }
    let found = tools.text("search_code", json!({"patterns": ["TODO"]})).await;
    for path in [".env", "server.key", "link", "own/", "outside", "target", "logo.bin"] {
        assert!(!found.contains(path), "{path}: {found}");
    }
    assert_eq!(
        tools.text("read_file", json!({"file_path": ".env.example"})).await,
        "    1 | TOKEN="
    );
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_and_never_waited_for() {
    let folder = project();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let tools = Tools::over(&folder);
    let (_, text) = tools.refusal("read_file", json!({"file_path": "pipe"})).await;
    assert_eq!(text, "`pipe` is no file");
    assert!(
        tools.refusal("read_file", json!({"file_path": "logo.bin"})).await.1.contains("binary")
    );
    let (_, text) = tools.refusal("read_file", json!({"file_path": "src"})).await;
    assert!(text.contains("list_files"), "{text}");
    let found = tools.text("search_code", json!({"patterns": ["TODO"]})).await;
    assert!(found.contains("2 files"), "{found}");
    fs::write(folder.path().join("empty"), "").unwrap();
    let empty = tools.call("read_file", json!({"file_path": "empty"})).await.unwrap();
    assert!(!empty.is_news, "{empty:?}");
    let latin = b"caf\xe9 TODO\r\n";
    fs::write(folder.path().join("latin.txt"), latin).unwrap();
    let read = tools.text("read_file", json!({"file_path": "latin.txt"})).await;
    assert_eq!(read, "    1 | caf\u{fffd} TODO");
}

#[tokio::test]
async fn a_stopped_run_stops_a_search_and_nobody_waits_for_a_huge_pattern() {
    let folder = project();
    let tools = Tools::over(&folder);
    let stopped = context(6000);
    stopped.cancel.cancel();
    let search = tools.within("search_code", json!({"patterns": ["x"]}), &stopped);
    assert_eq!(search.await.unwrap_err().code, ToolErrorCode::Cancelled);
    let huge = json!({"patterns": ["(a{1000}){1000}"], "is_regex": true});
    assert_eq!(tools.refusal("search_code", huge).await.0, ToolErrorCode::InvalidArguments);
    fs::write(folder.path().join("aaa.txt"), "a".repeat(50_000)).unwrap();
    let slow_elsewhere = json!({"patterns": ["(a+)+$b", "(a|aa)+c"], "is_regex": true});
    assert!(tools.text("search_code", slow_elsewhere).await.contains("no line fits"));
}

#[test]
fn a_workspace_that_is_no_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(Workspace::open(&file, &[]).is_err());
    assert!(Workspace::open(&folder.path().join("none"), &[PathBuf::from("/none")]).is_err());
}
