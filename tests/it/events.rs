//! Every recorded body of the platform, pushed at the running daemon.

use larkspur::playground::RawPush;
use serde_json::Value;

use crate::stage::Stage;
use crate::talk::{barrier, text};

/// The bot of the recordings.
const RECORDED_BOT: &str = "ou_7d8ab35462c56ebb06618cc2950362a1";

/// The recorded messages that start no work, with their verdicts. All others do.
const WITHOUT_WORK: [(&str, &str); 15] = [
    ("005_text_at_all_no_mentions.json", "not_mentioned"),
    ("007_text_literal_at_all.json", "not_mentioned"),
    ("009_text_same_user_twice.json", "not_mentioned"),
    ("010_text_user_typed_placeholder.json", "not_mentioned"),
    ("033_text_from_other_bot.json", "filtered"),
    ("034_text_from_app_legacy.json", "filtered"),
    ("035_text_from_self.json", "filtered"),
    ("036_text_external_user.json", "not_allowed"),
    // Without a kind the chat counts as a group.
    ("039_text_missing_fields.json", "not_mentioned"),
    ("050_post_at_all.json", "not_mentioned"),
    ("059_interactive.json", "not_mentioned"),
    ("060_interactive_degraded.json", "not_mentioned"),
    ("061_interactive_user_card.json", "not_mentioned"),
    ("066_system.json", "not_mentioned"),
    ("070_vote.json", "not_mentioned"),
];

fn fixture(file: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/feishu-events/");
    std::fs::read_to_string(format!("{folder}{file}")).unwrap()
}

/// The id that people could ask about.
fn id_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let places = [
        "/event/message/message_id",
        "/event/open_message_id",
        "/header/event_id",
        "/uuid",
        "/open_message_id",
    ];
    let id = places.into_iter().find_map(|place| body.pointer(place).and_then(Value::as_str));
    id.unwrap_or_default().to_owned()
}

/// What a pushed body came to.
async fn assert_fate(stage: &Stage, entry: &Value, body: &str, answer: &str) {
    let (file, kind, id) = (text(entry, "file"), text(entry, "kind"), id_of(body));
    let listed = WITHOUT_WORK.iter().find(|(listed, _)| *listed == file);
    match kind {
        "handshake" => {
            let answer: Value = serde_json::from_str(answer).unwrap();
            assert_eq!(answer, entry["expect"]["reply"], "{file}");
        }
        "callback" | "callback_v1" => {
            assert!(answer.contains("This button is not valid any more."), "{file}: {answer}");
            stage.verdict(&id, "filtered").await;
        }
        "event" | "event_v1" => {
            assert_eq!(answer, "{}", "{file}");
            stage.verdict(&id, "filtered").await;
            assert_eq!(stage.why(&id)["reason"], entry["dispatch_key"], "{file}");
        }
        "message" if listed.is_some() => {
            assert_eq!(answer, "{}", "{file}");
            stage.verdict(&id, listed.unwrap().1).await;
            assert!(stage.why(&id)["turn"].is_null(), "{file}");
        }
        "message" => {
            assert_eq!(answer, "{}", "{file}");
            let why = stage.why(&id);
            // Of several files in a row only the first is answered; the others wait with it.
            let is_taken = why["turn"].is_string() || why["verdict"] == "queued";
            assert!(is_taken, "{file}: {why}");
        }
        other => panic!("{file}: unknown kind {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_body_is_acknowledged_and_has_its_verdict() {
    let stage = Stage::new().await;
    let index: Value = serde_json::from_str(&fixture("INDEX.json")).unwrap();
    let mut pushed = 0;
    for entry in index["events"].as_array().unwrap() {
        let file = text(entry, "file");
        let body = fixture(file).replace(RECORDED_BOT, &stage.sim.bot_open_id());
        let encrypt = !body.contains("\"encrypt\":");
        let push = RawPush { body: body.clone(), encrypt, sign: true, ..RawPush::default() };
        let record = stage.sim.push(push).await.unwrap();
        assert_eq!(record.status, Some(200), "{file}: {}", record.answer);
        if entry["kind"] == "encrypted" {
            assert_eq!(record.answer, "{}", "{file}");
        } else {
            assert_fate(&stage, entry, &body, &record.answer).await;
        }
        pushed += 1;
    }
    assert_eq!(pushed, 82);
    // One of them is the redelivery of another, under a new event id.
    assert_eq!(stage.log().matches("an event was delivered again").count(), 1);
    barrier(&stage, "ann", &stage.sim.p2p("ann").chat_id).await;
}
