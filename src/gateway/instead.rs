//! An answer that the other side does not take, or not whole: nobody is to be left without a word,
//! and nobody is to read on over a gap that does not show.
//!
//! A message that is refused for what it says becomes, once, a sentence that says so. It keeps its
//! place among the answer's messages, so a crash finds either the one or the other, and has a key
//! of its own. Behind a message that never arrived and has no such sentence, nothing more is sent.

use super::deliver::Sending;
use super::live::is_show;
use super::plan::operation;
use super::settle::{Part, end};
use crate::base::{Say, Undelivered};
use crate::envelope::{Form, Operation};
use crate::store::{SendCause, SendState, SendV1};

/// Of a part whose place a sentence took.
const SAID_SO: &str = "a sentence in its place says so";

/// A refusal for good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal<'a> {
    /// Whether it is for how the message looks or what it says.
    pub(super) for_content: bool,
    /// Whether it is for its words, in whatever form.
    pub(super) for_words: bool,
    /// Why.
    pub(super) reason: &'a str,
}

impl Refusal<'_> {
    /// None was heard.
    pub(super) const NONE: Refusal<'static> =
        Refusal { for_content: false, for_words: false, reason: "" };
}

/// A message is refused for good: a sentence takes its place, or it is given up.
pub(super) fn refused(sending: &Sending<'_>, part: &mut Part<'_>, refusal: Refusal<'_>) {
    let reference = sending.turn.to_string();
    let (number, of) = part.place();
    let (say, what) = if of == 1 {
        (Undelivered::Answer { reference }, "the answer".to_owned())
    } else {
        (Undelivered::Part { number, of, reference }, format!("part {number} of {of}"))
    };
    let send = &mut *part.send;
    match &mut send.operation {
        // Whoever may not have the card may have its words.
        Operation::Create { card: card @ Some(_), form, .. }
        | Operation::Reply { card: card @ Some(_), form, .. }
            if refusal.for_content =>
        {
            *card = None;
            *form = form.poorer().unwrap_or_default();
            let poorer = word(*form);
            anew(send, format!("{}-{}t", sending.turn.simple(), part.number));
            send.reason =
                format!("the card was refused ({}); it was sent as {poorer}", refusal.reason);
        }
        Operation::Finalise { .. } | Operation::ChangeText { .. } => {
            spoken_anew(sending, part, refusal.reason);
        }
        // Perhaps it is the form that is not taken: every form says the same words.
        Operation::Create { form, .. } | Operation::Reply { form, .. }
            if refusal.for_content
                && !refusal.for_words
                && send.refused.is_none()
                && form.poorer().is_some() =>
        {
            let poorer = form.poorer().unwrap_or_default();
            let was = word(*form);
            *form = poorer;
            let uuid = format!("{}-{}{}", sending.turn.simple(), part.number, word(poorer));
            anew(send, uuid);
            send.reason = format!(
                "the {was} was refused ({}); it was sent as {}",
                refusal.reason,
                word(poorer)
            );
        }
        Operation::Create { text, form, .. } | Operation::Reply { text, form, .. }
            if refusal.for_content && send.refused.is_none() =>
        {
            *text = Say::Undelivered(say).text(sending.bot.locale);
            *form = Form::Text;
            send.refused = Some(format!("{what} was refused: {}", refusal.reason));
            anew(send, format!("{}-{}s", sending.turn.simple(), part.number));
            send.reason.clear();
        }
        _ => end(send, SendState::Abandoned, SendCause::Refused, refusal.reason.to_owned()),
    }
}

/// The words of a message that cannot be changed, or never came up, in a message of their own.
pub(super) fn spoken_anew(sending: &Sending<'_>, part: &mut Part<'_>, why: &str) {
    let send = &mut *part.send;
    let (destination, text, what) = match &send.operation {
        Operation::Finalise { destination, draft, .. } => {
            (destination, &draft.text, "the growing message could not be completed")
        }
        Operation::ChangeText { destination, text, .. } => {
            (destination, text, "the message before could not be changed")
        }
        _ => return,
    };
    let channel = destination.channel;
    let form =
        sending.bot.outlets.get(&channel).map_or(Form::Text, |way| way.form(&sending.bot.name));
    send.operation = operation(destination, text.clone(), form, None);
    anew(send, format!("{}-{}a", sending.turn.simple(), part.number));
    send.reason = format!("{what} ({why}); it was sent anew");
}

const fn word(form: Form) -> &'static str {
    match form {
        Form::Card => "card",
        Form::Post => "post",
        Form::Text => "text",
    }
}

/// As if never tried, under another key.
fn anew(send: &mut SendV1, uuid: String) {
    send.uuid = uuid;
    send.state = SendState::Planned;
    (send.first_try_at, send.doubtful, send.repeats) = (None, false, 0);
}

/// Why nothing is sent behind a message, if that is so. (Whoever stopped one stopped all, and
/// whether one in doubt is there is not known.)
pub(super) fn gap(send: &SendV1) -> Option<SendCause> {
    let is_gap = matches!(send.cause, Some(SendCause::Refused | SendCause::GivenUp));
    send.cause.filter(|_| is_gap && send.state == SendState::Abandoned && !is_show(send))
}

/// Leaves a message unsent behind a gap.
pub(super) fn leave_out(send: &mut SendV1, cause: SendCause) {
    let reason = "the rest was not sent, since a part before it did not arrive";
    end(send, SendState::Abandoned, cause, reason.to_owned());
}

/// All that was special about a send, in words.
pub(super) fn told(send: &SendV1) -> impl Iterator<Item = &str> {
    let said_so = send.refused.is_some() && send.state == SendState::Confirmed;
    let words = [send.refused.as_deref(), said_so.then_some(SAID_SO), Some(send.reason.as_str())];
    words.into_iter().flatten()
}
