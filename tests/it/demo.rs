//! `larkspur demo`: one command, and everything is there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use larkspur::net::read_capped;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::llm_script::{Format, Mode, ModelServer};
use crate::stage::{PATIENCE, http};

/// A demo that runs.
struct Demo {
    child: Child,
    /// The playground's address.
    url: String,
    knowledge: PathBuf,
    temporary: TempDir,
}

async fn json_of(response: reqwest::Response) -> Value {
    serde_json::from_slice(&read_capped(response, 1 << 20).await.unwrap()).unwrap()
}

fn command(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larkspur"));
    command.arg("demo").args(arguments).env_clear().env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Demo {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = command(temporary.path(), &["--listen", "127.0.0.1:0"]);
        let mut child = command.args(arguments).envs(environment.iter().copied()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = String::new();
        while !told.contains("Ctrl-C") {
            told.push_str(&lines.next().expect("it goes on").unwrap());
            told.push('\n');
        }
        let (_, behind) = told.split_once("http://").expect("an address");
        let (address, _) = behind.split_once('/').expect("with a slash behind");
        let url = format!("http://{address}");
        let line = told.lines().find(|line| line.contains("/knowledge")).expect("a folder");
        let path = line.split_whitespace().find(|word| word.contains("/knowledge")).unwrap();
        let (folder, _) = path.split_once("/knowledge").unwrap();
        let folder = folder.trim_start_matches("知识库：");
        let knowledge = Path::new(folder).join("knowledge");
        Self { child, url, knowledge, temporary }
    }

    async fn call(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}/sim/v1{path}", self.url);
        let response = http().post(url).json(body).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {response:?}");
        json_of(response).await
    }

    /// What the group `team` sees.
    async fn seen(&self) -> Vec<Value> {
        self.seen_in("team").await
    }

    async fn seen_in(&self, chat: &str) -> Vec<Value> {
        let url = format!("{}/sim/v1/chats/{chat}/messages", self.url);
        let seen = json_of(http().get(url).send().await.unwrap()).await;
        seen.as_array().unwrap().clone()
    }

    /// Asks in the group, and the answer's text.
    async fn ask(&self, user: &str, text: &str) -> String {
        let said = json!({"user": user, "chat": "team", "text": text, "mention_bot": true});
        let id = self.call("/say", &said).await["message_id"].clone();
        self.answer_to(&id).await
    }

    /// The text of the first answer to a message, once it is complete.
    async fn answer_to(&self, id: &Value) -> String {
        let answered = async {
            loop {
                let seen = self.seen().await;
                let answers = |message: &&Value| {
                    message["reply_to"] == *id && message["card"]["streaming"] != true
                };
                if let Some(answer) = seen.iter().find(answers) {
                    return answer["text"].as_str().unwrap().to_owned();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.expect("an answer")
    }

    /// Ends it as Ctrl-C does.
    fn end(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // The test is over; whether the process still ran is not its subject.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_answers_from_its_recipes_and_from_one_written_while_it_runs() {
    let mut demo = Demo::start(&["--locale", "zh-CN"], &[]);
    let answer = demo.ask("lin", "怎么备份数据？").await;
    assert!(answer.contains("在知识库中找到以下内容") && answer.contains("[backup-"), "{answer}");
    let word = format!("zq{:x}", std::process::id());
    let nothing = demo.ask("lin", &format!("{word} 是什么？")).await;
    assert!(nothing.contains("没有找到"), "{nothing}");
    let recipe = format!("---\nid: word\ntitle: {word}\n---\n{word} 是今天的暗号。\n");
    fs::write(demo.knowledge.join("word.md"), recipe).unwrap();
    let found = async {
        loop {
            let answer = demo.ask("ann", &format!("{word} 是什么？")).await;
            if answer.contains("今天的暗号") {
                return answer;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await.expect("the recipe is found");
    assert!(found.contains("[word]"), "{found}");
    assert!(demo.end().success());
    let left = fs::read_dir(demo.temporary.path()).unwrap().count();
    assert_eq!(left, 0, "a folder of its own goes with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_greets_the_group_once_and_its_questions_can_be_pressed() {
    let demo = Demo::start(&["--locale", "en-US"], &[]);
    let seen = demo.seen().await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    let welcome = seen[0]["text"].as_str().unwrap();
    assert!(welcome.contains("Hello") && welcome.contains("Why is the bot silent?"), "{welcome}");
    let card = seen[0]["message_id"].clone();
    let press = json!({"user": "lin", "message_id": card, "button": 1});
    let outcome = demo.call("/presses", &press).await;
    assert!(outcome.to_string().contains("Asked; the answer is on its way."), "{outcome}");
    let answer = demo.answer_to(&card).await;
    assert!(answer.starts_with("“How do I back up the data?”") && answer.contains("[backup-"));
    // A group that is made in the page is greeted like any other.
    let form = "me=ann&kind=group&name=second&member=lin";
    let made = http().post(format!("{}/web/chats", demo.url)).header("Origin", &demo.url);
    let made = made.header("Content-Type", "application/x-www-form-urlencoded").body(form);
    assert!(made.send().await.unwrap().status().is_success());
    let greeted = async {
        while demo.seen_in("second").await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, greeted).await.expect("a welcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_takes_the_model_whose_key_it_finds() {
    let model = ModelServer::start(Mode::Echo).await;
    let server = model.base_url_of(Format::Chat);
    let environment = [("OPENAI_API_KEY", "sk-demo"), ("OPENAI_BASE_URL", server.as_str())];
    let demo = Demo::start(&["--model", "scripted \"one\""], &environment);
    demo.ask("ann", "do you hear me?").await;
    let asked = model.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["model"], "scripted \"one\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_cannot_start_says_why_and_leaves_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let temporary = tempfile::tempdir().unwrap();
    let output = command(temporary.path(), &["--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    let file = temporary.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let dir = file.display().to_string();
    let output = command(temporary.path(), &["--dir", &dir, "--listen", "127.0.0.1:0"]).output();
    assert_eq!(output.unwrap().status.code(), Some(74));
    let outside = command(temporary.path(), &["--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(outside.status.code(), Some(1), "the playground is for this machine alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_named_stays_with_what_was_written_into_it() {
    let kept = tempfile::tempdir().unwrap();
    let dir = kept.path().display().to_string();
    let mut demo = Demo::start(&["--dir", &dir], &[]);
    let recipe = "---\nid: backup-data-folder\ntitle: Ours\n---\nOur own way of saving zqx.\n";
    fs::write(demo.knowledge.join("backup-data-folder.md"), recipe).unwrap();
    assert!(demo.end().success());
    let again = Demo::start(&["--dir", &dir], &[]);
    assert!(again.ask("ann", "zqx?").await.contains("Our own way"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_touches_nobodys_configuration_and_no_other_settings() {
    let kept = tempfile::tempdir().unwrap();
    fs::create_dir(kept.path().join("bots")).unwrap();
    fs::write(kept.path().join("bots/assistant.toml"), "name = \"assistant\"").unwrap();
    let dir = kept.path().display().to_string();
    let temporary = tempfile::tempdir().unwrap();
    let words = ["--dir", &dir, "--listen", "127.0.0.1:0"];
    let output = command(temporary.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("bots/assistant.toml is there"), "{said}");
    let text = fs::read_to_string(kept.path().join("bots/assistant.toml")).unwrap();
    assert_eq!(text, "name = \"assistant\"");
    assert!(!kept.path().join("secrets").exists() && !kept.path().join("config").exists());
    for name in ["data", "secrets"] {
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join(name)).unwrap();
        fs::write(other.path().join(name).join("app-secret"), "mine").unwrap();
        let dir = other.path().display().to_string();
        let output =
            command(temporary.path(), &["--dir", &dir, "--listen", "127.0.0.1:0"]).output();
        assert_eq!(output.unwrap().status.code(), Some(74), "{name}");
        let kept = fs::read_to_string(other.path().join(name).join("app-secret")).unwrap();
        assert_eq!(kept, "mine");
    }
    let data = temporary.path().join("elsewhere").display().to_string();
    let mut demo = Demo::start(&[], &[("LARKSPUR__DATA_DIR", &data)]);
    assert!(demo.end().success());
    assert!(!Path::new(&data).exists(), "its own folder alone");
}
