//! The team's recipes: Markdown files in folders, searchable in Chinese and English.
//!
//! The files are the truth; the index is derived, lives in memory and follows the files: a recipe
//! written while the daemon runs is found by the next question. Nothing is read before the first
//! use: an idle daemon holds neither the segmenter's dictionary nor an index. Words of a query are
//! only ever words, never query syntax. This module does not write recipes.

mod base;
mod catalog;
mod excerpt;
mod front_matter;
mod index;
mod query;
mod scan;
mod words;

pub use base::KnowledgeBase;
