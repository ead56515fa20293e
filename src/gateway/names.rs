//! What people are called: mentions tell it, and the platform is asked for the rest. Whoever wants
//! a name has the id and can do without.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::bot::BotRuntime;
use super::bounded::Bounded;
use super::flow::Gateway;
use crate::base::{BotName, Timestamp, UserId};
use crate::envelope::{AgentMessage, LookupError};
use crate::store::InboxV1;
use crate::telemetry::Event;

/// For so long nobody asks again about a person, whether there was a name or not.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// After a refusal a bot asks about nobody for so long: mostly it lacks the right.
const REFUSED: Duration = Duration::from_secs(3600);
/// Without an answer, or after a failure that may pass, the same people are not asked about before
/// this.
const PAUSE: Duration = Duration::from_secs(60);
/// How many people, and bots that were refused, are remembered.
const REMEMBERED_MAX: usize = 10_000;
/// At once at most so many people are asked about.
const ASKED_MAX: usize = 10;
/// Names are waited for so long.
const TIME_MAX: Duration = Duration::from_secs(1);

/// The names that are known.
#[derive(Debug)]
pub(super) struct Names {
    known: Bounded<UserId, Known>,
    /// When a bot that was refused may ask again.
    refused: Bounded<BotName, Timestamp>,
}

#[derive(Clone, Debug)]
struct Known {
    name: Option<String>,
    /// When to ask. The name serves on until there is another one.
    ask_at: Timestamp,
}

impl Default for Names {
    fn default() -> Self {
        Self { known: Bounded::new(REMEMBERED_MAX), refused: Bounded::new(REMEMBERED_MAX) }
    }
}

impl Names {
    /// Learns from those who are mentioned in a message.
    pub(super) fn hears(&self, message: &AgentMessage, now: Timestamp) {
        for mention in message.mentions.iter().filter(|mention| mention.unnamed().is_none()) {
            if let Some(id) = &mention.id {
                self.note(id.clone(), Some(mention.name.clone()), now.after(DAY));
            }
        }
    }

    fn name(&self, person: &UserId) -> Option<String> {
        self.known.get(person)?.name
    }

    /// Notes when to ask about a person, and a name if one was told.
    fn note(&self, person: UserId, name: Option<String>, ask_at: Timestamp) {
        let name = name.or_else(|| self.name(&person));
        self.known.put(person, Known { name, ask_at });
    }

    /// Whom to ask about now. Nobody else asks about them meanwhile.
    fn due(&self, bot: &BotName, people: &[UserId], now: Timestamp) -> Vec<UserId> {
        let mut due: Vec<UserId> = Vec::new();
        if self.refused.get(bot).is_some_and(|until| now < until) {
            return due;
        }
        for person in people {
            let is_due = self.known.get(person).is_none_or(|known| known.ask_at <= now);
            if is_due && due.len() < ASKED_MAX {
                due.push(person.clone());
                self.note(person.clone(), None, now.after(PAUSE));
            }
        }
        due
    }

    /// Learns what the platform said about those who were asked about.
    fn learn(
        &self,
        bot: &BotName,
        asked: Vec<UserId>,
        told: Result<Vec<(UserId, String)>, LookupError>,
        now: Timestamp,
    ) {
        let (names, span) = match told {
            Ok(names) => (names, DAY),
            Err(error) => {
                Event::SideEffectFailed { what: "names", error: &error }.emit();
                if error.retry_after.is_none() {
                    self.refused.put(bot.clone(), now.after(REFUSED));
                }
                (Vec::new(), error.retry_after.map_or(DAY, |wait| wait.max(PAUSE)))
            }
        };
        let mut names: HashMap<UserId, String> = names.into_iter().collect();
        for person in asked {
            let name = names.remove(&person);
            self.note(person, name, now.after(span));
        }
    }
}

impl Gateway {
    /// Who may be named in an answer, by which name: whoever asked, and who was named in what is
    /// answered. Two people of one name are nobody.
    pub(super) fn people_of(&self, row: &InboxV1) -> Arc<[(String, UserId)]> {
        let mut people: Vec<(String, UserId)> = Vec::new();
        for message in row.originals() {
            let sender = &message.sender;
            let name = sender.display_name.clone().or_else(|| self.shared.names.name(&sender.id));
            people.extend(name.map(|name| (name, sender.id.clone())));
            let named = message.mentions.iter().filter(|mention| mention.unnamed().is_none());
            people.extend(named.filter_map(|one| Some((one.name.clone(), one.id.clone()?))));
        }
        people.sort();
        people.dedup();
        let is_unique = |name: &str| people.iter().filter(|(other, _)| other == name).count() == 1;
        people.iter().filter(|(name, _)| is_unique(name)).cloned().collect()
    }

    /// The names of people, as far as they are known or come in time. Who is asked about is asked
    /// about to the end, so that the next turn has the name.
    pub(super) async fn names_of(
        &self,
        bot: &BotRuntime,
        people: &[UserId],
    ) -> HashMap<UserId, String> {
        let due = self.shared.names.due(&bot.name, people, self.shared.clock.now());
        if let Some(platform) = bot.people.clone().filter(|_| !due.is_empty()) {
            let (gateway, bot) = (self.clone(), bot.name.clone());
            let (asking, asked) = oneshot::channel::<()>();
            self.shared.tasks.spawn("names", async move {
                tokio::select! {
                    () = gateway.drain().cancelled() => {}
                    told = platform.names(&bot, &due) => {
                        let now = gateway.shared.clock.now();
                        gateway.shared.names.learn(&bot, due, told, now);
                    }
                }
                drop(asking);
            });
            // Its end is all that matters, and even that only if it comes in time.
            drop(tokio::time::timeout(TIME_MAX, asked).await);
        }
        let named = |person: &UserId| Some((person.clone(), self.shared.names.name(person)?));
        people.iter().filter_map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::MessageId;
    use crate::envelope::Mention;

    const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    const MOMENT: Duration = Duration::from_millis(1);

    fn bot() -> BotName {
        BotName::new("b")
    }

    fn ann() -> UserId {
        UserId::new("ou_ann")
    }

    fn ben() -> UserId {
        UserId::new("ou_ben")
    }

    fn failed(retry_after: Option<Duration>) -> LookupError {
        LookupError { text: "no".to_owned(), retry_after }
    }

    #[test]
    fn a_name_is_asked_for_once_a_day_and_serves_until_there_is_a_new_one() {
        let names = Names::default();
        let asked = names.due(&bot(), &[ann(), ben(), ann()], NOW);
        assert_eq!(asked, [ann(), ben()]);
        assert!(names.due(&bot(), &[ann()], NOW).is_empty(), "the platform is being asked");
        names.learn(&bot(), asked, Ok(vec![(ann(), "Ann".to_owned())]), NOW);
        assert_eq!((names.name(&ann()).as_deref(), names.name(&ben())), (Some("Ann"), None));
        let before = NOW.after(DAY).before(MOMENT);
        assert!(names.due(&bot(), &[ann(), ben()], before).is_empty(), "nor about the nameless");
        assert_eq!(names.due(&bot(), &[ann()], NOW.after(DAY)), [ann()]);
        names.learn(&bot(), vec![ann()], Err(failed(Some(PAUSE))), NOW.after(DAY));
        assert_eq!(names.name(&ann()).as_deref(), Some("Ann"));
    }

    #[test]
    fn after_a_failure_that_may_pass_the_same_people_are_asked_about_after_a_while() {
        let names = Names::default();
        names.learn(&bot(), vec![ann()], Err(failed(Some(Duration::ZERO))), NOW);
        let others: Vec<UserId> = (0..20).map(|n| UserId::new(format!("ou_{n}"))).collect();
        assert_eq!(names.due(&bot(), &others, NOW).len(), ASKED_MAX, "nobody is held back by it");
        assert!(names.due(&bot(), &[ann()], NOW.after(PAUSE).before(MOMENT)).is_empty());
        assert_eq!(names.due(&bot(), &[ann()], NOW.after(PAUSE)), [ann()]);
    }

    #[test]
    fn a_refused_bot_asks_about_nobody_for_a_time() {
        let names = Names::default();
        names.learn(&bot(), vec![ann()], Err(failed(None)), NOW);
        let people = [ann(), ben()];
        assert_eq!(names.due(&BotName::new("other"), &people, NOW), [ben()]);
        assert!(names.due(&bot(), &people, NOW.after(REFUSED).before(MOMENT)).is_empty());
        assert_eq!(names.due(&bot(), &people, NOW.after(REFUSED)), [ben()]);
        assert_eq!(names.due(&bot(), &people, NOW.after(DAY)), people);
    }

    #[test]
    fn who_is_mentioned_by_name_need_not_be_asked_about() {
        let names = Names::default();
        let mut message = AgentMessage::from_cli(bot(), MessageId::new("m"), "hi");
        let mention =
            |id: &str, name: &str| Mention { id: Some(UserId::new(id)), name: name.to_owned() };
        message.mentions = vec![mention("ou_ann", "Ann"), mention("ou_ben", "ou_ben")];
        names.hears(&message, NOW);
        assert_eq!(names.due(&bot(), &[ann(), ben()], NOW), [ben()]);
        assert_eq!((names.name(&ann()).as_deref(), names.name(&ben())), (Some("Ann"), None));
    }
}
