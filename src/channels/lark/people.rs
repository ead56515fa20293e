//! What the platform knows of people, asked by the bots' API clients.

use async_trait::async_trait;

use super::content::one_line;
use super::outlet::{LarkOutlet, lookup_error, unknown};
use crate::base::{BotName, UserId};
use crate::envelope::{Fact, LookupError, People};

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

#[async_trait]
impl People for LarkOutlet {
    async fn ids(&self, bot: &BotName, fact: &Fact) -> Result<Vec<String>, LookupError> {
        let bot = self.bot(bot).ok_or_else(|| unknown(bot))?;
        let ids = match fact {
            Fact::DepartmentsOf(user) => bot.api().departments_of(user).await,
            Fact::GroupsOf(user) => bot.api().groups_of(user).await,
            Fact::OwnerOf(chat) => {
                bot.api().owner_of(chat).await.map(|owner| owner.into_iter().collect())
            }
        };
        ids.map_err(|error| lookup_error(&error))
    }

    async fn names(
        &self,
        bot: &BotName,
        people: &[UserId],
    ) -> Result<Vec<(UserId, String)>, LookupError> {
        let bot = self.bot(bot).ok_or_else(|| unknown(bot))?;
        let names = bot.api().names_of(people).await.map_err(|error| lookup_error(&error))?;
        let clean = names.into_iter().map(|(id, name)| (id, one_line(&name, NAME_CHARS_MAX)));
        Ok(clean.filter(|(_, name)| !name.is_empty()).collect())
    }
}
