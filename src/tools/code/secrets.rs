//! Files that are never shown, whatever a model asks for.

use std::path::{Component, Path};

/// A pattern of a name (`*` at its beginning, its end, or both) and what such files hold.
const NAMES: [(&str, &str); 24] = [
    (".git", "the history, with addresses and credentials of remotes"),
    (".hg", "the history"),
    (".svn", "the history"),
    (".env*", "secrets of the environment"),
    (".netrc", "passwords"),
    ("_netrc", "passwords"),
    (".npmrc", "tokens of a registry"),
    (".pypirc", "tokens of a registry"),
    (".git-credentials", "passwords"),
    (".htpasswd", "passwords"),
    (".pgpass", "passwords"),
    (".aws", "keys of a cloud"),
    (".kube", "keys of a cluster"),
    (".ssh", "private keys"),
    (".gnupg", "private keys"),
    ("id_rsa*", "a private key"),
    ("id_dsa*", "a private key"),
    ("id_ecdsa*", "a private key"),
    ("id_ed25519*", "a private key"),
    ("*.pem", "keys"),
    ("*.key", "a key"),
    ("*.p12", "a key"),
    ("credentials*", "credentials"),
    ("secrets", "secrets"),
];
/// More endings of key stores.
const ENDINGS: [&str; 5] = [".pfx", ".jks", ".keystore", ".kdbx", ".asc"];
/// Examples hold no secrets and tell what the program wants to know.
const EXAMPLES: [&str; 3] = [".example", ".sample", ".template"];

/// Why `path` (below the workspace) is never shown; `None`: it may be.
pub(super) fn reason(path: &Path) -> Option<&'static str> {
    path.components().find_map(|component| match component {
        Component::Normal(name) => reason_of_name(&name.to_string_lossy().to_lowercase()),
        _ => None,
    })
}

fn reason_of_name(name: &str) -> Option<&'static str> {
    if EXAMPLES.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Some("keys");
    }
    NAMES.iter().find(|(pattern, _)| fits(name, pattern)).map(|(_, reason)| *reason)
}

fn fits(name: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == pattern,
    }
}
