//! What reply handles are bound to: a reply becomes a turn of its own that only has to be
//! delivered.

use async_trait::async_trait;

use super::flow::Gateway;
use super::plan::planned_closing;
use crate::base::{MessageId, Verdict};
use crate::envelope::{
    AgentMessage, Destination, ReplyError, ReplyFn, ReplySink, Sender, SenderKind,
};
use crate::store::{ClosingV1, Lane, StoreError};

/// The gateway's outbox as a reply sink.
#[derive(Debug)]
pub(super) struct OutboxSink {
    pub(super) gateway: Gateway,
}

#[async_trait]
impl ReplySink for OutboxSink {
    async fn reply(&self, destination: &Destination, text: String) -> Result<(), ReplyError> {
        let gateway = &self.gateway;
        let unknown = || ReplyError::NotStored(format!("no bot named {} runs", destination.bot));
        let bot = gateway.shared.bots.get(&destination.bot).cloned().ok_or_else(unknown)?;
        let turn = gateway.next_turn();
        let message = spoken_by_the_daemon(destination, turn.to_string());
        let row = gateway.row(message, Lane::Delivery);
        let closing = ClosingV1 { verdict: Verdict::Answered, reason: String::new() };
        let not_stored = |error: StoreError| ReplyError::NotStored(error.to_string());
        let planned = planned_closing(&bot, turn, row, closing, text.as_str().into());
        let (row, changes) = planned.map_err(not_stored)?;
        gateway.shared.store.commit(changes).await.map_err(not_stored)?;
        gateway.start_aside(turn, row, false);
        Ok(())
    }
}

/// The message of a turn that nobody asked for.
pub(super) fn spoken_by_the_daemon(destination: &Destination, id: String) -> AgentMessage {
    let sender = Sender {
        id: crate::base::UserId::new("larkspur"),
        kind: SenderKind::System,
        display_name: None,
    };
    let message = AgentMessage::from_http(
        destination.bot.clone(),
        destination.chat.clone(),
        MessageId::new(id),
        sender,
        "",
    );
    AgentMessage {
        channel: destination.channel,
        reply_fn: ReplyFn::to(destination.clone()),
        ..message
    }
}
