//! A main configuration file. A refusal has a reason.
#![no_main]

use larkspur::config::{Environment, load_file};

libfuzzer_sys::fuzz_target!(|text: &str| {
    // The loader reads files only; one in memory costs little.
    let file = std::env::temp_dir().join(format!("larkspur-fuzz-{}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    if let Err(problems) = load_file(Some(&file), &Environment::default()) {
        assert!(!problems.is_empty());
    }
});
