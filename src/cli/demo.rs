//! `larkspur demo`: the playground, the daemon, a knowledge base and a bot in one process, over
//! real HTTP between them. Nothing but this machine is needed.

mod files;
mod ground;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::files::Sample;
use self::ground::Ground;
use super::commands::{complain_about, failed};
use super::init::locale_of;
use super::{Exit, Unsaid, complain, say};
use crate::app::{App, Bound};
use crate::base::{Locale, SystemClock};
use crate::config::{self, Environment, found_model};
use crate::playground::{AppSettings, EventPush, Playground, Settings as PlaygroundSettings};
use crate::telemetry::{self, LogFormat};

/// The bot's name, also a segment of its URL.
const BOT: &str = "assistant";
/// The group that the digest is posted in.
const GROUP: &str = "team";
/// How long the first messages may take before the address is printed all the same.
const WELCOME_PATIENCE: Duration = Duration::from_secs(5);

/// What the command line asks for.
pub(super) struct Wish {
    /// Where the files go and stay; none: a folder of its own that goes with the process.
    pub(super) dir: Option<PathBuf>,
    /// Where the web chat listens.
    pub(super) listen: SocketAddr,
    /// The language of bot and daemon; none: that of the environment.
    pub(super) locale: Option<Locale>,
    /// Another model of the provider whose key is found.
    pub(super) model: Option<String>,
}

/// Runs until a signal comes.
pub(super) async fn run(wish: Wish, environment: Environment) -> Result<Exit, Unsaid> {
    // They are meant for a daemon of one's own: with its folders the demo would speak for its bots.
    let (environment, ignored) = environment.without_settings();
    if !ignored.is_empty() {
        complain(&format!("larkspur: the demo does without {}", ignored.join(", ")));
    }
    let temporary = environment.get("TMPDIR").unwrap_or("/tmp");
    let ground = match Ground::make(wish.dir.as_deref(), Path::new(temporary)) {
        Ok(ground) => ground,
        Err(error) => {
            complain(&format!("larkspur: {error}; --dir names another folder for the demo"));
            return Ok(Exit::Unwritten);
        }
    };
    let locale = wish.locale.unwrap_or_else(|| locale_of(&environment));
    let model = found_model(&environment, wish.model.as_deref());
    let playground = match platform(wish.listen).await {
        Ok(playground) => playground,
        Err(error) => {
            complain(&format!("larkspur: {error}"));
            return Ok(Exit::Failed);
        }
    };
    let group = people(&playground, locale);
    let sample = Sample {
        locale,
        platform: &playground.base_url(),
        group: &group,
        model: model.as_ref(),
        app: &app_settings(),
    };
    let written = sample.write(ground.path());
    let ended = match written {
        Ok(config) => daemon(&config, environment, &playground, &sample, ground.path()).await,
        Err(error) => {
            complain(&format!("larkspur: the demo's files cannot be written: {error}"));
            Ok(Exit::Unwritten)
        }
    };
    playground.stop().await;
    ended
}

async fn platform(listen: SocketAddr) -> Result<Playground, String> {
    let settings =
        PlaygroundSettings { listen, app: app_settings(), ..PlaygroundSettings::default() };
    let clock = Arc::new(SystemClock::default());
    let started = Playground::start(settings, CancellationToken::new(), clock).await;
    started.map_err(|error| format!("{error} ({listen}); --listen takes another address"))
}

fn app_settings() -> AppSettings {
    AppSettings { name: "Larkspur".to_owned(), ..AppSettings::default() }
}

/// Three people and a group of theirs with the bot; the group's id.
fn people(playground: &Playground, locale: Locale) -> String {
    let names = match locale {
        Locale::ZhCn => [("lin", "林晓"), ("wei", "王伟"), ("ann", "Ann")],
        Locale::EnUs => [("ann", "Ann"), ("ben", "Ben"), ("lin", "林晓")],
    };
    for (alias, name) in names {
        playground.change_user(alias, |user| name.clone_into(&mut user.name));
    }
    let aliases = names.map(|(alias, _)| alias);
    for alias in aliases {
        playground.p2p(alias);
    }
    playground.group(GROUP, &aliases).chat_id
}

/// The daemon beside the playground, on the playground's clock.
async fn daemon(
    config: &Path,
    environment: Environment,
    playground: &Playground,
    sample: &Sample<'_>,
    folder: &Path,
) -> Result<Exit, Unsaid> {
    let loaded = match config::load(Some(config), &environment) {
        Ok(loaded) => loaded,
        Err(problems) => {
            complain_about(&problems);
            return Ok(Exit::Configuration);
        }
    };
    if loaded.bots.is_empty() {
        // The environment may hold settings that do not go with the demo.
        complain_about(&loaded.problems);
        return Ok(Exit::Configuration);
    }
    let token_file = loaded.settings.data_dir.join("admin-token");
    let counters = telemetry::init("warn,genai=off", LogFormat::Text);
    let (listening, bound) = oneshot::channel();
    let app =
        App::new(loaded, environment, counters).on_clock(playground.clock()).announcing(listening);
    let mut running = pin!(app.run());
    let bound = tokio::select! {
        bound = bound => bound.ok(),
        ended = &mut running => {
            return Ok(ended.err().map_or(Exit::Done, |error| failed(&error)));
        }
    };
    if let Some(Bound(address)) = bound {
        let token = fs::read_to_string(token_file).unwrap_or_default();
        playground.set_pages(folder.join("knowledge"));
        let opening = open(playground, address, token.trim(), sample);
        tokio::select! {
            () = opening => {}
            ended = &mut running => {
                return Ok(ended.err().map_or(Exit::Done, |error| failed(&error)));
            }
        }
        say(&told(playground, sample, folder))?;
    }
    Ok(running.await.err().map_or(Exit::Done, |error| failed(&error)))
}

/// Tells each of the other, and has the bot come into the group, so that it says hello.
async fn open(playground: &Playground, address: SocketAddr, token: &str, sample: &Sample<'_>) {
    let daemon = format!("http://{address}");
    playground.set_event_url(&format!("{daemon}/lark/{BOT}/events"));
    if let Err(error) = playground.set_daemon(&daemon, token) {
        complain(&format!("larkspur: the paths of messages are not shown: {error}"));
    }
    let operator = playground.user("ann");
    let added = json!({
        "chat_id": sample.group,
        "operator_id": {"open_id": operator.open_id, "user_id": operator.user_id},
        "operator_tenant_key": operator.tenant_key,
        "external": false,
    });
    let added = EventPush::new("im.chat.member.bot.added_v1", added);
    if let Err(error) = playground.push_event(added).await {
        complain(&format!("larkspur: the welcome is not shown: {error}"));
    }
    let patience = WELCOME_PATIENCE;
    playground
        .wait_until(patience, |_| (!playground.visible(GROUP).is_empty()).then_some(()))
        .await;
}

fn told(playground: &Playground, sample: &Sample<'_>, folder: &Path) -> String {
    let chat = format!("{}/?chat={GROUP}", playground.base_url());
    let knowledge = folder.join("knowledge");
    let knowledge = knowledge.display();
    let model = sample.model.map(|model| format!("{} ({})", model.model, model.key_variable));
    match sample.locale {
        Locale::ZhCn => {
            let model = model
                .unwrap_or_else(|| "无；由知识库直接回答（可设 OPENAI_API_KEY 等）".to_owned());
            format!(
                "Larkspur 演示已就绪\n  打开聊天：{chat}\n  知识库：  {knowledge}（保存一个 Markdown \
                 文件，马上就能问到）\n  模型：    {model}\n按 Ctrl-C 结束。"
            )
        }
        Locale::EnUs => {
            let model = model.unwrap_or_else(|| {
                "none; the knowledge base answers (set OPENAI_API_KEY, say)".to_owned()
            });
            format!(
                "Larkspur's demo is ready\n  chat:      {chat}\n  knowledge: {knowledge} (save a \
                 Markdown file there and ask about it)\n  model:     {model}\nCtrl-C ends it."
            )
        }
    }
}
