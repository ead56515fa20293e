use super::*;
use crate::base::{BotName, ChatId, MessageId};
use crate::envelope::{Sender, SenderKind};

fn question() -> AgentMessage {
    let sender = Sender { id: UserId::new("ou_ann"), kind: SenderKind::User, display_name: None };
    let (bot, chat) = (BotName::new("b"), ChatId::new("oc_1"));
    let mut message =
        AgentMessage::from_lark(bot, chat, MessageId::new("om_q"), sender, "what about @ou_ben?");
    message.tenant = Some("t1".to_owned());
    let ben = Mention { id: Some(UserId::new("ou_ben")), name: "ou_ben".to_owned() };
    let cat = Mention { id: Some(UserId::new("ou_cat")), name: "Cat".to_owned() };
    message.mentions = vec![ben, cat];
    message
}

fn quoted(sender: &str, text: &str) -> Quoted {
    Quoted {
        text: text.to_owned(),
        sender: Some(UserId::new(sender)),
        own: false,
        is_person: true,
        tenant: Some("t1".to_owned()),
        attachments: Vec::new(),
        forwarded: Vec::new(),
        left_out: 0,
    }
}

fn fetched(quoted: Quoted) -> Vec<Fetched> {
    vec![Fetched { kind: ContextKind::Quote, outcome: Ok(quoted) }]
}

fn line(sender: &str, depth: usize, text: &str) -> Forwarded {
    Forwarded {
        depth,
        sender: Some(UserId::new(sender)),
        text: text.to_owned(),
        attachments: Vec::new(),
    }
}

fn opened(kind: AttachmentKind, name: &str, file: OpenedFile) -> Opened {
    let name = Some(name.to_owned()).filter(|name| !name.is_empty());
    Opened { attachment: Attachment { name, ..Attachment::of(kind, "k") }, file }
}

fn told(fetched: &[Fetched], opened: &[Opened]) -> Beside {
    let names = HashMap::from([(UserId::new("ou_ben"), "Ben".to_owned())]);
    beside(&question(), fetched, opened, &names, Locale::EnUs)
}

#[test]
fn a_quote_keeps_whose_words_it_is() {
    let by = |change: &dyn Fn(&mut Quoted)| {
        let mut quoted = quoted("ou_ben", "words");
        change(&mut quoted);
        let context = told(&fetched(quoted), &[]).context;
        (context[0].trust, context[0].from.clone())
    };
    assert_eq!(by(&|_| {}), (Trust::Member, "Ben".to_owned()));
    assert_eq!(by(&|quoted| quoted.own = true), (Trust::Own, "you".to_owned()));
    let of =
        |sender: &'static str| move |quoted: &mut Quoted| quoted.sender = Some(UserId::new(sender));
    assert_eq!(by(&of("ou_ann")), (Trust::Requester, "ou_ann".to_owned()));
    assert_eq!(by(&of("ou_cat")), (Trust::Member, "Cat".to_owned()));
    assert_eq!(by(&|quoted| quoted.tenant = Some("t2".to_owned())).0, Trust::Outside);
    assert_eq!(by(&|quoted| quoted.tenant = None).0, Trust::Outside);
    assert_eq!(by(&|quoted| quoted.is_person = false).0, Trust::Outside);
    assert_eq!(by(&|quoted| quoted.forwarded = vec![line("ou_ann", 0, "x")]).0, Trust::Outside);
}

#[test]
fn where_the_own_organisation_is_not_known_everybody_is_outside() {
    let mut question = question();
    question.tenant = None;
    let mut quoted = quoted("ou_ben", "words");
    quoted.tenant = None;
    let beside = beside(&question, &fetched(quoted), &[], &HashMap::new(), Locale::EnUs);
    assert_eq!(beside.context[0].trust, Trust::Outside);
}

#[test]
fn people_are_called_by_their_names_as_far_as_these_are_known() {
    let mut quoted = quoted("ou_dan", "x");
    quoted.forwarded = vec![line("ou_cat", 0, "a"), line("ou_eve", 0, "b"), line("ou_dan", 0, "c")];
    let quoted = fetched(quoted);
    let nameless = nameless(&question(), &quoted);
    let ids: Vec<&str> = nameless.iter().map(UserId::as_str).collect();
    assert_eq!(ids, ["ou_ben", "ou_dan", "ou_eve"]);
    let beside = told(&quoted, &[]);
    assert_eq!(beside.question, "what about @Ben?");
    assert_eq!(beside.context[0].from, "ou_dan");
    assert_eq!(beside.context[1].text, "Cat: a\nou_eve: b\nou_dan: c");
}

#[test]
fn a_forward_is_one_block_of_lines_set_in_by_depth() {
    let mut forward = quoted("ou_ann", "[forwarded messages]");
    forward.forwarded = vec![line("ou_ben", 0, "one\ntwo"), line("ou_cat", 1, "in\nside")];
    forward.left_out = 3;
    let fetched = [Fetched { kind: ContextKind::Forward, outcome: Ok(forward) }];
    let context = told(&fetched, &[]).context;
    assert_eq!(context.len(), 1);
    assert_eq!((context[0].kind, context[0].trust), (ContextKind::Forward, Trust::Outside));
    let expected = "Ben: one\ntwo\n    Cat: in\n    side\n[3 more messages]";
    assert_eq!(context[0].text, expected);
}

#[test]
fn what_is_missing_is_marked_and_the_person_is_told() {
    let refused = ResourceError { code: Some(234_008), text: "code 234008".to_owned() };
    let late = ResourceError { code: None, text: "no answer within 5 s".to_owned() };
    let file = AttachmentKind::File;
    let beside = told(
        &[Fetched { kind: ContextKind::Quote, outcome: Err("it was deleted".to_owned()) }],
        &[
            opened(file, "a.txt", OpenedFile::Failed(refused)),
            opened(file, "", OpenedFile::Failed(late)),
            opened(file, "b.zip", OpenedFile::Binary { length: Some(7) }),
            opened(file, "c.txt", OpenedFile::TooMany),
            opened(AttachmentKind::Image, "", OpenedFile::NoText),
            opened(AttachmentKind::Audio, "", OpenedFile::NoText),
        ],
    );
    let texts: Vec<&str> = beside.context.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(texts[0], "[it cannot be read: it was deleted]");
    assert_eq!(texts[1], "[it could not be downloaded: code 234008]");
    assert_eq!(texts[2], "[it could not be downloaded: no answer within 5 s]");
    assert_eq!(texts[3], "[no text in it; 7 bytes]");
    assert_eq!(beside.context[0].trust, Trust::Own);
    assert!(beside.context[1..].iter().all(|piece| piece.trust == Trust::Outside));
    let notice: Vec<&str> = beside.notice.lines().collect();
    assert_eq!(notice.len(), 4, "what is the same is said once: {notice:?}");
    assert!(notice[0].contains("“a.txt”") && notice[0].contains("234008"), "{notice:?}");
    assert!(notice[1].contains("in time"), "{notice:?}");
    assert!(notice[2].contains("“c.txt”"), "{notice:?}");
    assert!(notice[3].contains("pictures"), "{notice:?}");
}

#[test]
fn everything_together_has_a_limit_and_cuts_say_so() {
    let long = || OpenedFile::Text { text: "x".repeat(30_000), is_cut: true };
    let file = AttachmentKind::File;
    let files = [opened(file, "a", long()), opened(file, "b", long()), opened(file, "c", long())];
    let beside = told(&fetched(quoted("ou_ben", &"y".repeat(5000))), &files);
    let all: usize = beside.context.iter().map(|piece| piece.text.chars().count()).sum();
    assert!(all < CONTEXT_CHARS_MAX + 4 * 60, "{all}");
    assert!(beside.context.iter().all(|piece| piece.text.ends_with("characters]")));
    let short = OpenedFile::Text { text: "x".to_owned(), is_cut: true };
    let beside = told(&[], &[opened(file, "a", short)]);
    assert_eq!(beside.context[0].text, "x\n[cut: the file goes on]");
}

#[test]
fn each_attachment_is_looked_at_once_and_stickers_never() {
    let mut message = question();
    let of = |kind, key| Attachment::of(kind, key);
    let kinds = [AttachmentKind::File, AttachmentKind::Sticker, AttachmentKind::Forward];
    message.attachments = kinds.map(|kind| of(kind, "own")).to_vec();
    let mut quoted = quoted("ou_ben", "x");
    quoted.attachments = vec![of(AttachmentKind::File, "own"), of(AttachmentKind::Image, "theirs")];
    let mut inner = line("ou_cat", 0, "y");
    inner.attachments = vec![of(AttachmentKind::File, "inner")];
    quoted.forwarded = vec![inner];
    let found = attachments(&message, &fetched(quoted));
    let keys: Vec<&str> = found.iter().map(|attachment| attachment.key.as_str()).collect();
    assert_eq!(keys, ["own", "theirs", "inner"]);
}
