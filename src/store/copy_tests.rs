use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::Faults;
use crate::store::conformance::sample;
use crate::store::{memory, open_sled};
use crate::task::TaskSet;

fn tasks() -> TaskSet {
    TaskSet::new("test", CancellationToken::new())
}

async fn text_of(store: &Arc<dyn Store>) -> String {
    let mut exporter = Exporter::begin(store, Timestamp::from_millis(7)).await.unwrap();
    let mut text = Vec::new();
    while let Some(lines) = exporter.next().await.unwrap() {
        text.extend(lines);
    }
    String::from_utf8(text).unwrap()
}

async fn sample_text() -> String {
    let store = memory(tasks()).unwrap();
    let turn = sample::turn(1);
    let changes = vec![
        sample::inbox(turn),
        sample::journal(turn, 0, b"{\"step\": 1}"),
        sample::journal(turn, 1, b"\x00\xFF no JSON"),
        sample::journal(turn, 2, b"{\n}"),
        sample::journal(turn, 3, &[b'7'; 20_000]),
        sample::session(&sample::session_key("b/oc_1"), 3),
        sample::close(sample::turn(0), &["om_a"]),
    ];
    let key = crate::envelope::DedupKey::new(Timestamp::from_millis(5), &["k"]);
    store.accept(&[key], changes).await.unwrap();
    let text = text_of(&store).await;
    store.close().await;
    text
}

fn restore(data: &Path, text: &str) -> Result<u64, CopyError> {
    let copy = |take: &mut dyn FnMut(Row) -> _| read_copy(&mut text.as_bytes(), take);
    crate::store::restore_sled(data, copy, |_draft| Ok(())).map(|(rows, ())| rows)
}

fn read(text: &str) -> Result<u64, CopyError> {
    read_copy(&mut text.as_bytes(), &mut |_row| Ok(()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_restored_is_copied_byte_for_byte_as_it_was() {
    let text = sample_text().await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let rows = restore(&data, &text).unwrap();
    assert_eq!(rows, 9, "the format and eight records");
    let store = open_sled(&data, tasks(), Faults::default()).unwrap();
    assert_eq!(text_of(&store).await, text);
    store.close().await;
    drop(store);
    assert!(!data.join("store.restored").exists());
    let again = restore(&data, &text);
    assert!(matches!(again, Err(CopyError::NotEmpty { .. })), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_cut_off_or_changed_is_not_taken_for_whole() {
    let text = sample_text().await;
    assert_eq!(read(&text).unwrap(), 9);
    for length in (0..text.len()).step_by(97).chain([text.len() - 1]) {
        let cut = String::from_utf8_lossy(&text.as_bytes()[..length]).into_owned();
        assert!(matches!(read(&cut), Err(CopyError::NotACopy { .. })), "{length} bytes");
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = [&lines[..3], &lines[4..]].concat().concat();
    assert!(matches!(read(&without), Err(CopyError::NotACopy { .. })), "a line is missing");
    let newer = text.replacen("\"format\":1", "\"format\":2", 1);
    assert!(matches!(read(&newer), Err(CopyError::Store(StoreError::Newer { .. }))));
    assert!(read("{}\n").is_err() && read("PNG").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_later_version_is_named_so_whatever_its_head_holds() {
    let text = sample_text().await;
    let (head, rest) = text.split_once('\n').unwrap();
    let newer = head.replacen("\"version\":1", "\"version\":2", 1);
    assert_ne!(newer, head);
    let with_more = newer.replacen('{', "{\"compressed\":true,", 1);
    for head in [newer, with_more] {
        let refused = read(&format!("{head}\n{rest}")).unwrap_err();
        assert!(matches!(refused, CopyError::Newer { found: 2, known: 1 }), "{refused:?}");
        let said = refused.to_string();
        assert!(said.contains("a copy of version 2") && !said.contains("format"), "{said}");
    }
    let unknown = head.replacen('{', "{\"compressed\":true,", 1);
    assert!(matches!(read(&format!("{unknown}\n{rest}")), Err(CopyError::NotACopy { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_may_stand_behind_the_end_of_a_copy() {
    let text = sample_text().await;
    let lines = text.lines().count();
    let last = text.lines().last().unwrap();
    let twice = "a second copy";
    let junk = "something stands behind its end";
    let table = [(text.as_str(), twice), (last, junk), ("junk\n", junk), ("j", junk), ("\n", junk)];
    for (behind, word) in table {
        match read(&format!("{text}{behind}")) {
            Err(CopyError::NotACopy { line, cause }) => {
                assert_eq!(line, u64::try_from(lines).unwrap() + 1, "{behind}");
                assert!(cause.contains(word), "{cause}");
            }
            other => panic!("{behind}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_fails_leaves_the_folder_empty() {
    let text = sample_text().await;
    let cut = text.strip_suffix("}\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let failed = restore(folder.path(), cut);
    assert!(failed.is_err());
    assert!(!crate::store::holds_data(folder.path()));
    let copy = |take: &mut dyn FnMut(Row) -> _| read_copy(&mut text.as_bytes(), take);
    let unfinished =
        crate::store::restore_sled(folder.path(), copy, |_draft| Err::<(), _>(StoreError::Closed));
    assert!(unfinished.is_err());
    assert!(!crate::store::holds_data(folder.path()));
    assert!(restore(folder.path(), &text).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_store_left_does_not_speak_against_the_restored_one() {
    let text = sample_text().await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    std::fs::create_dir(data.join("store")).unwrap();
    std::fs::write(data.join("store/acknowledged"), format!("{:020}\n", 9999)).unwrap();
    std::fs::write(data.join("store/db"), "").unwrap();
    restore(data, &text).unwrap();
    let store = open_sled(data, tasks(), Faults::default()).unwrap();
    assert_eq!(text_of(&store).await, text);
    store.close().await;
}
