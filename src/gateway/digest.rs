//! Digests: what is new in the knowledge base since the last one, in one card and without a model.
//!
//! What a digest has told is stored in the commit that plans it: after a crash it is either not
//! planned, and the news are still news, or planned, and told once.

mod compose;
mod told;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use self::compose::{News, SECTION_RECIPES_MAX, Section, Wording};
use self::told::Told;
use super::bot::BotRuntime;
use super::flow::Gateway;
use super::plan::Ended;
use super::sessions::Job;
use super::turn::TurnError;
use crate::base::catalogue::DigestSay;
use crate::base::{Say, Verdict};
use crate::bots::{ActionWord, EmptyWord, ScheduleDefinition, local_minute};
use crate::envelope::{Channel, KnowledgeError, RecipeMark};
use crate::store::StoreError;
use crate::telemetry::Event;

/// Where no digest is due, `/digest` shows the changes of so many days.
const RECENT_DAYS: u64 = 7;

/// Keeps other digests from being made until this one is stored.
pub(super) type Held = Arc<OwnedMutexGuard<()>>;

/// A digest could not be made.
enum Trouble {
    Knowledge(KnowledgeError),
    Store(StoreError),
}

impl From<KnowledgeError> for Trouble {
    fn from(error: KnowledgeError) -> Self {
        Self::Knowledge(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Gateway {
    /// Lets digests that are new begin: what is in the knowledge base now is no news to them.
    pub async fn begin_digests(&self) {
        for bot in self.shared.bots.values() {
            for schedule in bot.schedules.iter().filter(|schedule| is_digest(schedule)) {
                match self.begin_digest(bot, &schedule.name).await {
                    Ok(()) => {}
                    // It was told where it failed; the first digest begins it then.
                    Err(Trouble::Knowledge(_told)) => {}
                    Err(Trouble::Store(error)) => {
                        Event::SideEffectFailed { what: "begin_digest", error: &error }.emit();
                    }
                }
            }
        }
    }

    async fn begin_digest(&self, bot: &BotRuntime, schedule: &str) -> Result<(), Trouble> {
        let _held = self.shared.digests.lock().await;
        let store = self.shared.store.as_ref();
        if Told::load(store, &bot.name, schedule).await?.is_none() {
            let told = Told::of(&recipes(bot).await?);
            store.commit(told.changes(None, &bot.name, schedule)?).await?;
        }
        Ok(())
    }

    /// `/digest`: of a schedule that is due, the news; of a person, a look at what the next one
    /// will tell.
    pub(super) async fn digest(
        &self,
        bot: &BotRuntime,
        job: &Job,
        argument: &str,
    ) -> Result<Ended, TurnError> {
        let message = &job.row.message;
        let mut digests = bot.schedules.iter().filter(|schedule| is_digest(schedule));
        let made = if message.channel == Channel::Schedule {
            let Some(schedule) = digests.find(|schedule| schedule.name == argument) else {
                let reason = format!("there is no digest `{argument}` any more");
                return Ok(Ended::silent(Verdict::Failed, reason));
            };
            self.due_digest(bot, job, schedule).await
        } else {
            let chat = message.reply_fn.destination().chat.as_str();
            let schedule = digests.find(|schedule| schedule.chat.trim() == chat);
            self.digest_so_far(bot, schedule).await
        };
        match made {
            Ok(ended) => Ok(ended),
            Err(Trouble::Store(error)) => Err(error.into()),
            // A chat need not hear every morning that a folder is gone; who asks does.
            Err(Trouble::Knowledge(error)) if message.channel == Channel::Schedule => {
                Ok(Ended::silent(Verdict::Failed, error.to_string()))
            }
            Err(Trouble::Knowledge(error)) => {
                let say = Say::Digest(DigestSay::Unreadable);
                let reason = error.to_string();
                Ok(Ended { reason, ..Ended::saying(&say, bot.locale, Verdict::Failed) })
            }
        }
    }

    async fn due_digest(
        &self,
        bot: &BotRuntime,
        job: &Job,
        schedule: &ScheduleDefinition,
    ) -> Result<Ended, Trouble> {
        let held = Arc::clone(&self.shared.digests).lock_owned().await;
        let told = Told::load(self.shared.store.as_ref(), &bot.name, &schedule.name).await?;
        let recipes = recipes(bot).await?;
        let news = News::since(told.as_ref(), &recipes);
        let changes = Told::of(&recipes).besides(told.as_ref()).changes(
            told.as_ref(),
            &bot.name,
            &schedule.name,
        )?;
        let mut ended = if news.is_any || schedule.when_empty == Some(EmptyWord::Post) {
            let when = local_minute(&schedule.timezone, job.row.message.timestamp);
            let mut ended = posted(bot, when, &news, &[DigestSay::New, DigestSay::Changed]).await?;
            ended.reason = format!(
                "digest {}: {} new, {} changed, {} waiting for review",
                schedule.name,
                news.new.len(),
                news.changed.len(),
                news.waiting.len()
            );
            ended
        } else {
            let reason = format!("digest {}: nothing to report, nothing was posted", schedule.name);
            Ended::silent(Verdict::Command, reason)
        };
        ended.changes = changes;
        ended.held = Some(Arc::new(held));
        Ok(ended)
    }

    /// What a digest would tell now. Nothing is told by that.
    async fn digest_so_far(
        &self,
        bot: &BotRuntime,
        schedule: Option<&ScheduleDefinition>,
    ) -> Result<Ended, Trouble> {
        let now = self.shared.clock.now();
        let recipes = recipes(bot).await?;
        let Some(schedule) = schedule else {
            let days = Duration::from_secs(RECENT_DAYS * 24 * 3600);
            let news = News::recent(now.before(days), &recipes);
            let headings = [DigestSay::New, DigestSay::Recent { days: RECENT_DAYS }];
            // A chat without a digest of its own has the time of the bot's others.
            let zone = bot.schedules.first().map_or("UTC", |schedule| &schedule.timezone);
            return posted(bot, local_minute(zone, now), &news, &headings).await;
        };
        let told = Told::load(self.shared.store.as_ref(), &bot.name, &schedule.name).await?;
        let news = News::since(told.as_ref(), &recipes);
        let when = local_minute(&schedule.timezone, now);
        posted(bot, when, &news, &[DigestSay::New, DigestSay::Changed]).await
    }
}

fn is_digest(schedule: &ScheduleDefinition) -> bool {
    schedule.action == ActionWord::KnowledgeDigest
}

async fn recipes(bot: &BotRuntime) -> Result<Vec<RecipeMark>, KnowledgeError> {
    match &bot.knowledge {
        Some(knowledge) => knowledge.catalogue().await,
        None => Ok(Vec::new()),
    }
}

async fn posted(
    bot: &BotRuntime,
    when: String,
    news: &News<'_>,
    [new, changed]: &[DigestSay; 2],
) -> Result<Ended, Trouble> {
    let lists = [(new, &news.new), (changed, &news.changed), (&DigestSay::Waiting, &news.waiting)];
    let mut sections = Vec::with_capacity(lists.len());
    for (heading, marks) in lists {
        sections.push(section(bot, heading.clone(), marks).await?);
    }
    let wording = Wording { locale: bot.locale, page: &bot.knowledge_url };
    let card = wording.card(when, &sections, news.total);
    let text = Some(card.as_text());
    Ok(Ended { text, card: Some(card), ..Ended::silent(Verdict::Command, "") })
}

/// Reads the recipes that are shown. One whose file is gone meanwhile is left out.
async fn section(
    bot: &BotRuntime,
    heading: DigestSay,
    marks: &[&RecipeMark],
) -> Result<Section, KnowledgeError> {
    let mut recipes = Vec::new();
    if let Some(knowledge) = &bot.knowledge {
        for mark in marks.iter().take(SECTION_RECIPES_MAX) {
            recipes.extend(knowledge.get(&mark.id).await?);
        }
    }
    let more = marks.len().saturating_sub(SECTION_RECIPES_MAX);
    Ok(Section { heading, recipes, more })
}
