//! Copies of the data, and the repair: with the daemon running and without it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use larkspur::playground::RetryEventId;
use serde_json::Value;

use crate::stage::{Options, PATIENCE, Stage, http};
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
    refused(&stage.cli(&["store", "export", &text_path(&stage, "none.jsonl")]), 1, "no data");
    refused(&stage.cli(&["store", "repair"]), 1, "no data");
    done(&stage.cli(&["store", "restore", &file]));
    let repaired = done(&stage.cli(&["store", "repair", "--json"]));
    let report: Value = serde_json::from_str(&repaired).unwrap();
    assert_eq!(report["unreadable"], 0, "{report}");
    assert_eq!(report["records"]["receipt"], 1, "{report}");

    stage.start(&[]).await;
    assert_eq!(stage.why(&question), before, "what became of it is known");
    let event_id = RetryEventId::New;
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
        // Who has just asked for a repair is not sent to it again.
        let advice =
            if arguments == ["store", "repair"] { "Nothing was changed" } else { "store repair" };
        refused(&output, 75, advice);
        refused(&output, 75, "larkspur store restore FILE");
    }
}

/// Sizes and contents of sled's files.
fn store_files(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(stage.path("data/store")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_cut_is_given_up_only_on_request_and_then_the_daemon_answers() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let first = stage.sim.says("ann", &chat, "the first").unwrap();
    stage.verdict(&first, "answered").await;
    let log = stage.path("data/store/db");
    let early = fs::read(&log).unwrap();
    let second = stage.sim.says("ann", &chat, "the second").unwrap();
    stage.verdict(&second, "answered").await;
    stage.terminate().await;
    let mut cut = fs::read(&log).unwrap();
    let common = cut.iter().zip(&early).take_while(|(now, then)| now == then).count();
    cut.truncate(common);
    fs::write(&log, cut).unwrap();

    let before = store_files(&stage);
    let looked = stage.cli(&["store", "repair"]);
    refused(&looked, 75, "acknowledged commits are missing");
    let said = String::from_utf8(looked.stdout).unwrap();
    assert!(said.contains("Missing: the last ") && said.contains("--accept-loss"), "{said}");
    assert!(
        said.contains("open turns ") && said.contains("conversations 1, dedup keys "),
        "{said}"
    );
    let looked = stage.cli(&["store", "repair", "--json"]);
    assert_eq!(looked.status.code(), Some(75), "{looked:?}");
    let left: Value = serde_json::from_slice(&looked.stdout).unwrap();
    let missing = left["missing"].as_u64().unwrap();
    assert!(missing > 0 && left["records"]["session"] == 1, "{left}");
    assert!(store_files(&stage) == before, "nothing is changed without the word");

    stage.launch(&[]);
    let status = stage.ended(PATIENCE).await.expect("it does not start");
    assert_eq!(status.code(), Some(75), "{}", stage.log());
    assert!(stage.log().contains("acknowledged commits are missing"), "{}", stage.log());
    assert!(stage.log().contains("larkspur store repair --accept-loss"), "{}", stage.log());

    let before = store_files(&stage);
    let report = done(&stage.cli(&["store", "repair", "--accept-loss", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["given_up"]["commits"], missing, "{report}");
    assert_eq!(report["records"], left["records"], "{report}");
    let old = PathBuf::from(report["given_up"]["old_files"].as_str().unwrap());
    for (file, bytes) in before {
        let aside = old.join(file.file_name().unwrap());
        assert!(fs::read(&aside).unwrap() == bytes, "{} is kept", aside.display());
    }

    stage.start(&[]).await;
    assert_eq!(stage.why(&first)["verdict"], "answered");
    let third = stage.sim.says("ann", &chat, "the third").unwrap();
    assert_eq!(stage.answer(&third).await, "answer to: the third");
    stage.terminate().await;
    let again = done(&stage.cli(&["store", "repair", "--accept-loss"]));
    assert!(again.contains("Nothing had to be repaired."), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_written_anew_goes_on_where_it_was() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "the first").unwrap();
    stage.verdict(&question, "answered").await;
    refused(&stage.cli(&["store", "compact"]), 75, "another process");
    stage.terminate().await;

    done(&stage.cli(&["store", "export", &text_path(&stage, "before.jsonl")]));
    let report = done(&stage.cli(&["store", "compact", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    done(&stage.cli(&["store", "export", &text_path(&stage, "after.jsonl")]));
    assert_eq!(records(&stage, "before.jsonl"), records(&stage, "after.jsonl"));
    assert!(report["records"].as_u64().unwrap() > 3 && report["bytes_after"].is_u64(), "{report}");

    stage.start(&[]).await;
    assert_eq!(stage.why(&question)["verdict"], "answered");
    stage.sim.duplicate(&question, 1, RetryEventId::New).await.unwrap();
    let second = stage.sim.says("ann", &chat, "the second").unwrap();
    assert_eq!(stage.answer(&second).await, "answer to: the second");
    barrier(&stage, "ann", &chat).await;
    let first = bot_lines(&stage, &chat).into_iter().filter(|line| line == "answer to: the first");
    assert_eq!(first.count(), 1, "what was known is known");
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
