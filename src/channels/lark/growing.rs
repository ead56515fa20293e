//! A message that grows: a card entity whose text is streamed into it, with the steps of the work
//! folded away above it (protocol page, section 6.1).

use serde_json::{Value, json};

use super::api::{ApiError, Change, LarkApi};
use super::render::{Known, elements, streamed, summary};
use crate::base::Disposition;
use crate::base::limit::prefix_bytes;
use crate::envelope::{Draft, Growing};

/// The element that grows.
const ANSWER: &str = "answer";
/// The longest card of an entity, in bytes of its JSON: the platform takes 30 KB.
const ENTITY_BYTES_MAX: usize = 30 * 1024;
/// While it grows a text is shown up to so many bytes of JSON; what is behind comes at the end.
const GROWING_BYTES_MAX: usize = 24_000;
/// At most so many steps are listed, the last ones, and at most so many bytes of JSON of them.
const STEPS_MAX: usize = 50;
const STEPS_BYTES_MAX: usize = 4_000;
/// The preview in the list of chats, in characters.
const SUMMARY_CHARS_MAX: usize = 80;
/// In the place of a text that nothing was said of yet.
const NOTHING_YET: &str = "…";

/// Makes the entity. Returns its id.
pub(super) async fn prepare(
    api: &LarkApi,
    draft: &Draft,
    known: Known<'_>,
) -> Result<String, ApiError> {
    api.create_entity(&growing_card(draft, known)).await
}

/// Shows another draft.
pub(super) async fn grow(
    api: &LarkApi,
    change: Change<'_>,
    (draft, only_text): (&Draft, bool),
    known: Known<'_>,
) -> Result<(), ApiError> {
    if only_text {
        api.stream_text(change, ANSWER, &growing_text(&draft.text, known)).await
    } else {
        api.update_entity(change, &growing_card(draft, known)).await
    }
}

/// Shows the last draft, whole and for good.
pub(super) async fn finalise(
    api: &LarkApi,
    (growing, uuid): (&Growing, &str),
    draft: &Draft,
    known: Known<'_>,
) -> Result<(), ApiError> {
    let change = Change { growing, uuid };
    unless_made(api.update_entity(change, &final_card(draft, known)).await)?;
    // Whether the new card alone ends the growth the documents do not say.
    let sequence = growing.sequence.saturating_add(1);
    let (growing, uuid) = (&Growing { sequence, ..growing.clone() }, &format!("{uuid}e"));
    match unless_made(api.let_grow(Change { growing, uuid }, false).await) {
        // It says what it should; the platform ends its growth on its own.
        Err(error) if error.disposition() == Disposition::Reject => Ok(()),
        outcome => outcome,
    }
}

/// Nothing has a greater number but the last changes themselves: an earlier try arrived.
fn unless_made(outcome: Result<(), ApiError>) -> Result<(), ApiError> {
    match outcome {
        Err(error) if error.is_out_of_sequence() => Ok(()),
        outcome => outcome,
    }
}

fn growing_text(text: &str, known: Known<'_>) -> String {
    let text = streamed(text, known);
    let shown = prefix_json(&text, GROWING_BYTES_MAX);
    match shown.trim() {
        "" => NOTHING_YET.to_owned(),
        _ if shown.len() < text.len() => format!("{shown}{NOTHING_YET}"),
        _ => text,
    }
}

fn growing_card(draft: &Draft, known: Known<'_>) -> Value {
    let answer = json!({
        "tag": "markdown", "element_id": ANSWER, "content": growing_text(&draft.text, known),
    });
    let elements: Vec<Value> = panel(draft, STEPS_MAX, known).into_iter().chain([answer]).collect();
    card(&elements, draft, true)
}

fn final_card(draft: &Draft, known: Known<'_>) -> Value {
    let body = elements(&draft.text, known);
    let mut shown = STEPS_MAX;
    loop {
        let elements: Vec<Value> =
            panel(draft, shown, known).into_iter().chain(body.clone()).collect();
        let card = card(&elements, draft, false);
        // The words come first: steps are left out as far as they have no room.
        if shown == 0 || card.to_string().len() <= ENTITY_BYTES_MAX {
            return card;
        }
        shown /= 2;
    }
}

fn card(elements: &[Value], draft: &Draft, grows: bool) -> Value {
    let words = if draft.text.trim().is_empty() { &draft.title } else { &draft.text };
    json!({
        "schema": "2.0",
        "config": {
            "update_multi": true,
            "streaming_mode": grows,
            "summary": {"content": summary(words, SUMMARY_CHARS_MAX)},
        },
        "body": {"elements": elements},
    })
}

/// The steps, folded away.
fn panel(draft: &Draft, shown: usize, known: Known<'_>) -> Option<Value> {
    let steps = draft.steps.len();
    if steps == 0 || shown == 0 {
        return None;
    }
    let left_out = steps.saturating_sub(shown);
    let lines = draft.steps.iter().skip(left_out).map(|step| format!("- {step}"));
    let lines: Vec<String> = lines.collect();
    let text = streamed(&lines.join("\n"), Known { people: &[], ..known });
    Some(json!({
        "tag": "collapsible_panel",
        "expanded": false,
        "header": {"title": {"tag": "plain_text", "content": summary(&draft.title, SUMMARY_CHARS_MAX)}},
        "elements": [{"tag": "markdown", "content": prefix_json(&text, STEPS_BYTES_MAX)}],
    }))
}

/// The longest beginning that takes at most so many bytes in a JSON string.
fn prefix_json(text: &str, most: usize) -> &str {
    let mut room = most;
    for (at, letter) in text.char_indices() {
        let bytes = match letter {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            letter if letter.is_control() => 6,
            letter => letter.len_utf8(),
        };
        if bytes > room {
            return prefix_bytes(text, at);
        }
        room -= bytes;
    }
    text
}

#[cfg(test)]
#[path = "growing_tests.rs"]
mod tests;
