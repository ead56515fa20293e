//! What a question refers to, found out before its run begins: quoted messages, forwards, files,
//! names.
//!
//! Everything has a time limit, and nothing that fails holds the turn up: a mark says what is
//! missing and why. What was found is journalled with the run's specification, so that a run
//! that is taken up again sees the same.

mod compose;
mod decode;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::sessions::Job;
use super::turn::TurnError;
use crate::base::{Locale, MessageId};
use crate::envelope::{
    AgentMessage, Attachment, AttachmentKind, Context, ContextKind, Lookup, ResourceError,
};
use compose::{Fetched, Opened, OpenedFile};

/// Messages that are quoted are waited for so long.
const MESSAGES_TIME_MAX: Duration = Duration::from_secs(3);
/// Files are waited for so long, all of them together.
const FILES_TIME_MAX: Duration = Duration::from_secs(5);
/// At most this many files are downloaded for one question.
const FILES_MAX: usize = 5;
/// At most this many forwards are read for one question.
const FORWARDS_MAX: usize = 5;

/// What was found out beside a question.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The question, people called by their names.
    pub(super) question: String,
    /// What it refers to.
    pub(super) context: Vec<Context>,
    /// What the person is told behind the answer; empty: nothing.
    pub(super) notice: String,
}

impl Gateway {
    /// Finds out what a message refers to.
    ///
    /// # Errors
    /// [`TurnError::Drained`]: it is done again after the restart.
    pub(super) async fn look_up(
        &self,
        bot: &BotRuntime,
        job: &Job,
        message: &AgentMessage,
    ) -> Result<Beside, TurnError> {
        let plain = Beside { question: message.content.clone(), ..Beside::default() };
        let Some(lookup) = bot.lookups.get(&message.channel) else { return Ok(plain) };
        let search = Search { gateway: self, lookup, bot, message };
        tokio::select! {
            biased;
            () = self.drain().cancelled() => Err(TurnError::Drained),
            // Whoever stopped the turn does not wait for this either.
            () = job.stop.token().cancelled() => Ok(plain),
            beside = search.run(bot.locale) => Ok(beside),
        }
    }
}

/// The first message of the thread that a message stands in, unless that is the one it quotes.
fn thread_root(message: &AgentMessage) -> Option<&MessageId> {
    let thread = message.reply_fn.destination().thread.as_ref()?;
    thread.root.as_ref().filter(|root| message.quotes.as_ref() != Some(*root))
}

struct Search<'a> {
    gateway: &'a Gateway,
    lookup: &'a Arc<dyn Lookup>,
    bot: &'a BotRuntime,
    message: &'a AgentMessage,
}

impl Search<'_> {
    async fn run(&self, locale: Locale) -> Beside {
        let fetched = self.messages().await;
        let wanted = compose::attachments(self.message, &fetched);
        let people = compose::nameless(self.message, &fetched);
        let (opened, names) =
            join(self.files(wanted), self.gateway.names_of(self.bot, &people)).await;
        compose::beside(self.message, &fetched, &opened, &names, locale)
    }

    /// The messages it refers to: the root of its thread, what it quotes, and those that forward
    /// others: itself, or what came along with it.
    async fn messages(&self) -> Vec<Fetched> {
        let is_forward = |attachment: &Attachment| attachment.kind == AttachmentKind::Forward;
        let mut forwards: Vec<&MessageId> = Vec::new();
        for forward in self.message.attachments.iter().filter(|found| is_forward(found)) {
            let carrier = forward.carrier.as_ref().unwrap_or(&self.message.id);
            if !forwards.contains(&carrier) && forwards.len() < FORWARDS_MAX {
                forwards.push(carrier);
            }
        }
        let wanted = [
            (ContextKind::ThreadRoot, thread_root(self.message)),
            (ContextKind::Quote, self.message.quotes.as_ref()),
        ];
        let wanted = wanted.into_iter().filter_map(|(kind, id)| Some((kind, id?)));
        let wanted = wanted.chain(forwards.into_iter().map(|id| (ContextKind::Forward, id)));
        join_all(wanted.map(|(kind, id)| self.message(kind, id))).await
    }

    async fn message(&self, kind: ContextKind, id: &MessageId) -> Fetched {
        let asking = self.lookup.quoted(&self.bot.name, id);
        let outcome = match tokio::time::timeout(MESSAGES_TIME_MAX, asking).await {
            Ok(Ok(Some(quoted))) => Ok(quoted),
            Ok(Ok(None)) => Err("it was deleted".to_owned()),
            Ok(Err(error)) => Err(error.text),
            Err(_elapsed) => Err(format!("no answer within {} s", MESSAGES_TIME_MAX.as_secs())),
        };
        Fetched { kind, outcome }
    }

    /// Opens what was sent along, as far as it can be text.
    async fn files(&self, wanted: Vec<Attachment>) -> Vec<Opened> {
        let mut left = FILES_MAX;
        let opening = wanted.into_iter().map(|attachment| {
            let is_file = attachment.kind == AttachmentKind::File;
            let is_read = is_file && left > 0;
            left -= usize::from(is_read);
            async move {
                let file = match (is_file, is_read) {
                    (true, true) => self.file(&attachment).await,
                    (true, false) => OpenedFile::TooMany,
                    (false, _) => OpenedFile::NoText,
                };
                Opened { attachment, file }
            }
        });
        join_all(opening).await
    }

    async fn file(&self, attachment: &Attachment) -> OpenedFile {
        let carrier = attachment.carrier.as_ref().unwrap_or(&self.message.id);
        let asking = self.lookup.resource(&self.bot.name, carrier, attachment);
        match tokio::time::timeout(FILES_TIME_MAX, asking).await {
            Ok(Ok(resource)) => decode::open(&resource),
            Ok(Err(error)) => OpenedFile::Failed(error),
            Err(_elapsed) => OpenedFile::Failed(ResourceError {
                code: None,
                text: format!("no answer within {} s", FILES_TIME_MAX.as_secs()),
            }),
        }
    }
}
