use proptest::prelude::*;

use super::*;
use crate::base::{BotName, ChatId, MessageId, Timestamp, UserId};
use crate::envelope::{DedupKey, Sender};

const PLAIN: Circumstances = Circumstances { is_paired: false, is_in_talk: false, bot_turns: 0 };

fn entries(texts: &[&str]) -> Vec<Entry> {
    texts.iter().map(|text| Entry::parse(text).unwrap()).collect()
}

fn open_rules() -> AdmissionRules {
    AdmissionRules {
        users: entries(&["@tenant"]),
        chats: vec!["*".to_owned()],
        ..AdmissionRules::default()
    }
}

fn incoming(chat_kind: ChatKind, mentions_bot: bool, sender: Relation) -> Incoming {
    let addressing = Addressing {
        chat_kind,
        mentions_bot,
        mentions_all: false,
        sender,
        sender_ids: ["ou_1", "on_1", "6f2b0680"].map(UserId::new).to_vec(),
    };
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

fn private(sender: Relation) -> Incoming {
    incoming(ChatKind::Private, false, sender)
}

fn group(mentions_bot: bool) -> Incoming {
    incoming(ChatKind::Group, mentions_bot, Relation::Colleague)
}

fn of_bot(mentions_bot: bool) -> Incoming {
    let mut message = group(mentions_bot);
    message.message.sender.kind = SenderKind::Agent;
    message
}

/// The decision in a word: a standing, `stranger`, or the verdict.
fn word(incoming: &Incoming, rules: &AdmissionRules, circumstances: &Circumstances) -> String {
    match admit(incoming, rules, circumstances) {
        Admission::Admit(Standing::Admin) => "admin".to_owned(),
        Admission::Admit(Standing::User) => "user".to_owned(),
        Admission::Admit(Standing::Unclear { may_pair: true }) => "ask, else stranger".to_owned(),
        Admission::Admit(Standing::Unclear { may_pair: false }) => "ask".to_owned(),
        Admission::Stranger => "stranger".to_owned(),
        Admission::NoWork { verdict, .. } => verdict.word().to_owned(),
    }
}

#[test]
fn lists_decide_by_every_kind_of_entry() {
    let colleague = Relation::Colleague;
    let outsider = Relation::Outsider;
    let table = [
        // users, chats, admins, sender: in private; in a group, named
        (&[][..], &[][..], &[][..], colleague, "stranger", "not_allowed"),
        (&[], &["*"], &[], colleague, "stranger", "stranger"),
        (&[], &["*"], &[], outsider, "not_allowed", "not_allowed"),
        (&[], &[], &["ou_1"], outsider, "admin", "admin"),
        (&[], &[], &["on_1"], colleague, "admin", "admin"),
        (&["ou_2"], &["*"], &["ou_3"], colleague, "stranger", "stranger"),
        (&["6f2b0680"], &["*"], &[], colleague, "user", "user"),
        (&["@tenant"], &["oc_1"], &[], colleague, "user", "user"),
        (&["@tenant"], &["oc_2"], &[], colleague, "not_allowed", "not_allowed"),
        (&["@tenant"], &["*"], &[], outsider, "not_allowed", "not_allowed"),
        (&["*"], &["*"], &[], outsider, "user", "user"),
        (&["@department/od-1"], &["*"], &[], colleague, "ask, else stranger", "ask, else stranger"),
        (&["@department/od-1"], &["*"], &[], outsider, "not_allowed", "not_allowed"),
        (&["@group/g1"], &["*"], &[], outsider, "not_allowed", "not_allowed"),
        (&["@chat-owner"], &["*"], &[], outsider, "ask", "ask"),
        (&["@group/g1", "ou_1"], &["*"], &[], colleague, "user", "user"),
        (&["@group/g1"], &["oc_2"], &[], colleague, "stranger", "not_allowed"),
        (&["@tenant"], &["oc_2"], &["@group/g1"], colleague, "ask", "ask"),
        (&["@tenant"], &["*"], &["@group/g1"], colleague, "user", "user"),
    ];
    for (users, chats, admins, sender, in_private, in_group) in table {
        let rules = AdmissionRules {
            users: entries(users),
            chats: chats.iter().map(|chat| (*chat).to_owned()).collect(),
            admins: entries(admins),
            ..AdmissionRules::default()
        };
        let case = format!("users {users:?}, chats {chats:?}, admins {admins:?}, {sender:?}");
        assert_eq!(word(&private(sender), &rules, &PLAIN), in_private, "private: {case}");
        let named = incoming(ChatKind::Group, true, sender);
        assert_eq!(word(&named, &rules, &PLAIN), in_group, "group: {case}");
    }
}

#[test]
fn who_was_paired_is_a_user_in_private_and_in_listed_groups() {
    let paired = Circumstances { is_paired: true, ..PLAIN };
    let closed = AdmissionRules::default();
    assert_eq!(word(&private(Relation::Colleague), &closed, &paired), "user");
    assert_eq!(word(&group(true), &closed, &paired), "not_allowed");
    let listed = AdmissionRules { chats: vec!["oc_1".to_owned()], ..closed };
    assert_eq!(word(&group(true), &listed, &paired), "user");
    assert_eq!(word(&group(false), &listed, &paired), "not_mentioned");
}

#[test]
fn a_stranger_who_names_nobody_is_only_not_mentioned() {
    let rules = AdmissionRules { users: Vec::new(), ..open_rules() };
    assert_eq!(word(&group(false), &rules, &PLAIN), "not_mentioned");
    let optional = AdmissionRules { mention: MentionRule::Optional, ..rules };
    assert_eq!(word(&group(false), &optional, &PLAIN), "not_allowed", "no code for a mere remark");
    assert_eq!(word(&group(true), &optional, &PLAIN), "stranger");
}

#[test]
fn a_group_message_is_for_the_bot_as_the_mention_rule_says() {
    let in_talk = Circumstances { is_in_talk: true, ..PLAIN };
    let table = [
        // rule: not named; not named but in a talk; named
        (MentionRule::Required, "not_mentioned", "not_mentioned", "user"),
        (MentionRule::Optional, "user", "user", "user"),
        (MentionRule::Smart, "not_mentioned", "user", "user"),
    ];
    for (mention, beside, going_on, named) in table {
        let rules = AdmissionRules { mention, ..open_rules() };
        assert_eq!(word(&group(false), &rules, &PLAIN), beside, "{mention:?}");
        assert_eq!(word(&group(false), &rules, &in_talk), going_on, "{mention:?}");
        assert_eq!(word(&group(true), &rules, &PLAIN), named, "{mention:?}");
        assert_eq!(word(&private(Relation::Colleague), &rules, &PLAIN), "user", "{mention:?}");
    }
}

#[test]
fn naming_everybody_names_the_bot_only_where_the_rules_say_so() {
    let mut message = group(false);
    message.addressing.mentions_all = true;
    assert_eq!(word(&message, &open_rules(), &PLAIN), "not_mentioned");
    let answering = AdmissionRules { answers_at_all: true, ..open_rules() };
    assert_eq!(word(&message, &answering, &PLAIN), "user");
}

#[test]
fn other_bots_are_heard_if_they_may_be_and_name_this_one_and_not_too_often() {
    let hearing = AdmissionRules { hears_bots: true, ..open_rules() };
    let turns = |bot_turns: usize| Circumstances { bot_turns, ..PLAIN };
    assert_eq!(word(&of_bot(true), &open_rules(), &PLAIN), "filtered");
    assert_eq!(word(&of_bot(false), &hearing, &PLAIN), "filtered");
    assert_eq!(word(&of_bot(true), &hearing, &turns(BOT_TURNS_MAX - 1)), "user");
    assert_eq!(word(&of_bot(true), &hearing, &turns(BOT_TURNS_MAX)), "filtered");
    assert_eq!(word(&group(true), &hearing, &turns(BOT_TURNS_MAX)), "user", "people always are");
    let optional = AdmissionRules { mention: MentionRule::Optional, ..hearing.clone() };
    assert_eq!(word(&of_bot(false), &optional, &PLAIN), "filtered");
    let unlisted = AdmissionRules { users: entries(&["ou_2"]), ..hearing };
    assert_eq!(word(&of_bot(true), &unlisted, &PLAIN), "not_allowed", "a bot is no stranger");
}

fn any_rules() -> impl Strategy<Value = AdmissionRules> {
    let entry = prop::sample::select(vec![
        "*",
        "@tenant",
        "@chat-owner",
        "@department/od-1",
        "@group/g1",
        "ou_1",
        "ou_2",
        "on_1",
    ]);
    let list = || prop::collection::vec(entry.clone(), 0..3);
    let chats = prop::collection::vec(prop::sample::select(vec!["*", "oc_1", "oc_2"]), 0..2);
    let mention = prop::sample::select(vec![
        MentionRule::Required,
        MentionRule::Optional,
        MentionRule::Smart,
    ]);
    (list(), chats, list(), mention, any::<(bool, bool)>()).prop_map(
        |(users, chats, admins, mention, (answers_at_all, hears_bots))| AdmissionRules {
            users: entries(&users),
            chats: chats.into_iter().map(str::to_owned).collect(),
            admins: entries(&admins),
            mention,
            answers_at_all,
            hears_bots,
            ..AdmissionRules::default()
        },
    )
}

fn any_message() -> impl Strategy<Value = Incoming> {
    let relation =
        prop::sample::select(vec![Relation::Itself, Relation::Colleague, Relation::Outsider]);
    let kind = prop::sample::select(vec![SenderKind::User, SenderKind::Agent]);
    (any::<(bool, bool, bool)>(), relation, kind).prop_map(
        |((is_group, bot, all), sender, kind)| {
            let chat_kind = if is_group { ChatKind::Group } else { ChatKind::Private };
            let mut message = incoming(chat_kind, bot, sender);
            message.addressing.mentions_all = all;
            message.message.sender.kind = kind;
            message
        },
    )
}

fn any_circumstances() -> impl Strategy<Value = Circumstances> {
    (any::<(bool, bool)>(), 0_usize..5).prop_map(|((is_paired, is_in_talk), bot_turns)| {
        Circumstances { is_paired, is_in_talk, bot_turns }
    })
}

proptest! {
    #[test]
    fn with_the_default_lists_nobody_but_an_admin_starts_work(
        message in any_message(),
        rules in any_rules(),
        circumstances in any_circumstances(),
        is_admin in any::<bool>(),
    ) {
        let admins = if is_admin { entries(&["ou_1"]) } else { Vec::new() };
        let closed = AdmissionRules { users: Vec::new(), chats: Vec::new(), admins, ..rules };
        let circumstances = Circumstances { is_paired: false, ..circumstances };
        match admit(&message, &closed, &circumstances) {
            Admission::Admit(standing) => prop_assert!(is_admin && standing == Standing::Admin),
            Admission::Stranger | Admission::NoWork { .. } => {}
        }
    }

    #[test]
    fn the_bot_never_hears_itself_and_outsiders_and_bots_get_no_code(
        message in any_message(),
        rules in any_rules(),
        circumstances in any_circumstances(),
    ) {
        let decision = admit(&message, &rules, &circumstances);
        let sender = message.addressing.sender;
        if sender == Relation::Itself {
            let is_filtered =
                matches!(decision, Admission::NoWork { verdict: Verdict::Filtered, .. });
            prop_assert!(is_filtered);
        } else if sender == Relation::Outsider || message.message.sender.kind == SenderKind::Agent {
            let gets_code = matches!(
                decision,
                Admission::Stranger | Admission::Admit(Standing::Unclear { may_pair: true })
            );
            prop_assert!(!gets_code);
        }
    }

    #[test]
    fn a_longer_list_never_shuts_anybody_out(
        message in any_message(),
        rules in any_rules(),
        circumstances in any_circumstances(),
    ) {
        let is_in = |rules: &AdmissionRules| {
            matches!(
                admit(&message, rules, &circumstances),
                Admission::Admit(Standing::User | Standing::Admin)
            )
        };
        let mut longer = rules.clone();
        longer.users.push(Entry::Tenant);
        longer.chats.push("*".to_owned());
        prop_assert!(!is_in(&rules) || is_in(&longer));
    }
}
