//! Events of any type and presses in cards: their form, their signatures, what the client shows.

use axum::http::HeaderMap;
use larkspur::playground::crypt::{sign, sign_first_card};
use larkspur::playground::{CardPress, EventPush, FirstCards, PushKind, Settings};
use serde_json::{Value, json};

use crate::support::{App, Client, ENCRYPT_KEY, opened, playground};

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers[name].to_str().unwrap()
}

#[tokio::test]
async fn an_event_of_any_type_comes_in_either_schema_encrypted_or_plain() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let event = json!({"chat_id": "oc_1"});
    let new = EventPush::new("im.chat.disbanded_v1", event.clone()).with_id("ev_1");
    let record = sim.push_event(new.clone()).await.unwrap();
    assert_eq!((record.kind, record.event_id.as_str()), (PushKind::Event, "ev_1"));
    assert!(record.delivered());
    sim.push_event(new.clone().in_plain()).await.unwrap();
    let old = EventPush::new("p2p_chat_create", event).with_id("uu_1").in_schema_1();
    sim.push_event(old.in_plain()).await.unwrap();
    let received = app.received();
    let plain: Value = serde_json::from_str(&received[1].body).unwrap();
    assert_eq!(opened(&received[0].body), plain);
    assert_eq!(plain["header"]["event_id"], "ev_1");
    assert_eq!(plain["event"]["chat_id"], "oc_1");
    for request in &received {
        let nonce = header(&request.headers, "X-Lark-Request-Nonce");
        let time = header(&request.headers, "X-Lark-Request-Timestamp");
        let signature = sign(time, nonce, ENCRYPT_KEY, request.body.as_bytes());
        assert_eq!(header(&request.headers, "X-Lark-Signature"), signature);
    }
    let settings = Settings::default();
    let expected = json!({
        "ts": "1760000000.0000000", "uuid": "uu_1", "type": "event_callback",
        "token": settings.app.verification_token,
        "event": {
            "type": "p2p_chat_create", "app_id": settings.app.app_id,
            "tenant_key": settings.tenant_key, "chat_id": "oc_1",
        },
    });
    assert_eq!(serde_json::from_str::<Value>(&received[2].body).unwrap(), expected);
    assert_eq!(sim.pushes().len(), 3);
    sim.stop().await;
}

#[tokio::test]
async fn a_press_of_the_second_generation_is_an_event_in_microseconds() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let chat = sim.group("g1", &["u1"]).chat_id;
    let action = json!({"tag": "button", "value": {"k": "v"}});
    let outcome = sim.press(CardPress::new("u1", "g1", action.clone())).await.unwrap();
    assert_eq!((outcome.client_error, outcome.push.kind), (0, PushKind::Card));
    let body = opened(&app.received()[0].body);
    assert_eq!(body["header"]["event_type"], "card.action.trigger");
    assert_eq!(body["header"]["create_time"], "1760000000000000");
    assert_eq!(body["event"]["action"], action);
    assert_eq!(body["event"]["context"]["open_chat_id"], json!(chat));
    assert_eq!(body["event"]["operator"]["open_id"], json!(sim.user("u1").open_id));
    assert!(body["event"]["token"].as_str().unwrap().starts_with("c-"));
    sim.stop().await;
}

#[tokio::test]
async fn a_press_of_the_first_generation_is_flat_and_signed_as_the_switch_says() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    sim.group("g1", &["u1"]);
    let token = Settings::default().app.verification_token;
    for (index, how) in
        [FirstCards::Plain, FirstCards::Encrypted, FirstCards::AsEvents].into_iter().enumerate()
    {
        sim.switch(|switches| switches.first_cards = how);
        let press = CardPress::new("u1", "g1", json!({"tag": "button"})).of_the_first_generation();
        sim.press(press).await.unwrap();
        let request = app.received().swap_remove(index);
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let is_plain = how == FirstCards::Plain;
        assert_eq!(body["encrypt"].is_null(), is_plain);
        let card = if is_plain { body } else { opened(&request.body) };
        assert!(card["schema"].is_null() && card["token"].as_str().unwrap().starts_with("c-"));
        assert_eq!(card["action"]["tag"], "button");
        let nonce = header(&request.headers, "X-Lark-Request-Nonce");
        let time = header(&request.headers, "X-Lark-Request-Timestamp");
        let bytes = request.body.as_bytes();
        let signature = match how {
            FirstCards::AsEvents => sign(time, nonce, ENCRYPT_KEY, bytes),
            FirstCards::Plain | FirstCards::Encrypted => {
                sign_first_card(time, nonce, &token, bytes)
            }
        };
        assert_eq!(header(&request.headers, "X-Lark-Signature"), signature);
        assert!(!header(&request.headers, "X-Refresh-Token").is_empty());
    }
    sim.stop().await;
}

#[tokio::test]
async fn whoever_pressed_sees_an_error_unless_the_answer_is_as_it_must_be() {
    let sim = playground().await;
    let app = App::answering(&[500, 200]).await;
    sim.set_event_url(&app.url);
    sim.group("g1", &["u1"]);
    let press = || CardPress::new("u1", "g1", json!({"tag": "button"}));
    assert_eq!(sim.press(press()).await.unwrap().client_error, 200_671);
    assert_eq!(sim.press(press()).await.unwrap().client_error, 0);
    sim.set_event_url("http://127.0.0.1:9/");
    let outcome = sim.press(press()).await.unwrap();
    assert_eq!((outcome.client_error, outcome.toast), (200_341, None));
    let curl = Client::anonymous(&sim);
    let body = json!({"user": "u1", "chat": "g1", "action": {"tag": "button"},
        "generation": "first"});
    let answer = curl.call("POST", "/sim/v1/presses", Some(&body)).await;
    assert_eq!(answer.json["client_error"], 200_341);
    let body = json!({"event_type": "im.chat.updated_v1", "event": {}, "plain": true});
    let answer = curl.call("POST", "/sim/v1/events", Some(&body)).await;
    assert_eq!(answer.json["kind"], "event");
    let stranger = json!({"user": "nobody", "chat": "g1"});
    assert_eq!(curl.call("POST", "/sim/v1/presses", Some(&stranger)).await.status, 404);
    sim.stop().await;
}
