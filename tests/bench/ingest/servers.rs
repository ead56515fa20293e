//! The contenders as processes: each listens on loopback and answers the same requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use larkspur::playground::Settings;
use tempfile::TempDir;

use crate::Plan;
use crate::events::{PATH, TURN_APPS, app};
use crate::platform::Platform;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(120);
/// On the disk that the build uses: a folder in memory would make syncs cost nothing.
pub(crate) const WORK: &str = env!("CARGO_TARGET_TMPDIR");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Contender {
    Bare,
    Verify,
    Accept,
    Other,
    Turn,
    Node,
    PythonFlask,
    PythonAsyncio,
}

impl Contender {
    pub(crate) const ALL: [Self; 8] = [
        Self::Bare,
        Self::Verify,
        Self::Accept,
        Self::Other,
        Self::Turn,
        Self::Node,
        Self::PythonFlask,
        Self::PythonAsyncio,
    ];

    /// Its word for `--only`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Verify => "verify",
            Self::Accept => "accept",
            Self::Other => "other",
            Self::Turn => "turn",
            Self::Node => "node",
            Self::PythonFlask => "flask",
            Self::PythonAsyncio => "asyncio",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Bare => "the router alone, answering 200",
            Self::Verify => "the router, verifying, decrypting and decoding",
            Self::Accept => "**Larkspur, accepting** (all of it, synced to disk)",
            Self::Other => "another build of Larkspur, accepting",
            Self::Turn => "Larkspur, whole turns (accepted, answered, closed)",
            Self::Node => "Node SDK, `adaptDefault`",
            Self::PythonFlask => "Python SDK, Flask adapter on waitress",
            Self::PythonAsyncio => "Python SDK, a bare asyncio server",
        }
    }

    /// A fresh server, or `None` if its SDK is not installed.
    pub(crate) fn start(self, plan: &Plan, platform: &Platform) -> Result<Option<Running>> {
        let app = Settings::default().app;
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/ingest");
        let mut command = match self {
            Self::Accept | Self::Other | Self::Turn => {
                let own = Path::new(env!("CARGO_BIN_EXE_larkspur"));
                let other = plan.other.as_deref();
                let program = if self == Self::Other { other } else { Some(own) };
                let Some(program) = program else { return Ok(None) };
                let folder = tempfile::tempdir_in(WORK)?;
                let daemon = Daemon { program, answers: self == Self::Turn, platform };
                let mut running = daemon.start(folder.path())?;
                running.folder = Some(folder);
                return Ok(Some(running));
            }
            Self::Bare | Self::Verify => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["serve", self.word()]);
                command
            }
            Self::Node => {
                let Some(peers) = &plan.peers else { return Ok(None) };
                let mut command = Command::new("node");
                command.arg(here.join("peer.cjs")).arg(peers.join("node"));
                command.args([PATH, &app.encrypt_key, &app.verification_token]);
                command
            }
            Self::PythonFlask | Self::PythonAsyncio => {
                let Some(peers) = &plan.peers else { return Ok(None) };
                python(peers, self.word())
            }
        };
        let mut child = command.stdout(Stdio::piped()).spawn().context(self.word())?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut address)?;
        Ok(Some(Running { child, address: address.trim().to_owned(), folder: None }))
    }
}

/// The Python peer in one of its modes.
pub(crate) fn python(peers: &Path, mode: &str) -> Command {
    let app = Settings::default().app;
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/ingest");
    let mut command = Command::new(peers.join("python/bin/python"));
    command.arg(here.join("peer.py")).arg(mode);
    command.args([PATH, &app.encrypt_key, &app.verification_token]);
    command
}

/// A server that runs; dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) address: String,
    folder: Option<TempDir>,
}

impl Running {
    /// The processor time the process has used.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_name, rest) = stat.rsplit_once(')').context("no process name")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |place: usize| -> Result<u64> {
            Ok(fields.get(place).context("a short line")?.parse()?)
        };
        // utime and stime in hundredths of a second, which is what Linux shows everywhere.
        Ok(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
    }

    /// The resident memory in MiB.
    pub(crate) fn resident_mib(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The real daemon, as `larkspur run` with a configuration of its own.
#[derive(Debug)]
pub(crate) struct Daemon<'a> {
    pub(crate) program: &'a Path,
    /// Whether its model answers at once, or never.
    pub(crate) answers: bool,
    pub(crate) platform: &'a Platform,
}

impl Daemon<'_> {
    /// Starts it in `folder` and waits until it listens. Its store is `folder/data`.
    pub(crate) fn start(&self, folder: &Path) -> Result<Running> {
        let main = self.configure(folder)?;
        let listen = folder.join("data/listen");
        drop(fs::remove_file(&listen));
        let app = Settings::default().app;
        let log = fs::File::create(folder.join("log"))?;
        let child = Command::new(self.program)
            .args(["run", "--config"])
            .arg(main)
            .env_clear()
            .env("APP_SECRET", app.app_secret)
            .env("KEY", app.encrypt_key)
            .env("TOKEN", app.verification_token)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let mut running = Running { child, address: String::new(), folder: None };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Ok(address) = fs::read_to_string(&listen)
                && is_healthy(&address)
            {
                running.address = address;
                return Ok(running);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        bail!("the daemon does not listen: {log}")
    }

    fn configure(&self, folder: &Path) -> Result<PathBuf> {
        let address = self.platform.address;
        let model = if self.answers { "now" } else { "hole" };
        fs::create_dir_all(folder.join("config"))?;
        fs::create_dir_all(folder.join("bots"))?;
        let main = folder.join("config/larkspur.toml");
        fs::write(
            &main,
            format!(
                "[server]\nlisten = \"127.0.0.1:0\"\n[models.main]\nprovider = \"openai\"\n\
                 base_url = \"http://{address}/{model}/v1\"\nmodel = \"bench\"\n"
            ),
        )?;
        for number in 0..if self.answers { TURN_APPS } else { 1 } {
            let (bot, app_id) = app(number);
            fs::write(
                folder.join(format!("bots/{bot}.toml")),
                format!(
                    "name = \"{bot}\"\nmodel = \"main\"\n[groups]\nqueue_max = 1000000\n\
                     [lark]\napp_id = \"{app_id}\"\napp_secret = \"env:APP_SECRET\"\n\
                     encrypt_key = \"env:KEY\"\nverification_token = \"env:TOKEN\"\n\
                     base_url = \"http://{address}\"\n[access]\nusers = [\"*\"]\nchats = [\"*\"]\n",
                ),
            )?;
        }
        Ok(main)
    }
}

fn is_healthy(address: &str) -> bool {
    let asked = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"HTTP/1.1 200")
    };
    asked().unwrap_or(false)
}
