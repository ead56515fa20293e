//! A disk that is full, read-only or failing, and data that is too new.
//!
//! Whatever the disk does: no event is acknowledged that is not stored, what was acknowledged is
//! answered once when the disk is well again, and a daemon that cannot start says why.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::chatter::{self, Chatter, Kind};
use crate::llm_script::Latency;
use crate::oracle;
use crate::small_disk::{self, SmallDisk};
use crate::stage::{PATIENCE, Stage};

/// Room for the store, its reserve and what the reserve leaves free.
const DISK_MIB: u32 = 32;
/// The exit code that means: try again later.
const TRY_LATER: i32 = 75;
/// A daemon with work that is acknowledged and takes a while.
async fn at_work(stage: &mut Stage) -> Chatter {
    let mut chatter = Chatter::new(stage, 4, 2);
    stage.start(&[]).await;
    stage.model.set_latency(Latency::Fixed(Duration::from_millis(400)));
    for kind in [Kind::Plain, Kind::Lookup, Kind::Lengthy] {
        for room in 0..chatter.rooms() {
            chatter.ask(room, kind);
        }
    }
    assert!(chatter.sim.pushed(PATIENCE).await, "first tries hang");
    assert_eq!(chatter.acknowledged().len(), chatter.asked.len());
    chatter
}

/// Asks until a question is refused, and says how many were asked. Some may still fit: sled has
/// the rest of a segment, which the work that is going on uses up.
async fn ask_until_refused(chatter: &mut Chatter, stage: &Stage, worsen: impl Fn()) -> usize {
    let asked_before = chatter.asked.len();
    let refused = async {
        loop {
            worsen();
            let room = chatter.asked.len() % chatter.rooms();
            let id = chatter.ask(room, Kind::Plain);
            assert!(chatter.sim.pushed(PATIENCE).await, "first tries hang");
            match chatter.sim.pushes_of(&id)[0].status {
                Some(503) => return,
                Some(200) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => panic!("{other:?}: {}", stage.log()),
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, refused).await.is_ok();
    assert!(in_time, "nothing is refused: {}", stage.log());
    chatter.asked.len() - asked_before
}

/// Waits until the daemon says that it cannot take events. A write that still fits makes it hope
/// for a moment.
async fn is_not_ready(stage: &Stage) {
    let unready = async {
        while stage.get("/readyz").await.is_none_or(|(status, _)| status != 503) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, unready).await.is_ok();
    assert!(in_time, "it says that all is well: {}", stage.log());
}

/// Starts a daemon that cannot: it ends with 75 and says these words.
async fn refuses_to_start(stage: &mut Stage, words: &str) {
    let before = stage.log().len();
    stage.launch(&[]);
    let status = stage.ended(PATIENCE).await.expect("it ends");
    let log = stage.log().split_off(before);
    assert_eq!(status.code(), Some(TRY_LATER), "{log}");
    assert!(log.contains(words), "{log}");
}

/// The files below a folder and their bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_events_and_with_room_it_goes_on_by_itself() {
    let mut stage = chatter::stage().await;
    let Some(disk) = SmallDisk::in_memory(&stage.path("data"), DISK_MIB) else { return };
    let mut chatter = at_work(&mut stage).await;
    // Again and again, for the daemon gives its reserve up.
    let asked = ask_until_refused(&mut chatter, &stage, || disk.fill()).await;
    is_not_ready(&stage).await;
    // Refused, and never answered as if it were not.
    let acknowledged: HashSet<String> = chatter.acknowledged();
    let refused = chatter.asked.iter().filter(|question| !acknowledged.contains(&question.id));
    for question in refused {
        assert!(chatter.answers(question).is_empty(), "{question:?}");
    }
    disk.free();
    oracle::judge(&mut chatter, &mut stage).await;
    assert!(!stage.has_ended(), "it went on without a restart");
    println!("full disk: refused after {asked}, {} answered once", chatter.asked.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_lives_on_the_reserve() {
    let mut stage = chatter::stage().await;
    let Some(disk) = SmallDisk::in_memory(&stage.path("data"), DISK_MIB) else { return };
    let mut chatter = at_work(&mut stage).await;
    stage.kill();
    disk.fill();
    stage.start(&[]).await;
    assert!(stage.log().contains("gave up the reserve"), "{}", stage.log());
    assert!(!stage.path("data/reserve").exists());
    oracle::judge(&mut chatter, &mut stage).await;
    // Without a reserve there is nothing to give up.
    stage.kill();
    disk.fill();
    refuses_to_start(&mut stage, "No space left on device").await;
    disk.free();
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
    assert!(stage.path("data/reserve").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_disk_keeps_the_daemon_from_starting_and_is_named() {
    let mut stage = chatter::stage().await;
    let Some(disk) = SmallDisk::in_memory(&stage.path("data"), DISK_MIB) else { return };
    let mut chatter = at_work(&mut stage).await;
    stage.kill();
    disk.remount("ro");
    let before = files(&stage.path("data"));
    refuses_to_start(&mut stage, "Read-only file system").await;
    assert!(files(&stage.path("data")) == before);
    disk.remount("rw");
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fails_at_work_loses_nothing_acknowledged() {
    let mut stage = chatter::stage().await;
    let (data, image) = (stage.path("data"), stage.path("disk.img"));
    let Some(disk) = SmallDisk::ext4(&data, &image, 64) else { return };
    let mut chatter = at_work(&mut stage).await;
    disk.remount("abort");
    let asked = ask_until_refused(&mut chatter, &stage, || {}).await;
    is_not_ready(&stage).await;
    stage.kill();
    refuses_to_start(&mut stage, "Read-only file system").await;
    disk.unmount();
    small_disk::check(&image);
    let again = SmallDisk::ext4(&data, &image, 64);
    assert!(again.is_some());
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
    println!("failed disk: refused after {asked}, {} answered once", chatter.asked.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_a_newer_version_is_refused_and_left_as_it_is() {
    let mut stage = chatter::stage().await;
    let mut chatter = at_work(&mut stage).await;
    stage.kill();
    let format = stage.path("data/format");
    let ours = fs::read(&format).unwrap();
    fs::write(&format, "2\n").unwrap();
    let before = files(&stage.path("data"));
    let words = "the data has format 2, this version reads up to 1; use a newer Larkspur";
    refuses_to_start(&mut stage, words).await;
    assert!(files(&stage.path("data")) == before, "a file was changed");
    fs::write(&format, ours).unwrap();
    stage.start(&[]).await;
    oracle::judge(&mut chatter, &mut stage).await;
}
