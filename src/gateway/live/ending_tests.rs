use super::*;
use crate::base::{BotName, ChatId};
use crate::envelope::Channel;
use crate::gateway::plan::planned_send;

fn destination() -> Destination {
    Destination::reply(BotName::new("b"), Channel::Lark, ChatId::new("c"), MessageId::new("q"))
}

fn show(state: SendState, id: Option<&str>) -> Vec<(u16, SendV1)> {
    let show = Operation::Show { destination: destination(), growth: "k".to_owned(), lives: 2 };
    let send = planned_send(show, "u".to_owned());
    vec![(0, SendV1 { state, delivered_id: id.map(str::to_owned), ..send })]
}

fn shown(text: &str) -> Draft {
    let steps = vec!["`search`".to_owned()];
    Draft { title: "1 step".to_owned(), steps, text: text.to_owned() }
}

fn ended(id: Option<&str>, text: Option<&str>, verdict: Verdict) -> Operation {
    let grown = Grown::among(&show(SendState::Confirmed, id), shown("half an ans")).unwrap();
    let destination = destination();
    ending(grown, text.map(str::to_owned), verdict, (&destination, Locale::EnUs))
}

fn last_words(operation: Operation) -> (u32, Draft) {
    let Operation::Finalise { growing, draft, .. } = operation else {
        panic!("no last change: {operation:?}")
    };
    assert_eq!(growing.growth, "k");
    (growing.sequence, draft)
}

#[test]
fn it_ends_with_the_answer_behind_every_change_of_every_process() {
    let (sequence, draft) = last_words(ended(Some("om_1"), Some("42"), Verdict::Answered));
    assert_eq!(draft, shown("42"));
    assert!(sequence > Growing::new("k", 2, 10_000).sequence);
}

#[test]
fn a_stopped_answer_says_that_it_is_not_complete() {
    for id in [Some("om_1"), None] {
        let (_, draft) = last_words(ended(id, None, Verdict::Stopped));
        assert_eq!(draft.text, "half an ans\n\n(stopped; the answer is not complete)");
    }
}

#[test]
fn what_answers_a_message_that_was_taken_back_goes_with_it() {
    let gone = ended(Some("om_1"), None, Verdict::Recalled);
    assert_eq!(gone, Operation::Recall { message: MessageId::new("om_1") });
    let (_, draft) = last_words(ended(None, None, Verdict::Recalled));
    assert!(draft.text.ends_with("not complete)"), "its id is not known");
}

#[test]
fn one_that_never_came_up_ends_nothing() {
    let sends = show(SendState::Abandoned, None);
    assert!(Grown::among(&sends, Draft::default()).is_none());
    let sends: Vec<SendV1> = sends.into_iter().map(|(_, send)| send).collect();
    assert!(never_came(&sends));
    assert!(Grown::among(&[], Draft::default()).is_none());
    let reply = Operation::Recall { message: MessageId::new("m") };
    let other = planned_send(reply, "u".to_owned());
    assert!(!is_show(&other) && Grown::among(&[(0, other)], Draft::default()).is_none());
}
