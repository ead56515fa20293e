//! SIGTERM in the middle of work.

use std::time::Duration;

use crate::chatter::{self, Chatter};
use crate::dice::Dice;
use crate::oracle;

const DRAINS: usize = 5;
const ASKED_PER_ROOM: usize = 3;
const UNDER_LOAD: Duration = Duration::from_millis(150);

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_under_load_neither_loses_nor_doubles_an_answer() {
    let mut dice = Dice::seeded("drains");
    let mut stage = chatter::stage().await;
    let mut chatter = Chatter::new(&stage, 8, 2);
    chatter::rough_platform(&stage, &mut dice);
    let mut interrupted = 0;
    for _ in 0..DRAINS {
        stage.start(&[]).await;
        for _ in 0..ASKED_PER_ROOM {
            for room in 0..chatter.rooms() {
                chatter.ask_anything(room, &mut dice);
            }
        }
        tokio::time::sleep(dice.moment(UNDER_LOAD)).await;
        let status = stage.terminate().await;
        assert!(status.success(), "{status:?}: {}", stage.log());
        interrupted += crate::stages::open_turns(&stage).await.count;
    }
    assert!(interrupted > 0, "the drains came when nothing was open");
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
    println!("drains: {interrupted} open turns were taken over by the next process");
}
