//! A model that can be had without a configuration: by a key that is in the environment under the
//! name its provider's own tools use.

use super::environment::Environment;

/// A model and where its key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundModel {
    /// The word for `provider`.
    pub provider: &'static str,
    /// The model's name at the provider.
    pub model: String,
    /// Another server than the provider's, with the version path; empty: the provider's.
    pub base_url: String,
    /// The variable that holds the key.
    pub key_variable: &'static str,
}

/// A provider, and what is usual there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The word for `provider`.
    pub provider: &'static str,
    /// The variable in which its tools look for the key.
    pub key_variable: &'static str,
    /// A small model of today.
    pub model: &'static str,
}

/// The providers that want a key, and what is usual there.
pub fn known_models() -> Vec<KnownModel> {
    let known = |(provider, key_variable, _, model)| KnownModel { provider, key_variable, model };
    KNOWN.map(known).to_vec()
}

/// Provider, the variable of its key, the variable of another server, a small model of today.
const KNOWN: [(&str, &str, &str, &str); 4] = [
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-5.4-mini"),
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude-haiku-4-5"),
    ("gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL", "gemini-2.5-flash"),
    ("deepseek", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "deepseek-chat"),
];

/// The first model whose key is in the environment; `wanted` names another one of its provider.
pub fn found_model(environment: &Environment, wanted: Option<&str>) -> Option<FoundModel> {
    let variable = |name: &str| {
        environment.get(name).map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let (provider, key, server, model) =
        KNOWN.into_iter().find(|(_, key, _, _)| variable(key).is_some())?;
    Some(FoundModel {
        provider,
        model: wanted.unwrap_or(model).to_owned(),
        base_url: variable(server).unwrap_or_default(),
        key_variable: key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], wanted: Option<&str>) -> Option<FoundModel> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        found_model(&Environment::of(variables), wanted)
    }

    #[test]
    fn the_key_of_each_provider_is_found_under_its_usual_name() {
        for (provider, key, server, model) in KNOWN {
            let expected = FoundModel {
                provider,
                model: model.to_owned(),
                base_url: String::new(),
                key_variable: key,
            };
            assert_eq!(found(&[(key, "sk-1")], None), Some(expected.clone()));
            let other = found(&[(key, "sk-1"), (server, "http://127.0.0.1:1/v1")], Some("own"));
            let base_url = "http://127.0.0.1:1/v1".to_owned();
            assert_eq!(other, Some(FoundModel { model: "own".to_owned(), base_url, ..expected }));
        }
    }

    #[test]
    fn an_empty_key_is_none() {
        assert_eq!(found(&[], None), None);
        assert_eq!(found(&[("OPENAI_API_KEY", " ")], Some("own")), None);
        let second = found(&[("OPENAI_API_KEY", ""), ("GEMINI_API_KEY", "k")], None);
        assert_eq!(second.map(|model| model.provider), Some("gemini"));
    }
}
