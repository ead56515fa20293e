//! A send that may have arrived when its key no longer protects it: what a look-up in the chat's
//! history says of it, and what follows. Decisions only; `settle.rs` reads and acts.

use std::time::Duration;

use super::bot::InDoubt;
use crate::base::{MessageId, Timestamp};
use crate::envelope::LookedUp;
use crate::store::InboxV1;

/// A send is sent again under another key at most so often.
const REPEATS_MAX: u8 = 3;
/// So many characters may stand before the title of a card.
const FRONT_CHARS_MAX: usize = 8;
/// How far the platform's clock may be behind this machine's.
const CLOCK_SKEW_MAX: Duration = Duration::from_secs(120);

/// The message that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// What it stands below.
    pub(super) anchor: Anchor<'a>,
    /// What it says.
    pub(super) words: Words<'a>,
    /// It was not sent earlier.
    pub(super) since: Timestamp,
    /// The answer's other messages that are known to be there.
    pub(super) known: &'a [MessageId],
    /// How many messages of the answer before it may be there or not.
    pub(super) earlier_in_doubt: usize,
}

/// By which of its words a message is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Words<'a> {
    /// All of them.
    All(&'a str),
    /// It is a card: what platforms tell of one later begins with its title, and little else is
    /// certain.
    Title(&'a str),
}

/// What a message stands below.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor<'a> {
    /// It answers this message, which nothing but this turn answers.
    Answers(&'a MessageId),
    /// It answers nothing in particular; others do so, too.
    Free {
        /// It is in a thread. There is no way into one but answering a message of it: the first,
        /// or any other once that is gone.
        in_thread: bool,
    },
}

/// What a look-up says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// It is there.
    Found(MessageId),
    /// It surely is not.
    Absent,
    /// That could not be found out; why.
    Unclear(String),
}

/// Since when a send that was first tried then may stand in the chat. What a failed turn said is
/// no answer of the turn that does it again, so there the clocks get no margin.
pub(super) fn earliest(row: &InboxV1, first_try_at: Option<Timestamp>) -> Timestamp {
    let since = first_try_at.unwrap_or(row.accepted_at).before(CLOCK_SKEW_MAX);
    if row.admitted.again { since.max(row.accepted_at) } else { since }
}

/// Looks for a message in a history, oldest first. `is_whole`: nothing since [`Wanted::since`] is
/// missing from it.
pub(super) fn seek(history: &[LookedUp], is_whole: bool, wanted: &Wanted<'_>) -> Sought {
    let candidates: Vec<&LookedUp> =
        history.iter().filter(|message| may_be(message, wanted)).collect();
    if let Some(same) = candidates.iter().find(|message| says_so(&message.text, wanted.words)) {
        return Sought::Found(same.id.clone());
    }
    // The platform may show a text otherwise than it was sent; the order of an answer's messages
    // is certain.
    if let Anchor::Answers(_) = wanted.anchor
        && let Some(nth) = candidates.get(wanted.earlier_in_doubt)
    {
        return Sought::Found(nth.id.clone());
    }
    match candidates.as_slice() {
        _ if !is_whole => Sought::Unclear("too much was said since to read it all".to_owned()),
        [] => Sought::Absent,
        _ => Sought::Unclear("other messages of the bot stand in its place".to_owned()),
    }
}

fn may_be(message: &LookedUp, wanted: &Wanted<'_>) -> bool {
    let is_below = match wanted.anchor {
        Anchor::Answers(target) => message.parent.as_ref() == Some(target),
        Anchor::Free { in_thread } => in_thread || message.parent.is_none(),
    };
    message.own
        && is_below
        && message.created_at >= wanted.since
        && !wanted.known.contains(&message.id)
}

fn says_so(told: &str, words: Words<'_>) -> bool {
    match words {
        Words::All(text) => says_the_same(told, text),
        Words::Title(title) => {
            let told: String = printed(told).collect();
            let title: String = printed(title).collect();
            // The channel may say in front that it is a card.
            told.split_once(&title)
                .is_some_and(|(front, _)| front.chars().count() <= FRONT_CHARS_MAX)
        }
    }
}

/// White space, markup and what is not printed may change on the way: letters and digits do not.
fn says_the_same(one: &str, other: &str) -> bool {
    if !one.contains(char::is_alphanumeric) {
        return printed(one).eq(printed(other));
    }
    let letters =
        |text: &str| -> String { text.chars().filter(|letter| letter.is_alphanumeric()).collect() };
    letters(one) == letters(other)
}

fn printed(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| is_printed(*letter))
}

fn is_printed(letter: char) -> bool {
    !letter.is_whitespace()
        && !letter.is_control()
        && !matches!(letter, '\u{200b}' | char::REPLACEMENT_CHARACTER)
}

/// What the platform said to the try that led to the look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing: too much time has passed to try again unseen.
    Nothing,
    /// It will never take this message.
    Never,
    /// It would take it, but not as an answer: what it answers is gone.
    TargetGone,
}

/// How a doubt is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// It arrived.
    Confirm(MessageId),
    /// It did not, and the refusal stands.
    Refused,
    /// It did not, and is sent anew as if never tried.
    SendAnew,
    /// Nobody knows: it is sent again, marked.
    SendMarked(String),
    /// Nobody knows, and it is left at that.
    Leave(String),
}

/// What to do about a send, `repeats` times sent again already.
pub(super) fn resolve(sought: Sought, said: Said, rule: InDoubt, repeats: u8) -> Resolution {
    match (sought, said) {
        (Sought::Found(id), _) => Resolution::Confirm(id),
        (Sought::Absent, Said::Never) => Resolution::Refused,
        (Sought::Absent, _) if repeats < REPEATS_MAX => Resolution::SendAnew,
        (Sought::Absent, _) => Resolution::Leave("it never arrived in several tries".to_owned()),
        (Sought::Unclear(why), Said::Never) => Resolution::Leave(why),
        (Sought::Unclear(why), _) if rule == InDoubt::Resend && repeats == 0 => {
            Resolution::SendMarked(why)
        }
        (Sought::Unclear(why), _) => Resolution::Leave(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::BotName;
    use crate::envelope::AgentMessage;
    use crate::store::{AdmittedV1, Lane};

    fn own(id: &str, parent: Option<&str>, at: u64, text: &str) -> LookedUp {
        LookedUp {
            id: MessageId::new(id),
            text: text.to_owned(),
            parent: parent.map(MessageId::new),
            own: true,
            created_at: Timestamp::from_millis(at),
        }
    }

    fn found(id: &str) -> Sought {
        Sought::Found(MessageId::new(id))
    }

    fn reply<'a>(target: &'a MessageId, text: &'a str) -> Wanted<'a> {
        Wanted {
            anchor: Anchor::Answers(target),
            words: Words::All(text),
            since: Timestamp::from_millis(100),
            known: &[],
            earlier_in_doubt: 0,
        }
    }

    #[test]
    fn an_answer_is_found_by_its_sender_its_target_and_its_time() {
        let target = MessageId::new("om_q");
        let wanted = reply(&target, "hi");
        let foreign = LookedUp { own: false, ..own("om_1", Some("om_q"), 200, "hi") };
        let others = [
            foreign,
            own("om_2", Some("om_other"), 200, "hi"),
            own("om_3", None, 200, "hi"),
            own("om_4", Some("om_q"), 99, "hi"),
        ];
        assert_eq!(seek(&others, true, &wanted), Sought::Absent);
        let mut history = others.to_vec();
        history.push(own("om_5", Some("om_q"), 100, "h\u{200b}i\n"));
        assert_eq!(seek(&history, true, &wanted), found("om_5"));
    }

    #[test]
    fn of_several_messages_of_an_answer_the_nth_is_the_nth_part() {
        let target = MessageId::new("om_q");
        let history = [
            own("om_1", Some("om_q"), 200, "shown otherwise"),
            own("om_2", Some("om_q"), 201, "shown otherwise, too"),
        ];
        let known = [MessageId::new("om_1")];
        let second = Wanted { known: &known, ..reply(&target, "second") };
        assert_eq!(seek(&history, true, &second), found("om_2"));
        assert!(matches!(
            seek(&history[..1], true, &Wanted { earlier_in_doubt: 1, ..reply(&target, "second") }),
            Sought::Unclear(_)
        ));
        let doubtful = Wanted { earlier_in_doubt: 1, ..reply(&target, "second") };
        assert_eq!(seek(&history, true, &doubtful), found("om_2"));
        assert_eq!(seek(&history[..1], true, &second), Sought::Absent);
    }

    #[test]
    fn a_message_that_answers_nothing_is_known_by_its_words_alone() {
        let target = MessageId::new("om_q");
        let wanted = Wanted { anchor: Anchor::Free { in_thread: false }, ..reply(&target, "hi") };
        let other = own("om_1", None, 200, "another");
        assert!(matches!(seek(std::slice::from_ref(&other), true, &wanted), Sought::Unclear(_)));
        let history = [other, own("om_2", None, 200, "hi")];
        assert_eq!(seek(&history, true, &wanted), found("om_2"));
        let answer = [own("om_3", Some("om_any"), 200, "hi")];
        assert_eq!(seek(&answer, true, &wanted), Sought::Absent);
        let threaded = Wanted { anchor: Anchor::Free { in_thread: true }, ..wanted };
        assert_eq!(seek(&answer, true, &threaded), found("om_3"), "its thread's root was gone");
    }

    #[test]
    fn what_a_failed_turn_said_is_no_answer_of_its_replay() {
        let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new("om_q"), "hi");
        let accepted_at = Timestamp::from_millis(1_760_000_000_000);
        let mut row = InboxV1 {
            bot: BotName::new("b"),
            message,
            lane: Lane::Session,
            accepted_at,
            closing: None,
            merged: Vec::new(),
            in_place: None,
            admitted: AdmittedV1::default(),
        };
        let second = Duration::from_secs(1);
        let first_try = Some(accepted_at.after(second));
        assert_eq!(earliest(&row, first_try), accepted_at.after(second).before(CLOCK_SKEW_MAX));
        row.admitted.again = true;
        assert_eq!(earliest(&row, first_try), accepted_at);
        let late = accepted_at.after(CLOCK_SKEW_MAX).after(second);
        assert_eq!(earliest(&row, Some(late)), accepted_at.after(second));
    }

    #[test]
    fn what_was_not_read_whole_proves_no_absence() {
        let target = MessageId::new("om_q");
        assert!(matches!(seek(&[], false, &reply(&target, "hi")), Sought::Unclear(_)));
    }

    #[test]
    fn every_outcome_of_a_look_up_has_its_consequence() {
        let unclear = || Sought::Unclear("closed".to_owned());
        let marked = Resolution::SendMarked("closed".to_owned());
        let left = Resolution::Leave("closed".to_owned());
        let (resend, drop) = (InDoubt::Resend, InDoubt::Drop);
        let table = [
            (found("om_1"), Said::Nothing, drop, 0, Resolution::Confirm(MessageId::new("om_1"))),
            (found("om_1"), Said::Never, resend, 3, Resolution::Confirm(MessageId::new("om_1"))),
            (Sought::Absent, Said::Nothing, drop, 0, Resolution::SendAnew),
            (Sought::Absent, Said::TargetGone, drop, 2, Resolution::SendAnew),
            (Sought::Absent, Said::Never, resend, 0, Resolution::Refused),
            (unclear(), Said::Nothing, resend, 0, marked.clone()),
            (unclear(), Said::TargetGone, resend, 0, marked),
            (unclear(), Said::Nothing, resend, 1, left.clone()),
            (unclear(), Said::Nothing, drop, 0, left.clone()),
            (unclear(), Said::Never, resend, 0, left),
        ];
        for (sought, said, rule, repeats, expected) in table {
            let case = format!("{sought:?} {said:?} {rule:?} {repeats}");
            assert_eq!(resolve(sought, said, rule, repeats), expected, "{case}");
        }
        let tired = resolve(Sought::Absent, Said::Nothing, resend, REPEATS_MAX);
        assert!(matches!(tired, Resolution::Leave(_)));
    }
}
