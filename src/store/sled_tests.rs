use std::fs;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::store::conformance::Subject;
use crate::store::kv::FORMAT_KEY;

struct OnDisk(tempfile::TempDir);

impl Default for OnDisk {
    fn default() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Subject for OnDisk {
    const DURABLE: bool = true;

    fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let tasks = TaskSet::new("test", CancellationToken::new());
        open_sled(&self.data_dir(), tasks, Faults::default())
    }
}

impl OnDisk {
    fn data_dir(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data_dir().join(name)
    }

    /// Writes `count` values of about a kilobyte, in a few commits.
    fn fill(&self, count: u32) {
        let engine = SledEngine::open(&self.data_dir()).unwrap();
        let mut batch = Batch::default();
        batch.put(FORMAT_KEY.to_vec(), b"\x01{\"format\":1}".to_vec());
        for number in 0..count {
            batch.put(row_key(number), row(number));
            if number % 100 == 99 {
                engine.apply(&batch).unwrap();
                batch = Batch::default();
            }
        }
        engine.apply(&batch).unwrap();
    }

    fn rows(&self) -> usize {
        let engine = SledEngine::open(&self.data_dir()).unwrap();
        let range = KeyRange { start: b"j".to_vec(), end: b"k".to_vec() };
        let mut rows = 0;
        engine
            .scan(&range, Direction::Forward, &mut |_key, _value| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    }
}

fn row_key(number: u32) -> Vec<u8> {
    [b"j".as_slice(), &[0; 16], &number.to_be_bytes()].concat()
}

fn row(number: u32) -> Vec<u8> {
    let mut value = vec![1; 1000];
    value.extend_from_slice(&number.to_be_bytes());
    value
}

crate::store_conformance!(OnDisk);

/// The names and contents of sled's files.
fn files(disk: &OnDisk) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(disk.file("store"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn cut(disk: &OnDisk, parts: u64) {
    let log = File::options().write(true).open(disk.file("store/db")).unwrap();
    let length = log.metadata().unwrap().len();
    log.set_len(length / parts).unwrap();
}

fn damage_snapshots(disk: &OnDisk) -> usize {
    let mut damaged = 0;
    for (name, _bytes) in files(disk) {
        if name.starts_with("snap.") {
            fs::write(disk.file("store").join(name), b"garbage of some length").unwrap();
            damaged += 1;
        }
    }
    damaged
}

#[test]
fn a_half_written_snapshot_does_not_stop_the_start() {
    let disk = OnDisk::default();
    disk.fill(300);
    let half = disk.file("store/snap.00000000000FFFFF.generating");
    fs::write(&half, b"garbage garbage garbage").unwrap();
    assert_eq!(disk.rows(), 300);
    assert!(!half.exists());
}

#[test]
fn a_damaged_snapshot_is_repaired_without_a_loss() {
    let disk = OnDisk::default();
    disk.fill(2000);
    assert_eq!(disk.rows(), 2000);
    assert!(damage_snapshots(&disk) > 0);
    assert_eq!(disk.rows(), 2000);
    assert!(!disk.file("store.repair").exists() && !disk.file("store.replaced").exists());
}

#[test]
fn a_store_without_snapshots_is_repaired_without_a_loss() {
    let disk = OnDisk::default();
    disk.fill(2000);
    for (name, _bytes) in files(&disk) {
        if name.starts_with("snap.") {
            fs::remove_file(disk.file("store").join(name)).unwrap();
        }
    }
    assert_eq!(disk.rows(), 2000);
}

/// Refused however often it is tried, with the log and its snapshot still there. Their bytes are
/// sled's affair: it overwrites parts that it cannot read, even if it then refuses the whole.
fn stays_broken(disk: &OnDisk) {
    for _again in 0..3 {
        let error = SledEngine::open(&disk.data_dir()).unwrap_err();
        assert!(matches!(error, StoreError::Broken { .. }), "{error}");
        let left = files(disk);
        let left = |start: &str| {
            left.iter().any(|(name, bytes)| name.starts_with(start) && !bytes.is_empty())
        };
        assert!(left("db") && left("conf") && left("snap."));
        assert!(!disk.file("store.repair").exists() && !disk.file("store.replaced").exists());
    }
}

#[test]
fn a_log_that_is_cut_short_stays_broken() {
    for parts in [2, 10] {
        let disk = OnDisk::default();
        disk.fill(2000);
        assert_eq!(disk.rows(), 2000);
        cut(&disk, parts);
        stays_broken(&disk);
    }
}

#[test]
fn a_log_of_garbage_stays_broken() {
    let disk = OnDisk::default();
    disk.fill(2000);
    assert_eq!(disk.rows(), 2000);
    let length = fs::metadata(disk.file("store/db")).unwrap().len();
    let garbage = vec![0xA5; usize::try_from(length).unwrap()];
    fs::write(disk.file("store/db"), garbage).unwrap();
    stays_broken(&disk);
}

#[test]
fn a_store_that_lost_its_log_is_not_taken_for_new() {
    let disk = OnDisk::default();
    disk.fill(100);
    fs::write(disk.file("store/db"), b"").unwrap();
    let error = disk.open().err().unwrap();
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
    assert_eq!(fs::metadata(disk.file("store/db")).unwrap().len(), 0);
}

#[test]
fn a_creation_that_was_interrupted_begins_anew() {
    for half in ["conf", "db"] {
        let disk = OnDisk::default();
        fs::create_dir_all(disk.file("store")).unwrap();
        fs::write(disk.file("creating"), "").unwrap();
        fs::write(disk.file("store").join(half), [0; 700]).unwrap();
        disk.fill(100);
        assert!(!disk.file("creating").exists());
        assert_eq!(disk.rows(), 100);
    }
}

#[test]
fn data_without_its_format_is_not_taken_for_an_interrupted_creation() {
    let disk = OnDisk::default();
    disk.fill(100);
    fs::remove_file(disk.file("format")).unwrap();
    assert_eq!(disk.rows(), 100);
    fs::write(disk.file("store/conf"), [0; 700]).unwrap();
    let error = disk.open().err().unwrap();
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
}

#[test]
fn a_store_that_is_older_than_what_was_acknowledged_is_refused() {
    let disk = OnDisk::default();
    disk.fill(300);
    let older = files(&disk);
    let engine = SledEngine::open(&disk.data_dir()).unwrap();
    let mut batch = Batch::default();
    batch.put(row_key(1000), row(1000));
    engine.apply(&batch).unwrap();
    engine.apply(&batch).unwrap();
    engine.close();
    let witness = fs::read(disk.file("store/acknowledged")).unwrap();
    fs::remove_dir_all(disk.file("store")).unwrap();
    fs::create_dir(disk.file("store")).unwrap();
    for (name, bytes) in older {
        fs::write(disk.file("store").join(name), bytes).unwrap();
    }
    // The whole folder of an earlier day is taken as it is; a part of it is not.
    assert_eq!(disk.rows(), 300);
    fs::write(disk.file("store/acknowledged"), witness).unwrap();
    let error = SledEngine::open(&disk.data_dir()).unwrap_err().to_string();
    assert!(error.contains("the last 2 of its acknowledged commits are missing"), "{error}");
    fs::remove_file(disk.file("store/acknowledged")).unwrap();
    assert_eq!(disk.rows(), 300);
}

#[test]
fn a_repair_that_lacks_acknowledged_commits_leaves_the_original() {
    let disk = OnDisk::default();
    disk.fill(300);
    let witness = disk.file("store/acknowledged");
    let number: u64 = fs::read_to_string(&witness).unwrap().trim().parse().unwrap();
    fs::write(&witness, format!("{:020}\n", number + 2)).unwrap();
    assert!(damage_snapshots(&disk) > 0);
    let before = files(&disk);
    let error = SledEngine::open(&disk.data_dir()).unwrap_err();
    assert!(matches!(error, StoreError::Broken { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("the last 2 of its acknowledged commits are missing"), "{text}");
    assert!(files(&disk) == before, "the original is as it was");
    assert!(!disk.file("store.repair").exists() && !disk.file("store.replaced").exists());
    fs::remove_file(witness).unwrap();
    assert_eq!(disk.rows(), 300);
}

#[test]
fn a_witness_that_makes_no_sense_stops_no_start() {
    let disk = OnDisk::default();
    disk.fill(300);
    for content in ["", "half a num", "000000000000"] {
        fs::write(disk.file("store/acknowledged"), content).unwrap();
        assert_eq!(disk.rows(), 300);
    }
}

#[test]
fn a_repair_that_was_interrupted_is_taken_back() {
    let disk = OnDisk::default();
    disk.fill(300);
    fs::rename(disk.file("store"), disk.file("store.replaced")).unwrap();
    fs::create_dir(disk.file("store.repair")).unwrap();
    assert_eq!(disk.rows(), 300);
    assert!(!disk.file("store.repair").exists() && !disk.file("store.replaced").exists());
}

#[tokio::test]
async fn a_folder_has_one_owner_at_a_time() {
    let disk = OnDisk::default();
    let first = disk.open().unwrap();
    let error = disk.open().err().unwrap();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    first.close().await;
    let second = disk.open().unwrap();
    // The first is closed, but still there: it must not let go of the second's lock.
    drop(first);
    assert!(matches!(disk.open().err(), Some(StoreError::InUse { .. })));
    second.close().await;
}

#[test]
fn data_of_a_newer_format_is_refused_before_it_is_touched() {
    let disk = OnDisk::default();
    disk.fill(1);
    let before = files(&disk);
    fs::write(disk.file("format"), "2\n").unwrap();
    let error = disk.open().err().unwrap();
    assert_eq!(
        error.to_string(),
        "the data has format 2, this version reads up to 1; use a newer Larkspur"
    );
    assert!(files(&disk) == before);
}

#[test]
fn a_newer_format_record_is_refused_too() {
    for meta in [&b"\x01{\"format\":7}"[..], b"\x07whatever"] {
        let disk = OnDisk::default();
        let engine = SledEngine::open(&disk.data_dir()).unwrap();
        let mut batch = Batch::default();
        batch.put(FORMAT_KEY.to_vec(), meta.to_vec());
        engine.apply(&batch).unwrap();
        engine.close();
        let error = disk.open().err();
        assert!(matches!(error, Some(StoreError::Newer { found: 7, known: 1 })));
    }
}

#[test]
fn a_write_that_failed_is_taken_back_even_if_it_reached_the_disk() {
    let disk = OnDisk::default();
    let large = |fill: u8| vec![fill; 10_000];
    disk.fill(3);
    let engine = SledEngine::open(&disk.data_dir()).unwrap();
    let put = |key: &[u8], value: Vec<u8>| {
        let mut batch = Batch::default();
        batch.put(key.to_vec(), value);
        batch
    };
    engine.apply(&put(b"ja", large(1))).unwrap();
    let mut failing = put(b"ja", large(2)[..5000].to_vec());
    failing.put(b"jb".to_vec(), large(3));
    failing.delete(row_key(0));
    engine.fail_next_write.store(true, Ordering::SeqCst);
    assert!(matches!(engine.apply(&failing), Err(StoreError::Disk(_))));
    assert_eq!(engine.get(b"ja").unwrap(), Some(large(1)));

    engine.apply(&put(b"jc", large(4))).unwrap();
    let taken_back = |engine: &SledEngine| {
        assert_eq!(engine.get(b"ja").unwrap(), Some(large(1)));
        assert_eq!(engine.get(b"jb").unwrap(), None);
        assert_eq!(engine.get(b"jc").unwrap(), Some(large(4)));
        assert_eq!(engine.get(&row_key(0)).unwrap(), Some(row(0)));
    };
    taken_back(&engine);
    engine.close();
    taken_back(&SledEngine::open(&disk.data_dir()).unwrap());
}

#[test]
fn large_values_make_no_files_that_nobody_syncs() {
    let disk = OnDisk::default();
    let engine = SledEngine::open(&disk.data_dir()).unwrap();
    for round in 0..12_u8 {
        for number in 0..40_u32 {
            let mut batch = Batch::default();
            batch.put(row_key(number), vec![round + 1; 4096]);
            batch.put(row_key(number + 1000), vec![round + 1; 60_000]);
            engine.apply(&batch).unwrap();
        }
    }
    engine.close();
    assert_eq!(fs::read_dir(disk.file("store/blobs")).unwrap().count(), 0);
}

#[test]
fn the_folder_is_private_and_keeps_a_reserve() {
    use std::os::unix::fs::PermissionsExt;
    let disk = OnDisk::default();
    disk.fill(1);
    let mode = fs::metadata(disk.data_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(fs::metadata(disk.file("reserve")).unwrap().len(), 4 << 20);
    assert_eq!(fs::read_to_string(disk.file("format")).unwrap(), "1\n");
}

#[test]
fn closing_replays_ahead_once_much_was_written() {
    let disk = OnDisk::default();
    disk.fill(100);
    let snapshots = || {
        let files = files(&disk).into_iter().map(|(name, _content)| name);
        files.filter(|name| name.contains("snap.")).collect::<Vec<_>>()
    };
    let snapshots_around = |written_bytes: u64| {
        let engine = SledEngine::open(&disk.data_dir()).unwrap();
        let opened = snapshots();
        let mut batch = Batch::default();
        (0..100).for_each(|number| batch.put(row_key(number), row(number + 1)));
        engine.apply(&batch).unwrap();
        engine.written_bytes.fetch_add(written_bytes, Ordering::Relaxed);
        drop(engine);
        (opened, snapshots())
    };
    let (opened, closed) = snapshots_around(0);
    assert_eq!(opened, closed, "a little is left to the next start");
    let (opened, closed) = snapshots_around(REPLAY_BYTES_MAX);
    assert_ne!(opened, closed, "the next start goes on from here");
    assert_eq!(disk.rows(), 100);
}
