//! Files, merged forwards and names, as the platform gives them out and refuses them.

use larkspur::playground::{ForwardResources, Say, Sent};
use serde_json::json;

use crate::support::{Client, Reply, playground};

fn sent(msg_type: &str) -> Sent {
    Sent {
        user: "u1".to_owned(),
        chat: "g1".to_owned(),
        msg_type: msg_type.to_owned(),
        name: "a.txt".to_owned(),
        text: "the words".to_owned(),
        ..Sent::default()
    }
}

async fn download(client: &Client, message: &str, key: &str, query: &str) -> Reply {
    client
        .call("GET", &format!("/open-apis/im/v1/messages/{message}/resources/{key}{query}"), None)
        .await
}

#[tokio::test]
async fn a_file_is_given_out_by_its_message_key_and_type() {
    let sim = playground().await;
    sim.group("g1", &["u1"]);
    let client = Client::of(&sim).await;
    let (image, image_key) = sim.sends(&sent("image")).unwrap();
    let (audio, audio_key) = sim.sends(&sent("audio")).unwrap();
    for (message, key, query, code) in [
        (&audio, &audio_key, "?type=file", None),
        (&image, &image_key, "?type=image", None),
        (&audio, &audio_key, "?type=audio", Some(234_001)),
        (&audio, &audio_key, "?type=image", Some(234_001)),
        (&image, &image_key, "?type=file", Some(234_001)),
        (&audio, &audio_key, "", Some(99_992_402)),
        (&image, &audio_key, "?type=file", Some(234_003)),
        (&"om_none".to_owned(), &audio_key, "?type=file", Some(230_110)),
    ] {
        let reply = download(&client, message, key, query).await;
        match code {
            None => assert_eq!((reply.status, reply.text.as_str()), (200, "the words"), "{query}"),
            Some(code) => assert_eq!((reply.status, reply.code()), (400, code), "{query}"),
        }
    }
    let reply = download(&client, &audio, &audio_key, "?type=file").await;
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"a.txt\"");
    let by_hand = json!({"user": "u1", "chat": "g1", "name": "b.txt", "text": "more"});
    let by_hand = client.call("POST", "/sim/v1/send", Some(&by_hand)).await.json;
    let text = |name: &str| by_hand[name].as_str().unwrap();
    let reply = download(&client, text("message_id"), text("key"), "?type=file").await;
    assert_eq!(reply.text, "more", "the control API sends files, too");
    sim.recalls(&audio).unwrap();
    assert_eq!(download(&client, &audio, &audio_key, "?type=file").await.code(), 230_110);
    sim.change_chat("g1", |chat| chat.bots.clear()).unwrap();
    assert_eq!(download(&client, &image, &image_key, "?type=image").await.code(), 234_004);
}

#[tokio::test]
async fn a_merged_forward_holds_its_messages_and_those_of_inner_ones() {
    let sim = playground().await;
    sim.group("g1", &["u1", "u2"]);
    let client = Client::of(&sim).await;
    let text = sim.says("u2", "g1", "hello").unwrap();
    let (file, key) = sim.sends(&sent("file")).unwrap();
    let inner = sim.say(&Say::new("u1", "g1", "").forwarding(&[&text])).unwrap();
    let outer = sim.say(&Say::new("u1", "g1", "").forwarding(&[&file, &inner])).unwrap();
    let before = sim.visible("g1").len();
    let reply = client.call("GET", &format!("/open-apis/im/v1/messages/{outer}"), None).await;
    let id = |place: usize| reply.data(&format!("/items/{place}/message_id")).to_owned();
    let upper = |place: usize| reply.data(&format!("/items/{place}/upper_message_id")).to_owned();
    let kind = |place: usize| reply.data(&format!("/items/{place}/msg_type")).to_owned();
    assert_eq!([0, 1, 2, 3].map(kind), ["merge_forward", "file", "merge_forward", "text"]);
    assert_eq!([0, 1, 2].map(upper), [String::new(), id(0), id(0)]);
    assert_eq!((id(0), upper(3)), (outer.clone(), id(2)));
    assert_eq!(reply.data("/items/3/sender/id"), sim.user("u2").open_id);
    assert_eq!(before, 4, "what a forward holds stands in no chat");

    let child = id(1);
    for (served, message, code) in [
        (ForwardResources::Refused, &child, 234_043),
        (ForwardResources::Refused, &outer, 234_003),
        (ForwardResources::Served, &child, 234_043),
    ] {
        sim.switch(|switches| switches.forward_resources = served);
        assert_eq!(download(&client, message, &key, "?type=file").await.code(), code, "{served:?}");
    }
    assert_eq!(download(&client, &outer, &key, "?type=file").await.text, "the words");
    assert!(sim.say(&Say::new("u1", "g1", "").forwarding(&["om_none"])).is_err());
}

#[tokio::test]
async fn only_colleagues_have_names() {
    let sim = playground().await;
    sim.change_user("u1", |user| user.name = "Ann Lee".to_owned());
    sim.change_user("u2", |user| user.tenant_key = "another".to_owned());
    let client = Client::of(&sim).await;
    let (ann, other) = (sim.user("u1"), sim.user("u2"));
    let path =
        |id: &str, kind: &str| format!("/open-apis/contact/v3/users/{id}?user_id_type={kind}");
    let reply = client.call("GET", &path(&ann.open_id, "open_id"), None).await;
    assert_eq!(reply.data("/user/name"), "Ann Lee");
    assert_eq!(
        client.call("GET", &path(&ann.union_id, "union_id"), None).await.data("/user/name"),
        "Ann Lee"
    );
    for (id, kind) in [(&other.open_id, "open_id"), (&ann.open_id, "union_id")] {
        let reply = client.call("GET", &path(id, kind), None).await;
        assert_eq!((reply.status, reply.code()), (400, 41_050));
    }
    assert_eq!(client.call("GET", &path(&ann.open_id, "email"), None).await.code(), 99_992_402);
}
