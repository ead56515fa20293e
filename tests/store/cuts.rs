//! Damage to the store's files: cut, zeroed and changed logs, and drafts of snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use larkspur::store::{StoreError, rehearse_sled, remains_of_sled, salvage_sled};

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
            // A segment that is full is padded to its end: a cut in there takes nothing away.
            let place = killed.acknowledged % SEGMENT;
            let is_amid = (16 * BORDER..SEGMENT - 16 * BORDER).contains(&place);
            if tail > 32 * BORDER && is_amid {
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

/// The files of a folder and what is in them.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files.map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap())).collect()
}

/// How many cuts are given up.
const LOSSES: u64 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_accepts_the_loss_goes_on_with_a_beginning_of_what_there_was() {
    let mut dice = Dice::seeded("accepted losses");
    let killed = Killed::new(&mut dice).await;
    let (mut reached, mut refused) = (BTreeSet::new(), 0);
    for loss in 0..LOSSES {
        // Just before the end, at the end of each segment, anywhere behind the first.
        let cut = match loss {
            0 => killed.acknowledged - 100,
            few if few * SEGMENT < killed.acknowledged => few * SEGMENT,
            _ => SEGMENT + dice.below(killed.acknowledged - SEGMENT - 100),
        };
        let place = killed.with_log(|log| log.truncate(index(cut)));
        let (data, aside) = (place.data(), place.data().join("aside"));
        let before = files(&data.join("store"));
        let error = rehearse_sled(&data).unwrap_err().to_string();
        let remains = match remains_of_sled(&data) {
            Ok(remains) => remains,
            // The root of what stood before it may have moved behind the cut, above all where
            // sled had begun to use segments again.
            Err(StoreError::Broken { .. }) => {
                assert!(files(&data.join("store")) == before, "cut at {cut}: nothing is changed");
                refused += 1;
                continue;
            }
            Err(error) => panic!("{cut}: {error}"),
        };
        assert!(remains.missing > 0, "cut at {cut}: {error}");
        assert!(files(&data.join("store")) == before, "cut at {cut}: looking changes nothing");

        assert_eq!(salvage_sled(&data, &aside).unwrap(), remains, "cut at {cut}");
        let store = work::open(&data).unwrap_or_else(|error| panic!("{cut}: {error}"));
        let mut rounds = 0;
        while let Err(wrong) = killed.work.compare(&store, rounds).await {
            rounds += 1;
            assert!(rounds <= ROUNDS, "cut at {cut}: this is no beginning of the work: {wrong}");
        }
        reached.insert(rounds);
        store.commit(Vec::new()).await.unwrap();
        store.close().await;
        drop(work::open(&data).unwrap_or_else(|error| panic!("{cut}, again: {error}")));
        assert!(files(&aside) == before, "cut at {cut}: the old files are kept as they were");
    }
    println!("rounds left: {reached:?} of {ROUNDS}; beyond help: {refused} of {LOSSES} cuts");
}

/// So many rounds that sled uses segments again: the end of the file is then not the end of time.
const ROUNDS_AROUND: usize = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_a_log_that_went_round_leaves_a_store_in_order_or_the_old_files() {
    let mut dice = Dice::seeded("damage to a log that went round");
    let place = Place::new();
    let work = Work::of(dice.next(), ROUNDS_AROUND, Size::Large);
    let store = work::open(&place.data()).unwrap();
    for round in 0..ROUNDS_AROUND {
        work.finish(&store, round, &[]).await;
    }
    store.close().await;
    let whole = fs::read(place.data().join("store/db")).unwrap();
    let segments = whole.chunks(index(SEGMENT)).count();
    let (mut replaced, mut refused) = (0, 0);
    for loss in 0..LOSSES {
        let segment = dice.size_below(segments) * index(SEGMENT);
        let end = (segment + index(SEGMENT)).min(whole.len());
        let mut log = whole.clone();
        match loss % 3 {
            0 => log.truncate(whole.len() - dice.size_below(index(SEGMENT))),
            1 => log.truncate(segment),
            _ => log[segment..end].fill(0),
        }
        let how = format!("{} bytes, damage {} at {segment}", log.len(), loss % 3);
        let damaged = Place::new();
        copy(&place.data(), &damaged.data());
        let (data, aside) = (damaged.data(), damaged.data().join("aside"));
        fs::write(data.join("store/db"), log).unwrap();
        let before = files(&data.join("store"));
        match salvage_sled(&data, &aside) {
            Ok(remains) => {
                replaced += 1;
                rehearse_sled(&data).unwrap_or_else(|error| panic!("{how}: {error}"));
                let again = remains_of_sled(&data).unwrap();
                assert_eq!(again.records, remains.records, "{how}");
                assert_eq!((again.missing, again.damaged), (0, 0), "{how}");
                assert!(files(&aside) == before, "{how}: the old files are kept");
            }
            Err(StoreError::Broken { .. }) => {
                refused += 1;
                assert!(files(&data.join("store")) == before && !aside.exists(), "{how}");
            }
            Err(other) => panic!("{how}: {other}"),
        }
    }
    println!("{replaced} replaced, {refused} refused; {segments} segments");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_of_which_nothing_can_be_read_is_not_replaced() {
    let mut dice = Dice::seeded("nothing left");
    let killed = Killed::new(&mut dice).await;
    for cut in [0, 1, 100] {
        let place = killed.with_log(|log| log.truncate(cut));
        let before = files(&place.data().join("store"));
        let aside = place.data().join("aside");
        for error in [
            remains_of_sled(&place.data()).unwrap_err(),
            salvage_sled(&place.data(), &aside).unwrap_err(),
        ] {
            let StoreError::Broken { cause, .. } = error else { panic!("cut at {cut}: {error}") };
            assert!(cause.contains("nothing can be taken from it"), "cut at {cut}: {cause}");
        }
        assert_eq!(files(&place.data().join("store")), before, "cut at {cut}");
        assert!(!aside.exists(), "cut at {cut}");
    }
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
