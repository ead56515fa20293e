//! What people saw of the bots' messages in the course of time, in bounded memory.
//!
//! Of each message only states that differ are kept, and at most [`STATES_MAX`] of them. All the
//! texts together take at most [`TEXTS_BYTES_MAX`]: beyond that the oldest are dropped, whosever
//! they are, and only their lengths stay.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

/// How many states of one message are kept; the oldest go first.
const STATES_MAX: usize = 2_000;
/// How many bytes all the texts together may have.
const TEXTS_BYTES_MAX: usize = 32 << 20;

/// What people saw of a message from a certain time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenState {
    /// Since when, on the simulator's clock, in milliseconds.
    pub at_ms: u64,
    /// The text, as [`SeenMessage::text`](super::SeenMessage::text) has it. Empty as well if it
    /// was dropped: a playground keeps the 32 MiB of the newest texts.
    pub text: String,
    /// How many bytes the text had, also if it was dropped.
    pub text_bytes: usize,
    /// How many times it had been edited.
    pub edits: u64,
    /// How many buttons its card had.
    pub buttons: usize,
    /// Whether its card was being streamed.
    pub streaming: bool,
    /// Whether it had been taken back.
    pub recalled: bool,
}

#[derive(Debug)]
struct Noted {
    state: SeenState,
    /// Its place among all states of all messages.
    number: u64,
    /// Of what it was at first: its text may be dropped.
    hash: u64,
}

/// What tells whether two states are the same, whenever they were.
fn hash(state: &SeenState) -> u64 {
    let SeenState { text, edits, buttons, streaming, recalled, .. } = state;
    let mut hasher = DefaultHasher::new();
    (text, edits, buttons, streaming, recalled).hash(&mut hasher);
    hasher.finish()
}

/// The states of all messages.
#[derive(Debug, Default)]
pub(crate) struct States {
    by_message: HashMap<String, VecDeque<Noted>>,
    /// Whose the states with a text are, by their numbers.
    with_text: BTreeMap<u64, String>,
    /// How many bytes the texts have.
    bytes: usize,
    next: u64,
}

impl States {
    /// The states of a message in the order of time; `None`: it has none.
    pub(crate) fn of(&self, message_id: &str) -> Option<Vec<SeenState>> {
        let noted = self.by_message.get(message_id)?;
        Some(noted.iter().map(|noted| noted.state.clone()).collect())
    }

    /// Notes what people see of a message now, if that is something new.
    pub(super) fn note(&mut self, message_id: &str, state: SeenState) {
        self.note_within(message_id, state, TEXTS_BYTES_MAX);
    }

    fn note_within(&mut self, message_id: &str, state: SeenState, bytes_max: usize) {
        let hash = hash(&state);
        let states = self.by_message.entry(message_id.to_owned()).or_default();
        if states.back().is_some_and(|last| last.hash == hash) {
            return;
        }
        let oldest = if states.len() >= STATES_MAX { states.pop_front() } else { None };
        let number = self.next;
        self.next += 1;
        self.bytes += state.text.len();
        if !state.text.is_empty() {
            self.with_text.insert(number, message_id.to_owned());
        }
        states.push_back(Noted { state, number, hash });
        if let Some(oldest) = oldest {
            self.with_text.remove(&oldest.number);
            self.bytes -= oldest.state.text.len();
        }
        while self.bytes > bytes_max && self.drop_oldest_text() {}
    }

    /// False: there is none.
    fn drop_oldest_text(&mut self) -> bool {
        let Some((number, message_id)) = self.with_text.pop_first() else {
            return false;
        };
        if let Some(states) = self.by_message.get_mut(&message_id)
            && let Ok(place) = states.binary_search_by_key(&number, |noted| noted.number)
            && let Some(noted) = states.get_mut(place)
        {
            self.bytes -= std::mem::take(&mut noted.state.text).len();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(at_ms: u64, text: &str) -> SeenState {
        SeenState {
            at_ms,
            text: text.to_owned(),
            text_bytes: text.len(),
            edits: 0,
            buttons: 0,
            streaming: false,
            recalled: false,
        }
    }

    fn texts(states: &States, id: &str) -> Vec<(String, usize)> {
        let states = states.of(id).unwrap().into_iter();
        states.map(|state| (state.text, state.text_bytes)).collect()
    }

    #[test]
    fn the_oldest_texts_of_all_messages_are_dropped_to_their_lengths() {
        let mut states = States::default();
        for (at_ms, id, text) in [(1, "a", "aaaa"), (2, "b", "bbbb"), (3, "a", "cccc")] {
            states.note_within(id, state(at_ms, text), 10);
        }
        assert_eq!(texts(&states, "a"), [(String::new(), 4), ("cccc".to_owned(), 4)]);
        assert_eq!(texts(&states, "b"), [("bbbb".to_owned(), 4)]);
        states.note_within("a", state(4, "longer than all of it"), 10);
        assert!(
            ["a", "b"].iter().all(|id| texts(&states, id).iter().all(|(text, _)| text.is_empty()))
        );
        assert_eq!((states.bytes, states.with_text.len()), (0, 0));
        assert_eq!(states.of("c"), None);
    }

    #[test]
    fn only_states_that_differ_are_kept_also_when_the_text_was_dropped() {
        let mut states = States::default();
        for (at_ms, text) in [(1, "long text"), (2, "long text"), (3, "long texT"), (4, "")] {
            states.note_within("a", state(at_ms, text), 3);
        }
        states.note_within("a", SeenState { streaming: true, ..state(5, "") }, 3);
        let at: Vec<u64> = states.of("a").unwrap().iter().map(|state| state.at_ms).collect();
        assert_eq!(at, [1, 3, 4, 5]);
    }

    #[test]
    fn the_states_of_one_message_have_a_limit() {
        let mut states = States::default();
        for number in 0..STATES_MAX + 10 {
            let at_ms = u64::try_from(number).unwrap();
            states.note("a", state(at_ms, &number.to_string()));
        }
        let kept = states.of("a").unwrap();
        assert_eq!((kept.len(), kept[0].at_ms), (STATES_MAX, 10));
        assert_eq!(states.with_text.len(), STATES_MAX);
        assert_eq!(states.bytes, kept.iter().map(|state| state.text.len()).sum::<usize>());
    }
}
