use serde::Deserialize;

use super::*;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sample {
    server: Server,
    hooks: Vec<Server>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Server {
    listen: String,
    port: u16,
}

fn problems(source: &str) -> Vec<String> {
    let mut problems = Problems::of("a.toml", source);
    problems.read::<Sample>();
    problems.into_vec().iter().map(ToString::to_string).collect()
}

#[test]
fn every_unknown_key_is_named_with_its_line() {
    let source = "[server]\nlisten = \"x\"\nprot = 1\n\n[sever]\na = 1\n";
    assert_eq!(
        problems(source),
        ["a.toml:3: server.prot: unknown key", "a.toml:5: sever: unknown key"]
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_line() {
    let found = problems("[server]\nlisten = \"x\"\nport = 99999\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a.toml:3: server.port: "), "{found:?}");
    let found = problems("[[hooks]]\nport = 1\n[[hooks]]\nport = \"a\"\n");
    assert!(found[0].starts_with("a.toml:4: hooks[1].port: "), "{found:?}");
}

#[test]
fn broken_syntax_is_named_with_its_line() {
    let found = problems("[server]\nlisten = \n");
    assert!(found[0].starts_with("a.toml:2: "), "{found:?}");
}

#[test]
fn a_warning_says_so_and_is_no_error() {
    let mut problems = Problems::of("a.toml", "");
    problems.warn("x", "hm");
    assert!(!problems.has_errors());
    assert_eq!(problems.into_vec()[0].to_string(), "warning: a.toml: x: hm");
}
