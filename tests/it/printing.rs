//! What the commands print, and where it cannot go.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::stage::Stage;

/// Exit code and complaint of a command whose standard output is `out`.
fn printed_to(stage: &Stage, arguments: &[&str], out: Stdio) -> (Option<i32>, String) {
    let mut command = stage.command(arguments);
    let child = command.stdout(out).stderr(Stdio::piped()).spawn().unwrap();
    let ended = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

const COMMANDS: [&[&str]; 9] = [
    &["--help"],
    &["check"],
    &["check", "--json"],
    &["ask", "hello"],
    &["why", "om_nothing"],
    &["why", "om_nothing", "--json"],
    &["events", "failed"],
    &["store", "expire"],
    &["store", "export", "-"],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_printed_is_a_failure() {
    let mut stage = Stage::new().await;
    let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let refused = |stage: &Stage, arguments: &[&str]| {
        let (code, said) = printed_to(stage, arguments, full());
        assert_eq!(code, Some(74), "{arguments:?}: {said}");
        assert!(said.contains("standard output cannot be written: No space"), "{said}");
    };
    for arguments in COMMANDS {
        refused(&stage, arguments);
    }
    stage.terminate().await;
    refused(&stage, &["store", "export", "-"]);
    refused(&stage, &["store", "repair"]);
    refused(&stage, &["store", "repair", "--json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_went_away_is_no_failure() {
    let mut stage = Stage::new().await;
    // Nobody reads at the other end from the start.
    let gone = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    for arguments in COMMANDS {
        assert_eq!(printed_to(&stage, arguments, gone()), (Some(0), String::new()));
    }
    stage.terminate().await;
    let export = ["store", "export", "-"];
    assert_eq!(printed_to(&stage, &export, gone()), (Some(0), String::new()));
}
