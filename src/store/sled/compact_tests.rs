use super::*;
use crate::store::kv::{Batch, Engine, FORMAT_KEY};
use crate::store::sled::salvage::tests::without_a_piece;

fn key(number: u32) -> Vec<u8> {
    format!("s{:08x}", number.wrapping_mul(0x9E37_79B9)).into_bytes()
}

/// Many records, written again and again in no order; one is in pieces.
fn rewritten(data_dir: &std::path::Path) {
    let engine = SledEngine::open(data_dir).unwrap();
    for round in 0..8 {
        for hundred in 0..20 {
            let mut batch = Batch::default();
            batch.put(FORMAT_KEY.to_vec(), b"\x01{\"format\":1}".to_vec());
            for number in 0..100 {
                batch.put(key(hundred * 100 + number), vec![round + 1; 400]);
            }
            batch.put(b"j long".to_vec(), vec![round + 1; 10_000]);
            engine.apply(&batch).unwrap();
        }
    }
    engine.close();
}

#[test]
fn a_store_that_is_written_anew_holds_the_same_in_less_room() {
    let root = tempfile::tempdir().unwrap();
    let data_dir = root.path().join("data");
    rewritten(&data_dir);
    let compacted = compact_sled(&data_dir).unwrap();
    assert_eq!(compacted.records, 2002);
    assert!(compacted.bytes_after < compacted.bytes_before, "{compacted:?}");
    let engine = SledEngine::open(&data_dir).unwrap();
    for number in 0..2000 {
        assert_eq!(engine.get(&key(number)).unwrap(), Some(vec![8; 400]), "{number}");
    }
    assert_eq!(engine.get(b"j long").unwrap(), Some(vec![8; 10_000]));
    engine.close();
    let names = fs::read_dir(&data_dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["format", "lock", "reserve", "store"], "no draft stays");
}

#[test]
fn a_store_in_use_is_not_written_anew() {
    let root = tempfile::tempdir().unwrap();
    let data_dir = root.path().join("data");
    rewritten(&data_dir);
    let engine = SledEngine::open(&data_dir).unwrap();
    let refused = compact_sled(&data_dir);
    assert!(matches!(refused, Err(StoreError::InUse { .. })), "{refused:?}");
    engine.close();
}

#[test]
fn a_store_with_a_hole_stays_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let data_dir = root.path().join("data");
    rewritten(&data_dir);
    without_a_piece(&data_dir);
    let refused = compact_sled(&data_dir);
    assert!(matches!(refused, Err(StoreError::Broken { .. })), "{refused:?}");
    let engine = SledEngine::open(&data_dir).unwrap();
    assert_eq!(engine.get(&key(7)).unwrap(), Some(vec![8; 400]));
    engine.close();
}
