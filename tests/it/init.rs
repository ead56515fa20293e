//! `larkspur init`: from questions to a configuration that the check takes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn run(folder: &Path, words: &[&str], answers: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larkspur"));
    command.arg("init").arg(folder).args(words).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Whoever ends early does not read on.
    drop(input.write_all(answers.as_bytes()));
    drop(input);
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn mode(folder: &TempDir, name: &str) -> u32 {
    fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
}

/// Everything is answered: bot, app, region, transport, three secrets, model, name, key, people,
/// digest.
const ALL: &str = "helper\ncli_a1b2c3\nlark\ns3cret\nwebhook\nenc-key\nver-token\nopenai\n\nsk-1\n\
                   @tenant, ou_7\nou_1\noc_team\n";

#[test]
fn a_whole_dialogue_ends_in_a_configuration_that_the_check_takes() {
    for (locale, about, next) in [
        ("en-US", "developer console → your custom app", "Next, in the developer console"),
        ("zh-CN", "开发者后台 → 你的企业自建应用", "接下来，在开发者后台"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &["--locale", locale], ALL);
        let told = out(&output);
        assert_eq!(output.status.code(), Some(0), "{told} {}", err(&output));
        assert!(told.contains(about) && told.contains(next), "{told}");
        assert!(told.contains("https://<") && told.contains("/lark/helper/events"), "{told}");
        let bot = read(&folder, "bots/helper.toml");
        for line in [
            "app_id = \"cli_a1b2c3\"",
            "app_secret = \"file:secrets/app-secret\"",
            "region = \"lark\"",
            "users = [\"@tenant\", \"ou_7\"]",
            "admins = [\"ou_1\"]",
            "model = \"main\"",
            "\nchat = \"oc_team\"",
        ] {
            assert!(bot.contains(line), "{line} in {bot}");
        }
        assert!(read(&folder, "config/larkspur.toml").contains(&format!("locale = \"{locale}\"")));
        assert_eq!(read(&folder, "secrets/encrypt-key"), "enc-key");
        assert_eq!((mode(&folder, "secrets"), mode(&folder, "secrets/app-secret")), (0o700, 0o600));
        let all: String = ["config/larkspur.toml", "bots/helper.toml", ".env.example"]
            .map(|name| read(&folder, name))
            .concat();
        for secret in ["s3cret", "enc-key", "ver-token", "sk-1"] {
            assert!(!all.contains(secret) && !told.contains(secret), "{secret} is shown");
        }
        assert!(read(&folder, ".gitignore").contains("/secrets"));
    }
}

#[test]
fn with_yes_there_is_a_bot_for_the_terminal_that_answers() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--yes", "--locale", "en-US"], "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let config = folder.path().join("config/larkspur.toml");
    let mut ask = Command::new(env!("CARGO_BIN_EXE_larkspur"));
    ask.args(["ask", "How does this team work with the bot?", "--config"]).arg(config).env_clear();
    let answer = out(&ask.output().unwrap());
    assert!(answer.contains("[first-recipe]"), "{answer}");
}

#[test]
fn secrets_that_are_not_typed_are_left_to_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let answers = "\ncli_a1b2c3\n\n\nwebhook\n\n\ndeepseek\n\n\n\n\n\n";
    let output = run(folder.path(), &["--locale", "en-US"], answers);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let variables =
        ["LARK_APP_SECRET", "LARK_ENCRYPT_KEY", "LARK_VERIFICATION_TOKEN", "DEEPSEEK_API_KEY"];
    for variable in variables {
        assert!(read(&folder, ".env.example").contains(&format!("{variable}=\n")));
        assert!(out(&output).contains(&format!("\n  {variable}\n")), "{}", out(&output));
    }
    assert!(!folder.path().join("secrets").exists());
}

#[test]
fn the_long_connection_needs_the_apps_secret_alone() {
    let folder = tempfile::tempdir().unwrap();
    let answers = "\ncli_a1b2c3\n\ns3cret\n\nnone\n\n\n\n";
    let output = run(folder.path(), &["--locale", "en-US"], answers);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    let bot = read(&folder, "bots/assistant.toml");
    assert!(bot.contains("transport = \"websocket\""), "{bot}");
    assert!(!bot.contains("encrypt_key") && !out(&output).contains("https://<"), "{bot}");
    assert_eq!(read(&folder, "secrets/app-secret"), "s3cret");
}

#[test]
fn wrong_answers_are_asked_again_and_an_end_in_the_middle_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--locale", "en-US"], "My Bot\nbot\nabc\ncli_a!\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("only lower-case letters"), "{}", out(&output));
    assert!(out(&output).contains("an App ID is cli_"), "{}", out(&output));
    assert!(err(&output).contains("nothing was written"), "{}", err(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_there_is_not_replaced_unless_forced_and_then_kept_beside() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bots")).unwrap();
    fs::write(folder.path().join("bots/assistant.toml"), "mine").unwrap();
    let refused = run(folder.path(), &["--yes"], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("bots/assistant.toml exists already"), "{}", err(&refused));
    assert!(!folder.path().join("config").exists(), "all or nothing");
    let forced = run(folder.path(), &["--yes", "--force"], "");
    assert_eq!(forced.status.code(), Some(0), "{}", err(&forced));
    assert_eq!(read(&folder, "bots/assistant.toml.bak"), "mine");
    run(folder.path(), &["--yes", "--force"], "");
    assert_eq!(read(&folder, "bots/assistant.toml.bak"), "mine", "the first one stays");
    assert!(folder.path().join("bots/assistant.toml.bak1").exists());
    fs::write(folder.path().join(".gitignore"), "own").unwrap();
    run(folder.path(), &["--yes", "--force"], "");
    assert_eq!(read(&folder, ".gitignore"), "own", "people's own files stay");
}

#[test]
fn a_name_that_is_taken_is_said_before_anything_else_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bots")).unwrap();
    fs::write(folder.path().join("bots/assistant.toml"), "name = \"assistant\"\n").unwrap();
    let output = run(folder.path(), &["--locale", "en-US"], "\nother\n\nnone\n\n\n");
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    assert!(out(&output).contains("there is a file of this name"), "{}", out(&output));
    assert!(read(&folder, "bots/other.toml").contains("other"));
    assert_eq!(read(&folder, "bots/assistant.toml"), "name = \"assistant\"\n");
}

#[test]
fn a_file_that_cannot_be_written_takes_the_others_with_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("knowledge"), "in the way").unwrap();
    let output = run(folder.path(), &["--yes"], "");
    assert_eq!(output.status.code(), Some(74), "{}", err(&output));
    assert!(err(&output).contains("knowledge/first-recipe.md"), "{}", err(&output));
    assert!(!folder.path().join("config/larkspur.toml").exists());
    assert!(!folder.path().join("bots/assistant.toml").exists());
}
