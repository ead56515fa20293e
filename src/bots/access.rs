//! Lists of people: how an entry is written, and what is wrong with one.

use super::definition::Access;
use crate::base::problem::Problems;

/// One entry of a list of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `*`: everybody, of whatever tenant.
    Everybody,
    /// `@tenant`: the members of the bot's own tenant.
    Tenant,
    /// An id of a person, of whichever kind.
    Person(String),
    /// `@department/ID`: the direct members of a department.
    Department(String),
    /// `@group/ID`: the members of a user group.
    Group(String),
    /// `@chat-owner`: the owner of the chat in which the message was written.
    ChatOwner,
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// What can be written instead.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let known =
            "a list takes ids, `*`, `@tenant`, `@department/ID`, `@group/ID`, `@chat-owner`";
        match (text, text.split_once('/')) {
            ("*", _) => Ok(Self::Everybody),
            ("@tenant", _) => Ok(Self::Tenant),
            ("@chat-owner", _) => Ok(Self::ChatOwner),
            (_, Some(("@department", id))) if !id.is_empty() => Ok(Self::Department(id.to_owned())),
            (_, Some(("@group", id))) if !id.is_empty() => Ok(Self::Group(id.to_owned())),
            _ if text.is_empty() || text.starts_with('@') || text.contains(char::is_whitespace) => {
                Err(known)
            }
            _ => Ok(Self::Person(text.to_owned())),
        }
    }
}

/// Notes what is wrong with the lists of a bot that talks on a platform.
pub(super) fn check(access: &Access, is_on_platform: bool, problems: &mut Problems<'_>) {
    for (list, entries) in [("users", &access.users), ("admins", &access.admins)] {
        for (index, entry) in entries.iter().enumerate() {
            let key = format!("access.{list}[{index}]");
            match Entry::parse(entry) {
                Err(known) => problems.error(&key, format!("`{entry}` is no entry: {known}")),
                Ok(Entry::Department(id)) if !id.starts_with("od-") => {
                    problems.warn(&key, "departments are compared by their open id (od-…)");
                }
                Ok(Entry::Everybody | Entry::Tenant) if list == "admins" => {
                    problems.warn(&key, "admins may do everything; better name persons");
                }
                Ok(_) => {}
            }
        }
    }
    for (index, entry) in access.chats.iter().enumerate() {
        if entry.is_empty() || entry.starts_with('@') {
            let text = format!("`{entry}` is no entry: this list takes ids of chats and `*`");
            problems.error(&format!("access.chats[{index}]"), text);
        }
    }
    if is_on_platform && access.users.is_empty() {
        problems.warn("access.users", "nobody but admins may talk to this bot");
    }
    if is_on_platform && access.chats.is_empty() {
        problems.warn("access.chats", "only admins are heard, and in private chats who was paired");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_entry_is_read() {
        let table = [
            ("*", Entry::Everybody),
            ("@tenant", Entry::Tenant),
            ("@chat-owner", Entry::ChatOwner),
            ("ou_1", Entry::Person("ou_1".to_owned())),
            ("6f2b0680", Entry::Person("6f2b0680".to_owned())),
            ("@department/od-1", Entry::Department("od-1".to_owned())),
            ("@group/g1", Entry::Group("g1".to_owned())),
        ];
        for (text, entry) in table {
            assert_eq!(Entry::parse(text), Ok(entry), "{text}");
        }
    }

    #[test]
    fn what_is_no_entry_is_an_error_and_never_a_person() {
        for text in ["", "@", "@tennant", "@department", "@department/", "@group/", "ou_1 ou_2"] {
            assert!(Entry::parse(text).is_err(), "{text}");
        }
    }
}
