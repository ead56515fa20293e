//! The whole system as a test sees it from outside: the real binary, the playground and the
//! scripted model over real sockets, in a folder of its own.
//!
//! Include it beside `llm_script`, which it starts:
//! `#[cfg(test)] #[path = "../support/stage.rs"] mod stage;`

#![expect(dead_code, reason = "each test target uses another part of this module")]

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use larkspur::base::SystemClock;
use larkspur::net::{HttpFactory, HttpSettings, read_capped};
use larkspur::playground::{Playground, SeenMessage, Settings, Switches};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::llm_script::{Format, Mode, ModelServer};

/// How long anything may take before a test gives up. Generous: a slow machine is no fault.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What differs from one test to the next.
pub(crate) struct Options {
    /// Lines added to the bot's file, before its tables.
    pub(crate) bot: String,
    /// Lines added to the main configuration.
    pub(crate) main: String,
    /// What the model does; `None`: the bot has no model.
    pub(crate) model: Option<Mode>,
    /// Whether the bot welcomes chats. Most tests count what it says and do without.
    pub(crate) welcome: bool,
    /// What the model speaks.
    pub(crate) format: Format,
    /// Lines added to the model's section.
    pub(crate) model_lines: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bot: String::new(),
            main: String::new(),
            model: Some(Mode::Echo),
            format: Format::Chat,
            model_lines: String::new(),
            welcome: false,
        }
    }
}

/// Everything of one test.
pub(crate) struct Stage {
    pub(crate) sim: Playground,
    pub(crate) model: ModelServer,
    root: TempDir,
    port: u16,
    daemon: Option<Child>,
    _cancel: tokio_util::sync::DropGuard,
}

impl Stage {
    /// The usual stage: a bot named `assistant` whose model echoes, and everybody may talk to it.
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    /// A stage whose daemon runs and is ready.
    pub(crate) async fn with(options: Options) -> Self {
        let mut stage = Self::set(options).await;
        stage.start(&[]).await;
        stage
    }

    /// A stage whose daemon does not run yet.
    pub(crate) async fn set(options: Options) -> Self {
        let cancel = CancellationToken::new();
        let clock = Arc::new(SystemClock::default());
        let sim = Playground::start(Settings::default(), cancel.clone(), clock).await.unwrap();
        let has_model = options.model.is_some();
        let model = ModelServer::start(options.model.clone().unwrap_or(Mode::Echo)).await;
        let root = tempfile::tempdir().unwrap();
        // Taken and given back: the address stays the same across restarts.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let stage = Self { sim, model, root, port, daemon: None, _cancel: cancel.drop_guard() };
        stage.write_files(&options, has_model);
        stage.sim.switch(|switches| *switches = Switches::in_position(position()));
        stage.sim.set_event_url(&stage.url("/lark/assistant/events"));
        stage
    }

    fn write_files(&self, options: &Options, has_model: bool) {
        let write = |name: &str, text: &str| {
            let file = self.root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let model = if has_model {
            format!(
                "[models.main]\nprovider = \"{}\"\nbase_url = \"{}\"\nmodel = \"scripted\"\n\
                 api_key = \"env:MODEL_KEY\"\nretry_wait = \"20ms\"\n{}\n",
                options.format.provider(),
                self.model.base_url_of(options.format),
                options.model_lines,
            )
        } else {
            String::new()
        };
        write(
            "config/larkspur.toml",
            &format!(
                "locale = \"en-US\"\n{}\n[server]\nlisten = \"127.0.0.1:{}\"\n{model}",
                options.main, self.port
            ),
        );
        let app = Settings::default().app;
        write(
            "bots/assistant.toml",
            &format!(
                "name = \"assistant\"\nknowledge = [\"knowledge\"]\nwelcome = {}\n{}\n{}\n[lark]\n\
                 app_id = \"{}\"\napp_secret = \"env:APP_SECRET\"\nencrypt_key = \"env:KEY\"\n\
                 verification_token = \"env:TOKEN\"\nbase_url = \"{}\"\n[access]\n\
                 users = [\"@tenant\"]\nchats = [\"*\"]\n",
                options.welcome,
                if has_model { "model = \"main\"" } else { "" },
                options.bot,
                app.app_id,
                self.sim.base_url(),
            ),
        );
        write(
            "knowledge/deploy.md",
            "---\nid: deploy\ntitle: 部署流程 Deployment\ntags: [release]\n---\n\
             部署前先跑测试,再执行 `make release`。Deploy on Tuesdays only.\n",
        );
    }

    /// Changes the bot's file; the daemon must not have started yet.
    pub(crate) fn edit_bot(&self, from: &str, to: &str) {
        let file = self.path("bots/assistant.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(file, text.replace(from, to)).unwrap();
    }

    /// A URL of the daemon.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A file or folder of the stage.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The binary with the stage's configuration and secrets.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let app = Settings::default().app;
        let mut command = Command::new(env!("CARGO_BIN_EXE_larkspur"));
        command
            .args(arguments)
            .arg("--config")
            .arg(self.path("config/larkspur.toml"))
            .env_clear()
            .env("APP_SECRET", app.app_secret)
            .env("KEY", app.encrypt_key)
            .env("TOKEN", app.verification_token)
            .env("MODEL_KEY", "sk-test");
        command
    }

    /// Runs a command of the binary to its end.
    pub(crate) fn cli(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        tokio::task::block_in_place(|| command.output().unwrap())
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) async fn start(&mut self, environment: &[(&str, &str)]) {
        self.launch(environment);
        let is_ready = self.is_ready().await;
        assert!(is_ready, "the daemon is not ready: {}", self.epitaph());
    }

    /// How the process ended, if it did, and what it logged.
    pub(crate) fn epitaph(&mut self) -> String {
        let status = self.daemon.as_mut().map(Child::try_wait);
        format!("{status:?}; {}", self.log())
    }

    /// Starts the daemon so that a file that cannot grow is an error for it and not its end, and
    /// waits until it is ready.
    pub(crate) async fn start_surviving_full_disks(&mut self) {
        let daemon = self.command(&["run"]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(daemon.get_program());
        command.args(daemon.get_args()).env_clear();
        command.envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.spawn(command, &[]);
        let is_ready = self.is_ready().await;
        assert!(is_ready, "the daemon is not ready: {}", self.epitaph());
    }

    /// Limits how large files of the running daemon may grow, as a full disk would; `None`: not.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let id = i32::try_from(self.daemon.as_ref().unwrap().id()).unwrap();
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Pid::from_raw(id), Resource::Fsize, limit).unwrap();
    }

    /// Starts the daemon and does not wait.
    pub(crate) fn launch(&mut self, environment: &[(&str, &str)]) {
        let command = self.command(&["run"]);
        self.spawn(command, environment);
    }

    fn spawn(&mut self, mut command: Command, environment: &[(&str, &str)]) {
        assert!(self.daemon.is_none(), "the daemon runs already");
        let log =
            fs::OpenOptions::new().create(true).append(true).open(self.path("daemon.log")).unwrap();
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.daemon = Some(child.unwrap());
    }

    /// Waits until the daemon says it is ready; `false` if it ended instead.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let ready = async {
            loop {
                if self.get("/readyz").await.is_some_and(|(status, _)| status == 200) {
                    return true;
                }
                if self.has_ended() {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.unwrap_or(false)
    }

    /// A GET; `None` if nobody answers.
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        let response = http().get(self.url(path)).send().await.ok()?;
        let status = response.status().as_u16();
        let body = read_capped(response, 1 << 20).await.ok()?;
        Some((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Whether the daemon's process has ended (killed at a fault point, say).
    pub(crate) fn has_ended(&mut self) -> bool {
        match self.daemon.as_mut() {
            Some(child) => child.try_wait().unwrap().is_some(),
            None => true,
        }
    }

    /// Waits for the process to end and forgets it; `None` if it does not end.
    pub(crate) async fn ended(&mut self, patience: Duration) -> Option<std::process::ExitStatus> {
        let ended = async {
            loop {
                if let Some(status) = self.daemon.as_mut().unwrap().try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let status = tokio::time::timeout(patience, ended).await.ok();
        if status.is_some() {
            self.daemon = None;
        }
        status
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let mut child = self.daemon.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM, and the status the daemon ends with.
    pub(crate) async fn terminate(&mut self) -> std::process::ExitStatus {
        self.signal("TERM");
        self.ended(PATIENCE).await.expect("the daemon drains and ends")
    }

    /// Sends a signal by its short name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.daemon.as_ref().unwrap().id().to_string();
        let signal = format!("-{name}");
        assert!(Command::new("kill").args([&signal, &id]).status().unwrap().success());
    }

    /// The process id of the daemon.
    pub(crate) fn process_id(&self) -> u32 {
        self.daemon.as_ref().unwrap().id()
    }

    /// Lowers how many files and sockets the daemon may have open.
    pub(crate) fn limit_open_files(&self, count: u32) {
        let id = self.process_id().to_string();
        let limit = format!("--nofile={count}");
        assert!(Command::new("prlimit").args(["--pid", &id, &limit]).status().unwrap().success());
    }

    /// What the daemon logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("daemon.log")).unwrap_or_default()
    }

    /// `larkspur why ID --json`.
    pub(crate) fn why(&self, message: &str) -> Value {
        let output = self.cli(&["why", message, "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until a message has its verdict.
    pub(crate) async fn verdict(&self, message: &str, expected: &str) {
        let mut last = Value::Null;
        let reached = async {
            loop {
                last = self.why(message);
                if last["verdict"] == expected {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, reached).await.is_ok();
        assert!(in_time, "{message}: expected {expected}, it is {last}; {}", self.log());
    }

    /// The answers a person sees to a message, once there is one.
    pub(crate) async fn answers(&self, message: &str) -> Vec<SeenMessage> {
        self.answers_of(message, 1).await
    }

    /// The answers a person sees to a message, once there are `count`.
    pub(crate) async fn answers_of(&self, message: &str, count: usize) -> Vec<SeenMessage> {
        let answers = self.sim.wait_for_answers(message, count, PATIENCE).await;
        assert!(answers.len() >= count, "{message} has no answer: {}", self.log());
        answers
    }

    /// The text of the one answer to a message.
    pub(crate) async fn answer(&self, message: &str) -> String {
        let answers = self.answers(message).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].text.clone()
    }
}

/// The position of the playground's switches, for a run of all tests in it.
#[expect(clippy::disallowed_methods, reason = "a test's own setting")]
fn position() -> usize {
    let given = std::env::var("LARKSPUR_SWITCHES").ok();
    given.map_or(0, |text| text.parse().expect("a number"))
}

/// A client for talking to the daemon.
pub(crate) fn http() -> reqwest::Client {
    HttpFactory::new(HttpSettings::default()).client().unwrap()
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            // The test is over; whether the process still ran is not its subject.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Used by no target, so that the expectation at the top holds in one that uses everything.
const USED_BY_NONE: () = ();
