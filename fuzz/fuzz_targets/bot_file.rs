//! A bot file. A refusal has a reason.
#![no_main]

use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (definition, problems) = larkspur::bots::load(Path::new("bots/b.toml"), text);
    assert!(definition.is_some() || !problems.is_empty());
});
