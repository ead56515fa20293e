use super::*;
use crate::base::{BotName, ChatId, MessageId, Timestamp, UserId};
use crate::envelope::{Addressing, AgentMessage, DedupKey, Sender};

fn open_rules() -> AdmissionRules {
    AdmissionRules {
        users: vec!["@tenant".to_owned()],
        chats: vec!["*".to_owned()],
        ..AdmissionRules::default()
    }
}

fn incoming(addressing: Addressing) -> Incoming {
    let sender = Sender { id: UserId::new("ou_1"), kind: SenderKind::User, display_name: None };
    let message = AgentMessage::from_lark(
        BotName::new("b"),
        ChatId::new("oc_1"),
        MessageId::new("om_1"),
        sender,
        "hi",
    );
    let keys = vec![DedupKey::new(Timestamp::from_millis(1), &["om_1"])];
    Incoming { bot: BotName::new("b"), message, keys, addressing }
}

fn private(sender: Relation) -> Addressing {
    Addressing {
        chat_kind: ChatKind::Private,
        mentions_bot: false,
        mentions_all: false,
        sender,
        sender_ids: vec![UserId::new("ou_1")],
    }
}

fn group(mentions_bot: bool) -> Addressing {
    Addressing {
        chat_kind: ChatKind::Group,
        mentions_bot,
        mentions_all: false,
        sender: Relation::Colleague,
        sender_ids: vec![UserId::new("ou_1")],
    }
}

fn verdict(incoming: &Incoming, rules: &AdmissionRules) -> Option<Verdict> {
    match admit(incoming, rules) {
        Admission::Admit => None,
        Admission::NoWork { verdict, .. } => Some(verdict),
    }
}

#[test]
fn without_rules_nobody_is_let_in_but_an_admin() {
    let message = incoming(private(Relation::Colleague));
    let mut rules = AdmissionRules::default();
    assert_eq!(verdict(&message, &rules), Some(Verdict::NotAllowed));
    rules.admins.push("ou_1".to_owned());
    assert_eq!(verdict(&message, &rules), None);
}

#[test]
fn a_colleague_is_let_in_and_an_outsider_is_not() {
    assert_eq!(verdict(&incoming(private(Relation::Colleague)), &open_rules()), None);
    let outsider = incoming(private(Relation::Outsider));
    assert_eq!(verdict(&outsider, &open_rules()), Some(Verdict::NotAllowed));
}

#[test]
fn a_group_message_must_name_the_bot() {
    assert_eq!(verdict(&incoming(group(false)), &open_rules()), Some(Verdict::NotMentioned));
    assert_eq!(verdict(&incoming(group(true)), &open_rules()), None);
    let optional = AdmissionRules { mention: MentionRule::Optional, ..open_rules() };
    assert_eq!(verdict(&incoming(group(false)), &optional), None);
}

#[test]
fn naming_everybody_names_the_bot_only_where_the_rules_say_so() {
    let mut message = incoming(group(false));
    message.addressing.mentions_all = true;
    assert_eq!(verdict(&message, &open_rules()), Some(Verdict::NotMentioned));
    let answering = AdmissionRules { answers_at_all: true, ..open_rules() };
    assert_eq!(verdict(&message, &answering), None);
}

#[test]
fn own_messages_and_other_bots_start_no_work() {
    let own = incoming(private(Relation::Itself));
    assert_eq!(verdict(&own, &open_rules()), Some(Verdict::Filtered));
    let mut other = incoming(private(Relation::Colleague));
    other.message.sender.kind = SenderKind::Agent;
    assert_eq!(verdict(&other, &open_rules()), Some(Verdict::Filtered));
}

#[test]
fn a_chat_must_be_on_its_list() {
    let rules = AdmissionRules { chats: vec!["oc_2".to_owned()], ..open_rules() };
    let message = incoming(private(Relation::Colleague));
    assert_eq!(verdict(&message, &rules), Some(Verdict::NotAllowed));
}
