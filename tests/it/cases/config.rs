//! Cases about configuration that is not in order.

use larkspur::playground::Endpoint;
use std::fs;

use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::text;

/// Waits until readiness has nothing but `word` to complain about.
async fn complaint(stage: &Stage, word: &str) -> String {
    let named = async {
        loop {
            match stage.get("/readyz").await {
                Some((503, body)) if body.contains(word) && !body.contains("platform") => {
                    return body;
                }
                _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, named).await.unwrap_or_else(|_| panic!("{}", stage.log()))
}

/// Numbers as texts, lists as numbers, unknown keys, a file that is no TOML at all: each bad file
/// is left out with a message that names file, line and key, and the good one runs.
#[tokio::test(flavor = "multi_thread")]
async fn p063_a_malformed_file_is_left_out_with_a_message_and_the_rest_runs() {
    let mut stage = Stage::set(Options::default()).await;
    let files = [
        (
            "number",
            "name = \"number\"\n[groups]\nqueue_max = \"64\"\n",
            "number.toml:3: groups.queue_max",
        ),
        ("list", "name = \"list\"\nknowledge = 7\n", "list.toml:2: knowledge"),
        (
            "unknown",
            "name = \"unknown\"\nhistory = \"null\"\n",
            "unknown.toml:2: history: unknown key",
        ),
        ("syntax", "name = \"syntax\"\nmodel = null\n", "syntax.toml:2:"),
    ];
    for (name, text, _message) in files {
        fs::write(stage.path(&format!("bots/{name}.toml")), text).unwrap();
    }
    stage.launch(&[]);
    let body = complaint(&stage, "a bot is not started").await;
    for (_name, _text, message) in files {
        assert!(body.contains(message), "{message} is not in {body}");
    }
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "still there?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: still there?");
}

/// Every secret may be written in every way; a way that nobody here can read is never sent to the
/// platform as if it were the secret.
#[tokio::test(flavor = "multi_thread")]
async fn p151_every_secret_is_read_the_same_way_and_a_cipher_text_is_refused() {
    let mut stage = Stage::set(Options::default()).await;
    let file = stage.path("bots/assistant.toml");
    let definition = fs::read_to_string(&file).unwrap();
    let app = larkspur::playground::Settings::default().app;
    fs::create_dir_all(stage.path("secrets")).unwrap();
    for (name, secret) in [
        ("APP_SECRET", &app.app_secret),
        ("KEY", &app.encrypt_key),
        ("TOKEN", &app.verification_token),
    ] {
        fs::write(stage.path(&format!("secrets/{name}")), format!("{secret}\n")).unwrap();
    }
    fs::write(&file, definition.replace("env:", "file:secrets/")).unwrap();
    stage.start(&[]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "from files?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: from files?");
    assert_eq!(stage.terminate().await.code(), Some(0));

    for (key, name) in
        [("app_secret", "APP_SECRET"), ("encrypt_key", "KEY"), ("verification_token", "TOKEN")]
    {
        let cipher = "enc:v1:c2VjcmV0IGNpcGhlciB0ZXh0";
        fs::write(&file, definition.replace(&format!("env:{name}"), cipher)).unwrap();
        let seen = stage.sim.calls(Endpoint::Any).len();
        stage.launch(&[]);
        let body = complaint(&stage, "not started").await;
        assert!(body.contains(key) && body.contains("`enc:`"), "{body}");
        assert!(!body.contains("c2VjcmV0"), "the text is not shown: {body}");
        assert_eq!(stage.sim.calls(Endpoint::Any).len(), seen, "nothing was sent to the platform");
        assert_eq!(stage.terminate().await.code(), Some(0));
        let check = stage.cli(&["check"]);
        assert_eq!(check.status.code(), Some(78));
        let said = String::from_utf8(check.stdout).unwrap();
        assert!(said.contains(&format!("lark.{key}: ")) && said.contains("env:NAME"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p204_an_empty_list_is_reported_by_check_and_once_a_chat() {
    let mut stage = Stage::set(Options::default()).await;
    stage.edit_bot("users = [\"@tenant\"]", "users = []");
    let report = String::from_utf8(stage.cli(&["check"]).stdout).unwrap();
    let lists = report.lines().filter(|line| line.contains("access.users")).count();
    assert_eq!(lists, 1, "{report}");
    assert!(!report.contains("access.chats"), "{report}");
    stage.start(&[]).await;
    let first = stage.sim.group("first", &["ann", "ben"]).chat_id;
    let second = stage.sim.group("second", &["ann"]).chat_id;
    for (user, chat) in [("ann", &first), ("ben", &first), ("ann", &first), ("ann", &second)] {
        let question = stage.sim.asks(user, chat, "anybody?").unwrap();
        stage.verdict(&question, "not_allowed").await;
        assert!(text(&stage.why(&question), "reason").contains("access.users"));
    }
    let log = stage.log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("access_empty")).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains(&first) && warnings[0].contains("access.users"));
    assert!(warnings[1].contains(&second));
}
