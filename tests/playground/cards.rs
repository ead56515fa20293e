//! Cards: what is accepted, what people see, what the history gives, how they change, and what a
//! press of a button sends.

use std::time::Duration;

use larkspur::playground::{
    CardButton, CardPress, EarlyUpdates, MarkdownTables, Playground, PressedCards, RateLimits,
};
use serde_json::{Value, json};

use crate::support::{App, Client, Reply, opened, playground};

pub(crate) fn card(elements: &Value) -> Value {
    json!({
        "schema": "2.0",
        "config": {"update_multi": true},
        "header": {"title": {"tag": "plain_text", "content": "Release"}, "template": "green"},
        "body": {"elements": elements},
    })
}

pub(crate) fn button(text: &str, value: &Value) -> Value {
    json!({
        "tag": "button", "text": {"tag": "plain_text", "content": text},
        "behaviors": [{"type": "callback", "value": value}],
    })
}

pub(crate) async fn send(client: &Client, chat_id: &str, content: &str) -> Reply {
    let body = json!({"receive_id": chat_id, "msg_type": "interactive", "content": content});
    client.call("POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", Some(&body)).await
}

async fn shown(sim: &Playground, elements: &Value) -> (Client, String) {
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(sim).await;
    let reply = send(&client, &chat.chat_id, &card(elements).to_string()).await;
    assert_eq!(reply.code(), 0, "{}", reply.text);
    let message_id = reply.data("/message_id").to_owned();
    (client, message_id)
}

#[tokio::test]
async fn people_see_a_card_with_its_title_texts_and_buttons() {
    let sim = playground().await;
    let mut named = button("Stop", &json!({"do": "stop"}));
    named["name"] = json!("stop");
    let column = json!({"tag": "column", "elements": [button("Go", &json!({"do": "go"})), named]});
    let elements = json!([
        {"tag": "markdown", "content": "**1.2** is ready"}, {"tag": "hr"},
        {"tag": "div", "text": {"tag": "plain_text", "content": "small print"}},
        {"tag": "column_set", "columns": [column]},
    ]);
    let (client, message_id) = shown(&sim, &elements).await;
    let seen = sim.seen(&message_id).unwrap();
    assert_eq!(seen.text, "Release\n**1.2** is ready\nsmall print\n[Go]\n[Stop]");
    let seen = seen.card.unwrap();
    assert_eq!((seen.title.as_str(), seen.template.as_str()), ("Release", "green"));
    assert_eq!(seen.buttons[1].name.as_deref(), Some("stop"));
    assert_eq!(seen.buttons[0].value, Some(json!({"do": "go"})));
    let path = format!("/open-apis/im/v1/messages/{message_id}");
    let lossy = client.call("GET", &path, None).await;
    let content: Value = serde_json::from_str(lossy.data("/items/0/body/content")).unwrap();
    assert_eq!(content["title"], "Release");
    assert_eq!(content["elements"][0][0]["text"], "**1.2** is ready");
    let path = format!("{path}?card_msg_content_type=user_card_content");
    let whole = client.call("GET", &path, None).await;
    let content: Value = serde_json::from_str(whole.data("/items/0/body/content")).unwrap();
    assert_eq!(content, card(&elements));
    let path = format!("/open-apis/im/v1/messages/{message_id}/reply");
    let body = json!({"msg_type": "interactive", "content": card(&elements).to_string()});
    assert_eq!(client.call("POST", &path, Some(&body)).await.code(), 0);
    assert!(sim.answers_to(&message_id)[0].card.is_some());
}

fn nested(depth: usize) -> Value {
    (1..depth).fold(json!({"tag": "hr"}), |inner, _| {
        json!({"tag": "column_set", "columns": [{"tag": "column", "elements": [inner]}]})
    })
}

fn folded(depth: usize) -> Value {
    let title = json!({"tag": "plain_text", "content": "more"});
    (1..depth).fold(json!({"tag": "hr"}), |inner, _| {
        json!({"tag": "collapsible_panel", "expanded": false, "header": {"title": title},
            "elements": [inner]})
    })
}

fn markdown(content: &str) -> Value {
    json!([{"tag": "markdown", "content": content}])
}

#[tokio::test]
async fn a_card_at_its_limit_is_accepted_and_one_beyond_is_refused() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let id = |length: usize| json!([{"tag": "hr", "element_id": "a".repeat(length)}]);
    let column = |number: usize| json!({"name": format!("c{number}"), "data_type": "text"});
    let grid = |columns: usize| {
        let columns: Vec<Value> = (0..columns).map(column).collect();
        json!({"tag": "table", "columns": columns, "rows": [{"c0": "x"}]})
    };
    let tables = |count: usize| vec![grid(1); count];
    let columns = |count: usize| json!([grid(count)]);
    let rows = |count: usize| {
        let mut table = grid(1);
        table["page_size"] = json!(count);
        json!([table])
    };
    let text_table = "|a|b|\n|--|--|\n|1|2|\n\n";
    let table = [
        (json!(vec![json!({"tag": "hr"}); 200]), json!(vec![json!({"tag": "hr"}); 201]), 11_310),
        (markdown(&text_table.repeat(3)), markdown(&text_table.repeat(4)), 11_310),
        (json!(tables(5)), json!(tables(6)), 11_310),
        (columns(50), columns(51), 200_915),
        (rows(10), rows(11), 200_914),
        (id(20), id(21), 200_621),
        (rows(1), rows(0), 200_914),
        (json!([nested(5)]), json!([nested(6)]), 200_621),
        (json!([folded(5)]), json!([folded(6)]), 200_621),
    ];
    for (fits, beyond, code) in table {
        let reply = send(&client, &chat.chat_id, &card(&fits).to_string()).await;
        assert_eq!(reply.code(), 0, "{}", reply.text);
        let reply = send(&client, &chat.chat_id, &card(&beyond).to_string()).await;
        assert_eq!((reply.status, reply.code()), (400, 230_099), "{}", reply.text);
        assert!(reply.text.contains(&format!("ErrCode: {code};")), "{}", reply.text);
    }
    sim.switch(|switches| switches.markdown_tables = MarkdownTables::Component);
    let four = text_table.repeat(4);
    let twice = json!([markdown(&four)[0], markdown(&four)[0]]);
    for (elements, code) in [(twice, 0), (markdown(&text_table.repeat(5)), 230_099)] {
        let reply = send(&client, &chat.chat_id, &card(&elements).to_string()).await;
        assert_eq!(reply.code(), code, "{}", reply.text);
    }
    // The bytes are those of the whole request.
    let words = |count: usize| card(&markdown(&"x".repeat(count))).to_string();
    let around =
        json!({"receive_id": chat.chat_id, "msg_type": "interactive", "content": words(0)});
    let room = 30 * 1024 - around.to_string().len();
    assert_eq!(send(&client, &chat.chat_id, &words(room)).await.code(), 0);
    assert_eq!(send(&client, &chat.chat_id, &words(room + 1)).await.code(), 230_025);
}

#[tokio::test]
async fn tables_are_seen_whole_and_folded_panels_apart_from_what_is_said() {
    let sim = playground().await;
    let table = json!({"tag": "table", "page_size": 5,
        "columns": [{"name": "who", "display_name": "Who"}, {"name": "n", "data_type": "number"}],
        "rows": [{"who": "Ann", "n": 3}, {"who": "Ben"}]});
    let mut panel = folded(2);
    panel["elements"] = json!([markdown("inside")[0], button("Go", &json!({}))]);
    let (_client, message_id) = shown(&sim, &json!([table, panel])).await;
    let seen = sim.seen(&message_id).unwrap();
    assert_eq!(seen.text, "Release\nWho | n\nAnn | 3\nBen | ");
    let seen = seen.card.unwrap();
    assert_eq!(seen.folded, ["more", "inside"]);
    assert_eq!((seen.buttons[0].text.as_str(), seen.buttons[0].folded), ("Go", true));
}

#[tokio::test]
async fn buttons_panels_and_tables_that_are_not_as_they_must_be_are_refused() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let with = |mut element: Value, name: &str, value: Value| {
        element[name] = value;
        card(&json!([element])).to_string()
    };
    let press = || button("x", &json!({}));
    let grid = |columns: Value, rows: Value| {
        card(&json!([{"tag": "table", "columns": columns, "rows": rows}])).to_string()
    };
    let name = |kind: &str| json!([{"name": "a", "data_type": kind}]);
    let inside = json!({"tag": "table", "columns": name("text"), "rows": []});
    let inside = json!({"tag": "column_set", "columns": [{"tag": "column", "elements": [inside]}]});
    let table = [
        (with(press(), "type", json!("huge")), 200_621),
        (with(press(), "size", json!("huge")), 200_621),
        (with(press(), "disabled", json!("yes")), 200_621),
        (with(press(), "behaviors", json!([{"type": "callback"}])), 200_621),
        (with(press(), "behaviors", json!([{"type": "dance"}])), 200_621),
        (with(press(), "behaviors", json!({})), 200_621),
        (with(press(), "confirm", json!({"title": "x"})), 200_621),
        (with(press(), "form_action_type", json!("submit")), 200_621),
        (with(folded(2), "expanded", json!("yes")), 200_621),
        (with(folded(2), "header", json!({})), 200_621),
        (
            with(
                folded(2),
                "header",
                json!({"title": {"tag": "plain_text", "content": "x"}, "x": 1}),
            ),
            200_621,
        ),
        (with(folded(2), "elements", json!(null)), 200_621),
        (grid(json!([]), json!([])), 200_915),
        (grid(name("picture"), json!([])), 200_915),
        (grid(json!([{"name": "a"}, {"name": "a"}]), json!([])), 200_915),
        (grid(json!([{"name": "a", "colour": "red"}]), json!([])), 200_621),
        (grid(name("text"), json!([{"b": "x"}])), 200_914),
        (grid(name("text"), json!([{"a": 1}])), 200_914),
        (grid(name("number"), json!([{"a": "1"}])), 200_914),
        (grid(name("lark_md"), json!([{"a": "<at id=ou_nobody></at>"}])), 100_290),
        (card(&json!([inside])).to_string(), 200_621),
    ];
    for (content, code) in table {
        let reply = send(&client, &chat.chat_id, &content).await;
        assert_eq!(reply.code(), 230_099, "{content}: {}", reply.text);
        assert!(reply.text.contains(&format!("ErrCode: {code};")), "{content}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_card_that_cannot_be_built_is_refused_with_the_code_that_says_why() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let open = |url: &str| {
        json!([{"tag": "button", "text": {"tag": "plain_text", "content": "x"},
            "behaviors": [{"type": "open_url", "default_url": url}]}])
    };
    let twice = json!([{"tag": "hr", "element_id": "a"}, {"tag": "hr", "element_id": "a"}]);
    let mut alone = card(&json!([]));
    alone["config"] = json!({"update_multi": false});
    let mut coloured = card(&json!([]));
    coloured["header"]["template"] = json!("pink");
    let table = [
        ("{".to_owned(), 200_621),
        (json!({"elements": []}).to_string(), 200_621),
        (card(&json!([{"tag": "marquee"}])).to_string(), 200_621),
        (card(&json!([{"tag": "hr", "colour": "red"}])).to_string(), 200_621),
        (card(&json!([{"tag": "hr", "element_id": "1a"}])).to_string(), 200_621),
        (card(&open("javascript:alert(1)")).to_string(), 200_621),
        (coloured.to_string(), 200_621),
        (card(&json!([{"tag": "action", "actions": []}])).to_string(), 200_861),
        (card(&json!([{"tag": "note", "elements": []}])).to_string(), 200_861),
        (card(&twice).to_string(), 300_301),
        (alone.to_string(), 300_302),
        (card(&json!([{"tag": "img", "img_key": "img_v3_nobody"}])).to_string(), 200_570),
        (card(&markdown("![x](https://example.com/x.png)")).to_string(), 200_570),
        (card(&markdown("<at id=ou_nobody></at>")).to_string(), 100_290),
    ];
    for (content, code) in table {
        let reply = send(&client, &chat.chat_id, &content).await;
        assert_eq!(reply.code(), 230_099, "{content}: {}", reply.text);
        assert!(reply.text.contains(&format!("ErrCode: {code};")), "{content}: {}", reply.text);
    }
    assert!(sim.visible("g1").is_empty());
    assert_eq!(
        send(&client, &chat.chat_id, &card(&open("https://e.org")).to_string()).await.code(),
        0
    );
}

#[tokio::test]
async fn a_card_is_changed_by_its_sender_for_fourteen_days() {
    let sim = playground().await;
    let (client, message_id) = shown(&sim, &markdown("old")).await;
    let path = format!("/open-apis/im/v1/messages/{message_id}");
    let change = |text: &str| json!({"content": card(&markdown(text)).to_string()});
    assert_eq!(client.call("PATCH", &path, Some(&change("new"))).await.code(), 0);
    assert_eq!(sim.seen(&message_id).unwrap().text, "Release\nnew");
    let mut silent = card(&markdown("x"));
    silent["config"] = json!({});
    let undeclared = json!({"content": silent.to_string()});
    assert_eq!(client.call("PATCH", &path, Some(&undeclared)).await.code(), 230_099);
    let chat_id = sim.group("g1", &["u1"]).chat_id;
    let old = send(&client, &chat_id, &silent.to_string()).await;
    let old = format!("/open-apis/im/v1/messages/{}", old.data("/message_id"));
    assert_eq!(client.call("PATCH", &old, Some(&change("x"))).await.code(), 230_099);
    let bad = json!({"content": card(&json!([{"tag": "marquee"}])).to_string()});
    assert_eq!(client.call("PATCH", &path, Some(&bad)).await.code(), 230_099);
    let long = json!({"content": card(&markdown(&"x".repeat(30 * 1024))).to_string()});
    assert_eq!(client.call("PATCH", &path, Some(&long)).await.code(), 230_025);
    let users = sim.says("u1", "g1", "hello").unwrap();
    let other = format!("/open-apis/im/v1/messages/{users}");
    assert_eq!(client.call("PATCH", &other, Some(&change("x"))).await.code(), 230_071);
    let chat_id = sim.group("g1", &["u1"]).chat_id;
    let plain = client.send(&chat_id, "no card", "").await;
    let plain = format!("/open-apis/im/v1/messages/{}", plain.data("/message_id"));
    assert_eq!(client.call("PATCH", &plain, Some(&change("x"))).await.code(), 230_001);
    let (_client, gone) = shown(&sim, &markdown("gone")).await;
    let gone_path = format!("/open-apis/im/v1/messages/{gone}");
    assert_eq!(client.call("DELETE", &gone_path, None).await.code(), 0);
    assert_eq!(client.call("PATCH", &gone_path, Some(&change("x"))).await.code(), 230_011);
    assert!(sim.seen(&gone).unwrap().card.is_none());
    sim.switch(|switches| switches.rate_limits = RateLimits::On);
    for _ in 0..5 {
        assert_eq!(client.call("PATCH", &path, Some(&change("newer"))).await.code(), 0);
    }
    assert_eq!(client.call("PATCH", &path, Some(&change("newer"))).await.code(), 230_020);
    sim.advance(Duration::from_hours(14 * 24) + Duration::from_millis(1));
    let client = Client::of(&sim).await;
    assert_eq!(client.call("PATCH", &path, Some(&change("x"))).await.code(), 230_031);
}

#[tokio::test]
async fn a_press_of_a_shown_button_sends_what_the_client_knows() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let mut named = button("Stop", &json!({"do": "stop"}));
    named["name"] = json!("stop");
    let elements = json!([button("Go", &json!({"do": "go"})), named, {
        "tag": "button", "text": {"tag": "plain_text", "content": "Read"},
        "behaviors": [{"type": "open_url", "default_url": "https://example.com/"}],
    }]);
    let (_client, message_id) = shown(&sim, &elements).await;
    let press = CardPress::of_button("u1", &message_id, CardButton::Place(0));
    assert_eq!(sim.press(press).await.unwrap().client_error, 0);
    let curl = Client::anonymous(&sim);
    let body = json!({"user": "u1", "message_id": message_id, "button": "stop"});
    assert_eq!(curl.call("POST", "/sim/v1/presses", Some(&body)).await.json["client_error"], 0);
    let received = app.received();
    let first = opened(&received[0].body);
    let chat_id = sim.seen(&message_id).unwrap().chat_id;
    let expected = json!({"tag": "button", "value": {"do": "go"}, "timezone": "Asia/Shanghai"});
    assert_eq!(first["event"]["action"], expected);
    assert_eq!(first["event"]["context"]["open_message_id"], json!(message_id));
    assert_eq!(first["event"]["context"]["open_chat_id"], json!(chat_id));
    assert_eq!(first["event"]["operator"]["open_id"], json!(sim.user("u1").open_id));
    let second = opened(&received[1].body);
    assert_eq!(second["event"]["action"]["name"], "stop");
    sim.user("stranger");
    for (user, button, status) in [
        ("u1", json!(2), 400),
        ("u1", json!(9), 400),
        ("stranger", json!(0), 400),
        ("nobody", json!(0), 404),
    ] {
        let body = json!({"user": user, "message_id": message_id, "button": button});
        let answer = curl.call("POST", "/sim/v1/presses", Some(&body)).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    assert_eq!(app.received().len(), 2);
    sim.advance(Duration::from_hours(14 * 24) + Duration::from_millis(1));
    let late = CardPress::of_button("u1", &message_id, CardButton::Place(0));
    assert!(sim.press(late).await.is_err());
}

#[tokio::test]
async fn the_answer_to_a_press_shows_a_toast_and_replaces_the_card() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let (_client, message_id) = shown(&sim, &json!([button("Go", &json!({}))])).await;
    let press = || CardPress::of_button("u1", &message_id, CardButton::Place(0));
    let toast = json!({"type": "success", "content": "done"});
    let long = "字".repeat(2_000);
    let new = card(&markdown(&long));
    app.answer_with(&json!({"toast": toast, "card": {"type": "raw", "data": new}}));
    let outcome = sim.press(press()).await.unwrap();
    assert_eq!(outcome.toast, Some(("success".to_owned(), "done".to_owned())));
    assert!(outcome.replaced);
    assert_eq!(sim.seen(&message_id).unwrap().text, format!("Release\n{long}"));
    let (_client, message_id) = shown(&sim, &json!([button("Go", &json!({}))])).await;
    let press = || CardPress::of_button("u1", &message_id, CardButton::Place(0));
    for (data, error) in [
        (json!({"elements": []}), 200_830),
        (card(&json!([{"tag": "marquee"}])), 200_673),
        (json!("text"), 200_673),
    ] {
        app.answer_with(&json!({"toast": toast, "card": {"type": "raw", "data": data}}));
        let outcome = sim.press(press()).await.unwrap();
        assert_eq!((outcome.client_error, outcome.toast, outcome.replaced), (error, None, false));
    }
    assert_eq!(sim.seen(&message_id).unwrap().text, "Release\n[Go]");
}

/// The update token of the last callback that the app received.
fn token(app: &App) -> String {
    let last = app.received().pop().unwrap();
    opened(&last.body)["event"]["token"].as_str().unwrap().to_owned()
}

async fn later(client: &Client, token: &str, text: &str) -> i64 {
    let body = json!({"token": token, "card": card(&markdown(text))});
    client.call("POST", "/open-apis/interactive/v1/card/update", Some(&body)).await.code()
}

#[tokio::test]
async fn a_pressed_card_is_changed_later_twice_within_half_an_hour() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let (client, message_id) = shown(&sim, &json!([button("Go", &json!({}))])).await;
    let press = || CardPress::of_button("u1", &message_id, CardButton::Place(0));
    sim.press(press()).await.unwrap();
    sim.press(press()).await.unwrap();
    assert_eq!(sim.seen(&message_id).unwrap().presses, 2);
    let token = token(&app);
    assert_eq!(later(&client, "c-none", "x").await, 300_020);
    let bad = json!({"token": token, "card": card(&json!([{"tag": "marquee"}]))});
    let path = "/open-apis/interactive/v1/card/update";
    assert_eq!(client.call("POST", path, Some(&bad)).await.code(), 11_311);
    sim.advance(Duration::from_mins(30));
    assert_eq!(later(&client, &token, "one").await, 0);
    assert_eq!(sim.seen(&message_id).unwrap().text, "Release\none");
    sim.advance(Duration::from_millis(1));
    assert_eq!(later(&client, &token, "late").await, 300_020);

    let (client, message_id) = shown(&sim, &json!([button("Go", &json!({}))])).await;
    sim.press(CardPress::of_button("u1", &message_id, CardButton::Place(0))).await.unwrap();
    let token = self::token(&app);
    for (text, code) in [("one", 0), ("two", 0), ("three", 300_030)] {
        assert_eq!(later(&client, &token, text).await, code, "{text}");
    }
    assert_eq!(sim.seen(&message_id).unwrap().text, "Release\ntwo");
}

#[tokio::test]
async fn before_a_press_is_answered_its_card_is_not_changed_by_others() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let (client, message_id) = shown(&sim, &json!([button("Go", &json!({}))])).await;
    let path = format!("/open-apis/im/v1/messages/{message_id}");
    let change = json!({"content": card(&json!([button("Go", &json!({"n": 2}))])).to_string()});
    let press = sim.press(CardPress::of_button("u1", &message_id, CardButton::Place(0)));
    let meanwhile = async {
        let gate = app.hold().await;
        while app.received().is_empty() {
            tokio::task::yield_now().await;
        }
        let token = token(&app);
        assert_eq!(later(&client, &token, "early").await, 300_040);
        sim.switch(|switches| switches.early_updates = EarlyUpdates::Undone);
        assert_eq!(later(&client, &token, "early").await, 0);
        assert_eq!(sim.seen(&message_id).unwrap().text, "Release\n[Go]");
        assert_eq!(client.call("PATCH", &path, Some(&change)).await.code(), 0);
        sim.switch(|switches| switches.pressed_cards = PressedCards::Locked);
        let locked = client.call("PATCH", &path, Some(&change)).await;
        assert!(locked.text.contains("ErrCode: 11310;"), "{}", locked.text);
        drop(gate);
    };
    let ((), outcome) = tokio::join!(meanwhile, press);
    assert_eq!(outcome.unwrap().client_error, 0);
    assert_eq!(client.call("PATCH", &path, Some(&change)).await.code(), 0);
}
