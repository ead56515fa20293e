//! The environment, read once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::{Secret, SecretRef};

/// The variables of the process, or of a test.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets.
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// The variables of this process. One that is not Unicode is left out.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        let unicode = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self { variables: unicode.collect() }
    }

    /// The given variables.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect() }
    }

    /// Without the variables that set configuration keys, and the names of those.
    #[must_use]
    pub fn without_settings(mut self) -> (Self, Vec<String>) {
        let names = self.settings().into_keys().collect::<std::collections::BTreeSet<_>>();
        self.variables.retain(|name, _| !names.contains(name));
        (self, names.into_iter().collect())
    }

    /// A variable; `None` if it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The variables that set configuration keys.
    pub(super) fn settings(&self) -> std::collections::HashMap<String, String> {
        let prefixed = self.variables.iter().filter(|(name, _)| name.starts_with("LARKSPUR__"));
        prefixed.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The secret behind a reference; relative paths start at `root`.
    ///
    /// # Errors
    /// What is missing, in words for people. Never holds the secret.
    pub fn secret(&self, reference: &SecretRef, root: &Path) -> Result<Secret, String> {
        match reference {
            SecretRef::Literal(secret) => Ok(secret.clone()),
            SecretRef::Unknown(scheme) => {
                Err(format!("`{scheme}:` is no way to write a secret; write env:NAME or file:PATH"))
            }
            SecretRef::Env(name) => match self.get(name) {
                Some(value) if !value.is_empty() => Ok(Secret::new(value)),
                Some(_) | None => Err(format!("the environment variable {name} is not set")),
            },
            SecretRef::File(path) => match std::fs::read_to_string(root.join(path)) {
                Ok(text) if !text.trim().is_empty() => Ok(Secret::new(text.trim())),
                Ok(_empty) => Err(format!("the file {path} is empty")),
                Err(error) => Err(format!("the file {path} cannot be read: {error}")),
            },
        }
    }
}
