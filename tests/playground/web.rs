//! The web chat over real HTTP: pages, posts, the event stream, cards, the path drawer, and who
//! may post at all.

use std::time::Duration;

use axum::http::HeaderMap;
use larkspur::playground::{Playground, SeenMessage};
use serde_json::json;

use crate::cards::{button, card, send};
use crate::support::{App, Client, PATIENCE, http, opened, playground};
use crate::web_path::Daemon;

const HOSTILE: &str = "<script>alert('x')</script><img src=x onerror=alert(1)>";

/// A browser that has the page open.
pub(crate) struct Browser {
    http: reqwest::Client,
    base: String,
}

pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) fn at(sim: &Playground) -> Self {
        Self { http: http(), base: sim.base_url() }
    }

    async fn finish(request: reqwest::RequestBuilder) -> Seen {
        let mut response = request.send().await.unwrap();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.unwrap() {
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Seen { status: response.status().as_u16(), headers: response.headers().clone(), text }
    }

    pub(crate) async fn get(&self, path: &str) -> Seen {
        Self::finish(self.http.get(format!("{}{path}", self.base))).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Seen {
        let request = self.http.post(format!("{}{path}", self.base));
        Self::finish(request.header("Origin", &self.base).body(body)).await
    }
}

fn last(sim: &Playground, chat: &str) -> SeenMessage {
    sim.visible(chat).pop().unwrap()
}

#[tokio::test]
async fn an_empty_playground_invites_and_makes_a_first_chat() {
    let sim = playground().await;
    let browser = Browser::at(&sim);
    let page = browser.get("/?lang=en").await;
    assert!(page.text.contains("Nobody is here yet"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"));
    let started = browser.post("/web/start?lang=en", "").await;
    let page = started.headers["hx-redirect"].to_str().unwrap();
    let page = browser.get(page).await;
    assert!(page.text.contains("data-test=\"example\""), "{}", page.text);
    let text = "name=%E5%91%A8%E5%91%A8";
    let made = browser.post("/web/users?lang=en&me=lin", text).await;
    let as_zhou = made.headers["hx-redirect"].to_str().unwrap().to_owned();
    assert!(browser.get(&as_zhou).await.text.contains("data-user=\"周周\" aria-current"));
    assert_eq!(browser.post("/web/users?lang=en&me=lin", text).await.status, 409);
    assert_eq!(browser.post("/web/users?lang=en&me=lin", "name=%3Cb%3E").await.status, 400);
    let group = "kind=group&name=room&member=chen&member=%E5%91%A8%E5%91%A8";
    let made = browser.post("/web/chats?lang=en&me=lin", group).await;
    assert!(made.headers["hx-redirect"].to_str().unwrap().contains("chat=oc_"));
    assert_eq!(sim.change_chat("room", |_| {}).unwrap().members.len(), 3);
    let chinese = http().get(sim.base_url()).header("Accept-Language", "fr,zh-CN;q=0.8,en;q=0.5");
    assert!(Browser::finish(chinese).await.text.contains("演练场"));
    for file in ["htmx.min.js", "sse.min.js", "chat.js", "chat.css", "favicon.svg"] {
        assert_eq!(browser.get(&format!("/web/assets/{file}")).await.status, 200, "{file}");
    }
    assert_eq!(browser.get("/web/assets/../../Cargo.toml").await.status, 404);
}

#[tokio::test]
async fn what_is_written_in_the_page_is_said_and_pushed() {
    let sim = playground().await;
    let app = App::answering(&[]).await;
    sim.set_event_url(&app.url);
    let chat = sim.group("g1", &["u1", "u2"]).chat_id;
    let browser = Browser::at(&sim);
    let say = format!("/web/say?lang=en&me=u1&chat={chat}");
    let said = browser.post(&say, "text=%E4%BD%A0%E5%A5%BD%0D%0A1&to_bot=1&mention=u2").await;
    assert_eq!(said.status, 204, "{}", said.text);
    let first = last(&sim, "g1");
    assert_eq!(first.text, "@gateway-bot @u2 你好\n1");
    assert!(sim.pushed(PATIENCE).await);
    assert_eq!(
        opened(&app.received()[0].body)["event"]["message"]["message_id"],
        json!(first.message_id)
    );
    let id = &first.message_id;
    browser.post(&say, format!("text=quoted&parent={id}")).await;
    assert_eq!(last(&sim, "g1").reply_to.as_ref(), Some(id));
    browser.post(&format!("{say}&in_thread=1"), format!("text=inside&parent={id}")).await;
    let inside = last(&sim, "g1");
    assert!(inside.thread_id.is_some());
    let list = browser.get(&format!("/web/messages?lang=en&me=u1&chat={chat}")).await.text;
    assert!(list.contains("Reply to u1") && !list.contains(&inside.message_id));
    let thread =
        browser.get(&format!("/web/thread?lang=en&me=u1&chat={chat}&root={id}")).await.text;
    assert!(thread.contains(&inside.message_id) && thread.contains("data-thread-composer"));
    for (body, status) in [
        ("text=".to_owned(), 400),
        ("text=x&parent=om_nobody".to_owned(), 404),
        (format!("text={}", "x".repeat(150 * 1024 + 1)), 413),
        (format!("text={}", "x".repeat(5 << 20)), 413),
    ] {
        let refused = browser.post(&say, body).await;
        assert_eq!(refused.status, status);
        assert!(refused.text.contains("class=\"toast error\""));
    }
    assert_eq!(
        browser.post(&format!("/web/say?me=nobody&chat={chat}"), "text=x").await.status,
        404
    );
    assert_eq!(browser.post("/web/say?me=u1&chat=oc_none", "text=x").await.status, 404);
}

#[tokio::test]
async fn whatever_people_bots_and_the_daemon_write_is_escaped() {
    let sim = playground().await;
    let daemon = Daemon::answering(json!({
        "verdict": HOSTILE, "reason": HOSTILE, "turn": HOSTILE,
        "steps": [{"at": 1, "kind": HOSTILE, "title": HOSTILE, "detail": HOSTILE}],
    }))
    .await;
    sim.set_daemon(&daemon.url, "secret-token").unwrap();
    sim.set_links(vec![(HOSTILE.to_owned(), "javascript:alert(1)".to_owned())]);
    sim.change_user("u1", |user| HOSTILE.clone_into(&mut user.name));
    let chat = sim.group(HOSTILE, &["u1"]).chat_id;
    let client = Client::of(&sim).await;
    sim.says("u1", &chat, HOSTILE).unwrap();
    client.send(&chat, &format!("**{HOSTILE}** [x](javascript:alert(1))"), "").await;
    let hostile = json!({"tag": "markdown", "content": HOSTILE});
    let mut whole = card(&json!([hostile, button(HOSTILE, &json!({}))]));
    whole["header"]["title"]["content"] = json!(HOSTILE);
    assert_eq!(send(&client, &chat, &whole.to_string()).await.code(), 0);
    let message = last(&sim, &chat).message_id;
    let browser = Browser::at(&sim);
    let query = format!("lang=en&me=u1&chat={chat}");
    let mut pages = browser.get(&format!("/?{query}")).await.text;
    pages += &browser.get(&format!("/web/path?{query}&message={message}")).await.text;
    pages += &browser
        .post(&format!("/web/press?{query}&message={message}&button={HOSTILE}"), "")
        .await
        .text;
    let react = format!("/web/react?{query}&message={message}");
    pages += &browser.post(&react, format!("emoji={HOSTILE}")).await.text;
    assert!(!pages.contains("<script>alert") && !pages.contains("<img src=x"), "{pages}");
    assert!(!pages.contains("href=\"javascript:"));
    assert!(pages.contains("&lt;script&gt;alert"));
    assert!(!pages.contains("secret-token"));
}

#[tokio::test]
async fn the_event_stream_says_at_once_and_after_each_change_that_something_changed() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]).chat_id;
    let mut stream = http().get(format!("{}/web/events", sim.base_url())).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut changed = async || {
        let chunk = tokio::time::timeout(PATIENCE, stream.chunk()).await.unwrap().unwrap().unwrap();
        assert!(chunk.windows(14).any(|part| part == b"event: changed"), "{chunk:?}");
    };
    changed().await;
    let client = Client::of(&sim).await;
    changed().await;
    let message_id = client.send(&chat, "one", "").await.data("/message_id").to_owned();
    changed().await;
    let browser = Browser::at(&sim);
    let address = format!("/web/messages?lang=en&me=u1&chat={chat}");
    let list = browser.get(&address).await.text;
    let have = list.split("have=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(browser.get(&format!("{address}&have={have}")).await.status, 204);
    sim.reacts("u1", &message_id, "OK").unwrap();
    changed().await;
    let anew = browser.get(&format!("{address}&have={have}")).await;
    assert!(anew.status == 200 && anew.text.contains("data-emoji=\"OK\""));
    assert_eq!(sim.stop().await, 0);
}

#[tokio::test]
async fn images_and_files_are_sent_shown_and_refused_with_a_reason() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]).chat_id;
    let browser = Browser::at(&sim);
    let upload = |kind: &str| {
        format!("/web/upload?lang=en&me=u1&chat={chat}&kind={kind}&name=a.png&parent=")
    };
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 40]].concat();
    assert_eq!(browser.post(&upload("image"), png.clone()).await.status, 204);
    let image = last(&sim, "g1");
    let list = browser.get(&format!("/web/messages?me=u1&chat={chat}")).await.text;
    let address = list.split("src=\"/web/file/").nth(1).unwrap().split('"').next().unwrap();
    let address = format!("/web/file/{address}");
    let shown = browser.get(&address).await;
    assert_eq!(
        (shown.status, &shown.headers["content-type"]),
        (200, &"image/png".parse().unwrap())
    );
    assert_eq!(browser.post(&upload("file"), "<script>").await.status, 204);
    let file = last(&sim, "g1");
    let key = serde_json::from_str::<serde_json::Value>(&file.content).unwrap();
    let key = key["file_key"].as_str().unwrap().to_owned();
    let shown = browser.get(&format!("/web/file/{}/{key}", file.message_id)).await;
    assert_eq!(shown.headers["content-type"], "application/octet-stream");
    assert!(shown.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert_eq!(browser.get(&format!("/web/file/{}/{key}", image.message_id)).await.status, 404);
    for (kind, size, status) in [
        ("image", 4, 415),
        ("image", (10 << 20) + 1, 413),
        ("file", (30 << 20) + 1, 413),
        ("file", 0, 400),
    ] {
        let refused = browser.post(&upload(kind), vec![b'x'; size]).await;
        assert_eq!(refused.status, status, "{kind} {size}");
        assert!(refused.text.contains("toast error"), "{}", refused.text);
    }
    sim.recalls(&image.message_id).unwrap();
    assert_eq!(browser.get(&address).await.status, 404);
}

#[tokio::test]
async fn a_press_in_the_page_shows_the_toast_or_the_error() {
    let sim = playground().await;
    let app = App::answering(&[200, 500]).await;
    sim.set_event_url(&app.url);
    app.answer_with(&json!({"toast": {"type": "success", "content": "done <b>"}}));
    let chat = sim.group("g1", &["u1"]).chat_id;
    sim.user("stranger");
    let client = Client::of(&sim).await;
    let content = card(&json!([button("Go", &json!({"do": "go"}))])).to_string();
    let message = send(&client, &chat, &content).await.data("/message_id").to_owned();
    let browser = Browser::at(&sim);
    let page = browser.get(&format!("/?lang=en&me=u1&chat={chat}")).await.text;
    let after = page.split("data-test=\"press\"").nth(1).unwrap();
    let address = after.split("hx-post=\"").nth(1).unwrap().split('"').next().unwrap();
    let pressed = browser.post(&address.replace("&amp;", "&"), "").await;
    assert!(pressed.text.contains("toast success") && pressed.text.contains("done &lt;b&gt;"));
    let event = opened(&app.received()[0].body);
    assert_eq!(event["header"]["event_type"], "card.action.trigger");
    assert_eq!(event["event"]["action"]["value"], json!({"do": "go"}));
    assert_eq!(event["event"]["operator"]["open_id"], json!(sim.user("u1").open_id));
    assert_eq!(event["event"]["context"]["open_message_id"], json!(message));
    let failed = browser.post(&address.replace("&amp;", "&"), "").await;
    assert!(failed.text.contains("200671"), "{}", failed.text);
    let stranger = format!("/web/press?me=stranger&message={message}&button=0");
    assert_eq!(browser.post(&stranger, "").await.status, 403);
}

#[tokio::test]
async fn reactions_and_recalls_are_those_of_members_and_senders() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1", "u2"]).chat_id;
    sim.user("stranger");
    let message = sim.says("u1", "g1", "x").unwrap();
    let browser = Browser::at(&sim);
    let act = |what: &str, me: &str| {
        format!("/web/{what}?me={me}&chat={chat}&message={message}&emoji=OK")
    };
    assert_eq!(browser.post(&act("react", "u2"), "").await.status, 204);
    assert_eq!(sim.seen(&message).unwrap().reactions[0].by, "u2");
    assert_eq!(browser.post(&act("react", "stranger"), "").await.status, 403);
    assert_eq!(browser.post(&act("recall", "u2"), "").await.status, 403);
    assert_eq!(browser.post(&act("recall", "u1"), "").await.status, 204);
    assert!(sim.seen(&message).unwrap().recalled);
    assert_eq!(browser.post(&act("react", "u2"), "").await.status, 403);
}

#[tokio::test]
async fn the_clock_moves_on_by_a_button() {
    let sim = playground().await;
    let browser = Browser::at(&sim);
    // 1 760 000 000 s: the ninth of October, 16:53:20 in Shanghai.
    for (by, expected) in [
        ("minute", "2025-10-09 16:54:20"),
        ("hour", "2025-10-09 17:54:20"),
        ("nine", "2025-10-10 09:00:00"),
    ] {
        assert_eq!(browser.post(&format!("/web/time?by={by}"), "").await.status, 204);
        let clock = browser.get("/web/clock").await.text;
        assert!(clock.contains(expected), "{by}: {clock}");
    }
    assert_eq!(browser.post("/web/time?by=year", "").await.status, 400);
}

#[tokio::test]
async fn a_push_that_fails_is_shown_until_it_is_delivered() {
    let sim = playground().await;
    let app = App::answering(&[503]).await;
    let chat = sim.group("g1", &["u1"]).chat_id;
    let browser = Browser::at(&sim);
    let page = format!("/?lang=en&me=u1&chat={chat}");
    assert!(browser.get(&page).await.text.contains("data-test=\"no-app\""));
    sim.set_event_url(&app.url);
    let message = sim.says("u1", "g1", "x").unwrap();
    sim.wait_until(PATIENCE, |sim| (sim.pushes_of(&message).len() == 1).then_some(()))
        .await
        .unwrap();
    let shown = browser.get(&page).await.text;
    assert!(shown.contains("data-test=\"push-failed\""), "{shown}");
    assert!(shown.contains(&app.url) && shown.contains("HTTP 503"));
    sim.advance(Duration::from_secs(15));
    sim.wait_until(PATIENCE, |sim| (sim.pushes_of(&message).len() == 2).then_some(()))
        .await
        .unwrap();
    assert!(!browser.get(&page).await.text.contains("data-test=\"push-failed\""));
}

#[tokio::test]
async fn foreign_pages_and_foreign_names_are_refused() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]).chat_id;
    let base = sim.base_url();
    let say = format!("{base}/web/say?me=u1&chat={chat}");
    let control = format!("{base}/sim/v1/say");
    let body = json!({"user": "u1", "chat": "g1", "text": "x"}).to_string();
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Host", "evil.example"),
    ] {
        let post = http().post(&say).header(name, value).body("text=x");
        assert_eq!(Browser::finish(post).await.status, 403, "{name}: {value}");
        let post = http().post(&control).header(name, value).body(body.clone());
        assert_eq!(Browser::finish(post).await.status, 403, "{name}: {value}");
    }
    assert_eq!(Browser::finish(http().post(&say).body("text=x")).await.status, 403);
    assert_eq!(Browser::finish(http().get(&base).header("Host", "evil.example")).await.status, 403);
    assert!(sim.visible("g1").is_empty());
    let own = http().post(&say).header("Sec-Fetch-Site", "same-origin").body("text=x");
    assert_eq!(Browser::finish(own).await.status, 204);
}

#[tokio::test]
async fn a_card_grows_in_the_page_with_its_tables_and_panels_until_it_is_whole() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]).chat_id;
    let client = Client::of(&sim).await;
    let elements = json!([
        {"tag": "markdown", "element_id": "text", "content": "one"},
        {"tag": "markdown", "content": format!("✓ <at id={}></at> 1 &#60; 2", sim.user("u1").open_id)},
        {"tag": "table", "rows": [{"who": "**Ann**", "note": "<i>"}], "columns": [
            {"name": "who", "display_name": "Who", "data_type": "lark_md"}, {"name": "note"},
        ]},
        {"tag": "collapsible_panel", "expanded": false, "elements": [{"tag": "hr"}],
            "header": {"title": {"tag": "plain_text", "content": "Steps"}}},
    ]);
    let mut growing = card(&elements);
    growing["config"] = json!({"streaming_mode": true, "update_multi": true});
    let cards = "/open-apis/cardkit/v1/cards";
    let body = json!({"type": "card_json", "data": growing.to_string()});
    let card_id = client.call("POST", cards, Some(&body)).await.data("/card_id").to_owned();
    let content = json!({"type": "card", "data": {"card_id": card_id}}).to_string();
    assert_eq!(send(&client, &chat, &content).await.code(), 0);
    let browser = Browser::at(&sim);
    let address = format!("/web/messages?lang=en&me=u1&chat={chat}");
    let page = browser.get(&address).await.text;
    assert!(page.contains("data-edits=\"0\" data-streaming=\"true\""), "{page}");
    assert!(page.contains("<th>Who</th><th>note</th>"), "{page}");
    assert!(page.contains("<td><b>Ann</b></td><td>&lt;i&gt;</td>"), "{page}");
    assert!(page.contains("✓ <b>@u1</b> 1 &lt; 2"), "{page}");
    assert!(page.contains("<summary>Steps</summary>") && !page.contains(" open "), "{page}");
    let path = format!("{cards}/{card_id}/elements/text/content");
    let more = json!({"content": "one two\n```\nlet x = 1;\n```\n# End", "sequence": 1});
    assert_eq!(client.call("PUT", &path, Some(&more)).await.code(), 0);
    let page = browser.get(&address).await.text;
    assert!(page.contains("data-edits=\"1\" data-streaming=\"true\""), "{page}");
    assert!(page.contains("<code>let x = 1;</code>"), "{page}");
    assert!(page.contains("<div class=\"h\">End</div>"), "{page}");
    let settings = json!({"config": {"streaming_mode": false}}).to_string();
    let body = json!({"settings": settings, "sequence": 2});
    let path = format!("{cards}/{card_id}/settings");
    assert_eq!(client.call("PATCH", &path, Some(&body)).await.code(), 0);
    let page = browser.get(&address).await.text;
    assert!(page.contains("data-streaming=\"false\"") && !page.contains("data-test=\"streaming\""));
}
