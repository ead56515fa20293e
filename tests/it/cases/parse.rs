//! Component `parse`.

use larkspur::playground::Say;
use serde_json::json;

use crate::stage::Stage;
use crate::talk::{barrier, bot_lines, text};

/// Own messages come back as those of an `app` and are answered.
#[tokio::test(flavor = "multi_thread")]
async fn p041_own_messages_are_ignored_whatever_their_sender_is_called() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let own = stage.sim.bot_open_id();
    for sender_type in ["app", "bot", "user"] {
        for id in [json!({"open_id": own}), json!({"app_id": stage.sim.app_id()})] {
            let sender = json!({"sender_type": sender_type, "sender_id": id});
            let patch = json!({"event": {"sender": sender}});
            let echo = Say::new("ann", &group, "my own reply").to_bot().with_overrides(patch);
            let echo = stage.sim.say(&echo).unwrap();
            stage.verdict(&echo, "filtered").await;
        }
    }
    let other = json!({"event": {"sender": {
        "sender_type": "app", "sender_id": {"open_id": "ou_another_app"},
    }}});
    let other = Say::new("ann", &group, "ping").to_bot().with_overrides(other);
    let other = stage.sim.say(&other).unwrap();
    stage.verdict(&other, "filtered").await;
    assert!(text(&stage.why(&other), "reason").contains("another bot"));
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}
