//! What the bench of rendering drives: long answers cut into messages.

use super::split::{Measure, split_text};

/// The messages of an answer whose texts may each cost `most`.
pub fn parts(text: &str, most: usize, cost: &dyn Fn(&str) -> usize) -> Vec<String> {
    split_text(text, Measure { most, cost })
}
