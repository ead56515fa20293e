use std::fs;

use super::*;
use crate::base::mutate::{Mutator, rounds};

fn environment(pairs: &[(&str, &str)]) -> Environment {
    Environment::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// A root with a main file and one bot file.
fn root(main: &str, bot: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("config")).unwrap();
    fs::create_dir_all(root.path().join("bots")).unwrap();
    fs::write(root.path().join("config/larkspur.toml"), main).unwrap();
    if !bot.is_empty() {
        fs::write(root.path().join("bots/b.toml"), bot).unwrap();
    }
    root
}

fn load_root(root: &tempfile::TempDir, pairs: &[(&str, &str)]) -> Result<Loaded, Vec<String>> {
    let file = root.path().join("config/larkspur.toml");
    load(Some(&file), &environment(pairs)).map_err(|problems| texts(root, &problems))
}

fn texts(root: &tempfile::TempDir, problems: &[Problem]) -> Vec<String> {
    let prefix = format!("{}/", root.path().display());
    problems.iter().map(|problem| problem.to_string().replace(&prefix, "")).collect()
}

#[test]
fn the_defaults_are_a_complete_configuration() {
    let (settings, problems) = load_file(None, &Environment::default()).unwrap();
    assert!(problems.is_empty());
    assert_eq!(settings.server.listen.port(), 8787);
    assert_eq!(settings.server.body_bytes_max, 1 << 20);
    assert_eq!(settings.data_dir, Path::new("./data"));
    let days = |days: u64| Duration::from_secs(days * 24 * 3600);
    let kept = settings.retention;
    assert_eq!((kept.messages, kept.overheard, kept.ledger), (days(90), days(7), days(400)));
}

#[test]
fn the_file_wins_over_the_defaults_and_the_environment_over_the_file() {
    let root = root("locale = \"en-US\"\n[server]\nlisten = \"127.0.0.1:1\"\n", "");
    let loaded = load_root(&root, &[("LARKSPUR__SERVER__LISTEN", "127.0.0.1:2")]).unwrap();
    assert_eq!(loaded.settings.locale, Locale::EnUs);
    assert_eq!(loaded.settings.server.listen.port(), 2);
    assert_eq!(loaded.settings.data_dir, root.path().join("data"));
}

#[test]
fn all_problems_of_the_main_file_come_at_once_with_their_lines() {
    let main = "locals = \"x\"\n[server]\nlisten = \"nowhere\"\nbody_max = \"1\"\n\
                [models.main]\nprovider = \"opnai\"\n";
    let problems = load_root(&root(main, ""), &[]).unwrap_err();
    assert_eq!(problems.len(), 4, "{problems:#?}");
    for (line, key) in
        [(1, "locals"), (3, "server.listen"), (4, "server.body_max"), (6, "models.main.provider")]
    {
        let start = format!("config/larkspur.toml:{line}: {key}: ");
        assert!(problems.iter().any(|text| text.starts_with(&start)), "{start} in {problems:#?}");
    }
}

#[test]
fn a_system_wide_installation_keeps_its_data_outside_of_its_configuration() {
    let root = Path::new("/etc/larkspur");
    assert_eq!(data_dir_of(root, "data"), Path::new("/var/lib/larkspur"));
    assert_eq!(data_dir_of(root, "/srv/larkspur"), Path::new("/srv/larkspur"));
    assert_eq!(data_dir_of(Path::new("/home/me/bot"), "data"), Path::new("/home/me/bot/data"));
    let system_file = Path::new("/etc/larkspur/larkspur.toml");
    assert_eq!(root_of(Some(system_file)), root);
}

#[test]
fn an_unknown_variable_is_an_error_too() {
    let problems = load_root(&root("", ""), &[("LARKSPUR__SERVER__LISTN", "x")]).unwrap_err();
    assert_eq!(
        problems,
        ["environment, LARKSPUR__SERVER__LISTN: server.listn: unknown key"],
        "the variable is named, not the file"
    );
}

#[test]
fn a_secret_that_is_digits_stays_as_it_was_written() {
    let root = root("[admin]\ntoken = \"env:TOKEN\"\n", "");
    let loaded = load_root(&root, &[("TOKEN", "0123")]).unwrap();
    assert_eq!(loaded.settings.admin_token.unwrap().expose(), "0123");
}

#[test]
fn a_missing_secret_names_its_variable() {
    let problems = load_root(&root("[admin]\ntoken = \"env:TOKEN\"\n", ""), &[]).unwrap_err();
    assert_eq!(
        problems,
        ["config/larkspur.toml:2: admin.token: the environment variable TOKEN is not set"]
    );
}

#[test]
fn a_bot_without_its_keys_is_kept_and_the_keys_are_named() {
    let bot = "name = \"b\"\n[lark]\napp_id = \"cli_1\"\napp_secret = \"env:SECRET\"\n\
               encrypt_key = \"env:KEY\"\n[access]\nusers = [\"*\"]\nchats = [\"*\"]\n";
    let root = root("", bot);
    let loaded = load_root(&root, &[("SECRET", "s")]).unwrap();
    assert_eq!(loaded.bots.len(), 1);
    assert_eq!(
        texts(&root, &loaded.problems),
        [
            "bots/b.toml:5: lark.encrypt_key: the environment variable KEY is not set: the bot \
             does not start on Lark",
            "bots/b.toml:2: lark.verification_token: is missing: the bot does not start on Lark \
             without it",
        ]
    );
}

#[test]
fn a_bot_that_names_an_unknown_model_or_preset_is_left_out() {
    let root = root("", "name = \"b\"\nmodel = \"main\"\npreset = \"larq\"\n");
    let loaded = load_root(&root, &[]).unwrap();
    assert!(loaded.bots.is_empty());
    assert_eq!(
        texts(&root, &loaded.problems),
        [
            "bots/b.toml:2: model: the configuration has no [models.main]",
            "bots/b.toml:3: preset: there is no preset `larq`; there are: chat, lark",
        ]
    );
}

#[test]
fn every_provider_has_its_address_and_numbers_have_their_bounds() {
    let model = |lines: &str| {
        let main = format!("[models.m]\nmodel = \"x\"\n{lines}\n");
        load_root(&root(&main, ""), &[])
            .map(|mut loaded| loaded.settings.models.remove("m").unwrap())
    };
    for (provider, start) in [
        ("openai", "https://api.openai.com/v1"),
        ("anthropic", "https://api.anthropic.com/v1"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta"),
        ("deepseek", "https://api.deepseek.com/v1"),
        ("ollama", "http://127.0.0.1:11434/v1"),
    ] {
        let settings = model(&format!("provider = \"{provider}\"")).unwrap();
        assert_eq!(settings.base_url, start);
        assert_eq!((settings.concurrency, settings.retries), (32, 3));
        assert_eq!(settings.retry_wait.as_secs(), 2);
        assert_eq!(settings.idle_timeout.as_secs(), 90);
    }
    let own = model("provider = \"gemini\"\nbase_url = \"http://gateway.corp/v1beta/\"").unwrap();
    assert_eq!(own.base_url, "http://gateway.corp/v1beta");
    for (line, key) in [
        ("concurrency = 0", "models.m.concurrency"),
        ("concurrency = 9999", "models.m.concurrency"),
        ("retries = 11", "models.m.retries"),
        ("retry_wait = \"soon\"", "models.m.retry_wait"),
        ("idle_timeout = \"1\"", "models.m.idle_timeout"),
        ("base_url = \"ftp://x/\"", "models.m.base_url"),
        ("proxy = \"socks5://x:1\"", "models.m.proxy"),
    ] {
        let problems = model(&format!("provider = \"ollama\"\n{line}")).unwrap_err();
        let start = format!("config/larkspur.toml:4: {key}: ");
        assert!(problems.len() == 1 && problems[0].starts_with(&start), "{problems:?}");
    }
}

#[test]
fn a_provider_that_wants_a_key_and_has_none_is_a_warning() {
    let main = "[models.m]\nprovider = \"gemini\"\nmodel = \"x\"\n";
    let root = root(main, "");
    let loaded = load_root(&root, &[]).unwrap();
    let said = texts(&root, &loaded.problems);
    assert!(said[0].contains("models.m.api_key: is missing"), "{said:?}");
    let gateway = format!("{main}base_url = \"http://gateway.corp/v1beta\"\n");
    fs::write(root.path().join("config/larkspur.toml"), gateway).unwrap();
    assert_eq!(load_root(&root, &[]).unwrap().problems, []);
}

#[test]
fn a_model_uses_the_daemons_proxy_or_its_own_or_none() {
    let main = "[net]\nproxy = \"env:WAY\"\n\
                [models.a]\nprovider = \"ollama\"\nmodel = \"x\"\n\
                [models.b]\nprovider = \"ollama\"\nmodel = \"x\"\nproxy = \"direct\"\n\
                [models.c]\nprovider = \"ollama\"\nmodel = \"x\"\nproxy = \"http://u:p@c:1\"\n";
    let environment = [("WAY", "http://proxy.corp:3128"), ("NO_PROXY", ".corp")];
    let loaded = load_root(&root(main, ""), &environment).unwrap();
    let proxy = |address: &str| crate::net::Proxy::new(address, ".corp").ok();
    let settings = &loaded.settings;
    assert_eq!(settings.net.proxy, proxy("http://proxy.corp:3128"));
    assert_eq!(settings.models["a"].proxy, settings.net.proxy);
    assert_eq!(settings.models["b"].proxy, None);
    assert_eq!(settings.models["c"].proxy, proxy("http://u:p@c:1"));
    assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
    assert!(loaded.problems[0].to_string().contains("models.c.proxy: a secret in a file"));
}

#[test]
fn a_file_that_is_no_certificate_is_an_error_with_its_line() {
    let root = root("[net]\nca_file = \"config/ca.pem\"\n", "");
    let problem = || load_root(&root, &[]).unwrap_err().remove(0);
    assert!(problem().starts_with("config/larkspur.toml:2: net.ca_file: the file config/ca.pem"));
    assert!(problem().contains("cannot be read"), "{}", problem());
    fs::write(root.path().join("config/ca.pem"), "nothing of the kind").unwrap();
    assert!(problem().contains("there is no certificate in it"), "{}", problem());
    let made = rcgen::generate_simple_self_signed(vec!["corp.test".to_owned()]).unwrap();
    fs::write(root.path().join("config/ca.pem"), made.cert.pem()).unwrap();
    let loaded = load_root(&root, &[]).unwrap();
    assert_ne!(loaded.settings.net.certificates, crate::net::Certificates::default());
}

#[test]
fn fallback_models_must_exist_and_be_real() {
    let main = "[models.a]\nprovider = \"ollama\"\nmodel = \"x\"\n\
                [models.b]\nprovider = \"offline\"\n";
    let bot = "name = \"b\"\nmodel = \"a\"\nfallback_models = [\"a\", \"b\", \"c\"]\n";
    let root = root(main, bot);
    let loaded = load_root(&root, &[]).unwrap();
    assert!(loaded.bots.is_empty());
    assert_eq!(
        texts(&root, &loaded.problems),
        [
            "bots/b.toml:3: fallback_models: `b` is offline: that one steps in by itself",
            "bots/b.toml:3: fallback_models: the configuration has no [models.c]",
        ]
    );
    let alone = "name = \"b\"\nfallback_models = [\"a\"]\n";
    fs::write(root.path().join("bots/b.toml"), alone).unwrap();
    let loaded = load_root(&root, &[]).unwrap();
    assert!(texts(&root, &loaded.problems)[0].starts_with("bots/b.toml:2: fallback_models: a bot"));
}

#[test]
fn the_example_is_accepted_when_its_variables_are_set() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/example.toml");
    let names = [
        "LARKSPUR_ADMIN_TOKEN",
        "MODEL_API_KEY",
        "LARK_APP_SECRET",
        "LARK_ENCRYPT_KEY",
        "LARK_VERIFICATION_TOKEN",
    ];
    let pairs: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
    let loaded = load(Some(&file), &environment(&pairs)).unwrap();
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.bots.len(), 1);
}

#[test]
fn no_damaged_file_makes_the_reader_panic() {
    let mut mutator = Mutator::seeded("damaged configuration");
    let example = include_str!("../../config/example.toml");
    let bot = include_str!("../../bots/assistant.toml");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larkspur.toml");
    for _ in 0..rounds() {
        fs::write(&file, mutator.damage(example.as_bytes())).unwrap();
        match load_file(Some(&file), &Environment::default()) {
            Ok((settings, _)) => assert!(settings.server.body_bytes_max > 0),
            Err(problems) => assert!(!problems.is_empty(), "a refusal has a reason"),
        }
        let (definition, problems) = crate::bots::load(&file, &mutator.damage_text(bot));
        assert!(definition.is_some() || !problems.is_empty(), "a refusal has a reason");
    }
}
