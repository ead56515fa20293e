//! The ports that peers need of one another. Each is a role; implementations say how.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::message::{AgentMessage, Attachment, Channel};
use super::origin::{DedupKey, Incoming, Notice};
use super::path::MessagePath;
use super::place::InPlace;
use super::press::{Press, PressReply};
use crate::base::{BotName, ChatId, MessageId, SessionKey, Timestamp, TurnId, UserId, Verdict};

/// What a channel hands in.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// A message, which may start work.
    Message(Box<Incoming>),
    /// Any other event: acknowledged and noted.
    Notice(Notice),
    /// What the configuration asks for.
    Errand(Box<Errand>),
}

/// Work that the operator's configuration asks for: a schedule is due, a webhook was called. No
/// list of people decides about it.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The bot that does it.
    pub bot: BotName,
    /// What is to be done. Its reply handle says where the outcome goes; its id is what people can
    /// ask about.
    pub message: AgentMessage,
    /// Any of these seen before makes it a duplicate. At least one.
    pub keys: Vec<DedupKey>,
    /// What kind of work it is.
    pub kind: ErrandKind,
}

/// The kind of work of an [`Errand`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrandKind {
    /// The message is worked on like one that a person sent.
    Work,
    /// What the message says is what is said.
    Post {
        /// Why, for `/why`.
        reason: String,
        /// It tells the state of something, in the place of the state before.
        in_place: Option<InPlace>,
    },
}

/// What became of an arrival. Each of these may be acknowledged to the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Stored and synced; work will happen even if the machine fails now.
    Accepted(TurnId),
    /// Seen before.
    Duplicate,
    /// Starts no work; the verdict is noted.
    NoWork(Verdict),
}

/// The arrival was not taken and must not be acknowledged: the platform will send it again.
#[derive(Debug, thiserror::Error)]
pub enum InletError {
    /// The store cannot take it.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// The daemon is ending.
    #[error("the daemon is draining")]
    Draining,
    /// No such bot runs here.
    #[error("no bot named {0} runs here")]
    UnknownBot(BotName),
}

/// The way in, implemented by the gateway.
#[async_trait]
pub trait Inlet: Send + Sync {
    /// Takes an arrival over. `Ok` means durable: it may be acknowledged.
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError>;

    /// Answers a press. People wait for it with their finger on the button, so it never fails and
    /// never waits for the network.
    async fn press(&self, press: Press) -> PressReply;
}

/// The fate of one event, as `larkspur why --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What became of it.
    pub verdict: Verdict,
    /// Details; may be empty.
    pub reason: String,
    /// Since when that is so.
    pub at: Timestamp,
    /// The turn it became, if it became one.
    pub turn: Option<TurnId>,
    /// The messages that were sent for it.
    pub message_ids: Vec<MessageId>,
}

/// Steering and questions from outside of the conversation, implemented by the gateway.
#[async_trait]
pub trait Control: Send + Sync {
    /// What became of a message, by its own id or by the id of an answer to it.
    /// A message nobody knows has the verdict `never_received`.
    async fn why(&self, message: &MessageId) -> Result<Why, InletError>;

    /// The same, and the steps that led there.
    async fn path(&self, message: &MessageId) -> Result<MessagePath, InletError>;

    /// Stops what runs and waits in a session, for good. Returns how many turns that were.
    async fn stop(&self, session: &SessionKey) -> Result<usize, InletError>;
}

/// A message read back from the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedUp {
    /// Its id.
    pub id: MessageId,
    /// Its text.
    pub text: String,
    /// The message it replies to.
    pub parent: Option<MessageId>,
    /// Whether this bot sent it.
    pub own: bool,
    /// When it was sent.
    pub created_at: Timestamp,
}

/// A message that is quoted, with everything that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Its text.
    pub text: String,
    /// Who sent it.
    pub sender: Option<UserId>,
    /// Whether this bot sent it.
    pub own: bool,
    /// Whether a person sent it, no bot.
    pub is_person: bool,
    /// The sender's organisation, as the channel names it.
    pub tenant: Option<String>,
    /// What was sent along; each names its carrier.
    pub attachments: Vec<Attachment>,
    /// If it is a merged forward: what that holds, in order.
    pub forwarded: Vec<Forwarded>,
    /// How many messages of the forward were left out.
    pub left_out: usize,
}

/// One message of a merged forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// How many forwards it is inside of, besides the outermost.
    pub depth: usize,
    /// Who sent it.
    pub sender: Option<UserId>,
    /// Its text.
    pub text: String,
    /// What was sent along; each names its carrier.
    pub attachments: Vec<Attachment>,
}

/// The beginning of a file that was sent along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The first bytes; the channel has a limit.
    pub bytes: Vec<u8>,
    /// How long the whole is, in bytes, where that is known.
    pub length: Option<u64>,
}

/// A file that could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ResourceError {
    /// The platform's own code, if it gave one.
    pub code: Option<i64>,
    /// Why, in words.
    pub text: String,
}

/// A look-up that found out nothing.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct LookupError {
    /// Why.
    pub text: String,
    /// Whether asking again makes sense, and when.
    pub retry_after: Option<Duration>,
}

/// Read-only questions to a platform, implemented by each channel.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// Messages of a chat since `since`, oldest first, at most `limit`.
    async fn history(
        &self,
        bot: &BotName,
        chat: &ChatId,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<LookedUp>, LookupError>;

    /// Messages of a thread since `since`, oldest first; of more than `limit` the newest.
    async fn thread(
        &self,
        bot: &BotName,
        thread: &str,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<LookedUp>, LookupError>;

    /// One message with everything that belongs to it; `None` if the platform says there is none.
    async fn quoted(&self, bot: &BotName, id: &MessageId) -> Result<Option<Quoted>, LookupError>;

    /// The beginning of what was sent along with `carrier`.
    async fn resource(
        &self,
        bot: &BotName,
        carrier: &MessageId,
        attachment: &Attachment,
    ) -> Result<Resource, ResourceError>;
}

/// A question about people that a platform answers with ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The departments that a person is a direct member of.
    DepartmentsOf(UserId),
    /// The user groups that a person belongs to.
    GroupsOf(UserId),
    /// The owner of a chat; nobody if a bot owns it.
    OwnerOf(ChatId),
}

/// What a platform knows of people, implemented by channels whose platform has such records.
#[async_trait]
pub trait People: Send + Sync {
    /// The ids that answer a question.
    async fn ids(&self, bot: &BotName, fact: &Fact) -> Result<Vec<String>, LookupError>;

    /// The names of people, ten at most; who is not known is left out.
    async fn names(
        &self,
        bot: &BotName,
        people: &[UserId],
    ) -> Result<Vec<(UserId, String)>, LookupError>;
}

/// One recipe of the knowledge base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// Stable id, unique in the knowledge base.
    pub id: String,
    /// One line.
    pub title: String,
    /// `rule`, `pattern` or `fact`.
    pub kind: String,
    /// `active` and the other states of its life.
    pub status: String,
    /// Free words.
    pub tags: Vec<String>,
    /// The text, Markdown.
    pub body: String,
    /// The file, relative to its knowledge folder; the link of a citation.
    pub source: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// One result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The recipe's id.
    pub id: String,
    /// The recipe's title.
    pub title: String,
    /// The passage around the best match.
    pub excerpt: String,
    /// The file, relative to its knowledge folder.
    pub source: String,
    /// Higher is better; only comparable within one search.
    pub score: f32,
}

/// What tells a recipe, and one state of it, from another; small, for there may be many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeMark {
    /// The recipe's id.
    pub id: String,
    /// A mark of everything in its file.
    pub content: u64,
    /// Whether it waits for review.
    pub is_waiting: bool,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The knowledge base could not answer.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// The index is broken and could not be rebuilt.
    #[error("the knowledge index cannot be used: {0}")]
    Index(String),
    /// A folder or file cannot be read.
    #[error("the knowledge folder cannot be read: {0}")]
    Unreadable(String),
}

/// What the team knows, implemented by the knowledge base.
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// The best recipes for words in any language, best first, at most `limit`.
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, KnowledgeError>;

    /// One recipe by its id.
    async fn get(&self, id: &str) -> Result<Option<Recipe>, KnowledgeError>;

    /// All recipes, as small as can be.
    async fn catalogue(&self) -> Result<Vec<RecipeMark>, KnowledgeError>;

    /// Recipes changed since `since`, newest first.
    async fn changes(&self, since: Timestamp) -> Result<Vec<Recipe>, KnowledgeError>;
}

/// Whose memory it is. A hard wall: nothing crosses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// One person, wherever they talk.
    User(UserId),
    /// One chat.
    Chat(ChatId),
    /// Everybody the bot talks to.
    Bot(BotName),
}

/// Something remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// For forgetting it.
    pub id: String,
    /// At most 500 characters.
    pub text: String,
    /// Whose it is.
    pub scope: MemoryScope,
}

/// Memory could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("memory is not available: {0}")]
pub struct MemoryError(pub String);

/// Facts and preferences that outlive a conversation.
#[async_trait]
pub trait Memory: Send + Sync {
    /// What the given scopes hold that matters for `query`, best first, at most `limit`.
    async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        limit: usize,
    ) -> Result<Vec<Remembered>, MemoryError>;

    /// Keeps a fact. Returns its id.
    async fn remember(&self, scope: MemoryScope, text: &str) -> Result<String, MemoryError>;

    /// Erases a fact. `false` if the scopes hold none of that id.
    async fn forget(&self, scopes: &[MemoryScope], id: &str) -> Result<bool, MemoryError>;
}

/// Work for a person's editor.
#[derive(Clone, Debug)]
pub struct IdeTask {
    /// What to do, the wrapping words removed.
    pub command: String,
    /// The message that asked for it; its reply handle gets progress and result.
    pub message: AgentMessage,
}

/// The bridge to editors.
#[async_trait]
pub trait Ide: Send + Sync {
    /// Whether an editor would take work from this channel now.
    async fn connected(&self, channel: Channel) -> bool;

    /// Queues work. Returned means durable.
    async fn enqueue(&self, task: IdeTask) -> Result<TurnId, InletError>;
}
