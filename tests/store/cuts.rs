//! Damage to the store's files: cut, zeroed and changed logs, and drafts of snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use larkspur::store::StoreError;

use crate::dice::Dice;
use crate::place::Place;
use crate::work::{self, Size, Work};

/// Where a cut may be.
const BORDER: u64 = 512;
/// What sled fills before it begins another.
const SEGMENT: u64 = 512 << 10;
/// Rounds before the last start, and after it until the last acknowledgement.
const ROUNDS_BEFORE: usize = 6;
const ROUNDS: usize = 9;

/// A store of which the last round was not acknowledged.
struct Killed {
    place: Place,
    work: Work,
    /// The log's length at the last acknowledgement and at the end.
    acknowledged: u64,
    end: u64,
}

impl Killed {
    /// One with enough to cut, and with the last acknowledgement in the middle of a segment.
    async fn new(dice: &mut Dice) -> Self {
        loop {
            let killed = Self::drawn(dice).await;
            let tail = killed.end.saturating_sub(killed.acknowledged);
            let place = killed.acknowledged % SEGMENT;
            if tail > 32 * BORDER && place > 16 * BORDER {
                return killed;
            }
        }
    }

    async fn drawn(dice: &mut Dice) -> Self {
        let place = Place::new();
        let work = Work::of(dice.next(), ROUNDS + 1, Size::Large);
        let log = || fs::metadata(place.data().join("store/db")).unwrap().len();
        let store = work::open(&place.data()).unwrap();
        for round in 0..ROUNDS_BEFORE {
            work.finish(&store, round, &[]).await;
        }
        store.close().await;
        let store = work::open(&place.data()).unwrap();
        for round in ROUNDS_BEFORE..ROUNDS {
            work.finish(&store, round, &[]).await;
        }
        let acknowledged = log();
        let witness = fs::read(place.data().join("store/acknowledged")).unwrap();
        work.finish(&store, ROUNDS, &[]).await;
        let end = log();
        // As the files are now, the process was killed here.
        let killed = Place::new();
        copy(&place.data(), &killed.data());
        fs::write(killed.data().join("store/acknowledged"), witness).unwrap();
        store.close().await;
        Self { place: killed, work, acknowledged, end }
    }

    /// A copy with its log changed.
    fn with_log(&self, change: impl FnOnce(&mut Vec<u8>)) -> Place {
        let place = Place::new();
        copy(&self.place.data(), &place.data());
        let log = place.data().join("store/db");
        let mut bytes = fs::read(&log).unwrap();
        change(&mut bytes);
        fs::write(log, bytes).unwrap();
        place
    }

    /// Everything acknowledged is there, and the rest can be handed in again.
    async fn judge(&self, place: &Place, how: &str) {
        let store = work::open(&place.data()).unwrap_or_else(|error| panic!("{how}: {error}"));
        let compared = self.work.compare(&store, ROUNDS).await;
        let there = compared.unwrap_or_else(|wrong| panic!("{how}: {wrong}"));
        self.work.finish(&store, ROUNDS, &there).await;
        store.close().await;
        let store = work::open(&place.data()).unwrap_or_else(|error| panic!("{how}: {error}"));
        let after = self.work.compare(&store, ROUNDS + 1).await;
        assert!(after.is_ok(), "{how}; going on: {after:?}");
        store.close().await;
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_name() != "reserve" {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The borders from `start` to `end`, both themselves included.
fn borders(start: u64, end: u64) -> Vec<u64> {
    let mut borders = vec![start, end];
    borders.extend((start / BORDER + 1..=end / BORDER).map(|border| border * BORDER));
    borders.sort_unstable();
    borders.dedup();
    borders
}

fn index(place: u64) -> usize {
    usize::try_from(place).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_cut_anywhere_after_the_last_acknowledgement_loses_nothing() {
    let mut dice = Dice::seeded("cuts");
    let killed = Killed::new(&mut dice).await;
    let borders = borders(killed.acknowledged, killed.end);
    for border in &borders {
        let place = killed.with_log(|log| log.truncate(index(*border)));
        killed.judge(&place, &format!("cut at {border}")).await;
    }
    println!("{} cuts of {}..{}", borders.len(), killed.acknowledged, killed.end);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zeros_and_changed_bytes_after_the_last_acknowledgement_lose_nothing() {
    let mut dice = Dice::seeded("zeros and changed bytes");
    let killed = Killed::new(&mut dice).await;
    let start = index(killed.acknowledged);
    for _ in 0..60 {
        let from = start + dice.size_below(index(killed.end) - start);
        let place = killed.with_log(|log| log[from..].fill(0));
        killed.judge(&place, &format!("zeros from {from}")).await;
        let bit = 1 << dice.below(8);
        let place = killed.with_log(|log| log[from] ^= bit);
        killed.judge(&place, &format!("a changed bit at {from}")).await;
    }
}

/// How many cuts are tried at most.
const EARLY_CUTS_MAX: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_cut_before_the_last_acknowledgement_is_refused_again_and_again() {
    let mut dice = Dice::seeded("cuts too early");
    let killed = Killed::new(&mut dice).await;
    let borders = borders(0, killed.acknowledged - 1);
    let every = borders.len().div_ceil(EARLY_CUTS_MAX);
    let first = dice.size_below(every);
    for border in borders.iter().skip(first).step_by(every) {
        let place = killed.with_log(|log| log.truncate(index(*border)));
        for opening in 1..=2 {
            match work::open(&place.data()) {
                Err(StoreError::Broken { .. }) => {}
                Err(other) => panic!("cut at {border}, opening {opening}: {other}"),
                Ok(_store) => panic!("cut at {border}, and opening {opening} says nothing"),
            }
        }
    }
    println!("cuts of 0..{}, one in {every} tried", killed.acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_removes_the_witness_gets_what_is_left_of_a_log_that_was_cut() {
    let mut dice = Dice::seeded("a removed witness");
    let killed = Killed::new(&mut dice).await;
    let place = killed.with_log(|log| log.truncate(index(killed.acknowledged) - 100));
    let error = work::open(&place.data()).err().unwrap().to_string();
    let witness = place.data().join("store/acknowledged");
    assert!(error.contains("acknowledged commits are missing"), "{error}");
    assert!(error.contains(&format!("remove {}", witness.display())), "{error}");
    fs::remove_file(witness).unwrap();
    let store = work::open(&place.data()).unwrap();
    let missing = killed.work.compare(&store, ROUNDS).await.unwrap_err();
    assert!(missing.contains("lost"), "{missing}");
    // All rounds but the last were there before the cut.
    assert!(killed.work.compare(&store, ROUNDS - 1).await.is_ok());
    store.close().await;
}

/// The snapshot of a store, and its bytes.
fn snapshot(data: &Path) -> (PathBuf, Vec<u8>) {
    let files = fs::read_dir(data.join("store")).unwrap().map(|entry| entry.unwrap().path());
    let mut snapshots =
        files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("snap."));
    let path = snapshots.next().unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_of_a_snapshot_that_a_kill_left_stops_no_start() {
    let mut dice = Dice::seeded("drafts of snapshots");
    let killed = Killed::new(&mut dice).await;
    let (path, whole) = snapshot(&killed.place.data());
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let garbage: Vec<u8> = (0..whole.len()).map(|_| dice.next().to_le_bytes()[0]).collect();
    let half = whole[..whole.len() / 2].to_vec();
    let contents = [Vec::new(), vec![0; 13], garbage, half, vec![0; whole.len()], whole];
    for content in &contents {
        // Of the same position, of one before and of one behind.
        for draft in [&name, "snap.0000000000000001", "snap.00000000FFFFFFFF"] {
            let place = killed.with_log(|_as_it_is| {});
            let draft = place.data().join("store").join(format!("{draft}.generating"));
            fs::write(&draft, content).unwrap();
            killed.judge(&place, &format!("{} bytes in {}", content.len(), draft.display())).await;
            assert!(!draft.exists());
        }
    }
}
