//! Copies of the data, and the repair: with the daemon running and without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;

use crate::stage::{Options, Stage, http};
use crate::talk::{barrier, bot_lines};

fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, code: i32, word: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(said.contains(word), "{word} is not in {said}");
}

fn text_path(stage: &Stage, name: &str) -> String {
    stage.path(name).display().to_string()
}

/// The lines of a copy without its head, which tells the time.
fn records(stage: &Stage, name: &str) -> Vec<String> {
    let text = fs::read_to_string(stage.path(name)).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_running_daemon_restores_what_people_had() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "remember this").unwrap();
    stage.verdict(&question, "answered").await;
    let file = text_path(&stage, "copy.jsonl");
    done(&stage.cli(&["store", "backup", &file]));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds what people wrote");
    let text = fs::read_to_string(&file).unwrap();
    for secret in ["sk-test", &larkspur::playground::Settings::default().app.app_secret] {
        assert!(!text.contains(secret), "no secrets in it");
    }
    refused(&stage.cli(&["store", "restore", &file]), 1, "move it aside");
    refused(&stage.cli(&["store", "repair"]), 75, "another process");
    let before = stage.why(&question);
    stage.terminate().await;

    done(&stage.cli(&["store", "export", &text_path(&stage, "stopped.jsonl")]));
    // The calls of the platform are counted in memory until the end.
    let lasting = |name: &str| -> Vec<String> {
        let rows = records(&stage, name).into_iter();
        rows.filter(|row| !row.contains("\"usage\"") && !row.starts_with("{\"rows\"")).collect()
    };
    assert_eq!(lasting("stopped.jsonl"), lasting("copy.jsonl"));
    fs::rename(stage.path("data"), stage.path("data.lost")).unwrap();
    refused(&stage.cli(&["store", "export", &file]), 1, "no data");
    refused(&stage.cli(&["store", "repair"]), 1, "no data");
    done(&stage.cli(&["store", "restore", &file]));
    let repaired = done(&stage.cli(&["store", "repair", "--json"]));
    let report: Value = serde_json::from_str(&repaired).unwrap();
    assert_eq!(report["unreadable"], 0, "{report}");
    assert_eq!(report["records"]["receipt"], 1, "{report}");

    stage.start(&[]).await;
    assert_eq!(stage.why(&question), before, "what became of it is known");
    let event_id = larkspur::playground::RetryEventId::New;
    stage.sim.duplicate(&question, 3, event_id).await.unwrap();
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2, "the repetition is known, too");
    let asked = stage.model.requests();
    let last = format!("{:?}", asked.last().unwrap());
    assert!(last.contains("remember this"), "the conversation goes on: {last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_replaces_nothing_and_gets_a_name_in_a_folder() {
    let mut stage = Stage::new().await;
    stage.terminate().await;
    let folder = text_path(&stage, "backups");
    fs::create_dir(&folder).unwrap();
    done(&stage.cli(&["store", "backup", &folder]));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let name = names[0].display().to_string();
    assert!(name.contains("/larkspur-2"), "{name}");
    refused(&stage.cli(&["store", "backup", &name]), 1, "is there already");
    let shown = done(&stage.cli(&["store", "export", "-"]));
    assert!(shown.lines().last().unwrap().starts_with("{\"rows\":"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_copy_is_refused_and_makes_nothing() {
    let mut stage = Stage::new().await;
    stage.terminate().await;
    let file = text_path(&stage, "copy.jsonl");
    done(&stage.cli(&["store", "backup", &file]));
    let text = fs::read_to_string(&file).unwrap();
    fs::rename(stage.path("data"), stage.path("data.lost")).unwrap();
    let half = text_path(&stage, "half.jsonl");
    fs::write(&half, text.strip_suffix("}\n").unwrap()).unwrap();
    refused(&stage.cli(&["store", "restore", &half]), 1, "not a whole copy");
    refused(&stage.cli(&["store", "restore", "/nowhere"]), 1, "/nowhere");
    assert!(!stage.path("data/store").exists());
    fs::write(&half, text.replacen("\"format\":1", "\"format\":9", 1)).unwrap();
    refused(&stage.cli(&["store", "restore", &half]), 75, "newer Larkspur");
    done(&stage.cli(&["store", "restore", &file]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_opened_says_what_to_do() {
    let mut stage = Stage::new().await;
    stage.terminate().await;
    fs::write(stage.path("data/store/db"), b"").unwrap();
    for arguments in [&["run"][..], &["store", "repair"], &["store", "export", "-"]] {
        let output = stage.cli(arguments);
        refused(&output, 75, "larkspur store repair");
        refused(&output, 75, "larkspur store restore FILE");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_a_running_daemon_needs_the_token() {
    let stage = Stage::with(Options::default()).await;
    let (status, body) = stage.get("/admin/api/store/export").await.unwrap();
    assert_eq!(status, 401);
    assert!(!body.contains("larkspur-export"), "{body}");
    let expire = http().post(stage.url("/admin/api/store/expire")).send().await.unwrap();
    assert_eq!(expire.status().as_u16(), 401);
}
