//! Text that must not be seen: keys, tokens, app secrets.

use std::fmt;

use subtle::ConstantTimeEq;

/// A secret. It prints as `[secret]`, is not serialisable and compares in constant time.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that must send or compute with it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same text. Takes the same time wherever they differ.
    pub fn matches(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// Where a secret comes from, as configuration files write it.
#[derive(Clone, Debug)]
pub enum SecretRef {
    /// `"env:NAME"`: an environment variable.
    Env(String),
    /// `"file:PATH"`: the trimmed content of a file.
    File(String),
    /// A reference of a kind that nobody here can follow (`enc:…`, `vault:…`, `ENV:…`), by its
    /// first word. To take it for the secret itself would send it to a platform.
    Unknown(String),
    /// The secret itself; works in development, and `check` warns.
    Literal(Secret),
}

/// The longest first word of a reference, in bytes.
const SCHEME_BYTES_MAX: usize = 16;

/// Beginnings of addresses, which may hold a secret and refer to nothing.
const URL_SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// The word before the first colon, if it looks like the kind of a reference.
fn scheme_of(text: &str) -> Option<&str> {
    let (word, _rest) = text.split_once(':')?;
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte));
    let begins_as_word = word.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_url = URL_SCHEMES.contains(&word);
    let fits = (2..=SCHEME_BYTES_MAX).contains(&word.len());
    (is_word && begins_as_word && fits && !is_url).then_some(word)
}

impl SecretRef {
    /// Reads the reference; `None` for an empty text, which means "not set".
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        Some(if let Some(name) = text.strip_prefix("env:") {
            Self::Env(name.to_owned())
        } else if let Some(path) = text.strip_prefix("file:") {
            Self::File(path.to_owned())
        } else if let Some(scheme) = scheme_of(text) {
            Self::Unknown(scheme.to_owned())
        } else {
            Self::Literal(Secret::new(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_itself() {
        assert_eq!(format!("{:?}", Secret::new("s3cret")), "[secret]");
    }

    #[test]
    fn a_reference_that_nobody_can_follow_is_not_taken_for_the_secret() {
        for (text, scheme) in [("enc:abc", "enc"), ("ENV:NAME", "ENV"), ("vault:kv/a#b", "vault")] {
            let read = SecretRef::parse(text);
            assert!(matches!(&read, Some(SecretRef::Unknown(s)) if s == scheme), "{read:?}");
        }
        for text in ["plain", "sk-1234", "a:b", "中:b", "with space:x", ":x", "1ab:x"] {
            assert!(matches!(SecretRef::parse(text), Some(SecretRef::Literal(_))), "{text}");
        }
    }

    #[test]
    fn a_secret_matches_only_the_same_text() {
        let secret = Secret::new("abc");
        assert!(secret.matches("abc"));
        assert!(!secret.matches("abd"));
        assert!(!secret.matches("ab"));
    }
}
