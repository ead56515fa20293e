//! `kill -9` at every named point, at its first passage and in the middle of things.

use std::os::unix::process::ExitStatusExt;

use larkspur::base::fault::POINTS;

use crate::chatter::{self, Chatter, Kind};
use crate::dice::Dice;
use crate::oracle;
use crate::stage::{PATIENCE, Stage};

const SIGKILL: i32 = 9;

/// What is asked in each room: enough for three passages of every point. The commands come last,
/// for they would overtake.
const ASKED: [Kind; 6] =
    [Kind::Plain, Kind::Lookup, Kind::Lengthy, Kind::Lookup, Kind::Plain, Kind::Ping];

/// How often a process is killed at a random commit, and how many commits are certain to come in
/// the first life and in the second.
const COMMIT_KILLS: usize = 12;
const COMMITS_FIRST: u64 = 60;
const COMMITS_AGAIN: u64 = 20;

/// Waits until the process is killed at the point that it was started with.
async fn killed(stage: &mut Stage, fault: &str) {
    let status = stage.ended(PATIENCE).await;
    let status = status.unwrap_or_else(|| panic!("{fault} is not reached: {}", stage.log()));
    assert_eq!(status.signal(), Some(SIGKILL), "{fault}: {}", stage.log());
}

fn ask_all(chatter: &mut Chatter) {
    for kind in ASKED {
        for room in 0..chatter.rooms() {
            chatter.ask(room, kind);
        }
    }
}

async fn killed_at_its_passage(passage: usize) {
    for point in POINTS {
        let fault = format!("{point}:{passage}");
        let mut stage = chatter::stage().await;
        let mut chatter = Chatter::new(&stage, 2, 1);
        stage.start(&[("LARKSPUR_FAULT", &fault)]).await;
        ask_all(&mut chatter);
        killed(&mut stage, &fault).await;
        stage.start(&[]).await;
        oracle::judge(&mut chatter, &mut stage).await;
        println!("killed at {fault}: {} questions answered once", chatter.asked.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_the_first_passage_of_any_point_neither_loses_nor_doubles_an_answer() {
    killed_at_its_passage(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_the_second_passage_of_any_point_neither_loses_nor_doubles_an_answer() {
    killed_at_its_passage(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_the_third_passage_of_any_point_neither_loses_nor_doubles_an_answer() {
    killed_at_its_passage(3).await;
}

/// Every commit of every flow passes the same two points, so these kills need no list of flows:
/// one in the first life, one in the life that takes the work up again.
#[tokio::test(flavor = "multi_thread")]
async fn kills_at_any_commit_and_again_at_one_of_the_recovery_lose_and_double_nothing() {
    let mut dice = Dice::seeded("kills at commits");
    for kill in 0..COMMIT_KILLS {
        let mut stage = chatter::stage().await;
        let mut chatter = Chatter::new(&stage, 2, 1);
        for (life, commits_max) in [COMMITS_FIRST, COMMITS_AGAIN].into_iter().enumerate() {
            let point = ["commit.before", "commit.after"][(kill + life) % 2];
            let fault = format!("{point}:{}", 1 + dice.below(commits_max));
            stage.launch(&[("LARKSPUR_FAULT", &fault)]);
            // The second may come before the daemon listens.
            if stage.is_ready().await {
                ask_all(&mut chatter);
            }
            killed(&mut stage, &fault).await;
            println!("killed at {fault}");
        }
        stage.start(&[]).await;
        oracle::judge(&mut chatter, &mut stage).await;
    }
}
