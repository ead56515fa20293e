//! Two hundred kills at random moments under load.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chatter::{self, Chatter};
use crate::dice::Dice;
use crate::oracle;
use crate::stage::PATIENCE;
use crate::stages::{self, Reached};

const KILLS: usize = 200;
/// One kill in so many comes while some answer is visible in part, which is a short time.
const HALF_SAID_EVERY: usize = 7;
/// One kill in so many comes while the daemon starts.
const STARTUP_KILL_EVERY: usize = 3;
/// The latest moment of a kill at start-up after the start of the process.
const STARTUP: Duration = Duration::from_millis(300);
/// How long the daemon works at most before another kill.
const UNDER_LOAD: Duration = Duration::from_millis(250);
/// After so many kills the work is finished: a run takes three minutes at most, restarts
/// included, and then apologises, which is not the subject here.
const FINISH_EVERY: usize = 25;
/// What must be open at each kill, and in how many chats.
const OPEN_TURNS_MIN: usize = 20;
const OPEN_CHATS_MIN: usize = 10;
/// What waits in each room until the moment comes.
const WAITING_PER_ROOM: usize = 3;
/// The same before a kill that is followed by one at start-up, when nobody asks more.
const WAITING_PER_ROOM_MOST: usize = 5;
/// How often it is looked at.
const TICK: Duration = Duration::from_millis(60);
const PRIVATE_ROOMS: usize = 12;
const GROUP_ROOMS: usize = 4;
/// How often each stage must have been hit.
const HITS_MIN: usize = 10;

/// What a kill under load waits for.
struct Until {
    /// So much is acknowledged and not answered in nearly all rooms.
    per_room: usize,
    /// It goes on at least so long.
    span: Duration,
    /// Some answer is visible in part.
    half_said: bool,
}

impl Until {
    /// What kill number `kill` waits for.
    fn drawn(kill: usize, dice: &mut Dice) -> Self {
        let before_startup = is_at_startup(kill + 1);
        Self {
            per_room: if before_startup { WAITING_PER_ROOM_MOST } else { WAITING_PER_ROOM },
            span: dice.moment(UNDER_LOAD),
            half_said: kill.is_multiple_of(HALF_SAID_EVERY),
        }
    }
}

/// Keeps every room busy until it is time for the kill.
async fn keep_busy(chatter: &mut Chatter, until: &Until, dice: &mut Dice) {
    let asked = async {
        let mut passed = Duration::ZERO;
        loop {
            let open = chatter.look();
            let busy = open.per_room.iter().filter(|count| **count >= until.per_room).count();
            let is_said = !until.half_said || chatter.is_half_said();
            if passed >= until.span && busy * 10 >= chatter.rooms() * 9 && is_said {
                return;
            }
            for room in 0..chatter.rooms() {
                if open.per_room[room] + open.coming[room] <= until.per_room {
                    chatter.ask_anything(room, dice);
                }
            }
            let tick = dice.moment(TICK);
            tokio::time::sleep(tick).await;
            passed += tick;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, asked).await.is_ok();
    assert!(in_time, "not enough is open: {:?}", chatter.look().per_room);
}

/// Such a kill follows one under load, which left enough behind.
fn is_at_startup(kill: usize) -> bool {
    kill.is_multiple_of(STARTUP_KILL_EVERY) && !kill.is_multiple_of(FINISH_EVERY)
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_at_random_moments_neither_lose_nor_double_nor_reorder_answers() {
    let mut dice = Dice::seeded("random kills");
    let mut stage = chatter::stage().await;
    let mut chatter = Chatter::new(&stage, PRIVATE_ROOMS, GROUP_ROOMS);
    chatter::rough_platform(&stage, &mut dice);
    let mut hits: BTreeMap<Reached, usize> = BTreeMap::new();
    for kill in 1..=KILLS {
        if kill.is_multiple_of(FINISH_EVERY) {
            stage.start(&[]).await;
            oracle::settle(&mut chatter, &mut stage).await;
            stage.kill();
        }
        if is_at_startup(kill) {
            stage.launch(&[]);
            tokio::time::sleep(dice.moment(STARTUP)).await;
        } else {
            stage.start(&[]).await;
            let until = Until::drawn(kill, &mut dice);
            keep_busy(&mut chatter, &until, &mut dice).await;
            if !until.half_said {
                tokio::time::sleep(dice.moment(TICK)).await;
            }
        }
        stage.kill();
        let turns = stages::open_turns(&stage).await;
        assert!(
            turns.count >= OPEN_TURNS_MIN && turns.chats >= OPEN_CHATS_MIN,
            "too little is open at kill {kill}: {turns:?}"
        );
        for id in chatter.look().owed {
            let is_kept = turns.messages.contains(&id);
            assert!(is_kept, "{id} was lost at kill {kill}: {}", stage.log());
        }
        for (reached, count) in turns.reached {
            *hits.entry(reached).or_default() += count;
        }
    }
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
    println!("{KILLS} kills, {} questions answered once", chatter.asked.len());
    let hits = Reached::ALL.map(|reached| (reached, hits.get(&reached).copied().unwrap_or(0)));
    for (reached, count) in hits {
        println!("{count:5} x {reached:?}");
    }
    for (reached, count) in hits {
        assert!(count >= HITS_MIN, "{reached:?} was hit only {count} times: {hits:?}");
    }
}
