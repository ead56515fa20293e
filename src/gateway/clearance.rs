//! Clearance: asking the platform for what the lists only name.
//!
//! Admission must not wait for the network, so a message whose sender may hold a listed role is
//! accepted first and cleared at the beginning of its turn. It fails closed: what cannot be looked
//! up is not held.

use std::time::Duration;

use super::admit::{NOT_IN_USERS, allows_chat};
use super::bot::BotRuntime;
use super::bounded::Bounded;
use super::flow::Gateway;
use super::plan::Ended;
use super::sessions::Job;
use super::turn::TurnError;
use crate::base::{BotName, Timestamp, Verdict};
use crate::bots::Entry;
use crate::envelope::{AgentMessage, Fact, LookupError, People};
use crate::store::{Change, Standing};
use crate::telemetry::Event;

/// What the platform said counts for so long.
const FACTS_FRESH: Duration = Duration::from_secs(10 * 60);
/// How many answers are kept.
const FACTS_MAX: usize = 10_000;
/// A look-up that may succeed later is tried so often.
const TRIES_MAX: u32 = 3;
/// The longest wait between two tries.
const TRY_WAIT_MAX: Duration = Duration::from_secs(5);

/// What the platform said lately.
#[derive(Debug)]
pub(super) struct Facts {
    known: Bounded<(BotName, Fact), Told>,
}

/// When the platform said so, and what.
type Told = (Timestamp, Vec<String>);

impl Default for Facts {
    fn default() -> Self {
        Self { known: Bounded::new(FACTS_MAX) }
    }
}

/// Whether somebody holds one of the roles of a list.
enum Held {
    Yes,
    No,
    /// Nobody can tell; the reason is for `/why`.
    Unknown(String),
}

/// The question that an entry of a list makes of a sender, and the id that answers it with yes.
fn question(entry: &Entry, message: &AgentMessage) -> Option<(Fact, String)> {
    let sender = &message.sender.id;
    match entry {
        Entry::Department(id) => Some((Fact::DepartmentsOf(sender.clone()), id.clone())),
        Entry::Group(id) => Some((Fact::GroupsOf(sender.clone()), id.clone())),
        Entry::ChatOwner => {
            let chat = message.reply_fn.destination().chat.clone();
            Some((Fact::OwnerOf(chat), sender.to_string()))
        }
        Entry::Everybody | Entry::Tenant | Entry::Person(_) => None,
    }
}

impl Gateway {
    /// Clears the sender of a job, if that is still to be done. `Some`: the sender is not let in,
    /// and the turn ends so.
    pub(super) async fn clear(
        &self,
        bot: &BotRuntime,
        job: &mut Job,
    ) -> Result<Option<Ended>, TurnError> {
        let Standing::Unclear { may_pair } = job.row.admitted.standing else { return Ok(None) };
        if job.stop.is_ended() {
            return Ok(Some(Ended::silent(Verdict::Stopped, "")));
        }
        let held = tokio::select! {
            () = self.drain().cancelled() => return Err(TurnError::Drained),
            () = job.stop.token().cancelled() => return Ok(Some(Ended::silent(Verdict::Stopped, ""))),
            held = self.standing(bot, &job.row.message) => held,
        };
        match held {
            Ok(Some(standing)) => {
                // From here on it is known: what is begun is not refused after a restart.
                job.row.admitted.standing = standing;
                let row = Box::new(job.row.clone());
                let change = Change::PutInbox { turn: job.turn, row };
                self.shared.store.commit(vec![change]).await?;
                Ok(None)
            }
            Ok(None) if may_pair => Ok(Some(self.offer_pairing(bot, &job.row.message))),
            Ok(None) => Ok(Some(Ended::silent(Verdict::NotAllowed, NOT_IN_USERS))),
            Err(reason) => Ok(Some(Ended::silent(Verdict::NotAllowed, reason))),
        }
    }

    /// What the sender may do; `None`: nothing. The error says why nobody can tell.
    async fn standing(
        &self,
        bot: &BotRuntime,
        message: &AgentMessage,
    ) -> Result<Option<Standing>, String> {
        let admin = self.holds(bot, &bot.rules.admins, message).await;
        if matches!(admin, Held::Yes) {
            return Ok(Some(Standing::Admin));
        }
        let user = if allows_chat(&bot.rules, message) {
            self.holds(bot, &bot.rules.users, message).await
        } else {
            Held::No
        };
        match (user, admin) {
            (Held::Yes, _) => Ok(Some(Standing::User)),
            (Held::Unknown(reason), _) | (_, Held::Unknown(reason)) => Err(reason),
            (Held::No, _) => Ok(None),
        }
    }

    /// Whether the sender of a turn is an admin, asking the platform if need be.
    pub(super) async fn is_admin(&self, bot: &BotRuntime, job: &Job) -> bool {
        job.row.admitted.standing == Standing::Admin
            || matches!(self.holds(bot, &bot.rules.admins, &job.row.message).await, Held::Yes)
    }

    /// Whether the sender holds one of the roles of a list. Its other entries were looked at by
    /// admission.
    async fn holds(&self, bot: &BotRuntime, list: &[Entry], message: &AgentMessage) -> Held {
        let mut unknown = None;
        for (fact, id) in list.iter().filter_map(|entry| question(entry, message)) {
            let Some(people) = &bot.people else {
                return Held::Unknown("nobody here can look roles up".to_owned());
            };
            match self.fact(&bot.name, people.as_ref(), &fact).await {
                Ok(ids) if ids.contains(&id) => return Held::Yes,
                Ok(_) => {}
                Err(error) => {
                    Event::SideEffectFailed { what: "role_lookup", error: &error }.emit();
                    let text = format!("the sender's roles could not be looked up: {error}");
                    unknown = Some(text);
                }
            }
        }
        unknown.map_or(Held::No, Held::Unknown)
    }

    async fn fact(
        &self,
        bot: &BotName,
        people: &dyn People,
        fact: &Fact,
    ) -> Result<Vec<String>, LookupError> {
        let key = (bot.clone(), fact.clone());
        let now = self.shared.clock.now();
        if let Some((at, ids)) = self.shared.facts.known.get(&key)
            && now.since(at) < FACTS_FRESH
        {
            return Ok(ids);
        }
        let mut tries = 1;
        loop {
            match people.ids(bot, fact).await {
                Ok(ids) => {
                    self.shared.facts.known.put(key, (now, ids.clone()));
                    return Ok(ids);
                }
                Err(error) => {
                    let Some(wait) = error.retry_after.filter(|_| tries < TRIES_MAX) else {
                        return Err(error);
                    };
                    tries += 1;
                    tokio::time::sleep(wait.min(TRY_WAIT_MAX)).await;
                }
            }
        }
    }
}
