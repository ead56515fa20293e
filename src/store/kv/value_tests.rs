use serde_json::json;

use super::*;
use crate::store::record::{
    AdmittedV1, InboxV1, LedgerV1, NoteV1, ReceiptV1, SendV1, SessionV1, Standing,
};

/// The bytes are what version 1 wrote. They are never changed: a record type that no longer reads
/// them, or reads something else, breaks the data of everybody.
fn reads_old<T: DeserializeOwned + Serialize>(json: &str) {
    let mut bytes = vec![1];
    bytes.extend_from_slice(json.as_bytes());
    let record: T = decode("old", &bytes).unwrap();
    let read = serde_json::to_value(&record).unwrap();
    let written: serde_json::Value = serde_json::from_str(json).unwrap();
    let object = written.as_object().unwrap();
    for (field, value) in object {
        assert_eq!(read.get(field), Some(value), "{field}");
    }
}

#[test]
fn old_inbox_rows_are_read() {
    reads_old::<InboxV1>(concat!(
        r#"{"bot":"assistant","message":{"id":"om_1","content":"hi","channel":"lark","#,
        r#""session":{"id":"assistant/oc_1"},"sender":{"id":"ou_1","kind":"user","#,
        r#""display_name":"Ann"},"parts":[{"type":"text","text":"hi"},{"type":"code","#,
        r#""language":"rust","text":"fn"},{"type":"attachment","index":0}],"attachments":"#,
        r#"[{"kind":"image","key":"img_1","name":"a.png"}],"mentions":[{"id":"ou_2","#,
        r#""name":"Bob"}],"quotes":"om_0","metadata":{"preset":"review"},"#,
        r#""timestamp":1760000000000,"reply_fn":{"bot":"assistant","channel":"lark","#,
        r#""chat":"oc_1","reply_to":"om_1","in_thread":false}},"lane":"session","#,
        r#""accepted_at":1760000000001}"#
    ));
    reads_old::<InboxV1>(concat!(
        r#"{"bot":"assistant","message":{"id":"m","content":"","channel":"webhook","#,
        r#""session":{"id":"s"},"sender":{"id":"u","kind":"system"},"timestamp":0,"#,
        r#""reply_fn":{"bot":"b","channel":"http","chat":"c","in_thread":true}},"#,
        r#""lane":"delivery","accepted_at":0}"#
    ));
}

#[test]
fn of_old_inbox_rows_what_is_kept_no_more_is_passed_over() {
    let old = concat!(
        r#"{"bot":"b","message":{"id":"m","content":"","channel":"lark","session":{"id":"s"},"#,
        r#""sender":{"id":"u","kind":"user"},"thread_root":"om_0","timestamp":0,"reply_fn":"#,
        r#"{"bot":"b","channel":"lark","chat":"c"}},"lane":"session","accepted_at":0,"#,
        r#""admitted":{"standing":"admin","in_group":true,"again":true}}"#
    );
    let row: InboxV1 = decode("old", &[&[1], old.as_bytes()].concat()).unwrap();
    let admitted = AdmittedV1 { standing: Standing::Admin, again: true };
    assert_eq!((row.admitted, row.message.id.as_str()), (admitted, "m"));
}

#[test]
fn old_sends_are_read() {
    let operations = [
        r#"{"op":"create","destination":{"bot":"b","channel":"lark","chat":"oc_1","in_thread":false},"text":"t"}"#,
        r#"{"op":"reply","destination":{"bot":"b","channel":"lark","chat":"oc_1","reply_to":"om_1","in_thread":true},"text":"t"}"#,
        r#"{"op":"reply","destination":{"bot":"b","channel":"lark","chat":"oc_1","reply_to":"om_1","in_thread":false},"text":"t","form":"post"}"#,
        r#"{"op":"show","destination":{"bot":"b","channel":"lark","chat":"oc_1","reply_to":"om_1","in_thread":false},"growth":"k","lives":1}"#,
        r#"{"op":"finalise","growing":{"growth":"k","sequence":7},"destination":{"bot":"b","channel":"lark","chat":"oc_1","in_thread":false},"draft":{"title":"1","steps":["s"],"text":"t"}}"#,
        r#"{"op":"react","message":"om_1","reaction":"working"}"#,
        r#"{"op":"unreact","message":"om_1","reaction":"working","reaction_id":"r_1"}"#,
        r#"{"op":"recall","message":"om_2"}"#,
    ];
    let states = ["planned", "in_flight", "confirmed", "in_doubt", "abandoned"];
    for (operation, state) in operations.iter().zip(states.iter().cycle()) {
        reads_old::<SendV1>(&format!(
            r#"{{"operation":{operation},"uuid":"u-1","state":"{state}","first_try_at":5,"doubtful":true,"delivered_id":"om_3","reason":"why"}}"#
        ));
    }
}

#[test]
fn old_sessions_receipts_notes_and_ledger_rows_are_read() {
    reads_old::<SessionV1>(
        r#"{"history":[{"speaker":"user","content":"a"},{"speaker":"assistant","content":"b"}],"epoch":2,"updated_at":9}"#,
    );
    reads_old::<ReceiptV1>(
        r#"{"bot":"b","session":"s","message":"om_1","verdict":"answered","reason":"","accepted_at":1,"closed_at":2,"sent":["om_2"]}"#,
    );
    reads_old::<NoteV1>(
        r#"{"bot":"b","subject":"om_1","verdict":"not_mentioned","reason":"r","at":3}"#,
    );
    reads_old::<LedgerV1>(
        r#"{"turn":"01890000-0000-7000-8000-000000000001","iteration":1,"index":2,"tool":"read","fingerprint":"ab","verdict":"allow","source":"policy","reason":"r","at":4}"#,
    );
}

#[test]
fn records_are_written_as_version_1_wrote_them() {
    let bytes = encode("session", &SessionV1::default()).unwrap();
    assert_eq!(bytes, b"\x01{\"history\":[],\"epoch\":0,\"updated_at\":0}");
    assert_eq!(encode_opaque(b"entry"), b"\x01entry");
    assert_eq!(body("journal", b"\x01entry").unwrap(), b"entry");
}

#[test]
fn a_record_of_a_newer_version_is_named() {
    let error = decode::<SessionV1>("session", b"\x02{}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a stored session record does not decode: it has version 2, this Larkspur reads up to 1"
    );
    assert!(decode::<serde_json::Value>("note", b"").is_err());
    let value: serde_json::Value = decode("note", b"\x01{}").unwrap();
    assert_eq!(value, json!({}));
}
