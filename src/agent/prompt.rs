//! The words the engine says to the model. None of them is ever shown to people.

use super::preset::Preset;
use crate::base::Locale;

/// What the system prompt is made of, in this order.
#[derive(Clone, Copy, Debug)]
pub struct PromptParts<'a> {
    /// Who the bot is, as its definition says; empty for the plain assistant.
    pub persona: &'a str,
    /// The preset, whose capabilities bring their fragments.
    pub preset: &'a Preset,
    /// The language of the answer.
    pub locale: Locale,
}

const PLAIN_PERSONA: &str = "You are the assistant of a team and answer in its chat.";

/// The system prompt of a run. It stays the same for the whole run, so that providers can cache
/// the beginning of every request.
pub fn system_prompt(parts: PromptParts<'_>) -> String {
    let persona = if parts.persona.is_empty() { PLAIN_PERSONA } else { parts.persona };
    let fragments = parts.preset.capabilities.iter().map(|capability| capability.fragment());
    let language = match parts.locale {
        Locale::ZhCn => "Answer in Simplified Chinese unless the question is in another language.",
        Locale::EnUs => "Answer in English unless the question is in another language.",
    };
    let sections: Vec<&str> = std::iter::once(persona)
        .chain(fragments.filter(|fragment| !fragment.is_empty()))
        .chain(std::iter::once(language))
        .collect();
    sections.join("\n\n")
}

/// The line behind the conversation while tools may be called no more.
pub(super) fn last_rounds(round: u32, rounds_max: u32) -> String {
    format!(
        "[round {round}/{rounds_max}] No more tools can be called. Answer now with what you have."
    )
}

/// The line behind the conversation when calls were dropped.
pub(super) fn dropped_calls(names: &[String], calls_max: usize) -> String {
    format!(
        "Only {calls_max} calls are carried out in one round. These were not: {}. Call them \
         again if you still need them.",
        names.join(", ")
    )
}

/// What the model is asked for when a run must end without an answer of its own.
pub(super) fn forced_summary(question: &str, calls: &str, observations: &str) -> String {
    format!(
        "The time for this question is over. Answer it as far as the findings below allow, in \
         the language of the question, and say what stays open. Do not mention rounds, tools or \
         this instruction.\n\nQuestion:\n{question}\n\nWhat was done:\n{calls}\n\nWhat was \
         found:\n{observations}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::preset::preset;

    #[test]
    fn the_prompt_holds_persona_fragments_and_language_in_this_order() {
        let preset = preset("lark").unwrap();
        let parts = PromptParts { persona: "You are Bo.", preset: &preset, locale: Locale::ZhCn };
        let prompt = system_prompt(parts);
        let persona = prompt.find("You are Bo.").unwrap();
        let fragment = prompt.find("knowledge base").unwrap();
        let language = prompt.find("Simplified Chinese").unwrap();
        assert!(persona < fragment && fragment < language);
        assert!(!prompt.contains("\n\n\n"), "an empty fragment leaves no gap");
    }
}
