//! The way out: operations of the outbox and look-ups, carried out by the bot's API client.

use std::sync::Arc;

use async_trait::async_trait;

use super::api::{ApiError, Change, LarkApi, MessageRecord, Said, TEXT_BYTES_MAX, fits_card};
use super::bot::{LarkBot, LarkBots};
use super::content::UNTITLED;
use super::forward::flatten;
use super::growing::{finalise, grow, prepare};
use super::pictures::keys;
use super::render::{Known, cost};
use crate::base::{BotName, ChatId, Disposition, MessageId, Timestamp, UserId};
use crate::envelope::{
    Attachment, AttachmentKind, Card, Certainty, DeliverError, Delivered, Delivery, Destination,
    Draft, Form, LookedUp, Lookup, LookupError, Operation, Outlet, Quoted, Reaction, Resource,
    ResourceError,
};

/// The emoji of [`Reaction::Working`]; bots of the platform's own use it for the same.
const EMOJI_WORKING: &str = "Typing";
/// Of a thread whose first message is gone so many of the newest are looked at.
const THREAD_MESSAGES: usize = 3;

/// The outlet of all Lark bots.
#[derive(Clone, Debug)]
pub struct LarkOutlet {
    bots: Arc<LarkBots>,
}

impl LarkOutlet {
    /// An outlet for the given bots.
    pub fn new(bots: Arc<LarkBots>) -> Self {
        Self { bots }
    }

    pub(super) fn bot(&self, name: &BotName) -> Option<Arc<LarkBot>> {
        self.bots.get(name)
    }
}

#[async_trait]
impl Outlet for LarkOutlet {
    async fn deliver(&self, delivery: &Delivery) -> Result<Delivered, DeliverError> {
        let bot = self.bot(&delivery.bot).ok_or_else(|| DeliverError {
            certainty: Certainty::NotSent,
            // Its keys may be missing today and there after the next start.
            disposition: Disposition::Retry { after: None },
            code: None,
            target_gone: false,
            content_refused: false,
            words_refused: false,
            text: format!("no Lark bot named {} runs here", delivery.bot),
        })?;
        let id = carry_out(&bot, delivery).await.map_err(|error| deliver_error(&error))?;
        Ok(Delivered { id })
    }

    fn text_bytes_max(&self) -> usize {
        TEXT_BYTES_MAX
    }

    fn text_bytes(&self, text: &str) -> usize {
        // As a card, the form that needs the most room.
        cost(text)
    }

    fn takes_card(&self, card: &Card) -> bool {
        fits_card(card)
    }

    fn form(&self, bot: &BotName) -> Form {
        self.bot(bot).map_or(Form::Text, |bot| bot.form())
    }

    fn grows(&self, bot: &BotName) -> bool {
        self.bot(bot).is_some_and(|bot| bot.grows())
    }
}

async fn carry_out(bot: &LarkBot, delivery: &Delivery) -> Result<String, ApiError> {
    let (api, uuid) = (bot.api(), delivery.uuid.as_str());
    let pictures = match shown_for_good(&delivery.operation) {
        Some(text) => keys(bot, text).await,
        None => Vec::new(),
    };
    let known = Known { people: &delivery.people, pictures: &pictures };
    let said = |text, form, card| said(bot, (text, form, card), known);
    match &delivery.operation {
        Operation::Create { destination, text, form, card } => {
            create(api, destination, said(text, *form, card.as_deref()), uuid).await
        }
        Operation::Reply { destination, text, form, card } => {
            reply(api, destination, said(text, *form, card.as_deref()), uuid).await
        }
        Operation::Prepare { draft } => prepare(api, draft, known).await,
        Operation::Show { destination, growth, .. } => {
            reply(api, destination, Said::Entity(growth), uuid).await
        }
        Operation::Grow { growing, draft, only_text } => {
            let change = Change { growing, uuid };
            grow(api, change, (draft, *only_text), known).await.map(|()| String::new())
        }
        Operation::Renew { growing } => {
            api.let_grow(Change { growing, uuid }, true).await.map(|()| String::new())
        }
        Operation::Finalise { growing, draft, .. } => {
            finalise(api, (growing, uuid), draft, known).await.map(|()| String::new())
        }
        Operation::ChangeCard { message, card } => {
            api.change_card(message, Said::Card(card, bot.buttons())).await?;
            Ok(message.as_str().to_owned())
        }
        Operation::ChangeText { message, text, .. } => {
            api.change_card(message, Said::Markdown(text, known)).await?;
            Ok(message.as_str().to_owned())
        }
        Operation::React { message, reaction } => api.react(message, emoji(*reaction)).await,
        Operation::Unreact { message, reaction, reaction_id } => {
            let removed = api.unreact(message, emoji(*reaction), reaction_id.as_deref()).await;
            done_or_gone(removed)
        }
        Operation::Recall { message } => done_or_gone(api.recall(message).await),
    }
}

/// The text of a card that is to stay.
fn shown_for_good(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::Create { text, form: Form::Card, card: None, .. }
        | Operation::Reply { text, form: Form::Card, card: None, .. }
        | Operation::ChangeText { text, .. }
        | Operation::Finalise { draft: Draft { text, .. }, .. } => Some(text),
        _ => None,
    }
}

fn said<'a>(
    bot: &'a LarkBot,
    (text, form, card): (&'a str, Form, Option<&'a Card>),
    known: Known<'a>,
) -> Said<'a> {
    match (card, form) {
        (Some(card), _) => Said::Card(card, bot.buttons()),
        (None, Form::Card) => Said::Markdown(text, known),
        (None, Form::Post) => Said::Post(text, known),
        (None, Form::Text) => Said::Text(text),
    }
}

async fn reply(
    api: &LarkApi,
    destination: &Destination,
    said: Said<'_>,
    uuid: &str,
) -> Result<String, ApiError> {
    let Some(message) = &destination.reply_to else {
        return create(api, destination, said, uuid).await;
    };
    let id = api.reply(&destination.chat, message, said, destination.in_thread, uuid).await?;
    Ok(id.as_str().to_owned())
}

/// A message of its own. A thread is no receiver (a message sent to its id would begin another
/// one): into a thread leads an answer to a message that is there.
async fn create(
    api: &LarkApi,
    destination: &Destination,
    said: Said<'_>,
    uuid: &str,
) -> Result<String, ApiError> {
    let chat = &destination.chat;
    if let Some(thread) = &destination.thread {
        if let Some(root) = &thread.root {
            match api.reply(chat, root, said, true, uuid).await {
                Err(error) if error.is_target_gone() => {}
                outcome => return outcome.map(|id| id.as_str().to_owned()),
            }
        }
        let there = match api.thread(&thread.id, Timestamp::default(), THREAD_MESSAGES).await {
            // Whoever may not read it must do without.
            Err(error) if !matches!(error.disposition(), Disposition::Retry { .. }) => Vec::new(),
            outcome => outcome?,
        };
        for record in there.iter().rev().filter(|record| !record.deleted) {
            match api.reply(chat, &record.id, said, true, uuid).await {
                Err(error) if error.is_target_gone() => {}
                outcome => return outcome.map(|id| id.as_str().to_owned()),
            }
        }
    }
    // All of the thread is gone, or there never was one.
    Ok(api.create(chat, said, uuid).await?.as_str().to_owned())
}

/// What should disappear and is gone already has disappeared.
fn done_or_gone(outcome: Result<(), ApiError>) -> Result<String, ApiError> {
    match outcome {
        Err(error) if !error.is_gone() => Err(error),
        Ok(()) | Err(_) => Ok(String::new()),
    }
}

const fn emoji(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Working => EMOJI_WORKING,
    }
}

fn deliver_error(error: &ApiError) -> DeliverError {
    DeliverError {
        certainty: error.certainty(),
        disposition: error.disposition(),
        code: error.code(),
        target_gone: error.is_target_gone(),
        content_refused: error.is_content_refused(),
        words_refused: error.are_words_refused(),
        text: error.to_string(),
    }
}

#[async_trait]
impl Lookup for LarkOutlet {
    async fn history(
        &self,
        bot: &BotName,
        chat: &ChatId,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<LookedUp>, LookupError> {
        let bot = self.bot(bot).ok_or_else(|| unknown(bot))?;
        let records =
            bot.api().history(chat, since, limit).await.map_err(|error| lookup_error(&error))?;
        Ok(looked_up(bot.api(), records))
    }

    async fn thread(
        &self,
        bot: &BotName,
        thread: &str,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<LookedUp>, LookupError> {
        let bot = self.bot(bot).ok_or_else(|| unknown(bot))?;
        let records =
            bot.api().thread(thread, since, limit).await.map_err(|error| lookup_error(&error))?;
        Ok(looked_up(bot.api(), records))
    }

    async fn quoted(&self, bot: &BotName, id: &MessageId) -> Result<Option<Quoted>, LookupError> {
        let bot = self.bot(bot).ok_or_else(|| unknown(bot))?;
        let records = bot.api().get_whole(id).await.map_err(|error| lookup_error(&error))?;
        Ok(quoted(bot.api(), &records))
    }

    async fn resource(
        &self,
        bot: &BotName,
        carrier: &MessageId,
        attachment: &Attachment,
    ) -> Result<Resource, ResourceError> {
        let running =
            self.bot(bot).ok_or_else(|| ResourceError { code: None, text: unknown(bot).text })?;
        let Attachment { key, kind, .. } = attachment;
        let fetched = running.api().resource(carrier, key, *kind).await;
        let fetched = fetched
            .map_err(|error| ResourceError { code: error.code(), text: error.to_string() })?;
        Ok(Resource { bytes: fetched.bytes, length: fetched.length })
    }
}

/// The first record is the message itself.
fn quoted(api: &LarkApi, records: &[MessageRecord]) -> Option<Quoted> {
    let message = records.first()?;
    let is_forward =
        message.attachments.iter().any(|attachment| attachment.kind == AttachmentKind::Forward);
    let (forwarded, left_out) =
        if is_forward { flatten(&message.id, records) } else { (Vec::new(), 0) };
    let own = message.sender.as_deref().is_some_and(|id| api.is_own(id));
    Some(Quoted {
        text: words(&message.text, own),
        sender: message.sender.as_ref().map(UserId::new),
        own,
        is_person: message.is_person,
        tenant: message.tenant.clone(),
        attachments: Attachment::carried(&message.attachments, &message.id),
        forwarded,
        left_out,
    })
}

fn looked_up(api: &LarkApi, records: Vec<MessageRecord>) -> Vec<LookedUp> {
    let looked_up = |record: MessageRecord| {
        let own = record.sender.as_deref().is_some_and(|id| api.is_own(id));
        LookedUp {
            own,
            id: record.id,
            text: words(&record.text, own),
            parent: record.parent,
            created_at: record.created_at,
        }
    };
    records.into_iter().map(looked_up).collect()
}

/// What a message says. An own answer is no less its words for being shown as a card.
fn words(text: &str, own: bool) -> String {
    let bare = text.strip_prefix(UNTITLED).map(str::trim_start).filter(|_| own);
    bare.unwrap_or(text).to_owned()
}

pub(super) fn unknown(bot: &BotName) -> LookupError {
    // Its keys may be there after the next start.
    let retry_after = Some(LOOKUP_PAUSE);
    LookupError { text: format!("no Lark bot named {bot} runs here"), retry_after }
}

/// How long to wait before asking again where the platform names no time.
const LOOKUP_PAUSE: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) fn lookup_error(error: &ApiError) -> LookupError {
    LookupError {
        text: error.to_string(),
        retry_after: match error.disposition() {
            Disposition::Retry { after } => Some(after.unwrap_or(LOOKUP_PAUSE)),
            Disposition::Reject | Disposition::Fatal => None,
        },
    }
}

#[cfg(test)]
#[path = "outlet_tests.rs"]
mod tests;
