//! A body of the event webhook, opened.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| larkspur::channels::lark::fuzzing::event(body));
