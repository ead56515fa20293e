//! Card entities: how they are made, sent, changed and streamed; every rule with its code.

use std::time::Duration;

use larkspur::playground::{
    AppSettings, CardButton, CardPress, CardRate, CardUuidRepeat, Endpoint, FaultAction, FaultRule,
    FullUpdate, LateStream, Playground, RateLimits, Say, StreamingAnswers,
};
use serde_json::{Value, json};

use crate::cards::{button, card, send};
use crate::support::{App, Client, Reply, playground};

const CARDS: &str = "/open-apis/cardkit/v1/cards";

fn streaming(elements: &Value) -> Value {
    let mut card = card(elements);
    card["config"] = json!({"streaming_mode": true, "update_multi": true});
    card
}

fn text(content: &str) -> Value {
    json!([{"tag": "markdown", "element_id": "text", "content": content}])
}

async fn create(client: &Client, card: &Value) -> Reply {
    let body = json!({"type": "card_json", "data": card.to_string()});
    client.call("POST", CARDS, Some(&body)).await
}

fn reference(card_id: &str) -> String {
    json!({"type": "card", "data": {"card_id": card_id}}).to_string()
}

/// An entity that a chat shows.
struct Shown {
    client: Client,
    card_id: String,
    message_id: String,
}

impl Shown {
    async fn of(sim: &Playground, card: &Value) -> Self {
        let chat = sim.group("g1", &["u1"]);
        let client = Client::of(sim).await;
        let made = create(&client, card).await;
        assert_eq!(made.code(), 0, "{}", made.text);
        let card_id = made.data("/card_id").to_owned();
        let sent = send(&client, &chat.chat_id, &reference(&card_id)).await;
        assert_eq!(sent.code(), 0, "{}", sent.text);
        let message_id = sent.data("/message_id").to_owned();
        Self { client, card_id, message_id }
    }

    async fn call(&self, method: &str, rest: &str, body: &Value) -> i64 {
        let path = format!("{CARDS}/{}{rest}", self.card_id);
        self.client.call(method, &path, Some(body)).await.code()
    }

    async fn stream(&self, content: &str, sequence: i64) -> i64 {
        let body = json!({"content": content, "sequence": sequence});
        self.call("PUT", "/elements/text/content", &body).await
    }

    async fn mode(&self, on: bool, sequence: i64) -> i64 {
        let settings = json!({"config": {"streaming_mode": on}}).to_string();
        self.call("PATCH", "/settings", &json!({"settings": settings, "sequence": sequence})).await
    }

    async fn replace(&self, card: &Value, sequence: i64) -> i64 {
        let card = json!({"type": "card_json", "data": card.to_string()});
        self.call("PUT", "", &json!({"card": card, "sequence": sequence})).await
    }
}

#[tokio::test]
async fn a_streamed_answer_grows_in_one_message() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("one"))).await;
    sim.advance(Duration::from_secs(1));
    assert_eq!(shown.stream("one two", 1).await, 0);
    sim.advance(Duration::from_secs(1));
    assert_eq!(shown.stream("one two three", 2).await, 0);
    assert!(sim.seen(&shown.message_id).unwrap().card.unwrap().streaming);
    assert_eq!(shown.mode(false, 3).await, 0);
    let seen = sim.seen(&shown.message_id).unwrap();
    assert_eq!((seen.text.as_str(), seen.edits), ("Release\none two three", 2));
    assert!(!seen.card.unwrap().streaming);
    assert_eq!(sim.visible("g1").len(), 1);
    let states = sim.states(&shown.message_id);
    let told: Vec<_> = states.iter().map(|state| (state.at_ms, state.streaming)).collect();
    let start = 1_760_000_000_000;
    let expected =
        [(start, true), (start + 1_000, true), (start + 2_000, true), (start + 2_000, false)];
    assert_eq!(told, expected);
    assert!(states.windows(2).all(|pair| pair[1].text.starts_with(&pair[0].text)));
    let path = format!("/sim/v1/messages/{}/states", shown.message_id);
    let told = shown.client.call("GET", &path, None).await.json;
    assert_eq!(told[1]["text"], "Release\none two");
    let calls = sim.calls(Endpoint::ElementContent);
    assert_eq!(calls.iter().map(|call| call.sequence).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_streamed_text_is_seen_with_its_characters_and_mentions() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("one"))).await;
    let open_id = sim.user("u1").open_id;
    let content = format!("a &#60; b `&#60;` <at id={open_id}></at>");
    assert_eq!(shown.stream(&content, 1).await, 0);
    let seen = sim.seen(&shown.message_id).unwrap();
    assert_eq!(seen.text, "Release\na < b `&#60;` @u1");
    assert_eq!(seen.mentions, ["u1"]);
    let card = seen.card.unwrap();
    assert_eq!(card.json["body"]["elements"][0]["content"], content.as_str());
}

#[tokio::test]
async fn a_sequence_must_rise_over_all_operations_and_be_an_int32() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    assert_eq!(shown.stream("b", 5).await, 0);
    assert_eq!(shown.mode(true, 5).await, 300_317);
    assert_eq!(shown.replace(&streaming(&text("c")), 4).await, 300_317);
    assert_eq!(shown.call("DELETE", "/elements/text", &json!({"sequence": 5})).await, 300_317);
    assert_eq!(shown.stream("", 6).await, 99_992_402);
    assert_eq!(shown.stream("c", 6).await, 0, "a refused change uses up nothing");
    assert_eq!(
        shown.call("PUT", "/elements/text/content", &json!({"content": "x"})).await,
        99_992_402
    );
    for (sequence, code) in [(0, 99_992_402), (1 << 31, 99_992_402), ((1 << 31) - 1, 0)] {
        assert_eq!(shown.stream("d", sequence).await, code, "{sequence}");
    }
}

#[tokio::test]
async fn a_repeated_uuid_is_answered_as_the_switch_says_and_does_nothing() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    let change = |text: &str, sequence: i64, uuid: &str| json!({"content": text, "sequence": sequence, "uuid": uuid});
    let path = "/elements/text/content";
    assert_eq!(shown.call("PUT", path, &change("b", 1, "u")).await, 0);
    for (repeat, code) in [(CardUuidRepeat::Done, 0), (CardUuidRepeat::Conflict, 200_770)] {
        sim.switch(|switches| switches.card_uuid_repeat = repeat);
        assert_eq!(shown.call("PUT", path, &change("c", 2, "u")).await, code);
    }
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\nb");
    assert_eq!(shown.call("PUT", path, &change("c", 2, &"u".repeat(64))).await, 0);
    assert_eq!(shown.call("PUT", path, &change("d", 3, &"v".repeat(65))).await, 99_992_402);
}

#[tokio::test]
async fn an_entity_is_sent_once_by_its_app_within_fourteen_days() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &card(&text("a"))).await;
    let chat_id = sim.group("g1", &["u1"]).chat_id;
    let again = send(&shown.client, &chat_id, &reference(&shown.card_id)).await;
    assert_eq!(again.code(), 230_099, "{}", again.text);
    let nobody = send(&shown.client, &chat_id, &reference("7000")).await;
    assert!(nobody.text.contains("ErrCode: 200740;"), "{}", nobody.text);
    let path = format!("{CARDS}/7000/elements/text/content");
    let body = json!({"content": "x", "sequence": 1});
    assert_eq!(shown.client.call("PUT", &path, Some(&body)).await.code(), 200_740);

    let other = AppSettings {
        app_id: "cli_other".to_owned(),
        app_secret: "other-secret".to_owned(),
        ..AppSettings::default()
    };
    sim.add_app(&other).unwrap();
    let mut stranger = Client::anonymous(&sim);
    let body = json!({"app_id": other.app_id, "app_secret": other.app_secret});
    let token = "/open-apis/auth/v3/tenant_access_token/internal";
    let token = stranger.call("POST", token, Some(&body)).await.json;
    stranger.token = token["tenant_access_token"].as_str().unwrap().to_owned();
    let path = format!("{CARDS}/{}", shown.card_id);
    let new = json!({"type": "card_json", "data": card(&text("b")).to_string()});
    let body = json!({"card": new, "sequence": 1});
    assert_eq!(stranger.call("PUT", &path, Some(&body)).await.code(), 300_311);
    let fresh = create(&shown.client, &card(&text("a"))).await;
    let fresh = fresh.data("/card_id").to_owned();
    sim.change_chat("g1", |chat| chat.bots.push("cli_other".to_owned())).unwrap();
    let foreign = send(&stranger, &chat_id, &reference(&fresh)).await;
    assert!(foreign.text.contains("ErrCode: 300311;"), "{}", foreign.text);

    sim.advance(Duration::from_hours(14 * 24));
    let client = Client::of(&sim).await;
    let shown = Shown { client, ..shown };
    assert_eq!(shown.replace(&card(&text("b")), 1).await, 0);
    sim.advance(Duration::from_millis(1));
    assert_eq!(shown.replace(&card(&text("c")), 2).await, 200_750);
    let late = send(&shown.client, &chat_id, &reference(&fresh)).await;
    assert!(late.text.contains("ErrCode: 200750;"), "{}", late.text);
}

#[tokio::test]
async fn an_entity_answers_a_message_and_a_uuid_repeats_nothing() {
    let sim = playground().await;
    sim.group("g1", &["u1"]);
    let asked = sim.says("u1", "g1", "hello").unwrap();
    let client = Client::of(&sim).await;
    let card_id = create(&client, &card(&text("a"))).await.data("/card_id").to_owned();
    let path = format!("/open-apis/im/v1/messages/{asked}/reply");
    let body = json!({"msg_type": "interactive", "content": reference(&card_id), "uuid": "once"});
    let first = client.call("POST", &path, Some(&body)).await;
    assert_eq!(first.code(), 0, "{}", first.text);
    let second = client.call("POST", &path, Some(&body)).await;
    assert_eq!(second.data("/message_id"), first.data("/message_id"));
    assert_eq!(sim.answers_to(&asked).len(), 1);
}

#[tokio::test]
async fn a_stream_closes_itself_ten_minutes_after_it_was_last_opened() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    sim.advance(Duration::from_secs(599));
    assert_eq!(shown.stream("b", 1).await, 0);
    assert_eq!(shown.mode(true, 2).await, 0);
    sim.advance(Duration::from_millis(599_999));
    assert_eq!(shown.stream("c", 3).await, 0);
    sim.advance(Duration::from_millis(1));
    let answers =
        [(LateStream::TimedOut, 200_850), (LateStream::Closed, 300_309), (LateStream::Ignored, 0)];
    for (sequence, (late, code)) in (4..).zip(answers) {
        sim.switch(|switches| switches.late_stream = late);
        assert_eq!(shown.stream("d", sequence).await, code, "{late:?}");
    }
    let seen = sim.seen(&shown.message_id).unwrap();
    assert_eq!(seen.text, "Release\nc", "p098: a success without effect");
    assert!(!seen.card.unwrap().streaming);
    assert_eq!(shown.mode(true, 8).await, 0);
    assert_eq!(shown.stream("e", 9).await, 0);
    assert_eq!(shown.mode(false, 10).await, 0);
    assert_eq!(shown.stream("f", 11).await, 300_309, "whatever the switch says");
    assert_eq!(shown.replace(&card(&text("g")), 11).await, 0);
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\ng");
}

#[tokio::test]
async fn whether_a_new_card_ends_streaming_is_a_switch() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    sim.switch(|switches| switches.full_update = FullUpdate::Keeps);
    assert_eq!(shown.replace(&card(&text("b")), 1).await, 0);
    assert_eq!(shown.stream("c", 2).await, 0);
    sim.switch(|switches| switches.full_update = FullUpdate::Decides);
    assert_eq!(shown.replace(&card(&text("d")), 3).await, 0);
    assert_eq!(shown.stream("e", 4).await, 300_309);
}

#[tokio::test]
async fn an_entity_at_its_limit_is_accepted_and_one_beyond_is_refused() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let empty = card(&text("")).to_string().len();
    let long = |bytes: usize| card(&text(&"x".repeat(bytes - empty)));
    let rules = |count: usize| card(&json!(vec![json!({"tag": "hr"}); count]));
    let mut alone = card(&text("a"));
    alone["config"] = json!({"update_multi": false});
    let twice = json!([{"tag": "hr", "element_id": "a"}, {"tag": "hr", "element_id": "a"}]);
    for (card, code) in [
        (rules(200), 0),
        (rules(201), 300_305),
        (long(30 * 1024), 0),
        (long(30 * 1024 + 1), 200_860),
        (card(&json!([])), 300_307),
        (card(&twice), 300_301),
        (alone, 300_302),
        (json!({"elements": []}), 300_303),
        (card(&json!([{"tag": "marquee"}])), 200_220),
    ] {
        let made = create(&client, &card).await;
        assert_eq!((made.status, made.code()), (if code == 0 { 200 } else { 400 }, code));
    }
    let body = json!({"type": "card_json", "data": ""});
    assert_eq!(client.call("POST", CARDS, Some(&body)).await.code(), 300_307);
    let body = json!({"type": "template", "data": "{}"});
    assert_eq!(client.call("POST", CARDS, Some(&body)).await.code(), 99_992_402);
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    assert_eq!(shown.stream(&"x".repeat(31 * 1024), 1).await, 200_860);
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\na");
    assert_eq!(sim.visible(&chat.chat_id).len(), 1);
}

#[tokio::test]
async fn elements_are_added_changed_and_taken_away() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    let elements = |id: &str| json!([{"tag": "hr", "element_id": id}]).to_string();
    let add = |id: &str, sequence: i64| json!({"type": "append", "elements": elements(id), "sequence": sequence});
    assert_eq!(shown.call("POST", "/elements", &add("line", 1)).await, 0);
    assert_eq!(shown.call("POST", "/elements", &add("line", 2)).await, 300_301);
    let path = "/elements/line/content";
    let content = json!({"content": "x", "sequence": 2});
    assert_eq!(shown.call("PUT", path, &content).await, 300_310);
    assert_eq!(shown.call("PUT", "/elements/none/content", &content).await, 300_313);
    let element = text("new")[0].to_string();
    let put = json!({"element": element, "sequence": 2});
    assert_eq!(shown.call("PUT", "/elements/text", &put).await, 0);
    let partial = json!({"content": "newer"}).to_string();
    let patch = json!({"partial_element": partial, "sequence": 3});
    assert_eq!(shown.call("PATCH", "/elements/text", &patch).await, 0);
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\nnewer");
    assert_eq!(shown.call("DELETE", "/elements/line", &json!({"sequence": 4})).await, 0);
    assert_eq!(
        shown.call("DELETE", "/elements/text", &json!({"sequence": 5})).await,
        300_307,
        "nobody ever sees an empty card"
    );
    let actions = json!([
        {"action": "update_element", "params": {"element_id": "text", "element": text("last")[0]}},
        {"action": "add_elements", "params": {"type": "append", "elements": [{"tag": "hr"}]}},
        {"action": "partial_update_setting",
            "params": {"settings": {"config": {"streaming_mode": false}}}},
    ]);
    let edits = sim.seen(&shown.message_id).unwrap().edits;
    let batch = json!({"actions": actions.to_string(), "sequence": 5});
    assert_eq!(shown.call("POST", "/batch_update", &batch).await, 0);
    let seen = sim.seen(&shown.message_id).unwrap();
    assert_eq!((seen.text.as_str(), seen.edits), ("Release\nlast", edits + 1));
    assert!(!seen.card.unwrap().streaming);
}

#[tokio::test]
async fn ten_changes_a_second_are_the_most_while_rates_are_switched_on() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    sim.switch(|switches| switches.rate_limits = RateLimits::On);
    for sequence in 1..=10 {
        assert_eq!(shown.stream("b", sequence).await, 0);
    }
    assert_eq!(shown.stream("c", 11).await, 99_991_400);
    sim.switch(|switches| switches.card_rate = CardRate::NotStreaming);
    assert_eq!(shown.stream("c", 11).await, 0);
    sim.advance(Duration::from_secs(1));
    assert_eq!(shown.mode(false, 12).await, 0);
    for sequence in 13..=22 {
        assert_eq!(shown.replace(&card(&text("d")), sequence).await, 0);
    }
    assert_eq!(shown.replace(&card(&text("d")), 23).await, 99_991_400);
}

#[tokio::test]
async fn while_it_streams_a_card_is_not_forwarded_and_no_press_changes_it() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let elements = json!([text("a")[0], button("Go", &json!({"do": "go"}))]);
    let shown = Shown::of(&sim, &streaming(&elements)).await;
    let forward = Say::new("u1", "g1", "").forwarding(&[&shown.message_id]);
    assert!(sim.say(&forward).is_err());
    let toast = json!({"type": "success", "content": "done"});
    let new = json!({"type": "raw", "data": card(&text("changed"))});
    app.answer_with(&json!({"toast": toast, "card": new}));
    let press = || CardPress::of_button("u1", &shown.message_id, CardButton::Place(0));
    let outcome = sim.press(press()).await.unwrap();
    assert_eq!((outcome.client_error, outcome.toast.is_some()), (0, true));
    sim.switch(|switches| switches.streaming_answers = StreamingAnswers::Error);
    assert_eq!(sim.press(press()).await.unwrap().client_error, 200_810);
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\na\n[Go]");
    assert_eq!(shown.mode(false, 1).await, 0);
    assert!(sim.press(press()).await.unwrap().replaced);
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\nchanged");
    assert_eq!(shown.stream("b", 2).await, 300_309);
    assert_eq!(shown.replace(&card(&text("after")), 2).await, 0, "the entity goes on");
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\nafter");
    assert!(sim.say(&forward).is_ok());
}

#[tokio::test]
async fn every_call_on_entities_can_fail_by_a_fault_of_its_own() {
    let sim = playground().await;
    let shown = Shown::of(&sim, &streaming(&text("a"))).await;
    let refuse = || FaultAction::Refuse { status: 400, code: 300_120, reset_s: None };
    let table = [
        (Endpoint::CardUpdate, "PUT", ""),
        (Endpoint::CardSettings, "PATCH", "/settings"),
        (Endpoint::CardBatch, "POST", "/batch_update"),
        (Endpoint::ElementAdd, "POST", "/elements"),
        (Endpoint::ElementUpdate, "PUT", "/elements/text"),
        (Endpoint::ElementPatch, "PATCH", "/elements/text"),
        (Endpoint::ElementDelete, "DELETE", "/elements/text"),
        (Endpoint::ElementContent, "PUT", "/elements/text/content"),
    ];
    for (endpoint, method, rest) in table {
        sim.fault(FaultRule::next(endpoint, 1, refuse()));
        assert_eq!(shown.call(method, rest, &json!({})).await, 300_120, "{endpoint:?}");
        assert_ne!(shown.call(method, rest, &json!({})).await, 300_120, "{endpoint:?}");
    }
    sim.fault(FaultRule::next(Endpoint::CardCreate, 1, refuse()));
    assert_eq!(create(&shown.client, &card(&text("a"))).await.code(), 300_120);
    sim.fault(FaultRule::next(Endpoint::ElementContent, 1, FaultAction::DropAfter));
    let path = format!("{CARDS}/{}/elements/text/content", shown.card_id);
    let body = json!({"content": "in doubt", "sequence": 1});
    assert!(shown.client.try_call("PUT", &path, Some(&body)).await.is_err());
    assert_eq!(sim.seen(&shown.message_id).unwrap().text, "Release\nin doubt");
}
