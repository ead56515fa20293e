use super::*;
use crate::base::{BotName, ChatId};
use crate::envelope::{Channel, Thread};

const DAY: Duration = RETRY_TIME_MAX;

fn send(doubtful: bool) -> SendV1 {
    let mut destination =
        Destination::reply(BotName::new("b"), Channel::Cli, ChatId::new("c"), MessageId::new("m"));
    destination.in_thread = true;
    destination.thread = Some(Thread { id: "t".to_owned(), root: None });
    SendV1 {
        operation: Operation::Reply {
            destination,
            text: "text".to_owned(),
            form: Form::Text,
            card: None,
        },
        uuid: "u".to_owned(),
        state: SendState::InFlight,
        first_try_at: Some(Timestamp::from_millis(1)),
        settled_at: None,
        doubtful,
        delivered_id: None,
        reason: String::new(),
        cause: None,
        repeats: 0,
        refused: None,
    }
}

fn error(disposition: Disposition, target_gone: bool) -> DeliverError {
    DeliverError {
        certainty: Certainty::NotSent,
        disposition,
        code: Some(7),
        target_gone,
        content_refused: false,
        words_refused: false,
        text: "no".to_owned(),
    }
}

#[test]
fn every_failure_has_its_consequence() {
    let retry = Disposition::Retry { after: None };
    let told = Disposition::Retry { after: Some(Duration::from_secs(7)) };
    let at_once = Disposition::Retry { after: Some(Duration::ZERO) };
    let (reject, fatal) = (Disposition::Reject, Disposition::Fatal);
    let after = |millis| Next::RetryAfter(Duration::from_millis(millis));
    let (young, old) = (Duration::ZERO, DAY);
    let table = [
        (retry, false, false, young, 1, after(500)),
        (retry, false, false, young, 3, after(2000)),
        (told, false, true, young, 1, after(7000)),
        (at_once, false, false, young, 4, after(4000)),
        (retry, false, false, old, RETRIES_MIN - 1, after(4000)),
        (retry, false, true, old, RETRIES_MIN, Next::LookUp(Said::Never)),
        (told, false, false, old, RETRIES_MIN, Next::Abandon(SendCause::GivenUp)),
        (reject, false, false, young, 1, Next::Abandon(SendCause::Refused)),
        (fatal, false, false, young, 1, Next::Abandon(SendCause::Refused)),
        (reject, false, true, young, 1, Next::LookUp(Said::Never)),
        (fatal, false, true, young, 1, Next::LookUp(Said::Never)),
        (reject, true, false, young, 1, Next::Detach),
        (reject, true, true, young, 1, Next::LookUp(Said::TargetGone)),
    ];
    for (disposition, gone, doubtful, age, failures, expected) in table {
        let case = format!("{disposition:?} gone {gone} doubtful {doubtful} {age:?} {failures}");
        let error = error(disposition, gone);
        assert_eq!(after_failure(&error, &send(doubtful), age, failures), expected, "{case}");
    }
}

#[test]
fn an_answer_whose_target_is_gone_keeps_its_thread_and_its_key() {
    let mut detached = send(false);
    detach(&mut detached);
    let Operation::Create { destination, text, .. } = &detached.operation else {
        panic!("it is no message of its own: {detached:?}")
    };
    assert_eq!((destination.reply_to.as_ref(), text.as_str()), (None, "text"));
    assert!(destination.in_thread && destination.thread.is_some());
    assert_eq!((detached.uuid.as_str(), detached.state), ("u", SendState::Planned));
    let once = after_failure(&error(Disposition::Reject, true), &detached, Duration::ZERO, 1);
    assert_eq!(once, Next::Abandon(SendCause::Refused), "not for ever");
}

#[test]
fn who_says_stop_hears_the_truth_about_what_may_have_arrived() {
    for (doubtful, state) in [(false, SendState::Abandoned), (true, SendState::InDoubt)] {
        let mut stopped = send(doubtful);
        stop(&mut stopped);
        assert_eq!((stopped.state, stopped.cause), (state, Some(SendCause::Stopped)));
    }
}

#[test]
fn a_mark_is_put_in_front_once() {
    let mut operation = send(false).operation;
    mark_possibly_repeated(&mut operation, "(again?)");
    mark_possibly_repeated(&mut operation, "(again?)");
    assert!(matches!(operation, Operation::Reply { text, .. } if text == "(again?)\ntext"));
}
