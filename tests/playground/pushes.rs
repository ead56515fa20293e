//! Events: their form, their order, the ladder, duplicates.

use std::time::Duration;

use larkspur::playground::crypt::sign;
use larkspur::playground::{
    GroupMessages, OwnReactions, PushKind, RawPush, RetryEventId, RetrySignature, Say, Settings,
};
use serde_json::json;

use crate::support::{App, Client, ENCRYPT_KEY, PATIENCE, opened, playground, playground_with};

#[tokio::test]
async fn a_pushed_event_is_compact_signed_and_complete() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let chat = sim.group("g1", &["u1", "u2"]);
    let user = sim.user("u1");
    let message_id = sim.asks("u1", "g1", "status of @{u2}?").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let received = app.received();
    let [request] = received.as_slice() else {
        panic!("{received:?}");
    };
    assert!(request.body.starts_with(r#"{"encrypt":""#));
    let header = |name: &str| request.headers[name].to_str().unwrap();
    let signature = sign(
        header("X-Lark-Request-Timestamp"),
        header("X-Lark-Request-Nonce"),
        ENCRYPT_KEY,
        request.body.as_bytes(),
    );
    assert_eq!(header("X-Lark-Signature"), signature);
    let mut event = opened(&request.body);
    let event_id = event["header"]["event_id"].take();
    assert_eq!(event_id.as_str().unwrap().len(), 32);
    let expected = json!({
        "schema": "2.0",
        "header": {
            "event_id": null, "token": "vT0k3n5aMpLeQ8xY2zR7wK4jN6bG1hD3",
            "create_time": "1760000000000", "event_type": "im.message.receive_v1",
            "tenant_key": "16f0d1a2b3c4d5e6", "app_id": "cli_a1b2c3d4e5f60718",
        },
        "event": {
            "sender": {
                "sender_id": {
                    "union_id": user.union_id, "user_id": user.user_id, "open_id": user.open_id,
                },
                "sender_type": "user", "tenant_key": "16f0d1a2b3c4d5e6",
            },
            "message": {
                "message_id": message_id, "create_time": "1760000000000",
                "update_time": "1760000000000", "chat_id": chat.chat_id, "chat_type": "group",
                "message_type": "text",
                "content": r#"{"text":"@_user_1 status of @_user_2?"}"#,
                "mentions": event["event"]["message"]["mentions"].clone(),
            },
        },
    });
    assert_eq!(event, expected);
    let mentions = &event["event"]["message"]["mentions"];
    assert_eq!(mentions[0]["id"]["open_id"], sim.bot_open_id());
    assert_eq!(mentions[0]["mentioned_type"], "bot");
    assert_eq!(mentions[1]["id"]["open_id"], sim.user("u2").open_id);
    sim.stop().await;
}

#[tokio::test]
async fn a_failed_push_climbs_the_ladder_and_then_gives_up() {
    let sim = playground().await;
    let app = App::answering(&[500, 503, 404, 302, 500]).await;
    sim.set_event_url(&app.url);
    let chat = sim.p2p("u1");
    let message_id = sim.says("u1", &chat.chat_id, "hi").unwrap();
    for (tries, wait_s) in [(1, 15), (2, 300), (3, 3_600), (4, 21_600)] {
        let waiting = sim
            .wait_until(PATIENCE, |sim| {
                (sim.retries_waiting() == 1 && sim.pushes().len() == tries).then_some(())
            })
            .await;
        assert!(waiting.is_some(), "try {tries}: {:?}", sim.pushes());
        sim.advance(Duration::from_millis(wait_s * 1_000 - 1));
        assert_eq!(app.received().len(), tries);
        sim.advance(Duration::from_millis(1));
    }
    let done = sim.wait_until(PATIENCE, |sim| (sim.pushes().len() == 5).then_some(())).await;
    assert!(done.is_some());
    assert_eq!(sim.retries_waiting(), 0);
    let pushes = sim.pushes_of(&message_id);
    let attempts: Vec<u32> = pushes.iter().map(|push| push.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5]);
    assert!(pushes.iter().all(|push| push.event_id == pushes[0].event_id && !push.delivered()));
    let received = app.received();
    let signature = |n: usize| received[n].headers["x-lark-signature"].clone();
    assert_ne!(signature(0), signature(1));
}

#[tokio::test]
async fn a_retry_keeps_or_changes_its_id_and_signature_as_switched() {
    let sim = playground().await;
    let app = App::answering(&[500, 200, 500, 200]).await;
    sim.set_event_url(&app.url);
    let chat = sim.p2p("u1");
    sim.switch(|switches| switches.retry_signature = RetrySignature::Old);
    sim.says("u1", &chat.chat_id, "old").unwrap();
    let first = sim.wait_until(PATIENCE, |sim| (sim.retries_waiting() == 1).then_some(())).await;
    assert!(first.is_some());
    sim.advance(Duration::from_secs(15));
    let second = sim.wait_until(PATIENCE, |sim| (sim.pushes().len() == 2).then_some(())).await;
    assert!(second.is_some());
    let received = app.received();
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(
        received[0].headers["x-lark-request-timestamp"],
        received[1].headers["x-lark-request-timestamp"]
    );
    sim.switch(|switches| switches.retry_event_id = RetryEventId::New);
    sim.says("u1", &chat.chat_id, "new").unwrap();
    let third = sim.wait_until(PATIENCE, |sim| (sim.retries_waiting() == 1).then_some(())).await;
    assert!(third.is_some());
    sim.advance(Duration::from_secs(15));
    let fourth = sim.wait_until(PATIENCE, |sim| (sim.pushes().len() == 4).then_some(())).await;
    assert!(fourth.is_some());
    let events: Vec<_> = app.received().iter().map(|request| opened(&request.body)).collect();
    assert_ne!(events[2]["header"]["event_id"], events[3]["header"]["event_id"]);
    assert_eq!(events[2]["event"], events[3]["event"]);
}

#[tokio::test]
async fn first_tries_of_one_chat_come_in_order() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    sim.group("g1", &["u1"]);
    sim.group("g2", &["u1"]);
    for number in 0..50 {
        sim.says("u1", "g1", &format!("{number}")).unwrap();
        sim.says("u1", "g2", &format!("{number}")).unwrap();
    }
    assert!(sim.pushed(PATIENCE).await);
    for chat in ["g1", "g2"] {
        let chat_id = sim.change_chat(chat, |_| {}).unwrap().chat_id;
        let order: Vec<String> = app
            .received()
            .iter()
            .map(|request| opened(&request.body))
            .filter(|event| event["event"]["message"]["chat_id"] == chat_id.as_str())
            .map(|event| event["event"]["message"]["message_id"].as_str().unwrap().to_owned())
            .collect();
        let said: Vec<String> = sim.visible(chat).into_iter().map(|seen| seen.message_id).collect();
        assert_eq!(order, said);
    }
}

#[tokio::test]
async fn only_permitted_group_messages_are_pushed() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    let settings = larkspur::playground::AppSettings {
        event_url: app.url.clone(),
        group_messages: GroupMessages::Mentioned,
        ..Default::default()
    };
    sim.add_app(&settings).unwrap();
    sim.group("g1", &["u1"]);
    sim.says("u1", "g1", "among ourselves").unwrap();
    sim.says("u1", "g1", "@{all} listen").unwrap();
    let asked = sim.asks("u1", "g1", "you").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let pushes = sim.pushes();
    assert_eq!(pushes.len(), 1);
    assert_eq!(pushes[0].message_id, Some(asked));
    assert!(sim.says("u2", "g1", "I am not in it").is_err());
}

#[tokio::test]
async fn duplicates_arrive_together_and_without_retries() {
    let sim = playground().await;
    let app = App::answering(&[200, 500]).await;
    sim.set_event_url(&app.url);
    let chat = sim.p2p("u1");
    let message_id = sim.says("u1", &chat.chat_id, "hi").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let same = sim.duplicate(&message_id, 10, RetryEventId::Same).await.unwrap();
    let fresh = sim.duplicate(&message_id, 2, RetryEventId::New).await.unwrap();
    assert_eq!((same.len(), fresh.len(), app.received().len()), (10, 2, 13));
    assert!(same.iter().all(|push| push.kind == PushKind::Duplicate));
    assert!(same.iter().all(|push| push.event_id == same[0].event_id));
    assert_ne!(fresh[0].event_id, fresh[1].event_id);
    assert_eq!(sim.retries_waiting(), 0);
    assert!(sim.duplicate("om_unknown", 1, RetryEventId::Same).await.is_err());
}

#[tokio::test]
async fn a_held_message_is_pushed_only_when_a_test_says_so() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let chat = sim.p2p("u1");
    let say = Say {
        hold: true,
        ..Say::new("u1", &chat.chat_id, "later").with_overrides(
            json!({"event": {"sender": {"sender_type": "app"}, "message": {"content": null}}}),
        )
    };
    let message_id = sim.say(&say).unwrap();
    assert!(sim.pushes().is_empty());
    sim.duplicate(&message_id, 1, RetryEventId::Same).await.unwrap();
    let event = opened(&app.received()[0].body);
    assert_eq!(event["event"]["sender"]["sender_type"], "app");
    assert!(event["event"]["message"].get("content").is_none());
}

#[tokio::test]
async fn the_handshake_wants_its_challenge_back() {
    let sim = playground().await;
    assert!(sim.verify_url().await.is_err(), "no URL yet");
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let good = sim.verify_url().await.unwrap();
    assert!(good.accepted, "{good:?}");
    let request = &app.received()[0];
    assert!(request.headers.get("x-lark-signature").is_none());
    assert_eq!(opened(&request.body)["type"], "url_verification");
    app.answer_challenge_with("something else");
    let bad = sim.verify_url().await.unwrap();
    assert_eq!((bad.accepted, bad.reason.as_str()), (false, "the challenge did not come back"));
}

#[tokio::test]
async fn a_raw_push_is_posted_as_written() {
    let sim = playground().await;
    let app = App::answering(&[401]).await;
    sim.set_event_url(&app.url);
    let raw = RawPush {
        body: "not json".to_owned(),
        sign: true,
        headers: vec![("x-lark-signature".to_owned(), "wrong".to_owned())],
        ..RawPush::default()
    };
    let push = sim.push(raw).await.unwrap();
    assert_eq!((push.status, push.kind), (Some(401), PushKind::Raw));
    let request = &app.received()[0];
    assert_eq!(request.body, "not json");
    assert_eq!(request.headers["x-lark-signature"], "wrong");
    assert!(request.headers.contains_key("x-lark-request-nonce"));
}

#[tokio::test]
async fn an_app_without_an_encrypt_key_gets_plain_events() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    let settings = larkspur::playground::AppSettings {
        event_url: app.url.clone(),
        encrypt_key: String::new(),
        ..Default::default()
    };
    sim.add_app(&settings).unwrap();
    sim.says("u1", &sim.p2p("u1").chat_id, "hi").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let request = &app.received()[0];
    assert!(request.body.contains(r#""schema":"2.0""#));
    assert!(request.headers.get("x-lark-signature").is_none());
}

#[tokio::test]
async fn recalls_and_reactions_are_pushed() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    sim.switch(|switches| switches.own_reactions = OwnReactions::Pushed);
    let message_id = sim.says("u1", &sim.p2p("u1").chat_id, "hi").unwrap();
    let client = Client::of(&sim).await;
    let path = format!("/open-apis/im/v1/messages/{message_id}/reactions");
    let typing = json!({"reaction_type": {"emoji_type": "Typing"}});
    client.call("POST", &path, Some(&typing)).await;
    sim.reacts("u1", &message_id, "OK").unwrap();
    sim.recalls(&message_id).unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let events: Vec<_> = app.received().iter().map(|request| opened(&request.body)).collect();
    let types: Vec<&str> =
        events.iter().map(|event| event["header"]["event_type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "im.message.receive_v1",
            "im.message.reaction.created_v1",
            "im.message.reaction.created_v1",
            "im.message.recalled_v1",
        ]
    );
    assert_eq!(events[1]["event"]["app_id"], "cli_a1b2c3d4e5f60718");
    assert_eq!(events[2]["event"]["user_id"]["open_id"], sim.user("u1").open_id);
    assert_eq!(events[3]["event"]["recall_type"], "message_owner");
}

#[tokio::test]
async fn an_app_that_does_not_answer_in_time_is_tried_again() {
    let sim = playground_with(Settings {
        push_patience: Duration::from_millis(50),
        time_scale: 0,
        ..Settings::default()
    })
    .await;
    // Bound but never read from: the connection opens and nothing comes back.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    sim.set_event_url(&format!("http://{}/events", mute.local_addr().unwrap()));
    sim.says("u1", &sim.p2p("u1").chat_id, "hi").unwrap();
    assert!(sim.pushed(PATIENCE).await);
    let push = sim.pushes().pop().unwrap();
    assert_eq!((push.status, push.answer.as_str()), (None, "no answer within 50 ms"));
    assert_eq!(push.next_try_at_ms, Some(push.at_ms + 15_000));
    assert_eq!(sim.retries_waiting(), 1);
}
