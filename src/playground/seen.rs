//! What a person sees of a chat: the one text of each message after its edits, what was taken
//! back, who answered whom.

use serde::Serialize;

use super::card::{self, SeenCard};
use super::content;
use super::world::{Actor, Message, World};

/// A reaction as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenReaction {
    /// Its name, such as `Typing`.
    pub emoji: String,
    /// The alias of the user or the name of the bot.
    pub by: String,
}

/// A message as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenMessage {
    /// `om_…`
    pub message_id: String,
    /// `oc_…`
    pub chat_id: String,
    /// The alias of the user or the name of the bot.
    pub sender: String,
    /// Whether a bot sent it.
    pub from_bot: bool,
    /// `text`, `post`, …
    pub msg_type: String,
    /// Its present text, mentions as `@name`; empty once it was taken back.
    pub text: String,
    /// The card of an interactive message; none once it was taken back.
    pub card: Option<SeenCard>,
    /// The content in the received form.
    pub content: String,
    /// Whether it was taken back.
    pub recalled: bool,
    /// How many times it was edited.
    pub edits: u64,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// `omt_…`
    pub thread_id: Option<String>,
    /// The names of those it mentions.
    pub mentions: Vec<String>,
    /// Whether it mentions, or ever mentioned, everyone.
    pub mentions_all: bool,
    /// The reactions on it now.
    pub reactions: Vec<SeenReaction>,
    /// When it was sent, on the simulator's clock, in milliseconds.
    pub at_ms: u64,
}

pub(crate) fn seen(world: &World, message: &Message) -> SeenMessage {
    let card = message.card.as_ref().filter(|_| !message.recalled).map(card::seen);
    let text = match &card {
        _ if message.recalled => String::new(),
        Some(card) => card.text(),
        None => content::shown(&message.content, &message.mentions),
    };
    let reactions = message.reactions.iter().map(|reaction| SeenReaction {
        emoji: reaction.emoji_type.clone(),
        by: name(world, &reaction.by),
    });
    SeenMessage {
        message_id: message.message_id.clone(),
        chat_id: message.chat_id.clone(),
        sender: name(world, &message.sender),
        from_bot: matches!(message.sender, Actor::App(_)),
        msg_type: message.msg_type.clone(),
        text,
        card,
        content: message.content.clone(),
        recalled: message.recalled,
        edits: message.edits,
        reply_to: message.parent_id.clone(),
        thread_id: message.thread_id.clone(),
        mentions: message.mentions.iter().map(|mention| mention.name.clone()).collect(),
        mentions_all: message.mentions_all,
        reactions: reactions.collect(),
        at_ms: message.created_ms,
    }
}

fn name(world: &World, actor: &Actor) -> String {
    match actor {
        Actor::User(open_id) => world.user(open_id).map_or(open_id, |user| &user.alias).clone(),
        Actor::App(app_id) => world.app(app_id).map_or(app_id, |app| &app.name).clone(),
    }
}

/// Everything of a chat in the order of arrival, also what was taken back.
pub(crate) fn visible(world: &World, chat_id: &str) -> Vec<SeenMessage> {
    world.messages_of(chat_id).map(|message| seen(world, message)).collect()
}

/// What a person sees as the bots' answers to one message: edits add nothing, and what was taken
/// back is not there.
pub(crate) fn answers_to(world: &World, message_id: &str) -> Vec<SeenMessage> {
    let ids = world.answers.get(message_id).map_or(&[][..], Vec::as_slice);
    ids.iter()
        .filter_map(|id| world.messages.get(id))
        .filter(|message| !message.recalled && matches!(message.sender, Actor::App(_)))
        .map(|message| seen(world, message))
        .collect()
}
