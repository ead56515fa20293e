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
    /// The secret itself; works in development, and `check` warns.
    Literal(Secret),
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
    fn a_secret_matches_only_the_same_text() {
        let secret = Secret::new("abc");
        assert!(secret.matches("abc"));
        assert!(!secret.matches("abd"));
        assert!(!secret.matches("ab"));
    }
}
