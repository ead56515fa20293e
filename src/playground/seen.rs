//! What a person sees of a chat: the one text of each message after its edits, what was taken
//! back, who answered whom.

mod states;

use serde::Serialize;

use super::card::{self, SeenCard};
use super::content;
use super::world::{Actor, Message, World};
pub use states::SeenState;
pub(crate) use states::States;

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
    /// What it says now, mentions as `@name`; empty once it was taken back. Of a card: its title,
    /// texts and buttons, but not what is inside of folded panels ([`SeenCard::folded`]).
    pub text: String,
    /// The card of an interactive message; none once it was taken back.
    pub card: Option<SeenCard>,
    /// The content in the received form.
    pub content: String,
    /// Whether it was taken back.
    pub recalled: bool,
    /// How many times it was edited.
    pub edits: u64,
    /// How many times people pressed something in its card.
    pub presses: u64,
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

/// Notes what people see of a bot's message, if that is something new.
pub(crate) fn note(world: &mut World, message_id: &str, now_ms: u64) {
    let Some(message) = world.messages.get(message_id) else {
        return;
    };
    let shown = seen(world, message);
    let now = SeenState {
        at_ms: now_ms,
        edits: shown.edits,
        buttons: shown.card.as_ref().map_or(0, |card| card.buttons.len()),
        streaming: shown.card.is_some_and(|card| card.streaming),
        text_bytes: shown.text.len(),
        text: shown.text,
        recalled: shown.recalled,
    };
    world.states.note(message_id, now);
}

pub(crate) fn seen(world: &World, message: &Message) -> SeenMessage {
    let card = message.card.as_ref().filter(|_| !message.recalled).map(|card| {
        let seen = card::seen(card, world);
        // Without an entity nothing can be streamed into it.
        SeenCard { streaming: seen.streaming && message.card_id.is_some(), ..seen }
    });
    let text = match &card {
        _ if message.recalled => String::new(),
        Some(card) => card.text(),
        None => content::shown(&message.content, &message.mentions),
    };
    let reactions = message.reactions.iter().map(|reaction| SeenReaction {
        emoji: reaction.emoji_type.clone(),
        by: name(world, &reaction.by),
    });
    let named = message.mentions.iter().map(|mention| mention.name.clone());
    let in_card = card.iter().flat_map(|card| card.mentions.iter().cloned());
    let mentions = named.chain(in_card).collect();
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
        presses: message.presses,
        reply_to: message.parent_id.clone(),
        thread_id: message.thread_id.clone(),
        mentions,
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
