//! Joins events that came in several frames. Pure: frames and the time in, whole events out.
//!
//! Pieces are bytes: they are cut within characters, and come in any order.

use std::collections::HashMap;
use std::time::Duration;

use prost::bytes::Bytes;

use super::frame::Piece;
use crate::base::Timestamp;

/// An event has at most so many pieces.
const PIECES_MAX: usize = 256;
/// At most so many events are incomplete at once; of more, the oldest is given up.
const SETS_MAX: usize = 256;
/// The pieces that wait have at most so many bytes together.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// An event whose pieces have not come together after this is given up: what was not acknowledged
/// is delivered again.
const WAITING_MAX: Duration = Duration::from_secs(10);

/// The pieces that wait for others.
#[derive(Debug, Default)]
pub(in crate::channels::lark) struct Fragments {
    sets: HashMap<String, Set>,
    bytes: usize,
}

#[derive(Debug)]
struct Set {
    began_at: Timestamp,
    pieces: Vec<Option<Bytes>>,
    bytes: usize,
}

/// What a piece brought about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::channels::lark) struct Joined {
    /// The event, if this piece completed it.
    pub(super) whole: Option<Bytes>,
    /// How many incomplete events were given up, this one among them if it cannot be joined.
    pub(super) dropped: usize,
}

impl Fragments {
    /// Takes a piece. One that had come before replaces its predecessor.
    pub(in crate::channels::lark) fn add(
        &mut self,
        piece: Piece<'_>,
        payload: Bytes,
        now: Timestamp,
    ) -> Joined {
        let mut dropped = self.expire(now);
        let is_possible = piece.sum <= PIECES_MAX
            && piece.seq < piece.sum
            && !piece.message_id.is_empty()
            && payload.len() <= WAITING_BYTES_MAX;
        if !is_possible {
            return Joined { whole: None, dropped: dropped.saturating_add(1) };
        }
        if self.sets.get(piece.message_id).is_some_and(|set| set.pieces.len() != piece.sum) {
            self.remove(piece.message_id);
        }
        dropped = dropped.saturating_add(self.make_room(piece.message_id, payload.len()));
        let set = self.sets.entry(piece.message_id.to_owned()).or_insert_with(|| Set {
            began_at: now,
            pieces: vec![None; piece.sum],
            bytes: 0,
        });
        let size = payload.len();
        if let Some(place) = set.pieces.get_mut(piece.seq) {
            let replaced = place.replace(payload).map_or(0, |old| old.len());
            set.bytes = set.bytes.saturating_add(size).saturating_sub(replaced);
            self.bytes = self.bytes.saturating_add(size).saturating_sub(replaced);
        }
        let is_whole = set.pieces.iter().all(Option::is_some);
        let whole = if is_whole { self.remove(piece.message_id).map(Set::join) } else { None };
        Joined { whole, dropped }
    }

    fn expire(&mut self, now: Timestamp) -> usize {
        let is_old = |set: &Set| now.since(set.began_at) > WAITING_MAX;
        let old = self.sets.iter().filter(|(_, set)| is_old(set)).map(|(id, _)| id.clone());
        let old: Vec<String> = old.collect();
        for id in &old {
            self.remove(id);
        }
        old.len()
    }

    /// Gives up the oldest others until one more piece fits.
    fn make_room(&mut self, message_id: &str, bytes: usize) -> usize {
        let mut dropped: usize = 0;
        loop {
            let is_new = !self.sets.contains_key(message_id);
            let fits = self.bytes.saturating_add(bytes) <= WAITING_BYTES_MAX
                && (!is_new || self.sets.len() < SETS_MAX);
            let oldest = self.sets.iter().min_by_key(|(id, set)| {
                // Its own pieces go last: then it is the event itself that is too long.
                (id.as_str() == message_id, set.began_at)
            });
            let oldest = oldest.map(|(id, _)| id.clone());
            match oldest {
                Some(oldest) if !fits => {
                    self.remove(&oldest);
                    dropped = dropped.saturating_add(1);
                }
                _ => return dropped,
            }
        }
    }

    fn remove(&mut self, message_id: &str) -> Option<Set> {
        let set = self.sets.remove(message_id)?;
        self.bytes = self.bytes.saturating_sub(set.bytes);
        Some(set)
    }
}

impl Set {
    fn join(self) -> Bytes {
        let pieces: Vec<Bytes> = self.pieces.into_iter().flatten().collect();
        pieces.concat().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::testing::vectors;
    use super::super::frame::Frame;
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    fn piece(message_id: &str, sum: usize, seq: usize) -> Piece<'_> {
        Piece { message_id, sum, seq }
    }

    fn waiting(dropped: usize) -> Joined {
        Joined { whole: None, dropped }
    }

    #[test]
    fn the_recorded_event_is_joined_in_any_order_though_it_is_cut_within_characters() {
        let vectors = vectors();
        let recorded = &vectors["ws"]["fragmented"];
        let frames: Vec<Frame> = recorded["frames_hex_in_seq_order"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hex| Frame::read(hex::decode(hex.as_str().unwrap()).unwrap().into()).unwrap())
            .collect();
        let payloads = frames.iter().map(|frame| frame.payload.clone().unwrap());
        assert!(payloads.clone().any(|payload| std::str::from_utf8(&payload).is_err()));
        let whole: Vec<u8> = payloads.flatten().collect();
        assert!(serde_json::from_slice::<serde_json::Value>(&whole).is_ok());
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let mut fragments = Fragments::default();
            let joined: Vec<Joined> = order
                .iter()
                .map(|place| {
                    let frame = &frames[*place];
                    fragments.add(frame.piece().unwrap(), frame.payload.clone().unwrap(), NOW)
                })
                .collect();
            assert_eq!(joined[..2], [waiting(0), waiting(0)]);
            assert_eq!(joined[2].whole.as_deref(), Some(&whole[..]));
            assert_eq!((fragments.bytes, fragments.sets.len()), (0, 0), "nothing is left behind");
        }
    }

    #[test]
    fn pieces_that_cannot_be_joined_are_dropped_and_counted() {
        let mut fragments = Fragments::default();
        let bad = [
            piece("m", PIECES_MAX + 1, 0),
            piece("m", 2, 2),
            piece("m", usize::MAX, 0),
            piece("", 2, 0),
        ];
        for piece in bad {
            assert_eq!(fragments.add(piece, Bytes::from_static(b"x"), NOW), waiting(1));
        }
        let huge = Bytes::from(vec![0; WAITING_BYTES_MAX + 1]);
        assert_eq!(fragments.add(piece("m", 2, 0), huge, NOW), waiting(1));
        assert_eq!(fragments.sets.len(), 0);
    }

    #[test]
    fn an_event_that_is_not_complete_in_time_is_given_up() {
        let mut fragments = Fragments::default();
        let part = || Bytes::from_static(b"x");
        assert_eq!(fragments.add(piece("old", 2, 0), part(), NOW), waiting(0));
        let in_time = NOW.after(WAITING_MAX);
        assert_eq!(fragments.add(piece("new", 2, 0), part(), in_time), waiting(0));
        let late = in_time.after(Duration::from_millis(1));
        assert_eq!(fragments.add(piece("old", 2, 1), part(), late), waiting(1));
        let whole = fragments.add(piece("new", 2, 1), part(), late).whole;
        assert_eq!(whole.as_deref(), Some(&b"xx"[..]));
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_bytes_and_the_oldest_goes_first() {
        let mut fragments = Fragments::default();
        let at = |place: usize| NOW.after(Duration::from_millis(place.try_into().unwrap()));
        for place in 0..SETS_MAX {
            let id = place.to_string();
            let joined = fragments.add(piece(&id, 2, 0), Bytes::from_static(b"x"), at(place));
            assert_eq!(joined, waiting(0));
        }
        let late = at(SETS_MAX);
        let joined = fragments.add(piece("one more", 2, 0), Bytes::from_static(b"x"), late);
        assert_eq!(joined, waiting(1));
        assert!(!fragments.sets.contains_key("0") && fragments.sets.contains_key("1"));
        let big = Bytes::from(vec![0; WAITING_BYTES_MAX]);
        let joined = fragments.add(piece("big", 2, 0), big, late);
        assert_eq!(joined, waiting(SETS_MAX), "all others make room");
        assert_eq!(fragments.bytes, WAITING_BYTES_MAX);
    }

    #[test]
    fn another_count_of_pieces_begins_anew() {
        let mut fragments = Fragments::default();
        let part = || Bytes::from_static(b"x");
        assert_eq!(fragments.add(piece("m", 3, 0), part(), NOW), waiting(0));
        assert_eq!(fragments.add(piece("m", 2, 0), part(), NOW), waiting(0));
        assert!(fragments.add(piece("m", 2, 1), part(), NOW).whole.is_some());
    }

    /// A text, where it is cut, in which order the pieces come, and which come twice.
    fn cut_text() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<usize>)> {
        let pieces = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 2..12);
        pieces.prop_flat_map(|pieces| {
            let places: Vec<usize> = (0..pieces.len()).chain(0..pieces.len() / 2).collect();
            (Just(pieces), Just(places).prop_shuffle())
        })
    }

    proptest! {
        #[test]
        fn whatever_the_order_and_the_repetitions_the_event_comes_out_once_and_whole(
            (pieces, order) in cut_text()
        ) {
            let mut fragments = Fragments::default();
            let mut seen = std::collections::HashSet::new();
            let mut whole = Vec::new();
            for place in order {
                let payload = Bytes::from(pieces[place].clone());
                seen.insert(place);
                let joined = fragments.add(piece("m", pieces.len(), place), payload, NOW);
                prop_assert_eq!(joined.dropped, 0);
                let is_complete = seen.len() == pieces.len();
                prop_assert_eq!(joined.whole.is_some(), is_complete);
                if let Some(joined) = joined.whole {
                    whole.push(joined);
                    break;
                }
            }
            prop_assert_eq!(whole, vec![Bytes::from(pieces.concat())]);
            prop_assert_eq!(fragments.bytes, 0);
        }

        #[test]
        fn the_bytes_that_wait_are_those_that_are_kept(
            parts in prop::collection::vec((0..4_usize, 2..5_usize, 0..5_usize, 0..30_usize), 0..60)
        ) {
            let mut fragments = Fragments::default();
            for (id, sum, seq, size) in parts {
                let id = id.to_string();
                fragments.add(piece(&id, sum, seq), Bytes::from(vec![0; size]), NOW);
                let kept = fragments.sets.values().flat_map(|set| set.pieces.iter().flatten());
                prop_assert_eq!(fragments.bytes, kept.map(Bytes::len).sum::<usize>());
            }
        }
    }
}
