//! What happens to messages that exist: edits, recalls, history, reactions.

use std::time::Duration;

use serde_json::json;

use crate::support::{Client, playground, text_message};

#[tokio::test]
async fn edits_change_one_message_and_are_limited() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let asked = sim.says("u1", "g1", "question").unwrap();
    let sent = client.reply(&asked, "draft").await;
    let path = format!("/open-apis/im/v1/messages/{}", sent.data("/message_id"));
    for turn in 1..=20 {
        let edited =
            client.call("PUT", &path, Some(&text_message("", &format!("v{turn}"), ""))).await;
        assert_eq!(edited.json["data"]["updated"], true, "{}", edited.text);
    }
    let body = text_message("", "v21", "");
    assert_eq!(client.call("PUT", &path, Some(&body)).await.code(), 230_072);
    let answers = sim.answers_to(&asked);
    assert_eq!((answers.len(), answers[0].text.as_str(), answers[0].edits), (1, "v20", 20));
    let foreign = format!("/open-apis/im/v1/messages/{asked}");
    assert_eq!(client.call("PUT", &foreign, Some(&body)).await.code(), 230_071);
    assert_eq!(client.call("DELETE", &foreign, None).await.code(), 230_026);
    sim.switch(|switches| switches.edit_window_s = Some(60));
    let fresh = client.send(&chat.chat_id, "x", "").await;
    sim.advance(Duration::from_secs(61));
    let late = format!("/open-apis/im/v1/messages/{}", fresh.data("/message_id"));
    assert_eq!(client.call("PUT", &late, Some(&body)).await.code(), 230_075);
}

#[tokio::test]
async fn a_recalled_message_is_gone_for_people_and_calls() {
    let sim = playground().await;
    sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let asked = sim.says("u1", "g1", "question").unwrap();
    let sent = client.reply(&asked, "oops").await;
    let path = format!("/open-apis/im/v1/messages/{}", sent.data("/message_id"));
    assert_eq!(client.call("GET", &path, None).await.json["data"]["items"][0]["msg_type"], "text");
    assert_eq!(client.call("DELETE", &path, None).await.code(), 0);
    assert!(sim.answers_to(&asked).is_empty());
    assert!(sim.visible("g1")[1].recalled);
    for (method, code) in [("GET", 230_110), ("DELETE", 230_110), ("PUT", 230_011)] {
        let body = (method == "PUT").then(|| text_message("", "x", ""));
        assert_eq!(client.call(method, &path, body.as_ref()).await.code(), code, "{method}");
    }
    let other = client.reply(&asked, "old").await;
    sim.advance(Duration::from_secs(24 * 60 * 60 + 1));
    let token = client.new_token().await;
    let client = Client { token, ..client };
    let path = format!("/open-apis/im/v1/messages/{}", other.data("/message_id"));
    assert_eq!(client.call("DELETE", &path, None).await.code(), 230_009);
}

#[tokio::test]
async fn the_history_is_paged_in_both_orders_and_by_seconds() {
    let sim = playground().await;
    let chat = sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    for number in 0..5 {
        sim.says("u1", "g1", &format!("m{number}")).unwrap();
        sim.advance(Duration::from_secs(1));
    }
    let base =
        format!("/open-apis/im/v1/messages?container_id_type=chat&container_id={}", chat.chat_id);
    let texts = |reply: &crate::support::Reply| -> Vec<String> {
        let items = reply.json["data"]["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["body"]["content"].as_str().unwrap().to_owned()).collect()
    };
    let mut path = format!("{base}&page_size=2&sort_type=ByCreateTimeDesc");
    let mut all = Vec::new();
    loop {
        let page = client.call("GET", &path, None).await;
        all.extend(texts(&page));
        if page.json["data"]["has_more"] == false {
            break;
        }
        path = format!(
            "{base}&page_size=2&sort_type=ByCreateTimeDesc&page_token={}",
            page.data("/page_token")
        );
    }
    let expected: Vec<String> = (0..5).rev().map(|n| format!(r#"{{"text":"m{n}"}}"#)).collect();
    assert_eq!(all, expected);
    let range = client
        .call("GET", &format!("{base}&start_time=1760000001&end_time=1760000002"), None)
        .await;
    assert_eq!(texts(&range), [r#"{"text":"m1"}"#, r#"{"text":"m2"}"#]);
    for (query, code) in [
        ("&page_size=51", 99_992_402),
        ("&page_size=x", 99_992_402),
        ("&sort_type=Upwards", 99_992_402),
        ("&page_token=after-nothing", 230_001),
        ("&start_time=2&end_time=1", 230_001),
    ] {
        let reply = client.call("GET", &format!("{base}{query}"), None).await;
        assert_eq!(reply.code(), code, "{query}");
    }
}

#[tokio::test]
async fn reactions_are_added_once_listed_and_removed() {
    let sim = playground().await;
    sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let asked = sim.says("u1", "g1", "question").unwrap();
    let path = format!("/open-apis/im/v1/messages/{asked}/reactions");
    let typing = json!({"reaction_type": {"emoji_type": "Typing"}});
    let first = client.call("POST", &path, Some(&typing)).await;
    let again = client.call("POST", &path, Some(&typing)).await;
    let id = first.data("/reaction_id");
    assert_eq!(id, again.data("/reaction_id"));
    sim.reacts("u1", &asked, "OK").unwrap();
    let listed = client.call("GET", &format!("{path}?reaction_type=Typing"), None).await;
    assert_eq!(listed.json["data"]["items"].as_array().unwrap().len(), 1);
    assert_eq!(sim.seen(&asked).unwrap().reactions.len(), 2);
    let bad = json!({"reaction_type": {"emoji_type": "typing"}});
    assert_eq!(client.call("POST", &path, Some(&bad)).await.code(), 231_001);
    let all = client.call("GET", &path, None).await;
    let foreign = all.data("/items/1/reaction_id");
    assert_eq!(client.call("DELETE", &format!("{path}/{foreign}"), None).await.code(), 231_002);
    assert_eq!(client.call("DELETE", &format!("{path}/{id}"), None).await.code(), 0);
    assert_eq!(sim.seen(&asked).unwrap().reactions[0].emoji, "OK");
    sim.recalls(&asked).unwrap();
    assert_eq!(client.call("POST", &path, Some(&typing)).await.code(), 231_003);
}
