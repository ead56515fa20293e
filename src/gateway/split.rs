//! Cuts a long answer into messages the channel takes.

use crate::base::limit;

/// `text` in pieces of at most `bytes_max` bytes, cut at the last paragraph, line or space that
/// keeps a piece at least half full, else between characters. No character but white space at
/// the cuts is lost. An empty text has no piece.
pub(super) fn split_text(text: &str, bytes_max: usize) -> Vec<String> {
    let bytes_max = bytes_max.max(4);
    let mut pieces = Vec::new();
    let mut rest = text.trim_end();
    while rest.len() > bytes_max {
        let window = limit::prefix_bytes(rest, bytes_max);
        let half = window.len() / 2;
        let cut = ["\n\n", "\n", " "]
            .iter()
            .find_map(|border| window.rfind(border).filter(|at| *at >= half))
            .unwrap_or(window.len());
        let (piece, behind) = rest.split_at_checked(cut).unwrap_or((rest, ""));
        if !piece.trim().is_empty() {
            pieces.push(piece.trim_end().to_owned());
        }
        rest = behind.trim_start_matches(['\n', ' ']);
    }
    if !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_one_piece_and_an_empty_one_none() {
        assert_eq!(split_text("hello", 100), ["hello"]);
        assert!(split_text("", 100).is_empty());
    }

    #[test]
    fn a_cut_prefers_paragraphs_over_lines_over_spaces() {
        assert_eq!(split_text("aaaa\n\nbb cc", 9), ["aaaa", "bb cc"]);
        assert_eq!(split_text("a\n\nb\n\nc\n\ndddd", 9), ["a\n\nb\n\nc", "dddd"], "the last one");
        assert_eq!(split_text("aaaa bbbb", 6), ["aaaa", "bbbb"]);
        assert_eq!(split_text("状态状态", 6), ["状态", "状态"]);
    }

    proptest! {
        #[test]
        fn no_character_is_lost_and_no_piece_is_too_long(text in "[a-z状 \n]{0,400}", max in 4usize..60) {
            let pieces = split_text(&text, max);
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(bare(&pieces.concat()), bare(&text));
            prop_assert!(pieces.iter().all(|piece| piece.len() <= max && !piece.is_empty()));
        }
    }
}
