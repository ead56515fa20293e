use super::*;
use crate::base::{BotName, ChatId, UserId};
use crate::envelope::{
    Addressing, AttachmentKind, ChatKind, DedupKey, Part, Relation, Sender, SenderKind,
};
use crate::store::{Cursor, Expiring, ExpiryStep};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn message(sender: &str, id: &str, seconds: u64) -> AgentMessage {
    let sender = Sender { id: UserId::new(sender), kind: SenderKind::User, display_name: None };
    let (bot, chat) = (BotName::new("b"), ChatId::new("oc_1"));
    AgentMessage::from_lark(bot, chat, MessageId::new(id), sender, "hi").sent_at(at(seconds))
}

fn file(sender: &str, id: &str, seconds: u64) -> AgentMessage {
    let mut file = message(sender, id, seconds);
    file.attachments.push(Attachment::of(AttachmentKind::File, &format!("key of {id}")));
    file.parts.push(Part::Attachment { index: 0 });
    file
}

fn kept(recent: &Waiting, message: &AgentMessage) -> Vec<String> {
    let now = message.timestamp;
    let forgotten = recent.make_room(&owner(message), now).unwrap();
    recent.put(RecentV1::of(message, now, Waits::Told));
    forgotten.into_iter().map(|record| record.message.to_string()).collect()
}

fn carriers(message: &AgentMessage) -> Vec<&str> {
    message
        .attachments
        .iter()
        .filter_map(|attachment| attachment.carrier.as_ref().map(MessageId::as_str))
        .collect()
}

#[test]
fn a_question_takes_along_what_its_sender_sent_before_it_within_ten_minutes() {
    for (sender, asked, expected) in [
        ("ann", 1001, &["om_1", "om_2"][..]),
        ("ann", 1600, &["om_1", "om_2"]),
        ("ann", 1601, &["om_2"]),
        ("ann", 1000, &["om_1"]),
        ("ann", 900, &[]),
        ("ben", 1001, &[]),
    ] {
        let recent = Waiting::default();
        kept(&recent, &file("ann", "om_1", 1000));
        kept(&recent, &file("ann", "om_2", 1001));
        let mut question = message(sender, "om_q", asked);
        let taken = recent.join(&mut question, |_| false);
        assert_eq!(carriers(&question), expected, "{sender} at {asked}");
        assert_eq!(taken.changes().count(), expected.len());
    }
}

#[test]
fn what_was_taken_waits_again_unless_it_was_consumed() {
    let recent = Waiting::default();
    kept(&recent, &file("ann", "om_1", 1000));
    for (consumed, left) in [(false, true), (true, false)] {
        let taken = recent.join(&mut message("ann", "om_q", 1001), |_| false);
        assert!(!recent.is_waiting("b/oc_1/ann"), "nobody else can take it meanwhile");
        if consumed {
            assert_eq!(taken.consumed(), [MessageId::new("om_1")]);
        } else {
            drop(taken);
        }
        assert_eq!(recent.is_waiting("b/oc_1/ann"), left);
    }
}

#[test]
fn what_was_taken_back_is_not_taken_along() {
    let recent = Waiting::default();
    for (id, seconds) in [("om_1", 1000), ("om_2", 1001), ("om_3", 1002)] {
        kept(&recent, &file("ann", id, seconds));
    }
    let taken = recent.take_out(|record| record.message.as_str() == "om_2");
    assert_eq!(taken.changes().count(), 1);
    assert_eq!(taken.consumed(), [MessageId::new("om_2")]);
    let mut question = message("ann", "om_q", 1003);
    recent.join(&mut question, |id| id.as_str() == "om_1");
    assert_eq!(carriers(&question), ["om_3"]);
}

#[test]
fn what_had_to_make_room_in_vain_waits_on() {
    let recent = Waiting::default();
    for n in 0..WAITING_ALL_MAX {
        recent.put(RecentV1::of(&file(&format!("u{n}"), "om", 1000), at(1000), Waits::Told));
    }
    for n in 0..WAITING_MAX {
        recent.put(RecentV1::of(&file("ann", &format!("om_{n}"), 1000), at(1000), Waits::Told));
    }
    assert_eq!(recent.make_room("b/oc_1/ann", at(1000)), None);
    let mut question = message("ann", "om_q", 1001);
    recent.join(&mut question, |_| false);
    assert_eq!(carriers(&question).len(), WAITING_MAX);
}

#[test]
fn only_so_much_waits_and_only_for_so_long() {
    let recent = Waiting::default();
    for n in 1..=5 {
        assert!(kept(&recent, &file("ann", &format!("om_{n}"), 1000 + n)).is_empty());
    }
    assert_eq!(kept(&recent, &file("ann", "om_6", 1006)), ["om_1"]);
    let mut old = kept(&recent, &file("ben", "om_7", 1606));
    old.sort();
    assert_eq!(old, ["om_2", "om_3", "om_4", "om_5"], "what is over goes with whoever comes next");
    assert!(recent.is_waiting("b/oc_1/ann"), "om_6 is not over yet");
}

#[test]
fn a_message_waits_only_if_its_sender_could_ask_about_it() {
    let rules = AdmissionRules {
        users: vec![
            crate::bots::Entry::Person("ann".to_owned()),
            crate::bots::Entry::Department("od-eng".to_owned()),
        ],
        chats: vec!["*".to_owned()],
        ..AdmissionRules::default()
    };
    let decide = |message: AgentMessage, chat_kind, mentions_bot| {
        let sender = Relation::Colleague;
        let addressing = Addressing {
            chat_kind,
            mentions_bot,
            mentions_all: false,
            sender,
            sender_ids: vec![message.sender.id.clone()],
        };
        let keys = vec![DedupKey::new(at(1), &["om"])];
        waits(
            &Incoming { bot: BotName::new("b"), message, keys, addressing },
            &rules,
            &Circumstances::default(),
        )
    };
    let (private, group) = (ChatKind::Private, ChatKind::Group);
    assert_eq!(decide(file("ann", "om_1", 1), private, false), Waits::Told);
    assert_eq!(decide(file("ann", "om_1", 1), group, true), Waits::Told);
    assert_eq!(decide(file("ann", "om_1", 1), group, false), Waits::Quietly);
    // Whether she is in the department is not known yet.
    assert_eq!(decide(file("eve", "om_1", 1), group, false), Waits::No);
    assert_eq!(decide(file("eve", "om_1", 1), private, false), Waits::No);
    assert_eq!(decide(message("ann", "om_1", 1), private, false), Waits::No);
    let mut words = file("ann", "om_1", 1);
    words.parts.push(Part::Text { text: "look".to_owned() });
    assert_eq!(decide(words, private, false), Waits::No);
}

#[tokio::test]
async fn what_nobody_asked_about_expires_from_the_store() {
    let cancelled = tokio_util::sync::CancellationToken::new();
    let store = crate::store::memory(crate::task::TaskSet::new("test", cancelled)).unwrap();
    for (id, seconds) in [("om_old", 1000), ("om_fresh", 5000)] {
        // Kept later than it was sent, which is what counts.
        let record = RecentV1::of(&file("ann", id, 1000), at(seconds), Waits::Told);
        store.commit(vec![record.change(&record.key()).unwrap()]).await.unwrap();
    }
    let step = ExpiryStep {
        what: Expiring::Shelf(Shelf::Recent),
        now: at(6000),
        kept: Duration::from_secs(3600),
        from: Cursor::default(),
    };
    assert_eq!(store.expire(step).await.unwrap().deleted, 1);
    let left = RecentV1::load_all(store.as_ref(), "", 9).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1.message, MessageId::new("om_fresh"));
    store.close().await;
}
