//! May this message start work? A pure decision from what the channel knows.

use crate::base::Verdict;
use crate::envelope::{ChatKind, Incoming, Relation, SenderKind};

/// Whether a group message must name the bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MentionRule {
    /// It must.
    #[default]
    Required,
    /// Every message of the group is for the bot.
    Optional,
}

/// A bot's rules of admission. The defaults are closed: nobody is let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionRules {
    /// Who may talk to it: ids, `*`, `@tenant`.
    pub users: Vec<String>,
    /// Where: chat ids, `*`.
    pub chats: Vec<String>,
    /// Who may always talk to it, anywhere.
    pub admins: Vec<String>,
    /// Whether it must be named in groups.
    pub mention: MentionRule,
    /// Whether naming everybody names the bot.
    pub answers_at_all: bool,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It starts work.
    Admit,
    /// It does not; the verdict is noted.
    NoWork {
        /// What `/why` says.
        verdict: Verdict,
        /// Details.
        reason: &'static str,
    },
}

const fn no_work(verdict: Verdict, reason: &'static str) -> Admission {
    Admission::NoWork { verdict, reason }
}

/// Decides about one message.
pub fn admit(incoming: &Incoming, rules: &AdmissionRules) -> Admission {
    let addressing = &incoming.addressing;
    let message = &incoming.message;
    if addressing.sender == Relation::Itself {
        return no_work(Verdict::Filtered, "the bot's own message");
    }
    if message.sender.kind == SenderKind::Agent && message.channel != crate::envelope::Channel::Mcp
    {
        return no_work(Verdict::Filtered, "a message of another bot");
    }
    let is_named = addressing.mentions_bot || (addressing.mentions_all && rules.answers_at_all);
    if addressing.chat_kind == ChatKind::Group
        && rules.mention == MentionRule::Required
        && !is_named
    {
        return no_work(Verdict::NotMentioned, "");
    }
    let sender = message.sender.id.as_str();
    if rules.admins.iter().any(|admin| admin == sender) {
        return Admission::Admit;
    }
    if !rules.users.iter().any(|entry| user_matches(entry, sender, addressing.sender)) {
        return no_work(Verdict::NotAllowed, "the sender is not in access.users");
    }
    let chat = message.reply_fn.destination().chat.as_str();
    if !rules.chats.iter().any(|entry| entry == "*" || entry == chat) {
        return no_work(Verdict::NotAllowed, "the chat is not in access.chats");
    }
    Admission::Admit
}

fn user_matches(entry: &str, sender: &str, relation: Relation) -> bool {
    match entry {
        "*" => true,
        "@tenant" => relation == Relation::Colleague,
        id => id == sender,
    }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
