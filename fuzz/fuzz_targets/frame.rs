//! A frame of the long connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| larkspur::channels::lark::fuzzing::frame(bytes));
