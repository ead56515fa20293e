//! The process: its end, its exit codes, its configuration.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_daemon_finishes_its_turn_and_refuses_new_ones() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(1500, "finished")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    stage.signal("TERM");
    until("it drains", || stage.log().contains("\"draining\"")).await;
    let (code, body) = stage.get("/readyz").await.expect("it still answers");
    assert!(code == 503 && body.contains("draining"), "{code} {body}");
    let late_one = stage.sim.says("ann", &chat, "one more").unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    let push = stage.sim.pushes_of(&late_one).remove(0);
    assert_eq!(push.status, Some(503), "{}", push.answer);
    assert!(push.answer.contains("draining"));
    let status = stage.ended(PATIENCE).await.expect("it ends");
    assert_eq!(status.code(), Some(0));
    assert!(stage.sim.answers_to(&late_one).is_empty());

    // Either the turn was finished before the end, or it is after the restart; and once.
    stage.start(&[]).await;
    stage.sim.advance(Duration::from_secs(16));
    stage.verdict(&question, "answered").await;
    stage.verdict(&late_one, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["finished", "answer to: one more"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_drain_cannot_finish_goes_on_after_the_restart() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR__SERVER__DRAIN_TIMEOUT", "300ms")]).await;
    stage.model.set_mode(Mode::script([Turn::Stall, Turn::text("later")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    let queued = stage.sim.says("ann", &chat, "and this").unwrap();
    asked(&stage, 1).await;
    stage.verdict(&queued, "queued").await;
    assert_eq!(stage.terminate().await.code(), Some(0));
    assert!(bot_lines(&stage, &chat).is_empty());
    stage.start(&[]).await;
    stage.verdict(&queued, "answered").await;
    assert_eq!(stage.answer(&question).await, "later");
    assert_eq!(bot_lines(&stage, &chat), ["later", "answer to: and this"]);
    assert!(stage.sim.seen(&question).unwrap().reactions.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn work_for_a_bot_that_is_missing_waits_for_it() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall, Turn::text("at last")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    stage.kill();
    let file = stage.path("bots/assistant.toml");
    let definition = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("nonsense = 1\n{definition}")).unwrap();
    stage.launch(&[]);
    until("it says whose work waits", || stage.log().contains("turn_left_open")).await;
    assert_eq!(stage.terminate().await.code(), Some(0));
    assert!(bot_lines(&stage, &chat).is_empty());

    fs::write(&file, definition).unwrap();
    stage.start(&[]).await;
    assert_eq!(stage.answer(&question).await, "at last");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_the_daemon_was_down_does_not_count_against_a_run() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR_FAULT", "turn.started")]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "still there?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "it is killed at the point");
    // Longer than the 180 seconds of the preset.
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", "600000")]).await;
    assert_eq!(stage.answer(&question).await, "answer to: still there?");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_the_model_cannot_answer_fails_and_says_why() {
    let stage = Stage::set(Options::default()).await;
    stage.model.set_mode(Mode::Same(Turn::unauthorized()));
    let output = stage.cli(&["ask", "anything", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"], "failed");
    let troubles = String::from_utf8(output.stderr).unwrap();
    assert!(troubles.contains("model_failed"), "{troubles}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_daemon_ends_at_once_and_so_does_an_interrupted_one() {
    for signal in ["TERM", "INT"] {
        let mut stage = Stage::new().await;
        let chat = stage.sim.p2p("ann").chat_id;
        barrier(&stage, "ann", &chat).await;
        stage.signal(signal);
        let status = stage.ended(Duration::from_secs(8)).await.expect("an idle daemon ends soon");
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(!stage.log().contains("panicked"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_the_same_data_is_told_to_try_later() {
    let stage = Stage::new().await;
    let mut second = stage.command(&["run"]);
    second.env("LARKSPUR__SERVER__LISTEN", "127.0.0.1:0");
    let output = tokio::task::block_in_place(|| second.output().unwrap());
    assert_eq!(output.status.code(), Some(75));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("data") && complaint.contains("use"), "{complaint}");
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 1, "the first goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_an_error_that_names_it() {
    let stage = Stage::new().await;
    let mut second = stage.command(&["run"]);
    second.env("LARKSPUR__DATA_DIR", "other-data");
    let output = tokio::task::block_in_place(|| second.output().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("cannot listen on 127.0.0.1:"), "{complaint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_configuration_lists_all_its_problems() {
    let stage = Stage::set(Options::default()).await;
    let bad = "locale = \"en-US\"\ncolour = \"blue\"\n[server]\nlisten = \"nowhere\"\n\
               drain_timeout = \"soon\"\n[store]\nengine = \"paper\"\n[log]\nfilter = \"inof\"\n";
    fs::write(stage.path("config/larkspur.toml"), bad).unwrap();
    let expected =
        ["colour", "server.listen", "server.drain_timeout", "store.engine", "log.filter"];
    for arguments in [&["run"][..], &["ask", "x"], &["why", "om_1"]] {
        let output = stage.cli(arguments);
        assert_eq!(output.status.code(), Some(78), "{arguments:?}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        for key in expected {
            assert!(complaint.contains(key), "{arguments:?}: {key} is not in {complaint}");
        }
        assert!(complaint.contains("larkspur.toml:4"), "{complaint}");
    }
    assert!(!stage.path("data").exists(), "nothing was touched");
    fs::write(stage.path("config/larkspur.toml"), "locale = [\n").unwrap();
    assert_eq!(stage.cli(&["run"]).status.code(), Some(78));
    fs::remove_file(stage.path("config/larkspur.toml")).unwrap();
    assert_eq!(stage.cli(&["run"]).status.code(), Some(78));
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reports_problems_for_people_and_for_machines() {
    let stage = Stage::set(Options::default()).await;
    let output = stage.cli(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["errors"], &report["bots"]), (&0.into(), &1.into()), "{report}");

    let other = "name = \"Bad Name\"\nmodle = \"main\"\n[lark]\napp_id = \"\"\n";
    fs::write(stage.path("bots/other.toml"), other).unwrap();
    let output = stage.cli(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(78));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["bots"], 1, "the good one is not affected");
    let problems = report["problems"].as_array().unwrap();
    for (key, line) in [("modle", 2), ("name", 1), ("lark.app_id", 4)] {
        let found = problems.iter().find(|problem| problem["key"] == key);
        let found = found.unwrap_or_else(|| panic!("{key} is not in {report}"));
        assert_eq!(found["line"], line);
        assert!(found["file"].as_str().unwrap().ends_with("bots/other.toml"));
    }
    let output = stage.cli(&["check"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(String::from_utf8(output.stdout).unwrap().contains("other.toml:2: modle"));
    assert!(!stage.path("data").exists(), "checking touches nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_command_line_is_its_own_exit_code() {
    let stage = Stage::set(Options::default()).await;
    for arguments in [&["dance"][..], &["why"], &["ask"], &["run", "--fast"], &["check", "--yaml"]]
    {
        let output = stage.cli(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    for arguments in [&["--help"][..], &["why", "--help"], &["--version"]] {
        let output = stage.cli(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty() && !output.stdout.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_as_json_says_nothing_twice() {
    let main = "[log]\nformat = \"json\"".to_owned();
    let stage = Stage::with(Options { main, ..Options::default() }).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "hello?").unwrap();
    stage.verdict(&question, "answered").await;
    let log = stage.log();
    assert!(log.contains(&format!("\"message_id\":\"{question}\"")), "{log}");
    for line in log.lines() {
        assert_eq!(line.matches("\"message\":").count(), 1, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_for_a_bot_that_is_missing_waits_and_says_so() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "who answers?").unwrap();
    asked(&stage, 1).await;
    stage.kill();
    let file = stage.path("bots/assistant.toml");
    let ours = fs::read_to_string(&file).unwrap();
    fs::write(&file, ours.replace("\"assistant\"", "\"renamed\"")).unwrap();
    stage.start(&[]).await;
    let why = stage.why(&question);
    assert_eq!(why["verdict"], "queued");
    assert!(why["reason"].as_str().unwrap().contains("its bot assistant does not run"), "{why}");
    let (status, body) = stage.get("/readyz").await.unwrap();
    assert_eq!(status, 200, "{body}");
    let line = "degraded: open turns wait for bots that do not run here: assistant (1)";
    assert!(body.lines().any(|said| said == line), "{body}");
    stage.kill();
    fs::write(&file, ours).unwrap();
    stage.model.set_mode(Mode::Echo);
    stage.start(&[]).await;
    assert_eq!(stage.answer(&question).await, "answer to: who answers?");
    assert!(!stage.get("/readyz").await.unwrap().1.contains("degraded"));
}
