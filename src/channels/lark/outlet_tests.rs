use serde_json::json;

use super::super::testing::{self, Platform};
use super::*;
use crate::envelope::{Channel, Draft, Growing};

const MESSAGE: &str = "/open-apis/im/v1/messages/om_1";

async fn outlet() -> (Platform, LarkOutlet) {
    let platform = Platform::start().await;
    let bot = Arc::new(testing::bot(&platform.url, &testing::clock()));
    let outlet = LarkOutlet::new(Arc::new(LarkBots::new([bot])));
    (platform, outlet)
}

fn delivery(operation: Operation) -> Delivery {
    Delivery::of(BotName::new("assistant"), operation, "u-1".to_owned())
}

fn om_1() -> MessageId {
    MessageId::new("om_1")
}

#[tokio::test]
async fn every_operation_reaches_the_platform() {
    let (platform, outlet) = outlet().await;
    let destination =
        Destination::reply(BotName::new("assistant"), Channel::Lark, ChatId::new("oc_1"), om_1());
    let text = "hi".to_owned();
    let (message, reaction) = (om_1(), Reaction::Working);
    let operations = [
        (
            Operation::Create {
                destination: destination.clone(),
                text: text.clone(),
                form: Form::Text,
                card: None,
            },
            "POST /open-apis/im/v1/messages?receive_id_type=chat_id".to_owned(),
            "om_new",
        ),
        (
            Operation::Reply {
                destination: destination.clone(),
                text: text.clone(),
                form: Form::Text,
                card: None,
            },
            format!("POST {MESSAGE}/reply"),
            "om_new",
        ),
        (
            Operation::Finalise {
                growing: Growing::last("card_1", 0),
                destination: destination.clone(),
                draft: Draft { text, ..Draft::default() },
            },
            "PUT /open-apis/cardkit/v1/cards/card_1".to_owned(),
            "",
        ),
        (
            Operation::ChangeCard {
                message: message.clone(),
                card: Box::new(Card::new("t".to_owned(), Vec::new())),
            },
            format!("PATCH {MESSAGE}"),
            "om_1",
        ),
        (
            Operation::React { message: message.clone(), reaction },
            format!("POST {MESSAGE}/reactions"),
            "r_new",
        ),
        (
            Operation::Unreact {
                message: message.clone(),
                reaction,
                reaction_id: Some("r_1".to_owned()),
            },
            format!("DELETE {MESSAGE}/reactions/r_1"),
            "",
        ),
        (Operation::Recall { message }, format!("DELETE {MESSAGE}"), ""),
    ];
    for (operation, call, id) in operations {
        let delivered = outlet.deliver(&delivery(operation)).await.unwrap();
        assert_eq!(delivered.id, id, "{call}");
        assert_eq!(platform.count(&call), 1, "{call}");
    }
}

#[tokio::test]
async fn what_is_gone_already_counts_as_taken_away() {
    let (platform, outlet) = outlet().await;
    let gone = json!({"code": 230_110, "msg": "deleted"});
    platform.on(&format!("DELETE {MESSAGE}"), 400, &gone);
    platform.on(&format!("PATCH {MESSAGE}"), 400, &gone);
    let recall = delivery(Operation::Recall { message: om_1() });
    assert!(outlet.deliver(&recall).await.is_ok());
    let card = Box::new(Card::new("t".to_owned(), Vec::new()));
    let change = delivery(Operation::ChangeCard { message: om_1(), card });
    let error = outlet.deliver(&change).await.unwrap_err();
    assert_eq!(error.disposition, Disposition::Reject);
    assert_eq!(error.code, Some(230_110));
}

#[tokio::test]
async fn a_bot_that_does_not_run_cannot_speak() {
    let (_platform, outlet) = outlet().await;
    let mut recall = delivery(Operation::Recall { message: om_1() });
    recall.bot = BotName::new("other");
    let error = outlet.deliver(&recall).await.unwrap_err();
    assert_eq!(error.certainty, Certainty::NotSent);
    assert_eq!(error.disposition, Disposition::Retry { after: None }, "it may run tomorrow");
}

#[tokio::test]
async fn own_messages_are_recognised_when_looked_up() {
    let (platform, outlet) = outlet().await;
    let list = "GET /open-apis/im/v1/messages?container_id_type=chat&container_id=oc_1\
                &start_time=0&sort_type=ByCreateTimeAsc&page_size=50";
    for (sender, own) in [(testing::APP, true), ("ou_other", false)] {
        platform.on(
            list,
            200,
            &json!({"code": 0, "data": {"items": [{
                "message_id": "om_1", "msg_type": "text", "create_time": "1760000000000",
                "sender": {"id": sender}, "body": {"content": "{\"text\":\"hi\"}"},
            }]}}),
        );
        let (bot, chat) = (BotName::new("assistant"), ChatId::new("oc_1"));
        let found = outlet.history(&bot, &chat, Timestamp::default(), 1).await.unwrap();
        assert_eq!((found[0].own, found[0].text.as_str()), (own, "hi"));
    }
}

#[tokio::test]
async fn into_a_thread_leads_an_answer_to_a_message_that_is_there() {
    let text = || "hi".to_owned();
    let in_thread = |root: Option<&str>| {
        let mut destination = Destination::reply(
            BotName::new("assistant"),
            Channel::Lark,
            ChatId::new("oc_1"),
            om_1(),
        );
        destination.reply_to = None;
        let root = root.map(MessageId::new);
        destination.thread = Some(crate::envelope::Thread { id: "omt_1".to_owned(), root });
        Operation::Create { destination, text: text(), form: Form::Text, card: None }
    };
    let list = "GET /open-apis/im/v1/messages?container_id_type=thread&container_id=omt_1\
                &sort_type=ByCreateTimeDesc&page_size=50";
    let create = "POST /open-apis/im/v1/messages?receive_id_type=chat_id";
    let reply_to = |id: &str| format!("POST /open-apis/im/v1/messages/{id}/reply");
    let gone = json!({"code": 230_011, "msg": "recalled"});
    let there = json!({"code": 0, "data": {"items": [
        {"message_id": "om_3", "deleted": true}, {"message_id": "om_2"}, {"message_id": "om_0"},
    ]}});

    let (platform, clock) = (Platform::start().await, testing::clock());
    let bot = Arc::new(testing::bot(&platform.url, &clock));
    let known = LarkOutlet::new(Arc::new(LarkBots::new([bot])));
    known.deliver(&delivery(in_thread(Some("om_0")))).await.unwrap();
    assert_eq!((platform.count(&reply_to("om_0")), platform.count(list)), (1, 0));
    let sent = platform.seen().pop().unwrap().body;
    assert_eq!((&sent["reply_in_thread"], &sent["uuid"]), (&json!(true), &json!("u-1")));

    platform.on(&reply_to("om_0"), 400, &gone);
    platform.on(list, 200, &there);
    known.deliver(&delivery(in_thread(Some("om_0")))).await.unwrap();
    assert_eq!(platform.count(&reply_to("om_2")), 1, "the newest that is there");

    platform.on(list, 200, &there);
    known.deliver(&delivery(in_thread(None))).await.unwrap();
    assert_eq!((platform.count(&reply_to("om_2")), platform.count(create)), (2, 0));

    // One chat takes five a second.
    clock.advance(std::time::Duration::from_secs(2));
    platform.on(list, 200, &json!({"code": 0, "data": {"items": []}}));
    known.deliver(&delivery(in_thread(None))).await.unwrap();
    platform.on(list, 400, &json!({"code": 99_991_672, "msg": "no scope"}));
    known.deliver(&delivery(in_thread(None))).await.unwrap();
    assert_eq!(platform.count(create), 2, "nothing of the thread can be found");

    platform.on(list, 500, &json!({}));
    let error = known.deliver(&delivery(in_thread(None))).await.unwrap_err();
    assert!(matches!(error.disposition, Disposition::Retry { .. }), "{error:?}");
}

fn item(
    id: &str,
    upper: Option<&str>,
    kind: &str,
    content: &serde_json::Value,
) -> serde_json::Value {
    json!({
        "message_id": id, "upper_message_id": upper, "msg_type": kind,
        "create_time": "1760000000000", "body": {"content": content.to_string()},
        "sender": {"id": format!("ou_{id}"), "sender_type": "user", "tenant_key": "t1"},
    })
}

async fn quote(items: &[serde_json::Value]) -> Quoted {
    let (platform, outlet) = outlet().await;
    let get = format!("GET {MESSAGE}?card_msg_content_type=user_card_content");
    platform.on(&get, 200, &json!({"code": 0, "data": {"items": items}}));
    outlet.quoted(&BotName::new("assistant"), &om_1()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_quoted_message_has_its_text_links_and_files() {
    let post = json!({"title": "", "content": [[{"tag": "a", "text": "plan", "href": "https://x.example/"}]],
        "files": [{"file_key": "f1", "file_name": "a.txt"}]});
    let found = quote(&[item("om_1", None, "post", &post)]).await;
    assert_eq!(found.text, "[plan](https://x.example/)\n[file: a.txt]");
    assert_eq!(found.sender, Some(UserId::new("ou_om_1")));
    assert_eq!((found.own, found.is_person, found.tenant.as_deref()), (false, true, Some("t1")));
    assert_eq!(found.attachments[0].carrier, Some(om_1()));
    assert_eq!(found.attachments[0].name.as_deref(), Some("a.txt"));
}

#[tokio::test]
async fn a_merged_forward_is_flattened_in_order_and_within_bounds() {
    let text = |text: &str| json!({ "text": text });
    let merged = json!({"content": "Merged and Forwarded Message"});
    let mut items = vec![
        item("om_1", None, "merge_forward", &merged),
        item("om_a", Some("om_1"), "text", &text("first")),
        item("om_b", Some("om_1"), "merge_forward", &merged),
        item("om_c", Some("om_1"), "file", &json!({"file_key": "f", "file_name": "c.txt"})),
        item("om_b1", Some("om_b"), "merge_forward", &merged),
        item("om_b2", Some("om_b1"), "merge_forward", &merged),
        item("om_b3", Some("om_b2"), "text", &text("too deep")),
    ];
    let found = quote(&items).await;
    let lines: Vec<(usize, &str)> =
        found.forwarded.iter().map(|line| (line.depth, line.text.as_str())).collect();
    let forward = "[forwarded messages]";
    let expected = [(0, "first"), (0, forward), (1, forward), (2, forward), (0, "[file: c.txt]")];
    assert_eq!((lines.as_slice(), found.left_out), (&expected[..], 1));
    let file = &found.forwarded[4];
    assert_eq!(file.attachments[0].carrier, Some(om_1()), "fetched by the outermost id");
    assert_eq!(file.sender, Some(UserId::new("ou_om_c")));

    items.extend((0..60).map(|n| item(&format!("om_n{n}"), Some("om_1"), "text", &text("more"))));
    let found = quote(&items).await;
    assert_eq!((found.forwarded.len(), found.left_out), (50, 16));

    let circle = [
        item("om_1", Some("om_2"), "merge_forward", &merged),
        item("om_2", Some("om_1"), "merge_forward", &merged),
    ];
    assert_eq!(quote(&circle).await.forwarded.len(), 1, "a circle comes to an end");
}
