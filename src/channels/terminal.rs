//! The terminal channel: a line typed is a message, the answer is printed by the caller.

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::base::{Disposition, UserId};
use crate::envelope::{
    Addressing, AgentMessage, Certainty, ChatKind, DedupKey, DeliverError, Delivered, Delivery,
    Incoming, Operation, Outlet, Relation,
};

/// At most this many answers wait to be printed.
const ANSWERS_MAX: usize = 64;

/// The way out: answers go to the receiver made with it.
#[derive(Debug)]
pub struct TerminalOutlet {
    answers: mpsc::Sender<String>,
}

impl TerminalOutlet {
    /// An outlet and the receiver of its answers.
    pub fn new() -> (Self, mpsc::Receiver<String>) {
        let (answers, receiver) = mpsc::channel(ANSWERS_MAX);
        (Self { answers }, receiver)
    }
}

#[async_trait]
impl Outlet for TerminalOutlet {
    async fn deliver(&self, delivery: &Delivery) -> Result<Delivered, DeliverError> {
        let text = match &delivery.operation {
            Operation::Create { text, .. } | Operation::Reply { text, .. } => text.clone(),
            // Cards, signs, recalls and what grows have no place on a terminal.
            Operation::Prepare { .. }
            | Operation::Show { .. }
            | Operation::Grow { .. }
            | Operation::Renew { .. }
            | Operation::Finalise { .. }
            | Operation::ChangeCard { .. }
            | Operation::ChangeText { .. }
            | Operation::React { .. }
            | Operation::Unreact { .. }
            | Operation::Recall { .. } => {
                return Ok(Delivered { id: String::new() });
            }
        };
        self.answers.send(text).await.map_err(|_closed| DeliverError {
            certainty: Certainty::NotSent,
            disposition: Disposition::Reject,
            code: None,
            target_gone: false,
            content_refused: false,
            words_refused: false,
            text: "the terminal is gone".to_owned(),
        })?;
        Ok(Delivered { id: delivery.uuid.clone() })
    }

    fn text_bytes_max(&self) -> usize {
        usize::MAX
    }
}

/// A typed line as the gateway takes it. The sender may always talk to the bot.
pub fn incoming(message: AgentMessage) -> Incoming {
    Incoming {
        bot: message.reply_fn.destination().bot.clone(),
        keys: vec![DedupKey::new(message.timestamp, &["terminal", message.id.as_str()])],
        addressing: Addressing {
            chat_kind: ChatKind::Private,
            mentions_bot: true,
            mentions_all: false,
            sender: Relation::Colleague,
            sender_ids: vec![message.sender.id.clone()],
        },
        message,
    }
}

/// The sender of every line: who sits at the machine.
pub fn sender() -> UserId {
    UserId::new("terminal")
}
