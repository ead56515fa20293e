//! From the hooks of the configuration to those that are called.

use std::collections::HashMap;

use crate::base::{BotName, ChatId};
use crate::bots::BotDefinition;
use crate::channels::webhook::{Encoding, Hmac, Hook, LastBodies, Preset, Verify};
use crate::config::{HookPreset, HookSettings, ProofSettings, Settings, SignatureSettings};

/// The hooks by name, each in the language of its bot.
pub(super) fn hooks(settings: &Settings, bots: &[BotDefinition]) -> HashMap<String, Hook> {
    let hooks = settings.hooks.iter().map(|hook| (hook.name.clone(), of(hook, settings, bots)));
    hooks.collect()
}

fn of(hook: &HookSettings, settings: &Settings, bots: &[BotDefinition]) -> Hook {
    let bot = bots.iter().find(|bot| bot.name == hook.bot);
    Hook {
        name: hook.name.clone(),
        verify: hook.proof.as_ref().map_or(Verify::Nothing, verify),
        id_header: hook.id_header.clone(),
        bot: BotName::new(hook.bot.clone()),
        chat: ChatId::new(hook.chat.clone()),
        preset: match hook.preset {
            HookPreset::Generic => Preset::Generic,
            HookPreset::Alertmanager => Preset::Alertmanager,
        },
        template: hook.template.clone(),
        locale: bot.and_then(|bot| bot.locale).unwrap_or(settings.locale),
        last: LastBodies::default(),
    }
}

fn verify(proof: &ProofSettings) -> Verify {
    match proof {
        ProofSettings::Signature(signature) => Verify::Hmac(hmac(signature)),
        ProofSettings::Bearer(token) => Verify::Bearer(token.clone()),
        ProofSettings::Basic(pair) => Verify::Basic(pair.clone()),
    }
}

fn hmac(signature: &SignatureSettings) -> Hmac {
    Hmac {
        secret: signature.secret.clone(),
        header: signature.header.clone(),
        encoding: if signature.is_base64 { Encoding::Base64 } else { Encoding::Hex },
        prefix: signature.prefix.clone(),
        timestamp_header: signature.timestamp_header.clone(),
    }
}
