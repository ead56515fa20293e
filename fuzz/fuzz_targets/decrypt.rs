//! An encrypted envelope.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| larkspur::channels::lark::fuzzing::decrypt(text));
