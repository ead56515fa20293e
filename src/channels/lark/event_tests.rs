use serde_json::{Value, json};

use super::super::testing::{APP, NOW_MS, OWN, event_file};
use super::*;
use crate::base::mutate::{Mutator, rounds};
use crate::base::{ChatId, MessageId};
use crate::envelope::{AttachmentKind, ChatKind, Incoming, Meeting, Press, Pressed, SenderKind};

#[path = "event/press_tests.rs"]
mod presses;

fn decode_body(body: &str, own: Option<&str>) -> Result<Arrival, DecodeError> {
    let bot = BotName::new("assistant");
    let own = own.map(UserId::new);
    let receiver = Receiver { bot: &bot, app_id: APP, own: own.as_ref() };
    decode(Opened::parse(body.as_bytes()).unwrap(), receiver)
}

fn message(file: &str) -> Incoming {
    match decode_body(&event_file(file), Some(OWN)) {
        Ok(Arrival::Message(incoming)) => *incoming,
        other => panic!("{file}: {other:?}"),
    }
}

fn changed(file: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut body: Value = serde_json::from_str(&event_file(file)).unwrap();
    change(&mut body);
    body.to_string()
}

/// File and text of every recorded message, in the order of the index.
const TEXTS: [(&str, &str); 56] = [
    ("001_text_p2p.json", "你好,帮我看下今天的日程"),
    ("002_text_group_at_bot.json", "部署进度如何?"),
    ("003_text_only_mention.json", ""),
    ("004_text_only_mention_trailing_space.json", ""),
    ("005_text_at_all_no_mentions.json", "@all 十点开会"),
    ("007_text_literal_at_all.json", "邮件组 @_all_hands 不是全员"),
    ("009_text_same_user_twice.json", "@Rui Example 和 @Rui Example 是同一个人"),
    ("010_text_user_typed_placeholder.json", "字面量 @_user_1 没有对应 mention"),
    ("011_text_mention_no_user_id.json", "hi"),
    ("012_text_user_id_null.json", "hi"),
    ("013_text_empty.json", ""),
    ("014_text_content_empty_object.json", ""),
    ("016_text_content_not_json.json", "plain words"),
    ("017_text_zero_width.json", ""),
    ("018_text_zero_width_inside.json", "/\u{200b}status \u{200f}دخول\u{200e} ok"),
    (
        "021_text_links.json",
        "见 [设计稿](https://example.com/a?x=1&y=(2)) 或 [me@example.com](mailto:me@example.com)",
    ),
    ("025_text_reply_in_group.json", "同意"),
    ("027_text_thread_reply.json", "线程里继续"),
    ("029_text_topic_group_reply.json", "跟帖"),
    ("030_text_topic_reply_without_thread_id.json", "无 thread_id"),
    ("031_text_empty_string_ids.json", "hi"),
    ("033_text_from_other_bot.json", "ping"),
    ("034_text_from_app_legacy.json", "ping"),
    ("035_text_from_self.json", "pong"),
    ("036_text_external_user.json", "来自外部"),
    ("039_text_missing_fields.json", "最少字段"),
    ("040_text_integer_timestamps.json", "数字时间"),
    ("041_text_microsecond_header.json", "微秒"),
    ("042_text_unknown_fields.json", "未来字段"),
    ("043_text_duplicate_a.json", "重复投递"),
    ("044_text_duplicate_b.json", "重复投递"),
    ("045_text_stale.json", "一小时前"),
    ("046_post_simple.json", "周报\n\n本周完成:\n[详情](https://example.com/x)"),
    (
        "047_post_nested.json",
        "看这里 [链接](https://example.com)\n[image]\n[video]\n[SMILE]<raw>\n---\n\
         ```rust\nfn main() {\n    let s = \"`x`\";\n}\n```\n\n删\n?",
    ),
    ("048_post_empty.json", ""),
    ("049_post_localized.json", "标题\n\n正文"),
    ("050_post_at_all.json", "@all 注意"),
    ("051_post_only_image.json", "[image]"),
    ("052_image.json", "[image]"),
    ("053_file.json", "[file: 年度 报告 (终版)#2.pdf]"),
    ("054_file_hostile_name.json", "[file: ../../etc/pass wd\\..\\x.sh]"),
    ("056_audio.json", "[voice message]"),
    ("057_media.json", "[video: 演示.mp4]"),
    ("058_sticker.json", "[sticker]"),
    (
        "059_interactive.json",
        "[card: 发布确认]\n是否发布 v1.2?@_user_1\n[同意][拒绝]\n---\n备注\n选择",
    ),
    ("060_interactive_degraded.json", "[card]"),
    ("061_interactive_user_card.json", "[card]\n**hi**"),
    ("064_merge_forward.json", "[forwarded messages]"),
    ("065_location.json", "[location: 示例市示例区]"),
    ("066_system.json", "[system message: {from_user} invited {to_chatters} to this chat.]"),
    ("067_system_divider.json", "[system message: {divider_text}]"),
    ("070_vote.json", "[vote: 午饭]"),
    ("072_share_calendar_event.json", "[calendar event: 评审]"),
    ("073_calendar.json", "[calendar invitation: 评审]"),
    ("074_general_calendar.json", "[calendar event: 评审]"),
    ("075_unknown_type.json", "[unsupported message: hologram_v9]"),
];

fn index() -> Vec<Value> {
    let index: Value = serde_json::from_str(&event_file("INDEX.json")).unwrap();
    index["events"].as_array().unwrap().clone()
}

#[test]
fn every_recorded_message_has_its_text() {
    let messages: Vec<String> = index()
        .iter()
        .filter(|entry| entry["kind"] == "message")
        .map(|entry| entry["file"].as_str().unwrap().to_owned())
        .collect();
    let listed: Vec<&str> = TEXTS.iter().map(|(file, _)| *file).collect();
    assert_eq!(messages, listed);
    for (file, text) in TEXTS {
        assert_eq!(message(file).message.content, text, "{file}");
    }
}

#[test]
fn every_expectation_of_the_index_holds() {
    let mut checked = 0;
    for entry in index() {
        let expect = &entry["expect"];
        if entry["kind"] != "message" || expect.is_null() {
            continue;
        }
        let file = entry["file"].as_str().unwrap();
        let incoming = message(file);
        let flag = |name: &str| expect[name].as_bool();
        let found = [
            (flag("mentions_bot"), incoming.addressing.mentions_bot),
            (flag("mention_all"), incoming.addressing.mentions_all),
            (flag("self"), incoming.addressing.sender == Relation::Itself),
        ];
        for (expected, found) in found {
            if let Some(expected) = expected {
                assert_eq!(found, expected, "{file}");
                checked += 1;
            }
        }
        if let Some(text) = expect["stripped"].as_str() {
            assert_eq!(incoming.message.content, text, "{file}");
            checked += 1;
        }
    }
    assert!(checked >= 9, "{checked}");
}

#[test]
fn every_other_recorded_event_is_noted() {
    for entry in index() {
        let kind = entry["kind"].as_str().unwrap();
        if matches!(kind, "message" | "handshake" | "encrypted" | "callback" | "callback_v1") {
            continue;
        }
        let file = entry["file"].as_str().unwrap();
        let arrival = decode_body(&event_file(file), Some(OWN));
        let Ok(Arrival::Notice(notice)) = arrival else {
            panic!("{file}: {arrival:?}");
        };
        assert_eq!(notice.verdict, Verdict::Filtered, "{file}");
        assert!(!notice.subject.is_empty(), "{file}");
        assert_eq!(notice.event_type, entry["dispatch_key"], "{file}");
    }
}

fn noted(body: &str) -> Notice {
    match decode_body(body, Some(OWN)) {
        Ok(Arrival::Notice(notice)) => notice,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn an_event_is_known_by_its_own_id_and_not_by_the_message_it_is_about() {
    // A reaction to a message must not be taken for the fate of the message.
    let reaction = noted(&event_file("078_reaction_created_user.json"));
    assert_eq!(reaction.subject, "3056fa15f3d4abd3bc1b2a5d1cd59e25");
    let of_schema_1 = noted(&event_file("110_v1_app_ticket.json"));
    assert_eq!(of_schema_1.subject, "617d1e1b04d716b62281a0dc9cc05416");
    // The deprecated message event is a message that starts no work.
    let message = noted(&event_file("109_v1_message.json"));
    assert_eq!(message.subject, "om_5905a6bae295ba3ca951aa51b75cef22");
    let without_id = |wanted: &str| {
        changed("093_unknown_event.json", |body| {
            body["header"]["event_id"] = Value::Null;
            body["event"]["any"] = json!(wanted);
        })
    };
    assert_eq!(noted(&without_id("a")).key, noted(&without_id("a")).key);
    assert_ne!(noted(&without_id("a")).key, noted(&without_id("b")).key);
}

/// An event of schema 2.0 with the given operator, as far as its type has one.
fn event(event_type: &str, event: Value) -> String {
    changed("093_unknown_event.json", |body| {
        body["header"]["event_type"] = json!(event_type);
        body["event"] = event;
    })
}

#[test]
fn what_somebody_acts_on_is_told_and_nothing_else_is() {
    let met = |chat_kind, relation| {
        let (chat, person) = (ChatId::new("oc_1"), UserId::new("ou_1"));
        News::Met(Meeting { chat, chat_kind, person, relation })
    };
    let added = |tenant: &str| {
        json!({"chat_id": "oc_1", "operator_id": {"open_id": "ou_1", "user_id": "u"},
               "operator_tenant_key": tenant})
    };
    let entered = |user_id: Value| json!({"chat_id": "oc_1", "operator_id": {"open_id": "ou_1", "user_id": user_id}});
    let (bot_added, gone) = ("im.chat.member.bot.added_v1", json!({"chat_id": "oc_1"}));
    let p2p = "im.chat.access_event.bot_p2p_chat_entered_v1";
    let (group, private) = (ChatKind::Group, ChatKind::Private);
    let parted = || News::Parted(ChatId::new("oc_1"));
    let table = [
        (bot_added, added("16f0d1a2b3c4d5e6"), met(group, Relation::Colleague)),
        (bot_added, added("another"), met(group, Relation::Outsider)),
        // No tenant is told here; an id within the tenant is told of its own people alone.
        (p2p, entered(json!("u")), met(private, Relation::Colleague)),
        (p2p, entered(Value::Null), met(private, Relation::Outsider)),
        (p2p, json!({"chat_id": "oc_1"}), News::Nothing),
        (p2p, json!("text"), News::Nothing),
        ("im.chat.member.bot.deleted_v1", gone.clone(), parted()),
        ("im.chat.disbanded_v1", gone.clone(), parted()),
        ("im.chat.disbanded_v1", json!({}), News::Nothing),
        (
            "im.message.recalled_v1",
            json!({"message_id": "om_1", "chat_id": "oc_1"}),
            News::TakenBack(MessageId::new("om_1"), Some(ChatId::new("oc_1"))),
        ),
        ("im.message.recalled_v1", json!({"message_id": ""}), News::Nothing),
        ("im.chat.updated_v1", gone, News::Nothing),
    ];
    for (event_type, body, news) in table {
        assert_eq!(noted(&event(event_type, body.clone())).news, news, "{event_type} {body}");
    }
    let News::Met(first) = noted(&event_file("108_v1_p2p_chat_create.json")).news else {
        panic!("of schema 1.0, too");
    };
    assert_eq!((first.chat_kind, first.relation), (private, Relation::Colleague));
    assert!(matches!(noted(&event_file("086_chat_disbanded.json")).news, News::Parted(_)));
}

#[test]
fn a_stale_event_brings_no_news() {
    let bot = BotName::new("assistant");
    let receiver = Receiver { bot: &bot, app_id: APP, own: None };
    let body = event_file("086_chat_disbanded.json");
    let opened = Opened::parse(body.as_bytes()).unwrap();
    let Ok(Arrival::Notice(notice)) = decode_stale(opened, receiver) else {
        panic!("not a notice");
    };
    assert_eq!((notice.verdict, notice.news), (Verdict::Stale, News::Nothing));
}

#[test]
fn redeliveries_share_a_key_and_other_messages_do_not() {
    let (first, again) =
        (message("043_text_duplicate_a.json"), message("044_text_duplicate_b.json"));
    assert_eq!(first.keys, again.keys);
    assert_eq!(first.keys[0].time(), first.message.timestamp);
    let renamed = changed("043_text_duplicate_a.json", |body| {
        body["event"]["message"]["message_id"] = json!("om_new");
    });
    let Ok(Arrival::Message(renamed)) = decode_body(&renamed, Some(OWN)) else {
        panic!("not a message");
    };
    assert_ne!(renamed.keys[0], first.keys[0]);
    assert_eq!(renamed.keys[1], first.keys[1]);
    let other = message("001_text_p2p.json");
    assert!(other.keys.iter().all(|key| !first.keys.contains(key)));
}

#[test]
fn a_message_of_two_bots_has_two_keys() {
    let body = event_file("001_text_p2p.json");
    let opened = || Opened::parse(body.as_bytes()).unwrap();
    let keys = |name: &str| {
        let bot = BotName::new(name);
        let receiver = Receiver { bot: &bot, app_id: APP, own: None };
        match decode(opened(), receiver) {
            Ok(Arrival::Message(incoming)) => incoming.keys,
            other => panic!("{other:?}"),
        }
    };
    let (one, two) = (keys("one"), keys("two"));
    assert!(one.iter().all(|key| !two.contains(key)));
}

#[test]
fn the_sender_is_told_apart() {
    let of = |file: &str| {
        let incoming = message(file);
        (incoming.addressing.sender, incoming.message.sender.kind)
    };
    assert_eq!(of("001_text_p2p.json"), (Relation::Colleague, SenderKind::User));
    assert_eq!(of("036_text_external_user.json"), (Relation::Outsider, SenderKind::User));
    assert_eq!(of("033_text_from_other_bot.json"), (Relation::Colleague, SenderKind::Agent));
    assert_eq!(of("035_text_from_self.json"), (Relation::Itself, SenderKind::Agent));
    assert_eq!(of("034_text_from_app_legacy.json").1, SenderKind::Agent);
    // No tenant is told: nobody is taken for a colleague on trust.
    assert_eq!(of("039_text_missing_fields.json").0, Relation::Outsider);
}

#[test]
fn the_answer_goes_to_the_message_and_stays_in_its_thread() {
    let thread = message("027_text_thread_reply.json");
    let destination = thread.message.reply_fn.destination();
    assert_eq!(destination.reply_to.as_ref(), Some(&thread.message.id));
    assert!(destination.in_thread);
    assert!(thread.message.quotes.is_some());
    let quote = message("025_text_reply_in_group.json");
    assert!(!quote.message.reply_fn.destination().in_thread);
    assert!(quote.message.quotes.is_some());
    let empty = message("031_text_empty_string_ids.json");
    assert!(empty.message.quotes.is_none());
    assert!(!empty.message.reply_fn.destination().in_thread);
    let session = empty.message.session.id.as_str();
    assert_eq!(session, format!("assistant/{}", destination_chat(&empty)));
}

fn destination_chat(incoming: &Incoming) -> String {
    let destination = incoming.message.reply_fn.destination();
    destination.chat.to_string()
}

#[test]
fn times_of_every_length_and_type_are_understood() {
    for file in ["040_text_integer_timestamps.json", "041_text_microsecond_header.json"] {
        let millis = message(file).message.timestamp.as_millis();
        assert!(millis.abs_diff(NOW_MS) < 100_000, "{file}: {millis}");
    }
}

#[test]
fn a_chat_of_unknown_kind_counts_as_a_group() {
    let kind = |file: &str| message(file).addressing.chat_kind;
    assert_eq!(kind("001_text_p2p.json"), ChatKind::Private);
    assert_eq!(kind("002_text_group_at_bot.json"), ChatKind::Group);
    assert_eq!(kind("039_text_missing_fields.json"), ChatKind::Group);
}

#[test]
fn without_an_identity_only_group_messages_that_name_somebody_wait() {
    let unknown = |file: &str| decode_body(&event_file(file), None);
    assert_eq!(unknown("002_text_group_at_bot.json").unwrap_err(), DecodeError::IdentityUnknown);
    assert!(unknown("001_text_p2p.json").is_ok());
    assert!(unknown("005_text_at_all_no_mentions.json").is_ok());
    let private = changed("002_text_group_at_bot.json", |body| {
        body["event"]["message"]["chat_type"] = json!("p2p");
    });
    assert!(decode_body(&private, None).is_ok());
}

#[test]
fn a_message_that_was_emptied_is_noted_as_recalled() {
    for content in [json!(""), Value::Null] {
        let body = changed("001_text_p2p.json", |body| {
            body["event"]["message"]["content"] = content;
        });
        let Ok(Arrival::Notice(notice)) = decode_body(&body, Some(OWN)) else {
            panic!("not a notice");
        };
        assert_eq!(notice.verdict, Verdict::Recalled);
        assert_eq!(notice.key, message("001_text_p2p.json").keys[0]);
    }
}

#[test]
fn a_message_without_id_chat_or_time_is_undecodable() {
    for field in ["message_id", "chat_id"] {
        let body = changed("001_text_p2p.json", |body| {
            body["event"]["message"][field] = Value::Null;
        });
        assert!(decode_body(&body, Some(OWN)).is_err(), "{field}");
    }
    let body = changed("001_text_p2p.json", |body| {
        body["event"]["message"]["create_time"] = json!("soon");
        body["header"]["create_time"] = Value::Null;
    });
    assert!(decode_body(&body, Some(OWN)).is_err());
    let body = changed("001_text_p2p.json", |body| body["event"] = json!("text"));
    assert!(decode_body(&body, Some(OWN)).is_err());
}

#[test]
fn a_message_that_tells_no_time_is_known_again_under_a_new_event() {
    let keys = |header_time: &str, message_time: Value| {
        let body = changed("001_text_p2p.json", |body| {
            body["header"]["create_time"] = json!(header_time);
            body["event"]["message"]["create_time"] = message_time;
        });
        let Ok(Arrival::Message(incoming)) = decode_body(&body, Some(OWN)) else {
            panic!("not a message")
        };
        incoming.keys
    };
    let (first, again) = (keys("1720000000000", Value::Null), keys("1720000009000", json!("")));
    assert_eq!(first[0], again[0]);
    // The same words a while later are not the same message.
    assert_ne!(first[1], again[1]);
}

#[test]
fn a_stale_message_is_noted_under_its_own_key() {
    let bot = BotName::new("assistant");
    let receiver = Receiver { bot: &bot, app_id: APP, own: None };
    let body = event_file("002_text_group_at_bot.json");
    let opened = Opened::parse(body.as_bytes()).unwrap();
    let Ok(Arrival::Notice(notice)) = decode_stale(opened, receiver) else {
        panic!("not a notice");
    };
    let incoming = message("002_text_group_at_bot.json");
    assert_eq!(notice.verdict, Verdict::Stale);
    assert_eq!(notice.key, incoming.keys[0]);
    assert_eq!(notice.subject, incoming.message.id.as_str());
}

#[test]
fn attachments_carry_the_platforms_keys() {
    let post = message("047_post_nested.json").message.attachments;
    let kinds: Vec<AttachmentKind> = post.iter().map(|attachment| attachment.kind).collect();
    assert_eq!(kinds, [AttachmentKind::Image, AttachmentKind::Video]);
    let media = message("057_media.json").message.attachments;
    assert_eq!(media[0].name.as_deref(), Some("演示.mp4"));
    assert_eq!(media[0].key, "file_v3_00ab_3efda6eeg");
}

#[test]
fn an_event_reads_the_same_in_one_go_and_step_by_step() {
    let mut compared = 0;
    for entry in index() {
        let file = entry["file"].as_str().unwrap();
        let body = event_file(file);
        let Ok(Value::Object(mut members)) = serde_json::from_str(&body) else { continue };
        if !members.contains_key("header") || members.contains_key("type") {
            continue;
        }
        compared += 1;
        members.insert("type".to_owned(), "event_callback".into());
        let beside = Value::Object(members).to_string();
        let decoded = |body: &str| format!("{:?}", decode_body(body, Some(OWN)));
        assert_eq!(decoded(&body), decoded(&beside), "{file}");
    }
    assert!(compared > TEXTS.len(), "{compared}");
}

#[test]
fn no_damaged_event_makes_the_decoder_panic() {
    let mut mutator = Mutator::seeded("damaged events");
    let mut understood = 0;
    for entry in index() {
        let source = event_file(entry["file"].as_str().unwrap());
        for _ in 0..rounds() {
            let body = mutator.damage(source.as_bytes());
            let Some(opened) = Opened::parse(&body) else { continue };
            let (bot, own) = (BotName::new("assistant"), UserId::new(OWN));
            let receiver = Receiver { bot: &bot, app_id: APP, own: Some(&own) };
            if opened.is_press() {
                decode_press(&opened, receiver, None);
                continue;
            }
            understood += usize::from(decode(opened, receiver).is_ok());
        }
    }
    assert!(understood > 0, "the damage leaves something to decode");
}
