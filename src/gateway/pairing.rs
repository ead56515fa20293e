//! Pairing: a stranger is given a code, an admin confirms it, and the stranger is let in.
//!
//! Codes and people are stored and kept in memory, so that admission need not ask the store. A
//! person has one code at a time, a bot so many codes and people: strangers cannot fill the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::admit::NOT_IN_USERS;
use super::bot::BotRuntime;
use super::bounded::Bounded;
use super::flow::Gateway;
use super::plan::Ended;
use super::sessions::Job;
use crate::base::catalogue::DoorSay;
use crate::base::{BotName, Say, Timestamp, UserId, Verdict};
use crate::envelope::AgentMessage;
use crate::store::{Change, Kept, Shelf, Store, StoreError};
use crate::telemetry::Event;

/// A code is good for so long; its owner gets no other before.
const CODE_LIFE: Duration = Duration::from_secs(24 * 3600);
/// A bot has at most so many codes at a time; further strangers get none.
const CODES_MAX: usize = 200;
/// A bot has at most so many paired people.
const PEOPLE_MAX: usize = 10_000;
/// An admin may try so many wrong codes in an hour.
const TRIES_MAX: u32 = 5;
const TRIES_SPAN: Duration = Duration::from_secs(3600);
/// How many admins' wrong tries are remembered.
const TRIERS_MAX: usize = 1000;
/// Letters and digits that nobody takes for another. 32 of them: five bits each.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_LETTERS: usize = 8;

/// A code that waits for an admin, under `code/<bot>/<code>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CodeV1 {
    /// When it was given.
    at: Timestamp,
    /// To whom.
    user: UserId,
}

impl Kept for CodeV1 {
    const SHELF: Shelf = Shelf::Pairing;
}

/// A person who was let in, under `person/<bot>/<user>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PersonV1 {
    /// When.
    at: Timestamp,
    /// By whom.
    by: UserId,
}

impl Kept for PersonV1 {
    const SHELF: Shelf = Shelf::Pairing;
}

/// What a turn does to pairings. It takes effect in memory once the turn's commit has it.
#[derive(Clone, Debug)]
pub(super) enum PairingStep {
    /// A code was given.
    Offer(Offer),
    /// A code was confirmed.
    LetIn {
        /// The code.
        code: String,
        /// Whose it is.
        user: UserId,
        /// Who confirmed it.
        by: UserId,
    },
    /// Somebody is let in no more.
    Revoke {
        /// Who.
        user: UserId,
    },
}

/// A code for a stranger, kept for them until it is stored or given up.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The code.
    pub(super) code: String,
    user: UserId,
    at: Timestamp,
    /// Codes that have expired meanwhile.
    expired: Vec<(String, CodeV1)>,
}

/// Everybody's pairings.
#[derive(Debug)]
pub(super) struct Pairings {
    bots: Mutex<HashMap<BotName, Bot>>,
    tries: Bounded<(BotName, UserId), (Timestamp, u32)>,
}

#[derive(Debug, Default)]
struct Bot {
    codes: HashMap<String, CodeV1>,
    people: HashMap<UserId, PersonV1>,
}

impl Default for Pairings {
    fn default() -> Self {
        Self { bots: Mutex::default(), tries: Bounded::new(TRIERS_MAX) }
    }
}

fn code_key(bot: &BotName, code: &str) -> String {
    format!("code/{bot}/{code}")
}

fn person_key(bot: &BotName, user: &UserId) -> String {
    format!("person/{bot}/{user}")
}

fn is_alive(code: &CodeV1, now: Timestamp) -> bool {
    now.since(code.at) < CODE_LIFE
}

fn fresh_code() -> String {
    let bytes = Uuid::new_v4().into_bytes();
    // The last eight bytes are random but for two bits of their first.
    let letters = bytes.iter().rev().take(CODE_LETTERS).filter_map(|byte| {
        let letter = ALPHABET.get(usize::from(byte % 32))?;
        Some(char::from(*letter))
    });
    letters.collect()
}

impl Pairings {
    fn lock(&self) -> MutexGuard<'_, HashMap<BotName, Bot>> {
        self.bots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is stored about a bot.
    pub(super) async fn load(&self, store: &dyn Store, bot: &BotName) -> Result<(), StoreError> {
        let mut loaded = Bot::default();
        let codes = format!("code/{bot}/");
        for (key, code) in CodeV1::load_all(store, &codes, CODES_MAX).await? {
            let code_text = key.strip_prefix(&codes).unwrap_or_default();
            loaded.codes.insert(code_text.to_owned(), code);
        }
        let people = format!("person/{bot}/");
        for (key, person) in PersonV1::load_all(store, &people, PEOPLE_MAX).await? {
            let user = key.strip_prefix(&people).unwrap_or_default();
            loaded.people.insert(UserId::new(user), person);
        }
        self.lock().insert(bot.clone(), loaded);
        Ok(())
    }

    /// Whether an admin has let somebody in.
    pub(super) fn is_paired(&self, bot: &BotName, user: &UserId) -> bool {
        self.lock().get(bot).is_some_and(|bot| bot.people.contains_key(user))
    }

    /// A code for a stranger; `None` if there is one already, or too many.
    pub(super) fn offer(&self, bot: &BotName, user: &UserId, now: Timestamp) -> Option<Offer> {
        let mut bots = self.lock();
        let bot = bots.entry(bot.clone()).or_default();
        let alive: Vec<&CodeV1> = bot.codes.values().filter(|code| is_alive(code, now)).collect();
        let has_one = alive.iter().any(|code| code.user == *user);
        if has_one || alive.len() >= CODES_MAX || bot.people.len() >= PEOPLE_MAX {
            return None;
        }
        let expired = bot.codes.extract_if(|_, code| !is_alive(code, now)).collect();
        let code = fresh_code();
        bot.codes.insert(code.clone(), CodeV1 { at: now, user: user.clone() });
        Some(Offer { code, user: user.clone(), at: now, expired })
    }

    /// Takes back a code that could not be stored.
    pub(super) fn withdraw(&self, bot: &BotName, offer: &Offer) {
        if let Some(bot) = self.lock().get_mut(bot) {
            bot.codes.remove(&offer.code);
            bot.codes.extend(offer.expired.iter().cloned());
        }
    }

    fn owner_of(&self, bot: &BotName, code: &str, now: Timestamp) -> Option<UserId> {
        let bots = self.lock();
        let code = bots.get(bot)?.codes.get(code).filter(|code| is_alive(code, now))?;
        Some(code.user.clone())
    }

    /// Who was let in, and how many codes wait.
    fn overview(&self, bot: &BotName, now: Timestamp) -> (Vec<String>, usize) {
        let bots = self.lock();
        let Some(bot) = bots.get(bot) else { return (Vec::new(), 0) };
        let mut people: Vec<String> = bot.people.keys().map(ToString::to_string).collect();
        people.sort_unstable();
        (people, bot.codes.values().filter(|code| is_alive(code, now)).count())
    }

    fn may_try(&self, bot: &BotName, admin: &UserId, now: Timestamp) -> bool {
        let tries = self.tries.get(&(bot.clone(), admin.clone()));
        tries.is_none_or(|(since, tries)| tries < TRIES_MAX || now.since(since) >= TRIES_SPAN)
    }

    fn count_wrong(&self, bot: &BotName, admin: &UserId, now: Timestamp) {
        let key = (bot.clone(), admin.clone());
        let before = self.tries.get(&key).filter(|(since, _)| now.since(*since) < TRIES_SPAN);
        let (since, tries) = before.unwrap_or((now, 0));
        self.tries.put(key, (since, tries + 1));
    }

    /// Makes a step known to admission.
    pub(super) fn apply(&self, bot: &BotName, step: &PairingStep, now: Timestamp) {
        let mut bots = self.lock();
        let known = bots.entry(bot.clone()).or_default();
        match step {
            PairingStep::Offer(_) => {}
            PairingStep::LetIn { code, user, by } => {
                known.codes.remove(code);
                known.people.insert(user.clone(), PersonV1 { at: now, by: by.clone() });
                Event::Paired { bot: bot.as_str(), user: user.as_str(), by: by.as_str() }.emit();
            }
            PairingStep::Revoke { user } => {
                known.people.remove(user);
            }
        }
    }
}

impl Offer {
    /// What makes it durable.
    pub(super) fn changes(&self, bot: &BotName) -> Result<Vec<Change>, StoreError> {
        let mut changes: Vec<Change> =
            self.expired.iter().map(|(code, _)| CodeV1::removal(&code_key(bot, code))).collect();
        let code = CodeV1 { at: self.at, user: self.user.clone() };
        changes.push(code.change(&code_key(bot, &self.code))?);
        Ok(changes)
    }
}

impl PairingStep {
    /// What makes it durable.
    pub(super) fn changes(&self, bot: &BotName, now: Timestamp) -> Result<Vec<Change>, StoreError> {
        match self {
            Self::Offer(offer) => offer.changes(bot),
            Self::LetIn { code, user, by } => {
                let person = PersonV1 { at: now, by: by.clone() };
                Ok(vec![
                    CodeV1::removal(&code_key(bot, code)),
                    person.change(&person_key(bot, user))?,
                ])
            }
            Self::Revoke { user } => Ok(vec![PersonV1::removal(&person_key(bot, user))]),
        }
    }
}

impl Gateway {
    /// How a turn ends whose sender turned out to be a stranger.
    pub(super) fn offer_pairing(&self, bot: &BotRuntime, message: &AgentMessage) -> Ended {
        let now = self.shared.clock.now();
        let mut ended = Ended::silent(Verdict::NotAllowed, NOT_IN_USERS);
        if let Some(offer) = self.shared.pairings.offer(&bot.name, &message.sender.id, now) {
            let say = Say::Door(DoorSay::Hint { code: offer.code.clone() });
            ended.text = Some(say.text(bot.locale));
            ended.pairing = Some(PairingStep::Offer(offer));
        }
        ended
    }

    /// `/pair`: the list. `/pair CODE`: lets the owner of the code in. `/pair revoke ID`: no more.
    pub(super) async fn pair(&self, bot: &BotRuntime, job: &Job, argument: &str) -> Ended {
        if !self.is_admin(bot, job).await {
            let mut ended =
                Ended::saying(&Say::Door(DoorSay::AdminsOnly), bot.locale, Verdict::Refused);
            "policy: /pair is for admins".clone_into(&mut ended.reason);
            return ended;
        }
        let (say, step) = self.paired(bot, &job.row.message.sender.id, argument);
        let mut ended = Ended::saying(&Say::Door(say), bot.locale, Verdict::Command);
        ended.pairing = step;
        ended
    }

    fn paired(
        &self,
        bot: &BotRuntime,
        admin: &UserId,
        argument: &str,
    ) -> (DoorSay, Option<PairingStep>) {
        let now = self.shared.clock.now();
        let pairings = &self.shared.pairings;
        let words: Vec<&str> = argument.split_whitespace().collect();
        match words.as_slice() {
            [] => {
                let (people, waiting) = pairings.overview(&bot.name, now);
                (DoorSay::List { people, waiting }, None)
            }
            [word, id] if word.eq_ignore_ascii_case("revoke") => {
                let user = UserId::new(*id);
                if pairings.is_paired(&bot.name, &user) {
                    let say = DoorSay::Revoked { user: user.to_string() };
                    (say, Some(PairingStep::Revoke { user }))
                } else {
                    (DoorSay::Nobody { user: user.to_string() }, None)
                }
            }
            _ if !pairings.may_try(&bot.name, admin, now) => (DoorSay::TooMany, None),
            _ => {
                let code: String = argument.chars().filter(char::is_ascii_alphanumeric).collect();
                let code = code.to_ascii_uppercase();
                let Some(user) = pairings.owner_of(&bot.name, &code, now) else {
                    pairings.count_wrong(&bot.name, admin, now);
                    return (DoorSay::Unknown, None);
                };
                let say = DoorSay::Done { user: user.to_string() };
                let by = admin.clone();
                (say, Some(PairingStep::LetIn { code, user, by }))
            }
        }
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
