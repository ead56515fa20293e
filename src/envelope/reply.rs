//! The way out: destinations, the operations of the outbox, and what a delivery can come to.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::card::Card;
use super::draft::{Draft, Growing};
use super::message::Channel;
use crate::base::{BotName, ChatId, Disposition, MessageId, UserId};

/// Where an answer goes. Serialisable, so that it survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The bot that speaks.
    pub bot: BotName,
    /// The channel it speaks through.
    pub channel: Channel,
    /// The conversation.
    pub chat: ChatId,
    /// The message that is answered; `None`: a new message in the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The answer stays in the thread of the message that is answered.
    #[serde(default)]
    pub in_thread: bool,
    /// That thread, where the channel told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Thread>,
}

/// A thread of a chat: an own line of talk below one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its id as the channel names it (`omt_…` on Lark); no message can be sent to it.
    pub id: String,
    /// The message that it began with: an answer to that one is in the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<MessageId>,
}

impl Destination {
    /// A reply to `message` in `chat`.
    pub fn reply(bot: BotName, channel: Channel, chat: ChatId, message: MessageId) -> Self {
        Self { bot, channel, chat, reply_to: Some(message), in_thread: false, thread: None }
    }
}

/// A reply could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// Nobody bound the handle to an outbox.
    #[error("this reply handle is not bound to an outbox")]
    Unbound,
    /// The outbox could not store the reply.
    #[error("the reply could not be stored: {0}")]
    NotStored(String),
}

/// What a bound [`ReplyFn`] hands its text to: the gateway's outbox.
#[async_trait]
pub trait ReplySink: Send + Sync {
    /// Takes over `text` for `destination`. Returned means durable.
    async fn reply(&self, destination: &Destination, text: String) -> Result<(), ReplyError>;
}

/// The reply handle of a message: a destination, and once the gateway has bound it, a way there.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplyFn {
    destination: Destination,
    #[serde(skip)]
    sink: Option<Arc<dyn ReplySink>>,
}

impl ReplyFn {
    /// A handle for `destination`, not bound yet.
    pub fn to(destination: Destination) -> Self {
        Self { destination, sink: None }
    }

    /// Binds the handle to an outbox.
    pub fn bind(&mut self, sink: Arc<dyn ReplySink>) {
        self.sink = Some(sink);
    }

    /// Where the answer goes.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Changes where the answer goes.
    pub fn destination_mut(&mut self) -> &mut Destination {
        &mut self.destination
    }

    /// Replies with `text`. Returned means durable, not yet delivered.
    ///
    /// # Errors
    /// [`ReplyError::Unbound`] before [`ReplyFn::bind`]; [`ReplyError::NotStored`] if the outbox
    /// could not take it.
    pub async fn call(&self, text: impl Into<String>) -> Result<(), ReplyError> {
        match &self.sink {
            Some(sink) => sink.reply(&self.destination, text.into()).await,
            None => Err(ReplyError::Unbound),
        }
    }
}

impl fmt::Debug for ReplyFn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReplyFn")
            .field("destination", &self.destination)
            .field("bound", &self.sink.is_some())
            .finish()
    }
}

/// A sign on somebody's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// The bot is at work on it.
    Working,
}

/// How the Markdown of a text is shown, the richest form first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With everything: headings, lists, tables, code.
    Card,
    /// As a text with links, lists and code.
    Post,
    /// As it was written.
    #[default]
    Text,
}

impl Form {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_text(&self) -> bool {
        *self == Self::Text
    }

    /// The next poorer form.
    pub fn poorer(self) -> Option<Self> {
        match self {
            Self::Card => Some(Self::Post),
            Self::Post => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// Everything the outbox can ask of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// A new message in the chat.
    Create {
        /// Where.
        destination: Destination,
        /// The text, Markdown as models write it.
        text: String,
        /// How the text is shown.
        #[serde(default, skip_serializing_if = "Form::is_text")]
        form: Form,
        /// Goes out in the place of the text, which says the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<Box<Card>>,
    },
    /// An answer to the message that `destination` names.
    Reply {
        /// Where.
        destination: Destination,
        /// The text, Markdown as models write it.
        text: String,
        /// How the text is shown.
        #[serde(default, skip_serializing_if = "Form::is_text")]
        form: Form,
        /// Goes out in the place of the text, which says the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<Box<Card>>,
    },
    /// Makes what a growing message shows first; nobody sees it yet. [`Delivered::id`] is its id.
    Prepare {
        /// What it shows.
        draft: Draft,
    },
    /// Sends what was prepared as an answer to the message that `destination` names.
    Show {
        /// Where.
        destination: Destination,
        /// What [`Delivered::id`] said when it was prepared; it can be sent once.
        growth: String,
        /// How many processes had it before this one: each has sequence numbers of its own.
        #[serde(default)]
        lives: u32,
    },
    /// Puts another draft in a growing message.
    Grow {
        /// Which one.
        growing: Growing,
        /// The whole of what it shows now.
        draft: Draft,
        /// Whether only the text differs from what it showed before, and goes on where that ended.
        only_text: bool,
    },
    /// Keeps a growing message growing: platforms end that on their own after a while.
    Renew {
        /// Which one.
        growing: Growing,
    },
    /// What a growing message shows for good.
    Finalise {
        /// Which one.
        growing: Growing,
        /// Where the words go in a message of their own if it cannot be changed any more.
        destination: Destination,
        /// The whole of what it shows.
        draft: Draft,
    },
    /// Puts a card in the place of the one that an own message shows.
    ChangeCard {
        /// The own message.
        message: MessageId,
        /// The whole new card.
        card: Box<Card>,
    },
    /// Puts a text in the place of the one that an own message shows as a card.
    ChangeText {
        /// The own message.
        message: MessageId,
        /// Where the text goes in a message of its own if that cannot be changed any more.
        destination: Destination,
        /// The whole new text, Markdown as models write it.
        text: String,
    },
    /// Puts a sign on somebody's message.
    React {
        /// The message.
        message: MessageId,
        /// The sign.
        reaction: Reaction,
    },
    /// Takes the sign away.
    Unreact {
        /// The message.
        message: MessageId,
        /// The sign.
        reaction: Reaction,
        /// What [`Delivered::id`] said when it was put there; `None` after a crash: the channel
        /// looks for it.
        reaction_id: Option<String>,
    },
    /// Takes an own message back.
    Recall {
        /// The own message.
        message: MessageId,
    },
}

/// One operation on its way to a channel.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The bot that speaks.
    pub bot: BotName,
    /// What to do.
    pub operation: Operation,
    /// The same for every try of the same operation, at most 50 characters: the platform turns
    /// repetitions into one message.
    pub uuid: String,
    /// Who may be named in it, by the names that stand in its words behind an `@`.
    pub people: Arc<[(String, UserId)]>,
}

impl Delivery {
    /// A delivery in which nobody is named.
    pub fn of(bot: BotName, operation: Operation, uuid: String) -> Self {
        Self { bot, operation, uuid, people: Arc::default() }
    }
}

/// A delivery that the platform confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The platform's id of what was made: a message id, a reaction id; empty where none is.
    pub id: String,
}

/// What is known about a failed try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The platform did not do it.
    NotSent,
    /// The platform may have done it: the answer did not arrive or made no sense.
    MayHaveBeenSent,
}

/// A try that did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct DeliverError {
    /// Whether it may have worked all the same.
    pub certainty: Certainty,
    /// Whether trying again makes sense.
    pub disposition: Disposition,
    /// The platform's own code, where it gave one.
    pub code: Option<i64>,
    /// The message that was to be answered is not there any more. Nothing else is wrong.
    pub target_gone: bool,
    /// It is refused for how it looks or what it says (or nobody knows for what): other words may
    /// pass.
    pub content_refused: bool,
    /// It is refused for what it says: in no form the same words will pass.
    pub words_refused: bool,
    /// For logs and `/why`; holds no secret and no message text.
    pub text: String,
}

/// The way out of the daemon, implemented by each channel.
#[async_trait]
pub trait Outlet: Send + Sync {
    /// Carries out one operation, once. Retrying is the outbox's affair.
    async fn deliver(&self, delivery: &Delivery) -> Result<Delivered, DeliverError>;

    /// The longest text of one message, as [`Outlet::text_bytes`] counts; the outbox splits what
    /// is longer.
    fn text_bytes_max(&self) -> usize;

    /// How much of the limit a text takes: its bytes as they travel, at least those of UTF-8.
    fn text_bytes(&self, text: &str) -> usize {
        text.len()
    }

    /// Whether the channel can show a card like this one; else its text is sent.
    fn takes_card(&self, _card: &Card) -> bool {
        false
    }

    /// The richest form that texts of a bot are sent in.
    fn form(&self, _bot: &BotName) -> Form {
        Form::Text
    }

    /// Whether answers of a bot can be shown while they grow.
    fn grows(&self, _bot: &BotName) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(Destination, String)>>);

    #[async_trait]
    impl ReplySink for Kept {
        async fn reply(&self, destination: &Destination, text: String) -> Result<(), ReplyError> {
            self.0.lock().unwrap().push((destination.clone(), text));
            Ok(())
        }
    }

    fn destination() -> Destination {
        Destination::reply(
            BotName::new("assistant"),
            Channel::Lark,
            ChatId::new("oc_1"),
            MessageId::new("om_1"),
        )
    }

    #[tokio::test]
    async fn a_reply_goes_to_the_destination_the_handle_was_made_for() {
        let kept = Arc::new(Kept::default());
        let mut reply_fn = ReplyFn::to(destination());
        assert!(matches!(reply_fn.call("too early").await, Err(ReplyError::Unbound)));
        reply_fn.bind(Arc::<Kept>::clone(&kept));
        reply_fn.call("hello").await.unwrap();
        assert_eq!(*kept.0.lock().unwrap(), [(destination(), "hello".to_owned())]);
    }

    #[test]
    fn a_reply_handle_survives_serialisation_as_its_destination() {
        let text = serde_json::to_string(&ReplyFn::to(destination())).unwrap();
        let back: ReplyFn = serde_json::from_str(&text).unwrap();
        assert_eq!(back.destination(), &destination());
    }
}
