//! The welcome: who the bot is and how to talk to it, once in every chat.
//!
//! In a group it comes when the bot is added; in a private chat when it is opened, or with the
//! first message where the platform does not tell. Record and message are one commit, so that
//! neither a crash nor a redelivery makes it come twice. Whoever may not talk to the bot is not
//! welcomed by it; where only the platform can tell, the welcome is owed until the first message
//! of somebody who may. The farewell is in here, too: with it ends what the welcome began.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::admit::{Admission, Circumstances, NOT_IN_USERS, admit};
use super::bot::BotRuntime;
use super::flow::Gateway;
use super::notice::not_accepted;
use super::outbox::spoken_by_the_daemon;
use super::plan::{Saying, planned_closing};
use crate::base::{Aside, ChatId, Say, Timestamp, TurnId, UserId, Verdict};
use crate::envelope::{
    Addressing, AgentMessage, Block, ButtonPress, Card, Channel, ChatKind, Destination, Incoming,
    InletError, Meeting, Notice, Relation, Sender, SenderKind, Submitted,
};
use crate::store::{
    Acceptance, Change, ClosingV1, InboxV1, Kept, Lane, Shelf, Standing, StoreError,
};

/// A chat that was welcomed, or is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WelcomedV1 {
    /// When what it was welcomed for happened.
    at: Timestamp,
    /// Whether it is still to be welcomed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    owed: bool,
}

/// Why nothing is said yet.
const OWED: &str = "welcomed with the first message of somebody who is let in, as the roles of this \
                    person were not looked up";

impl Kept for WelcomedV1 {
    const SHELF: Shelf = Shelf::Welcome;
}

/// A chat as its record is found.
fn key_of(bot: &BotRuntime, chat: &ChatId) -> String {
    format!("{}/{chat}", bot.name)
}

/// A welcome that is planned and not stored.
struct Planned {
    turn: TurnId,
    row: InboxV1,
    changes: Vec<Change>,
}

impl Gateway {
    /// The bot came into a chat.
    pub(super) async fn meet(
        &self,
        bot: &Arc<BotRuntime>,
        notice: Notice,
        meeting: &Meeting,
    ) -> Result<Submitted, InletError> {
        if !bot.welcome {
            return Ok(self.note_once(notice));
        }
        let visitor = Visitor {
            person: &meeting.person,
            relation: meeting.relation,
            channel: notice.channel,
            chat: Some(&meeting.chat),
            chat_kind: meeting.chat_kind,
        };
        let standing = match self.admits(bot, &visitor) {
            Ok(standing) => standing,
            Err((verdict, reason)) => {
                return Ok(self.no_work(&bot.name, notice.subject, verdict, reason));
            }
        };
        let _guard = self.shared.welcoming.lock().await;
        let key = key_of(bot, &meeting.chat);
        let record = WelcomedV1::load(self.shared.store.as_ref(), &key).await;
        let record = record.map_err(|error| not_accepted(&error))?;
        if record.is_some_and(|welcomed| !welcomed.owed) {
            return Ok(self.no_work(&bot.name, notice.subject, notice.verdict, "welcomed before"));
        }
        if standing.is_unclear() {
            return self.owe_welcome(bot, notice, key).await;
        }
        let place = Place {
            channel: notice.channel,
            chat: meeting.chat.clone(),
            chat_kind: meeting.chat_kind,
            at: notice.key.time(),
        };
        let planned = self.planned_welcome(bot, &place, Some(notice.subject));
        let Planned { turn, row, changes } = planned.map_err(|error| not_accepted(&error))?;
        let submitted = self.store_once(turn, &[notice.key], &row, changes).await?;
        if submitted != Submitted::Duplicate {
            self.shared.unowed.insert(key);
            self.start_aside(turn, row, false);
        }
        Ok(submitted)
    }

    /// Nobody can tell yet whether whom the bot met may talk to it.
    async fn owe_welcome(
        &self,
        bot: &BotRuntime,
        notice: Notice,
        key: String,
    ) -> Result<Submitted, InletError> {
        let owed = WelcomedV1 { at: notice.key.time(), owed: true }.change(&key);
        let owed = owed.map_err(|error| not_accepted(&error))?;
        let accepted = self.shared.store.accept(&[notice.key], vec![owed]).await;
        if accepted.map_err(|error| not_accepted(&error))? == Acceptance::Duplicate {
            return Ok(self.repeated(&notice));
        }
        self.shared.unowed.remove(&key);
        Ok(self.no_work(&bot.name, notice.subject, notice.verdict, OWED))
    }

    /// Welcomes the chat of a message that is about to be worked on, if that is owed to it: to a
    /// private one unless it was welcomed.
    pub(super) async fn welcome_before(
        &self,
        bot: &Arc<BotRuntime>,
        message: &AgentMessage,
    ) -> Result<(), StoreError> {
        let destination = message.reply_fn.destination();
        let key = key_of(bot, &destination.chat);
        if !bot.welcome || self.shared.unowed.contains(&key) {
            return Ok(());
        }
        let is_private = message.is_private;
        let _guard = self.shared.welcoming.lock().await;
        let record = WelcomedV1::load(self.shared.store.as_ref(), &key).await?;
        if record.map_or(is_private, |welcomed| welcomed.owed) {
            let place = Place {
                channel: destination.channel,
                chat: destination.chat.clone(),
                chat_kind: if is_private { ChatKind::Private } else { ChatKind::Group },
                at: message.timestamp,
            };
            let Planned { turn, row, changes } = self.planned_welcome(bot, &place, None)?;
            self.shared.store.commit(changes).await?;
            self.start_aside(turn, row, false);
        }
        self.shared.unowed.insert(key);
        Ok(())
    }

    fn planned_welcome(
        &self,
        bot: &BotRuntime,
        place: &Place,
        id: Option<String>,
    ) -> Result<Planned, StoreError> {
        let turn = self.next_turn();
        let destination = Destination {
            bot: bot.name.clone(),
            channel: place.channel,
            chat: place.chat.clone(),
            reply_to: None,
            in_thread: false,
            thread: None,
        };
        let id = id.unwrap_or_else(|| turn.to_string());
        let message = spoken_by_the_daemon(&destination, id);
        let message = match place.chat_kind {
            ChatKind::Private => message.in_private(),
            ChatKind::Group => message,
        };
        let row = self.row(message, Lane::Delivery);
        let reason = "the welcome of this chat".to_owned();
        let closing = ClosingV1 { verdict: Verdict::Answered, reason };
        let say = match place.chat_kind {
            ChatKind::Group => Aside::WelcomeGroup { bot: bot.name.to_string() },
            ChatKind::Private => Aside::WelcomePrivate { bot: bot.name.to_string() },
        };
        let text = Say::Aside(say).text(bot.locale);
        let card = (!bot.examples.is_empty()).then(|| with_examples(bot, &text));
        let said = Saying { text: &text, card };
        let (row, mut changes) = planned_closing(bot, turn, row, closing, said)?;
        changes.push(WelcomedV1 { at: place.at, owed: false }.change(&key_of(bot, &place.chat))?);
        Ok(Planned { turn, row, changes })
    }

    /// The bot is in a chat no more, or the chat is gone: what is open there ends without a word.
    /// Should it come back, it is welcomed again.
    pub(super) async fn part(
        &self,
        bot: &Arc<BotRuntime>,
        notice: Notice,
        chat: &ChatId,
    ) -> Result<Submitted, InletError> {
        let at = notice.key.time();
        let _guard = self.shared.welcoming.lock().await;
        let key = key_of(bot, chat);
        let record = WelcomedV1::load(self.shared.store.as_ref(), &key).await;
        let record = record.map_err(|error| not_accepted(&error))?;
        // Events come in any order: this one may be older than a return.
        let is_old = record.is_some_and(|welcomed| welcomed.at <= at);
        let forgets = is_old.then(|| WelcomedV1::removal(&key));
        let accepted = self.shared.store.accept(&[notice.key], forgets.into_iter().collect()).await;
        match accepted.map_err(|error| not_accepted(&error))? {
            Acceptance::Duplicate => return Ok(self.repeated(&notice)),
            Acceptance::New => {}
        }
        if is_old {
            self.shared.unowed.remove(&key);
        }
        let reason = format!("the bot is not in this chat any more ({})", notice.event_type);
        let closing = ClosingV1 { verdict: Verdict::Failed, reason };
        let bot = &bot.name;
        self.end_turns(&closing, |about| {
            about.bot == bot && about.chat == chat && about.sent_at <= at
        })
        .await;
        Ok(self.note(notice))
    }
}

/// The welcome with questions to press.
fn with_examples(bot: &BotRuntime, text: &str) -> Card {
    let mut blocks = vec![Block::Markdown { text: text.to_owned() }];
    blocks.extend(bot.examples.iter().map(|question| Block::Button {
        label: question.clone(),
        press: ButtonPress::Ask { text: question.clone() },
    }));
    Card::new(bot.name.to_string(), blocks)
}

/// Where a welcome goes, and what for.
struct Place {
    channel: Channel,
    chat: ChatId,
    chat_kind: ChatKind,
    at: Timestamp,
}

/// Somebody who did something else than write.
pub(super) struct Visitor<'a> {
    pub(super) person: &'a UserId,
    pub(super) relation: Relation,
    pub(super) channel: Channel,
    /// `None`: the platform does not tell; then only a rule for all chats lets them in.
    pub(super) chat: Option<&'a ChatId>,
    pub(super) chat_kind: ChatKind,
}

impl Gateway {
    /// As what a visitor could talk to the bot in that chat if they named it; if not, the verdict.
    /// The platform is not asked for roles here.
    pub(super) fn admits(
        &self,
        bot: &BotRuntime,
        visitor: &Visitor<'_>,
    ) -> Result<Standing, (Verdict, &'static str)> {
        let circumstances = Circumstances {
            is_paired: self.shared.pairings.is_paired(&bot.name, visitor.person),
            ..Circumstances::default()
        };
        match admit(&visitor.as_incoming(bot), &bot.rules, &circumstances) {
            Admission::Admit(standing) => Ok(standing),
            Admission::Stranger => Err((Verdict::NotAllowed, NOT_IN_USERS)),
            Admission::NoWork { verdict, reason } => Err((verdict, reason)),
        }
    }
}

impl Visitor<'_> {
    /// A message of theirs that names the bot.
    fn as_incoming(&self, bot: &BotRuntime) -> Incoming {
        let destination = Destination {
            bot: bot.name.clone(),
            channel: self.channel,
            chat: self.chat.cloned().unwrap_or_else(|| ChatId::new("")),
            reply_to: None,
            in_thread: false,
            thread: None,
        };
        let id = self.person.clone();
        let message = AgentMessage {
            sender: Sender { id, kind: SenderKind::User, display_name: None },
            ..spoken_by_the_daemon(&destination, String::new())
        };
        let addressing = Addressing {
            chat_kind: self.chat_kind,
            mentions_bot: true,
            mentions_all: false,
            sender: self.relation,
            sender_ids: vec![self.person.clone()],
        };
        Incoming { bot: bot.name.clone(), message, keys: Vec::new(), addressing }
    }
}
