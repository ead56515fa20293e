//! Component `transport`.

use larkspur::playground::{EventPush, RawPush, Settings};
use serde_json::json;

use crate::stage::Stage;
use crate::talk::{text, word};

/// Unhandled event types flood the error log.
#[tokio::test(flavor = "multi_thread")]
async fn p096_events_of_a_type_are_acknowledged_and_counted_and_logged_once() {
    let stage = Stage::new().await;
    let kinds = ["im.chat.access_event.bot_p2p_chat_entered_v1", "made.up_v9"];
    for kind in kinds {
        for number in 0..20 {
            let event = EventPush::new(kind, json!({"anything": number}));
            let event = event.with_id(&format!("{kind}-{number}"));
            assert!(stage.sim.push_event(event).await.unwrap().delivered());
        }
        stage.verdict(&format!("{kind}-19"), "filtered").await;
        assert_eq!(text(&stage.why(&format!("{kind}-7")), "reason"), kind);
        let log = stage.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(kind)).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("INFO"), "{lines:?}");
    }
    let token = std::fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let request = crate::stage::http().get(stage.url("/metrics")).bearer_auth(token);
    let metrics = request.send().await.unwrap();
    let metrics = larkspur::net::read_capped(metrics, 1 << 20).await.unwrap();
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    assert!(metrics.contains("larkspur_events_total{event=\"noted\"} 40"), "{metrics}");
}

/// The handshake comes without a signature.
#[tokio::test(flavor = "multi_thread")]
async fn p106_the_handshake_is_answered_unsigned_and_nothing_else_is() {
    let stage = Stage::new().await;
    let token = Settings::default().app.verification_token;
    let handshake = json!({"type": "url_verification", "token": token, "challenge": "c"});
    for encrypt in [false, true] {
        let push = RawPush { body: handshake.to_string(), encrypt, ..RawPush::default() };
        let record = stage.sim.push(push).await.unwrap();
        assert_eq!((record.status, record.answer.as_str()), (Some(200), "{\"challenge\":\"c\"}"));
        let mut wrong = handshake.clone();
        wrong["token"] = json!("guessed");
        let push = RawPush { body: wrong.to_string(), encrypt, ..RawPush::default() };
        assert_eq!(stage.sim.push(push).await.unwrap().status, Some(403));
        // The shape of a handshake does not carry an event in.
        let event = json!({
            "schema": "2.0", "type": "event_callback", "challenge": "c",
            "header": {
                "event_id": "ev_forged", "token": token, "event_type": "im.chat.disbanded_v1",
                "app_id": stage.sim.app_id(),
            },
            "event": {"chat_id": "oc_1"},
        });
        let push = RawPush { body: event.to_string(), encrypt, ..RawPush::default() };
        assert_eq!(stage.sim.push(push).await.unwrap().status, Some(401));
        assert_eq!(word(&stage, "ev_forged"), "never_received");
    }
}
