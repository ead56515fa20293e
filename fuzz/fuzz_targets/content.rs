//! The content of a message: its type on the first line.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| larkspur::channels::lark::fuzzing::content(text));
