//! Webhooks of the configuration, checked.

use serde::Deserialize;

use super::settings::Secrets;
use crate::base::problem::Problems;
use crate::base::{Problem, Secret, Template};
use crate::bots::BotDefinition;

/// Presets that the contract names and nobody has built.
const LATER_PRESETS: [&str; 5] = ["github", "gitlab", "gitea", "grafana", "jenkins"];
/// The preset of Alertmanager's calls.
const ALERTMANAGER: &str = "alertmanager";
/// Modes that the contract names and nobody has built.
const LATER_MODES: [&str; 2] = ["agent", "triage"];
/// Schemes that the contract names and nobody has built.
const LATER_SCHEMES: [&str; 2] = ["token", "standard-webhooks"];
/// Schemes that exist.
const SCHEMES: [&str; 4] = ["hmac", "bearer", "basic", "none"];
/// The longest name of a hook, in characters.
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Deserialize)]
pub(super) struct RawHook {
    pub(super) name: String,
    #[serde(default = "generic")]
    preset: String,
    #[serde(default)]
    secret: String,
    #[serde(default)]
    bot: String,
    #[serde(default)]
    chat: String,
    #[serde(default = "deliver")]
    mode: String,
    #[serde(default)]
    template: String,
    #[serde(default)]
    id_header: String,
    #[serde(default)]
    verify: RawVerify,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct RawVerify {
    /// `None`: what the preset's program can do.
    scheme: Option<String>,
    header: String,
    algorithm: String,
    encoding: String,
    prefix: String,
    timestamp_header: String,
}

impl Default for RawVerify {
    fn default() -> Self {
        Self {
            scheme: None,
            header: "X-Signature-256".to_owned(),
            algorithm: "sha256".to_owned(),
            encoding: "hex".to_owned(),
            prefix: "sha256=".to_owned(),
            timestamp_header: String::new(),
        }
    }
}

fn generic() -> String {
    "generic".to_owned()
}

fn deliver() -> String {
    "deliver".to_owned()
}

/// One hook.
#[derive(Clone, Debug)]
pub struct HookSettings {
    /// Its name, also in its URL.
    pub name: String,
    /// The bot that speaks.
    pub bot: String,
    /// Where: a group (`oc_…`) or a person (`ou_…`).
    pub chat: String,
    /// Whose calls they are.
    pub preset: HookPreset,
    /// What it says; `None`: the readable part of the body.
    pub template: Option<Template>,
    /// The header with the caller's id of a delivery.
    pub id_header: Option<String>,
    /// How callers prove who they are; `None`: not at all.
    pub proof: Option<ProofSettings>,
}

/// Whose calls are known better than by their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPreset {
    /// Nobody's in particular.
    Generic,
    /// Those of Prometheus' Alertmanager.
    Alertmanager,
}

/// How callers prove who they are.
#[derive(Clone, Debug)]
pub enum ProofSettings {
    /// They sign.
    Signature(SignatureSettings),
    /// By a token in the header `Authorization`.
    Bearer(Secret),
    /// By `user:password` in the header `Authorization`.
    Basic(Secret),
}

/// A signature by HMAC with SHA-256.
#[derive(Clone, Debug)]
pub struct SignatureSettings {
    /// The key.
    pub secret: Secret,
    /// The header of the signature.
    pub header: String,
    /// Base64, else hexadecimal.
    pub is_base64: bool,
    /// What stands before it.
    pub prefix: String,
    /// The header with the time that is signed with the body.
    pub timestamp_header: Option<String>,
}

/// Checks all hooks. Who may call without a signature depends on where the server listens.
pub(super) fn check(
    raw: &[RawHook],
    is_loopback: bool,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Vec<HookSettings> {
    let mut hooks: Vec<HookSettings> = Vec::new();
    for (index, hook) in raw.iter().enumerate() {
        let at = At { index };
        if hooks.iter().any(|other| other.name == hook.name) {
            problems.error(&at.key("name"), format!("another hook is named `{}`", hook.name));
        }
        check_words(hook, at, problems);
        let proof = check_proof(hook, at, is_loopback, secrets, problems);
        let template = check_template(&hook.template, at, secrets, problems);
        hooks.push(HookSettings {
            name: hook.name.clone(),
            bot: hook.bot.clone(),
            chat: hook.chat.clone(),
            template,
            id_header: header(&hook.id_header, &at.key("id_header"), problems),
            preset: match hook.preset.as_str() {
                ALERTMANAGER => HookPreset::Alertmanager,
                _ => HookPreset::Generic,
            },
            proof,
        });
    }
    hooks
}

/// Notes hooks whose bot nobody defined; the others work meanwhile.
pub(super) fn check_bots(
    file: &str,
    hooks: &[HookSettings],
    bots: &[BotDefinition],
    found: &mut Vec<Problem>,
) {
    let is_known =
        |hook: &HookSettings| bots.iter().any(|bot| bot.name == hook.bot && bot.lark.is_some());
    if hooks.iter().all(is_known) {
        return;
    }
    let source = std::fs::read_to_string(file).unwrap_or_default();
    let mut problems = Problems::of(file, &source);
    for (index, hook) in hooks.iter().enumerate().filter(|(_, hook)| !is_known(hook)) {
        let text = if bots.iter().any(|bot| bot.name == hook.bot) {
            format!("the bot `{}` has no section [lark]: it cannot post", hook.bot)
        } else {
            format!("no bot is named `{}`, or its file is not in order", hook.bot)
        };
        problems.error(&At { index }.key("bot"), text);
    }
    found.extend(problems.into_vec());
}

/// The place of a hook in the file.
#[derive(Clone, Copy)]
struct At {
    index: usize,
}

impl At {
    fn key(self, field: &str) -> String {
        format!("hooks[{}].{field}", self.index)
    }
}

fn check_words(hook: &RawHook, at: At, problems: &mut Problems<'_>) {
    let is_plain = |letter: u8| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"-_".contains(&letter)
    };
    if !(1..=NAME_CHARS_MAX).contains(&hook.name.len()) || !hook.name.bytes().all(is_plain) {
        let text = format!(
            "`{}` is no name: a-z, 0-9, - and _, at most {NAME_CHARS_MAX} characters",
            hook.name
        );
        problems.error(&at.key("name"), text);
    }
    word(&hook.preset, &["generic", ALERTMANAGER], &LATER_PRESETS, &at.key("preset"), problems);
    word(&hook.mode, &["deliver"], &LATER_MODES, &at.key("mode"), problems);
    if hook.bot.is_empty() {
        problems.error(&at.key("bot"), "is missing: which bot says it?");
    }
    let begins = ["oc_", "ou_"].iter().any(|prefix| hook.chat.starts_with(prefix));
    if !begins {
        let text = format!("`{}` is no chat: oc_… for a group, ou_… for a person", hook.chat);
        problems.error(&at.key("chat"), text);
    }
}

/// Notes a word that is not allowed, and says which will be.
fn word(written: &str, known: &[&str], later: &[&str], key: &str, problems: &mut Problems<'_>) {
    if known.contains(&written) {
        return;
    }
    let known = known.join(" or ");
    let text = if later.contains(&written) {
        format!("`{written}` does not exist yet; only {known}")
    } else {
        format!("`{written}` is not known; {known}")
    };
    problems.error(key, text);
}

fn check_proof(
    hook: &RawHook,
    at: At,
    is_loopback: bool,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<ProofSettings> {
    let key = at.key("verify.scheme");
    let usual = if hook.preset == ALERTMANAGER { "bearer" } else { "hmac" };
    let scheme = hook.verify.scheme.as_deref().unwrap_or(usual);
    match scheme {
        "none" => {
            if !is_loopback {
                let text =
                    "`none` lets everybody post; it works only if server.listen is on loopback";
                problems.error(&key, text);
            }
            return None;
        }
        "bearer" | "basic" => {
            let secret = check_authorization(hook, at, scheme, secrets, problems)?;
            let is_bearer = scheme == "bearer";
            return Some(if is_bearer {
                ProofSettings::Bearer(secret)
            } else {
                ProofSettings::Basic(secret)
            });
        }
        _ => word(scheme, &SCHEMES, &LATER_SCHEMES, &key, problems),
    }
    check_signature(hook, at, secrets, problems).map(ProofSettings::Signature)
}

fn check_authorization(
    hook: &RawHook,
    at: At,
    scheme: &str,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<Secret> {
    let key = at.key("secret");
    if hook.secret.is_empty() {
        problems.error(&key, "is missing: what do callers send in Authorization?");
    }
    let secret = secrets.read(&key, &hook.secret, problems)?;
    if scheme == "basic" && !secret.expose().contains(':') {
        problems.error(&key, "is not `user:password`, as the scheme `basic` needs it");
        return None;
    }
    Some(secret)
}

fn check_signature(
    hook: &RawHook,
    at: At,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<SignatureSettings> {
    let verify = &hook.verify;
    word(&verify.algorithm, &["sha256"], &[], &at.key("verify.algorithm"), problems);
    word(&verify.encoding, &["hex", "base64"], &[], &at.key("verify.encoding"), problems);
    let name = header(&verify.header, &at.key("verify.header"), problems);
    if verify.header.is_empty() {
        problems.error(&at.key("verify.header"), "is missing: which header has the signature?");
    }
    if hook.secret.is_empty() {
        problems.error(&at.key("secret"), "is missing: with what do callers sign?");
    }
    let secret = secrets.read(&at.key("secret"), &hook.secret, problems);
    let timestamp = header(&verify.timestamp_header, &at.key("verify.timestamp_header"), problems);
    Some(SignatureSettings {
        secret: secret?,
        header: name?,
        is_base64: verify.encoding == "base64",
        prefix: verify.prefix.clone(),
        timestamp_header: timestamp,
    })
}

/// The name of a header; `None` if none is written.
fn header(name: &str, key: &str, problems: &mut Problems<'_>) -> Option<String> {
    let is_token = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    if !name.bytes().all(is_token) {
        problems.error(key, format!("`{name}` is not the name of a header"));
        return None;
    }
    (!name.is_empty()).then(|| name.to_owned())
}

fn check_template(
    written: &str,
    at: At,
    secrets: &Secrets<'_>,
    problems: &mut Problems<'_>,
) -> Option<Template> {
    let key = at.key("template");
    let read = match written.strip_prefix("file:") {
        Some(path) => std::fs::read_to_string(secrets.root.join(path))
            .map_err(|error| format!("the file {path} cannot be read: {error}")),
        None => Ok(written.to_owned()),
    };
    let source = read.map_err(|text| problems.error(&key, text)).ok()?;
    if source.trim().is_empty() {
        return None;
    }
    match Template::parse(&source) {
        Ok(template) => Some(template),
        Err(error) => {
            problems.error(&key, error.to_string());
            None
        }
    }
}
