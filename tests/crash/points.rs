//! `kill -9` at every named point, at its first passage and in the middle of things.

use std::os::unix::process::ExitStatusExt;

use larkspur::base::fault::POINTS;

use crate::chatter::{self, Chatter, Kind};
use crate::oracle;
use crate::stage::PATIENCE;

const SIGKILL: i32 = 9;

/// What is asked in each room: enough for three passages of every point. The commands come last,
/// for they would overtake.
const ASKED: [Kind; 6] =
    [Kind::Plain, Kind::Lookup, Kind::Lengthy, Kind::Lookup, Kind::Plain, Kind::Ping];

async fn killed_at_its_passage(passage: usize) {
    for point in POINTS {
        let fault = format!("{point}:{passage}");
        let mut stage = chatter::stage().await;
        let mut chatter = Chatter::new(&stage, 2, 1);
        stage.start(&[("LARKSPUR_FAULT", &fault)]).await;
        for kind in ASKED {
            for room in 0..chatter.rooms() {
                chatter.ask(room, kind);
            }
        }
        let status = stage.ended(PATIENCE).await;
        let status = status.unwrap_or_else(|| panic!("{fault} is not reached: {}", stage.log()));
        assert_eq!(status.signal(), Some(SIGKILL), "{fault}: {}", stage.log());
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
