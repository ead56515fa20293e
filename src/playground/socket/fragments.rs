//! How a payload is cut, and in which order the pieces go out (3.5).

use crate::playground::dice::Dice;
use crate::playground::limits::{SOCKET_FRAGMENT, SOCKET_FRAGMENT_TINY};
use crate::playground::settings::{FragmentOrder, LongConnection};
use crate::playground::switches::FragmentSize;

/// The most bytes of one piece.
pub(super) fn size(settings: &LongConnection, switch: FragmentSize) -> usize {
    let bytes = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    match (settings.fragment_bytes, switch) {
        (0, FragmentSize::Whole) => usize::MAX,
        (0, FragmentSize::Kilobyte) => bytes(SOCKET_FRAGMENT.most),
        (0, FragmentSize::Tiny) => bytes(SOCKET_FRAGMENT_TINY.most),
        (set, _) => set,
    }
}

/// The pieces of a payload. Where a character of more than one byte is near, the cut falls into it.
pub(super) fn cut(payload: &[u8], size: usize) -> Vec<Vec<u8>> {
    let size = size.max(1);
    let mut pieces = Vec::new();
    let mut rest = payload;
    while rest.len() > size {
        let (most, _) = rest.split_at(size.saturating_add(1).min(rest.len()));
        // A byte of the form 10xxxxxx goes on with a character.
        let inside = most.iter().rposition(|byte| byte & 0b1100_0000 == 0b1000_0000);
        let at = inside.filter(|at| *at > 0).unwrap_or(size);
        let (piece, further) = rest.split_at(at);
        pieces.push(piece.to_vec());
        rest = further;
    }
    pieces.push(rest.to_vec());
    pieces
}

pub(super) fn order<T>(pieces: &mut [T], order: FragmentOrder, dice: &mut Dice) {
    match order {
        FragmentOrder::InOrder => {}
        FragmentOrder::Reversed => pieces.reverse(),
        FragmentOrder::Shuffled => {
            for end in (1..pieces.len()).rev() {
                pieces.swap(end, dice.below(end + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_enough_and_cut_inside_of_characters() {
        let text = "plain words, then 字字字 and 🧩🧩 and words again".repeat(3);
        for size in 1..80 {
            let pieces = cut(text.as_bytes(), size);
            assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= size));
            assert_eq!(pieces.concat(), text.as_bytes());
        }
        let pieces = cut(text.as_bytes(), 40);
        assert!(pieces.iter().any(|piece| std::str::from_utf8(piece).is_err()));
        // Five bytes would end right behind the character.
        assert_eq!(cut("ab字cd".as_bytes(), 5).first().map(Vec::len), Some(4));
        assert_eq!(cut(b"", 10), [b""]);
        assert_eq!(cut(b"short", 5).len(), 1);
    }

    #[test]
    fn pieces_come_in_every_order_and_none_is_lost() {
        let mut dice = Dice::new(3);
        let mut pieces = [0, 1, 2, 3, 4, 5];
        order(&mut pieces, FragmentOrder::Shuffled, &mut dice);
        assert_ne!(pieces, [0, 1, 2, 3, 4, 5]);
        pieces.sort_unstable();
        order(&mut pieces, FragmentOrder::Reversed, &mut dice);
        assert_eq!(pieces, [5, 4, 3, 2, 1, 0]);
    }
}
