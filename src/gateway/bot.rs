//! A bot as the gateway runs it: rules, words, an engine and ways out.

use std::collections::HashMap;
use std::sync::Arc;

use super::admit::AdmissionRules;
use super::attention::thread_of;
use super::lookups::Beside;
use crate::agent::{
    Driver, NO_WORDS, PromptParts, RunSpec, Source, UnknownPreset, preset, system_prompt,
};
use crate::base::{BotName, Locale, SessionKey, TurnId};
use crate::bots::ScheduleDefinition;
use crate::envelope::{
    AgentMessage, Channel, Exchange, Knowledge, Links, Lookup, Outlet, People, SenderKind, Speaker,
};
use crate::llm::ChatMessage;

/// What one conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// Everybody in a chat shares one.
    #[default]
    Chat,
    /// Each person in a chat has their own.
    User,
    /// Each thread has its own, and what is outside of threads has one.
    Thread,
}

/// What to do with a send that may have arrived when the platform no longer tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InDoubt {
    /// Send it again, marked as possibly repeated.
    #[default]
    Resend,
    /// Leave it.
    Drop,
}

/// Everything the gateway needs to run one bot.
#[derive(Clone)]
pub struct BotRuntime {
    /// Its name.
    pub name: BotName,
    /// Whom it talks to.
    pub rules: AdmissionRules,
    /// The language of the daemon's own sentences in its chats.
    pub locale: Locale,
    /// Who it is, for the model; may be empty.
    pub persona: String,
    /// Its preset on Lark.
    pub preset: String,
    /// What one conversation is.
    pub session_scope: SessionScope,
    /// At most this many messages of a session wait.
    pub queue_max: usize,
    /// Whether it says who it is when it comes into a chat.
    pub welcome: bool,
    /// Questions that its welcome offers to press.
    pub examples: Vec<String>,
    /// What to do with doubtful sends.
    pub in_doubt: InDoubt,
    /// Its engine.
    pub driver: Driver,
    /// Its ways out.
    pub outlets: HashMap<Channel, Arc<dyn Outlet>>,
    /// Who knows the people it talks to; without, nobody holds a role.
    pub people: Option<Arc<dyn People>>,
    /// Who knows how its connection is, where it needs one.
    pub links: Option<Arc<dyn Links>>,
    /// What its team knows.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// The page of a recipe, `{path}` in the place of its file; empty: it has none.
    pub knowledge_url: String,
    /// What it does by the clock.
    pub schedules: Vec<ScheduleDefinition>,
    /// What can be read back of the channels.
    pub lookups: HashMap<Channel, Arc<dyn Lookup>>,
}

impl std::fmt::Debug for BotRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BotRuntime").field("name", &self.name).finish_non_exhaustive()
    }
}

impl BotRuntime {
    /// The session of a message.
    pub(super) fn session_of(&self, message: &AgentMessage) -> SessionKey {
        let chat = &message.reply_fn.destination().chat;
        match self.session_scope {
            SessionScope::Chat => SessionKey::new(format!("{}/{chat}", self.name)),
            SessionScope::User => {
                SessionKey::new(format!("{}/{chat}/{}", self.name, message.sender.id))
            }
            SessionScope::Thread => match thread_of(message) {
                Some(thread) => SessionKey::new(format!("{}/{chat}/{thread}", self.name)),
                None => SessionKey::new(format!("{}/{chat}", self.name)),
            },
        }
    }

    /// What a run about `message` is started with, and with what was found out `beside` it.
    ///
    /// # Errors
    /// [`UnknownPreset`] if the route names one that does not exist.
    pub(super) fn run_spec(
        &self,
        turn: TurnId,
        message: &AgentMessage,
        beside: Beside,
        preset_name: &str,
        epoch: u64,
    ) -> Result<RunSpec, UnknownPreset> {
        let preset = preset(preset_name)?;
        let tools = self.driver.pipeline.specs(&preset.tools());
        let parts = PromptParts {
            persona: &self.persona,
            preset: &preset,
            tools: &tools,
            locale: self.locale,
        };
        Ok(RunSpec {
            turn,
            session: message.session.id.clone(),
            sender: message.sender.id.clone(),
            source: match message.sender.kind {
                SenderKind::User | SenderKind::Agent => Source::User,
                SenderKind::System => Source::System,
            },
            locale: self.locale,
            system: system_prompt(parts),
            history: message.session.history.iter().map(chat_message).collect(),
            question: if beside.question.is_empty() {
                NO_WORDS.to_owned()
            } else {
                beside.question
            },
            context: beside.context,
            notice: beside.notice,
            tools,
            iterations_max: preset.iterations_max,
            wall_time: preset.wall_time,
            max_tokens: preset.max_tokens,
            temperature: preset.temperature,
            context_window: self.driver.model.context_window(),
            has_fallback: false,
            epoch,
        })
    }
}

fn chat_message(exchange: &Exchange) -> ChatMessage {
    let text = exchange.content.clone();
    match exchange.speaker {
        Speaker::User => ChatMessage::User { text },
        Speaker::Assistant => ChatMessage::Assistant { text, calls: Vec::new() },
    }
}
