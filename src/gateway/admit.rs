//! May this message start work? A pure decision from what the channel and the gateway know.
//!
//! Nothing is asked for here: where a list names roles that only the platform knows, the decision
//! says so, and `clearance.rs` asks at the beginning of the turn.

use crate::base::Verdict;
use crate::bots::{Entry, StaleRule};
use crate::envelope::{
    Addressing, AgentMessage, Channel, ChatKind, Incoming, Relation, SenderKind,
};
use crate::store::Standing;

/// So many turns in a row other bots may have in one chat; then a person must say something.
pub const BOT_TURNS_MAX: usize = 3;

/// Why a sender is not let in, for `/why` and the log.
pub(super) const NOT_IN_USERS: &str = "the sender is not in access.users";
const NOT_IN_CHATS: &str = "the chat is not in access.chats";

/// Whether a group message must name the bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MentionRule {
    /// It must.
    #[default]
    Required,
    /// Every message of the group is for the bot.
    Optional,
    /// It must, unless it replies to the bot or goes on talking to it.
    Smart,
}

/// A bot's rules of admission. The defaults are closed: nobody is let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionRules {
    /// Who may talk to it.
    pub users: Vec<Entry>,
    /// Where: chat ids, `*`.
    pub chats: Vec<String>,
    /// Who may always talk to it, anywhere.
    pub admins: Vec<Entry>,
    /// Whether it must be named in groups.
    pub mention: MentionRule,
    /// Whether naming everybody names the bot.
    pub answers_at_all: bool,
    /// Whether bots that name it are heard.
    pub hears_bots: bool,
    /// How many messages beside it are kept for it.
    pub history: usize,
    /// What becomes of late messages.
    pub stale: StaleRule,
}

/// What the gateway remembers that matters for a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// An admin has let the sender in.
    pub is_paired: bool,
    /// The message replies to the bot, or the sender goes on talking to it.
    pub is_in_talk: bool,
    /// So many turns other bots had in this chat since a person said something.
    pub bot_turns: usize,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It starts work, as far as lists can tell.
    Admit(Standing),
    /// It does not, but its sender may be told how to be let in.
    Stranger,
    /// It does not; the verdict is noted.
    NoWork {
        /// What `/why` says.
        verdict: Verdict,
        /// Details.
        reason: &'static str,
    },
}

/// What a list says about somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Yes,
    No,
    /// The platform must be asked.
    Perhaps,
}

const fn no_work(verdict: Verdict, reason: &'static str) -> Admission {
    Admission::NoWork { verdict, reason }
}

/// Decides about one message.
pub fn admit(
    incoming: &Incoming,
    rules: &AdmissionRules,
    circumstances: &Circumstances,
) -> Admission {
    let addressing = &incoming.addressing;
    if addressing.sender == Relation::Itself {
        return no_work(Verdict::Filtered, "the bot's own message");
    }
    if is_of_a_bot(&incoming.message)
        && let Some(reason) = not_heard(addressing, rules, circumstances)
    {
        return no_work(Verdict::Filtered, reason);
    }
    if !is_addressed(incoming, rules, circumstances) {
        return no_work(Verdict::NotMentioned, "");
    }
    by_lists(incoming, rules, circumstances)
}

/// A client of MCP is an agent, too, but one that was given a key.
fn is_of_a_bot(message: &AgentMessage) -> bool {
    message.sender.kind == SenderKind::Agent && message.channel != Channel::Mcp
}

/// Why another bot is not heard.
fn not_heard(
    addressing: &Addressing,
    rules: &AdmissionRules,
    circumstances: &Circumstances,
) -> Option<&'static str> {
    if !rules.hears_bots {
        Some("a message of another bot")
    } else if !addressing.mentions_bot {
        Some("a message of another bot that does not name this one")
    } else if circumstances.bot_turns >= BOT_TURNS_MAX {
        Some("a message of another bot, and too many in a row without a person")
    } else {
        None
    }
}

fn is_addressed(
    incoming: &Incoming,
    rules: &AdmissionRules,
    circumstances: &Circumstances,
) -> bool {
    let addressing = &incoming.addressing;
    addressing.chat_kind == ChatKind::Private
        || addressing.mentions_bot
        || (addressing.mentions_all && rules.answers_at_all)
        || match rules.mention {
            MentionRule::Required => false,
            MentionRule::Optional => true,
            MentionRule::Smart => circumstances.is_in_talk,
        }
}

fn by_lists(
    incoming: &Incoming,
    rules: &AdmissionRules,
    circumstances: &Circumstances,
) -> Admission {
    let addressing = &incoming.addressing;
    let is_private = addressing.chat_kind == ChatKind::Private;
    let admin = listed(&rules.admins, addressing);
    if admin == Listed::Yes {
        return Admission::Admit(Standing::Admin);
    }
    let user = if circumstances.is_paired { Listed::Yes } else { listed(&rules.users, addressing) };
    let is_chat_listed =
        (circumstances.is_paired && is_private) || allows_chat(rules, &incoming.message);
    if user == Listed::Yes && is_chat_listed {
        return Admission::Admit(Standing::User);
    }
    let may_pair = addressing.sender == Relation::Colleague
        && incoming.message.sender.kind == SenderKind::User
        && user != Listed::Yes
        && (is_private || (is_chat_listed && addressing.mentions_bot));
    if admin == Listed::Perhaps || (user == Listed::Perhaps && is_chat_listed) {
        return Admission::Admit(Standing::Unclear { may_pair });
    }
    match user {
        Listed::No | Listed::Perhaps if may_pair => Admission::Stranger,
        Listed::No => no_work(Verdict::NotAllowed, NOT_IN_USERS),
        Listed::Yes | Listed::Perhaps => no_work(Verdict::NotAllowed, NOT_IN_CHATS),
    }
}

/// Whether the chat of a message is on its list.
pub(super) fn allows_chat(rules: &AdmissionRules, message: &AgentMessage) -> bool {
    let chat = message.reply_fn.destination().chat.as_str();
    rules.chats.iter().any(|entry| entry == "*" || entry == chat)
}

fn listed(list: &[Entry], addressing: &Addressing) -> Listed {
    let of = |entry: &Entry| match entry {
        Entry::Everybody => Listed::Yes,
        Entry::Tenant if addressing.sender == Relation::Colleague => Listed::Yes,
        Entry::Person(id) if addressing.sender_ids.iter().any(|own| own.as_str() == id) => {
            Listed::Yes
        }
        // Nobody of another tenant is in a department or group of this one.
        Entry::Department(_) | Entry::Group(_) if addressing.sender == Relation::Colleague => {
            Listed::Perhaps
        }
        Entry::ChatOwner => Listed::Perhaps,
        Entry::Tenant | Entry::Person(_) | Entry::Department(_) | Entry::Group(_) => Listed::No,
    };
    let mut found = Listed::No;
    for entry in list {
        match of(entry) {
            Listed::Yes => return Listed::Yes,
            Listed::Perhaps => found = Listed::Perhaps,
            Listed::No => {}
        }
    }
    found
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
