//! The commands, each a short story.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::admin_client;
use super::arguments::{Arguments, Command, Output};
use super::demo::{self, Wish};
use super::init;
use super::{Exit, Unsaid, complain, events, jobs, say, store};
use crate::app::{self, Answer, App, AppError};
use crate::base::problem::Severity;
use crate::base::{Disposition, Problem, SystemClock, Verdict};
use crate::config::{self, Environment, Loaded};
use crate::playground::{AppSettings, Playground, Settings as PlaygroundSettings, Transport};
use crate::telemetry::{self, LogFormat};

/// Runs one command.
pub(super) fn run(arguments: Arguments, environment: Environment) -> Result<Exit, Unsaid> {
    let file = arguments.config.as_deref();
    match arguments.command {
        Command::Run => run_daemon(file, environment),
        Command::Check(output) => check(file, &environment, output),
        Command::Ask { text, bot, output } => {
            ask(file, &environment, bot.as_deref(), &text.join(" "), output)
        }
        Command::Why { message, output } => why(file, &environment, &message, output),
        Command::Events { what } => match load(file, &environment) {
            Ok(loaded) => block_on(events::run(loaded.settings, what)),
            Err(exit) => Ok(exit),
        },
        Command::Jobs(output) => match load(file, &environment) {
            Ok(loaded) => block_on(jobs::run(loaded.settings, output)),
            Err(exit) => Ok(exit),
        },
        Command::Store { what } => match load(file, &environment) {
            Ok(loaded) => block_on(store::run(loaded.settings, what)),
            Err(exit) => Ok(exit),
        },
        Command::Sim { listen, event_url, websocket } => sim(listen, event_url, websocket),
        Command::Init { dir, locale, yes, force, base_url } => {
            let locale = locale.map_or_else(|| init::locale_of(&environment), Into::into);
            let wish = init::Wish { dir, locale, yes, force, base_url };
            init::run(&wish, |file| check(Some(file), &environment, Output { json: false }))
        }
        Command::Demo { dir, listen, locale, model } => {
            let locale = locale.map(Into::into);
            block_on(demo::run(Wish { dir, listen, locale, model }, environment))
        }
    }
}

fn run_daemon(file: Option<&Path>, environment: Environment) -> Result<Exit, Unsaid> {
    let loaded = match load(file, &environment) {
        Ok(loaded) => loaded,
        Err(exit) => return Ok(exit),
    };
    let counters = telemetry::init(&loaded.settings.log_filter, loaded.settings.log_format);
    complain_about(&loaded.problems);
    let app = App::new(loaded, environment, counters);
    block_on(async move {
        match app.run().await {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Ok(failed(&error)),
        }
    })
}

fn check(file: Option<&Path>, environment: &Environment, output: Output) -> Result<Exit, Unsaid> {
    let (problems, bots) = match config::load(file, environment) {
        Ok(loaded) => (loaded.problems, loaded.bots.len()),
        Err(problems) => (problems, 0),
    };
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if output.json {
        say(&json!({"errors": errors, "bots": bots, "problems": as_json(&problems)}).to_string())?;
    } else {
        for problem in &problems {
            say(&problem.to_string())?;
        }
        say(&match errors {
            0 => format!("The configuration is in order; bots: {bots}."),
            errors => format!("Errors: {errors}; bot files that can be read: {bots}."),
        })?;
    }
    Ok(if errors == 0 { Exit::Done } else { Exit::Configuration })
}

fn ask(
    file: Option<&Path>,
    environment: &Environment,
    bot: Option<&str>,
    text: &str,
    output: Output,
) -> Result<Exit, Unsaid> {
    let loaded = match load(file, environment) {
        Ok(loaded) => loaded,
        Err(exit) => return Ok(exit),
    };
    if loaded.bots.is_empty() {
        complain(&format!(
            "larkspur: no bot in {} (see --config); a plain one without knowledge answers",
            loaded.settings.bots_dir.display()
        ));
    }
    // The answer is the output; of what the engine does on the way only troubles are.
    telemetry::init("warn,genai=off", LogFormat::Text);
    block_on(async move {
        let answer = match app::ask(loaded, environment, bot, text).await {
            Ok(answer) => answer,
            Err(error) => return Ok(failed(&error)),
        };
        if output.json {
            let Answer { text, verdict, reason } = &answer;
            say(&json!({"answer": text, "verdict": verdict, "reason": reason}).to_string())?;
        } else {
            say(&answer.text)?;
        }
        Ok(if answer.verdict == Verdict::Failed { Exit::Failed } else { Exit::Done })
    })
}

fn why(
    file: Option<&Path>,
    environment: &Environment,
    message: &str,
    output: Output,
) -> Result<Exit, Unsaid> {
    if message.trim().is_empty() {
        complain("larkspur: which message? An id looks like om_…");
        return Ok(Exit::Usage);
    }
    let settings = match load(file, environment) {
        Ok(loaded) => loaded.settings,
        Err(exit) => return Ok(exit),
    };
    block_on(async move {
        match admin_client::why(&settings, message).await {
            Ok(why) => {
                say(&if output.json {
                    why.to_string()
                } else {
                    admin_client::in_words(&why, settings.locale)
                })?;
                Ok(Exit::Done)
            }
            Err(error) => {
                complain(&error);
                Ok(Exit::TryLater)
            }
        }
    })
}

fn sim(
    listen: std::net::SocketAddr,
    event_url: Option<String>,
    websocket: bool,
) -> Result<Exit, Unsaid> {
    let cancel = CancellationToken::new();
    let settings = PlaygroundSettings { listen, ..PlaygroundSettings::default() };
    let app = settings.app.clone();
    telemetry::init("info", LogFormat::Text);
    block_on(async move {
        let clock = Arc::new(SystemClock::default());
        let playground = match Playground::start(settings, cancel.clone(), clock).await {
            Ok(playground) => playground,
            Err(error) => {
                complain(&error.to_string());
                return Ok(Exit::Failed);
            }
        };
        if let Some(url) = event_url {
            playground.set_event_url(&url);
        }
        if websocket {
            playground.set_transport(Transport::Websocket);
        }
        // At once: whoever reads the address may not read on.
        let base_url = playground.base_url();
        let file = for_the_bot_file(&base_url, &app, websocket);
        say(&format!("The playground is at {base_url}\n{file}"))?;
        match app::termination() {
            Ok(terminated) => terminated.await,
            Err(error) => complain(&format!("larkspur: signals cannot be caught: {error}")),
        }
        cancel.cancel();
        playground.stop().await;
        Ok(Exit::Done)
    })
}

/// What a bot's file needs to be a bot of the playground.
fn for_the_bot_file(base_url: &str, app: &AppSettings, websocket: bool) -> String {
    let AppSettings { app_id, app_secret, encrypt_key, verification_token, .. } = app;
    let wanted = if websocket {
        "transport = \"websocket\"".to_owned()
    } else {
        "encrypt_key = \"env:LARK_ENCRYPT_KEY\"\nverification_token = \"env:LARK_VERIFICATION_TOKEN\""
            .to_owned()
    };
    let mut variables = vec![("LARK_APP_SECRET", app_secret)];
    if !websocket {
        variables.push(("LARK_ENCRYPT_KEY", encrypt_key));
        variables.push(("LARK_VERIFICATION_TOKEN", verification_token));
    }
    let variables: Vec<String> =
        variables.into_iter().map(|(name, value)| format!("export {name}={value}")).collect();
    format!(
        "A bot of it has in its file\n\n[lark]\napp_id = \"{app_id}\"\nbase_url = \"{base_url}\"\n\
         app_secret = \"env:LARK_APP_SECRET\"\n{wanted}\n\nand the daemon in its environment\n\n{}\n",
        variables.join("\n")
    )
}

/// The configuration, or its problems on standard error.
fn load(file: Option<&Path>, environment: &Environment) -> Result<Loaded, Exit> {
    config::load(file, environment).map_err(|problems| {
        complain_about(&problems);
        Exit::Configuration
    })
}

pub(super) fn complain_about(problems: &[Problem]) {
    for problem in problems {
        complain(&problem.to_string());
    }
}

fn as_json(problems: &[Problem]) -> Vec<serde_json::Value> {
    let rows = problems.iter().map(|problem| {
        json!({
            "severity": match problem.severity {
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
            "file": problem.file,
            "line": problem.line,
            "key": problem.key,
            "text": problem.text,
        })
    });
    rows.collect()
}

pub(super) fn failed(error: &AppError) -> Exit {
    complain(&format!("larkspur: {error}"));
    match error {
        AppError::Store(error) => match error.disposition() {
            Disposition::Retry { .. } | Disposition::Fatal => Exit::TryLater,
            Disposition::Reject => Exit::Failed,
        },
        AppError::NoSuchBot(_) => Exit::Usage,
        AppError::Schedule(_) => Exit::Configuration,
        AppError::Net(_)
        | AppError::Signals(_)
        | AppError::Model(_)
        | AppError::Listen { .. }
        | AppError::DataFile { .. }
        | AppError::NoAnswer => Exit::Failed,
    }
}

fn block_on(work: impl Future<Output = Result<Exit, Unsaid>>) -> Result<Exit, Unsaid> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(work);
            // What a drain left unfinished is in the store; nobody waits for it here.
            runtime.shutdown_background();
            ended
        }
        Err(error) => {
            complain(&format!("larkspur: the runtime cannot be started: {error}"));
            Ok(Exit::Failed)
        }
    }
}
