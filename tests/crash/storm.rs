//! A daemon that is killed again and again while it starts.

use std::time::Duration;

use crate::chatter::{self, Chatter, Kind};
use crate::dice::Dice;
use crate::llm_script::Latency;
use crate::{oracle, stages};

const KILLS: usize = 30;
/// The latest moment of a kill after the start of the process.
const STARTUP: Duration = Duration::from_millis(300);
const WAITING_PER_ROOM: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_kills_at_start_up_neither_loses_nor_doubles_an_answer() {
    let mut dice = Dice::seeded("storm");
    let mut stage = chatter::stage().await;
    let mut chatter = Chatter::new(&stage, 8, 2);
    // Little gets done between two kills, so that there is work until the last.
    stage.model.set_latency(Latency::Random {
        seed: dice.next(),
        least: Duration::from_millis(100),
        most: Duration::from_millis(2_000),
    });
    stage.start(&[]).await;
    for _ in 0..WAITING_PER_ROOM {
        for room in 0..chatter.rooms() {
            chatter.ask_anything(room, &mut dice);
        }
    }
    assert!(chatter.sim.pushed(crate::stage::PATIENCE).await, "first tries hang");
    stage.kill();
    for kill in 1..=KILLS {
        stage.launch(&[]);
        // Somebody asks while it starts: refused, broken off or taken.
        let room = usize::try_from(dice.below(10)).unwrap();
        chatter.ask(room, Kind::Plain);
        tokio::time::sleep(dice.moment(STARTUP)).await;
        stage.kill();
        let turns = stages::open_turns(&stage).await;
        assert!(turns.count > 0, "no work was open at kill {kill}");
    }
    stage.model.set_latency(Latency::Fixed(Duration::ZERO));
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
    println!("storm: {KILLS} kills, {} questions answered once", chatter.asked.len());
}
