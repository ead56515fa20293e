//! Power cuts at any moment of the store's life. See `support/power_cut.rs` for what they leave.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dice::Dice;
use crate::place::Place;
use crate::power_cut::{Disk, Op, Recording};
use crate::work::{self, Size, Work};

/// Where a recorded process works.
const FOLDER: &str = "LARKSPUR_POWER_FOLDER";
/// Which work: the seed, the rounds before, where they end, and the words of [`Kind`].
const WORK: &str = "LARKSPUR_POWER_WORK";

/// How many times as many images as usual are tried: `LARKSPUR_CRASH_ROUNDS`, else 1.
#[expect(clippy::disallowed_methods, reason = "it is set from outside of the test")]
fn rounds() -> usize {
    std::env::var("LARKSPUR_CRASH_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

/// The work of one process.
#[derive(Clone, Copy, Debug)]
struct Task {
    seed: u64,
    from: usize,
    to: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usual,
    /// Large values.
    Large,
    /// Large values, and floods of events without work, whose notes need not be synced.
    Noisy,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Usual, Self::Large, Self::Noisy];

    fn size(self) -> Size {
        if self == Self::Usual { Size::Usual } else { Size::Large }
    }
}

impl Task {
    fn work(self) -> Work {
        Work::of(self.seed, self.to, self.kind.size())
    }

    /// Does it in a process of its own and records that.
    fn recorded(self, place: &Place) -> Recording {
        let Self { seed, from, to, kind } = self;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "power::acknowledged_work_is_there", "--nocapture"])
            .env(FOLDER, place.folder())
            .env(WORK, format!("{seed} {from} {to} {kind:?}"));
        Recording::of(place.folder(), &mut command)
    }

    #[expect(clippy::disallowed_methods, reason = "it comes from the test that started this one")]
    fn given() -> Option<(PathBuf, Self)> {
        let words = std::env::var(WORK).ok()?;
        Some((std::env::var_os(FOLDER)?.into(), Self::parsed(&words)))
    }

    fn parsed(words: &str) -> Self {
        let words: Vec<&str> = words.split(' ').collect();
        let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == words[3]).unwrap();
        let (from, to) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        Self { seed: words[0].parse().unwrap(), from, to, kind }
    }
}

/// The process that the others record; run by itself, it is a test too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_work_is_there() {
    let place = Place::new();
    let own = Task { seed: 1, from: 0, to: 20, kind: Kind::Large };
    let (folder, task) = Task::given().unwrap_or((place.folder().to_owned(), own));
    let work = task.work();
    let store = work::open(&folder.join("data")).unwrap();
    let mut acknowledged = fs::File::create(folder.join("rounds")).unwrap();
    // Of the first round something may be there, if this goes on where another process ended.
    let mut there = work.compare(&store, task.from).await.unwrap();
    for round in task.from..task.to {
        work.finish(&store, round, &there).await;
        acknowledged.write_all(b"a").unwrap();
        there.clear();
        if task.kind == Kind::Noisy {
            work::make_noise(&store);
        }
    }
    assert_eq!(work.compare(&store, task.to).await, Ok(Vec::new()));
    store.close().await;
}

/// How the images of one test fared.
#[derive(Debug, Default)]
struct Tally {
    images: usize,
    /// Requests of an unacknowledged round that were there.
    there: usize,
}

/// A recorded process that is played up to some moment.
struct Played<'a> {
    recording: &'a Recording,
    disk: Disk,
    moment: usize,
    /// How many rounds were acknowledged.
    rounds: usize,
    acknowledged: Option<u64>,
}

impl<'a> Played<'a> {
    fn new(task: Task, recording: &'a Recording) -> Self {
        let disk = recording.before.clone();
        Self { recording, disk, moment: 0, rounds: task.from, acknowledged: None }
    }

    fn until(&mut self, moment: usize) {
        for op in &self.recording.ops[self.moment..moment] {
            self.disk.play(op);
            match op {
                Op::Make { path, inode, .. } if path.ends_with("rounds") => {
                    self.acknowledged = Some(*inode);
                }
                Op::Write { inode, .. } if Some(*inode) == self.acknowledged => self.rounds += 1,
                _ => {}
            }
        }
        self.moment = moment;
    }

    /// Leaves one of the states in which a power cut may find the files now.
    fn cut(&self, dice: &mut Dice) -> (Place, String) {
        let place = Place::new();
        let how = self.disk.leave(place.folder(), dice);
        let (moment, all) = (self.moment, self.recording.ops.len());
        (place, format!("cut at operation {moment} of {all}: {how}"))
    }
}

/// Cuts the power `cuts` times at random moments of a recorded process.
async fn cut_often(task: Task, recording: &Recording, cuts: usize, dice: &mut Dice) -> Tally {
    let work = task.work();
    let mut moments: Vec<usize> =
        (0..cuts).map(|_| dice.size_below(recording.ops.len() + 1)).collect();
    moments.sort_unstable();
    let mut played = Played::new(task, recording);
    let mut tally = Tally::default();
    for moment in moments {
        played.until(moment);
        let (place, how) = played.cut(dice);
        tally.images += 1;
        tally.there += judge(&place, &work, played.rounds, &how).await;
    }
    tally
}

/// Opens what was left, twice, for the first opening may have repaired it badly; then goes on.
async fn judge(place: &Place, work: &Work, rounds: usize, how: &str) -> usize {
    let mut there = Vec::new();
    for opening in 1..=2 {
        let store = work::open(&place.data()).unwrap_or_else(|error| panic!("{how}: {error}"));
        let compared = work.compare(&store, rounds).await;
        there = compared.unwrap_or_else(|wrong| panic!("{how}; opening {opening}: {wrong}"));
        store.close().await;
    }
    let store = work::open(&place.data()).unwrap();
    work.finish(&store, rounds, &there).await;
    let after = work.compare(&store, work.rounds.len().min(rounds + 1)).await;
    assert!(after.is_ok(), "{how}; going on: {after:?}");
    store.close().await;
    there.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_at_the_creation_loses_nothing_acknowledged() {
    let mut dice = Dice::seeded("power cuts at the creation");
    let task = Task { seed: dice.next(), from: 0, to: 8, kind: Kind::Usual };
    let recording = task.recorded(&Place::new());
    let tally = cut_often(task, &recording, 200 * rounds(), &mut dice).await;
    println!("{} operations, {tally:?}", recording.ops.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_at_work_loses_nothing_acknowledged() {
    let mut dice = Dice::seeded("power cuts at work");
    for (kind, to) in [(Kind::Large, 100), (Kind::Noisy, 12)] {
        let task = Task { seed: dice.next(), from: 0, to, kind };
        let place = Place::new();
        let recording = task.recorded(&place);
        let (written, log) = (written(&recording), fs::metadata(place.data().join("store/db")));
        let log = log.unwrap().len();
        let again = kind == Kind::Noisy || written > 2 * log;
        assert!(again, "the log's segments were not used again");
        let tally = cut_often(task, &recording, 110 * rounds(), &mut dice).await;
        let operations = recording.ops.len();
        println!("{kind:?}: {operations} operations, {written} bytes, a log of {log}, {tally:?}");
    }
}

fn written(recording: &Recording) -> u64 {
    let sizes = recording.ops.iter().map(|op| match op {
        Op::Write { bytes, .. } => bytes.len(),
        _ => 0,
    });
    u64::try_from(sizes.sum::<usize>()).unwrap()
}

/// Cuts the power while the store opens what another power cut left. `damage`: what befell that
/// besides.
async fn cut_again(cuts: usize, damage: impl Fn(&Path), dice: &mut Dice) -> Tally {
    let first = Task { seed: dice.next(), from: 0, to: 40, kind: Kind::Large };
    let recording = first.recorded(&Place::new());
    let mut all = Tally::default();
    for _ in 0..8 {
        let mut played = Played::new(first, &recording);
        played.until(recording.ops.len() / 2 + dice.size_below(recording.ops.len() / 2));
        let (place, _how) = played.cut(dice);
        fs::remove_file(place.folder().join("rounds")).unwrap_or_default();
        damage(&place.data().join("store"));
        let second = Task { from: played.rounds, to: (played.rounds + 2).min(40), ..first };
        let recording = second.recorded(&place);
        let tally = cut_often(second, &recording, cuts, dice).await;
        all.images += tally.images;
        all.there += tally.there;
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_at_the_start_after_a_power_cut_loses_nothing_acknowledged() {
    let mut dice = Dice::seeded("power cuts at the start");
    let tally = cut_again(25 * rounds(), |_store| {}, &mut dice).await;
    println!("{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_during_the_repair_loses_nothing_acknowledged() {
    let mut dice = Dice::seeded("power cuts during the repair");
    let damage = |store: &Path| {
        for entry in fs::read_dir(store).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("snap.") {
                fs::write(path, b"of no use to anybody").unwrap();
            }
        }
    };
    let tally = cut_again(25 * rounds(), damage, &mut dice).await;
    println!("{tally:?}");
}
