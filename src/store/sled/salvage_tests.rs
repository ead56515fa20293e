use std::path::PathBuf;

use super::*;
use crate::store::kv::Batch;

/// A value in pieces under one key, and a short one under another.
fn two_records() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let data_dir = root.path().join("data");
    let engine = SledEngine::open(&data_dir).unwrap();
    let mut batch = Batch::default();
    batch.put(FORMAT_KEY.to_vec(), b"\x01{\"format\":1}".to_vec());
    batch.put(b"j long".to_vec(), vec![1; 10_000]);
    batch.put(b"j short".to_vec(), vec![1; 10]);
    engine.apply(&batch).unwrap();
    engine.close();
    (root, data_dir)
}

/// Takes a piece of the long value away, as a segment that is gone would.
pub(in crate::store::sled) fn without_a_piece(data_dir: &Path) {
    let engine = SledEngine::open(data_dir).unwrap();
    let gone = engine.with(|opened| {
        let piece = opened.db.range(vec![b'~']..vec![b'~' + 1]).next().unwrap()?.0;
        opened.db.remove(piece)?;
        opened.sync()
    });
    gone.unwrap();
    engine.close();
}

#[test]
fn a_store_in_order_passes_the_rehearsal() {
    let (_root, data_dir) = two_records();
    rehearse_sled(&data_dir).unwrap();
    assert_eq!(remains_of_sled(&data_dir).unwrap().damaged, 0);
    let names = fs::read_dir(&data_dir).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name == "store.salvage"), "no copy stays");
}

#[test]
fn a_record_that_lacks_a_part_is_named_and_given_up_and_the_others_stay() {
    let (_root, data_dir) = two_records();
    without_a_piece(&data_dir);
    let error = rehearse_sled(&data_dir).unwrap_err();
    assert!(error.to_string().contains("1 of its records lack a part"), "{error}");
    let remains = remains_of_sled(&data_dir).unwrap();
    let records = BTreeMap::from([("journal", 1), ("meta", 1)]);
    assert_eq!(remains, Remains { missing: 0, damaged: 1, records });

    let aside = data_dir.join("aside");
    assert_eq!(salvage_sled(&data_dir, &aside).unwrap(), remains);
    rehearse_sled(&data_dir).unwrap();
    let engine = SledEngine::open(&data_dir).unwrap();
    assert_eq!(engine.get(b"j long").unwrap(), None);
    assert_eq!(engine.get(b"j short").unwrap(), Some(vec![1; 10]));
}

#[test]
fn old_files_of_before_are_not_written_over() {
    let (_root, data_dir) = two_records();
    let aside = data_dir.join("aside");
    fs::create_dir(&aside).unwrap();
    let error = salvage_sled(&data_dir, &aside).unwrap_err();
    assert!(matches!(error, StoreError::Disk(_)), "{error}");
    let engine = SledEngine::open(&data_dir).unwrap();
    assert_eq!(engine.get(b"j short").unwrap(), Some(vec![1; 10]));
}

#[test]
fn a_start_removes_the_copy_that_a_kill_left() {
    let (_root, data_dir) = two_records();
    fs::create_dir_all(data_dir.join("store.salvage/old/store")).unwrap();
    fs::write(data_dir.join("store.salvage/old/store/db"), "what people wrote").unwrap();
    drop(SledEngine::open(&data_dir).unwrap());
    assert!(!data_dir.join("store.salvage").exists());
}
