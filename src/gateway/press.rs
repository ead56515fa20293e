//! Presses in cards. Whoever pressed is told what came of it, whatever that is.
//!
//! A button of ours asks a question in the name of whoever presses it: that is accepted like the
//! same question in a message. Anything else is answered from memory.

use std::sync::Arc;

use serde::Deserialize;

use super::bot::BotRuntime;
use super::flow::Gateway;
use super::welcome::Visitor;
use crate::base::limit::ellipsis;
use crate::base::{Aside, Locale, MessageId, Say, Verdict};
use crate::envelope::{
    AgentMessage, ButtonPress, ChatKind, Destination, PRESS_MEMBER, Press, PressReply, Sender,
    SenderKind, Tone,
};
use crate::store::{Lane, Standing};
use crate::telemetry::Event;

/// The longest question on a button of ours, in characters.
const QUESTION_CHARS_MAX: usize = 300;
/// The longest part of a button's name that is noted, in characters.
const NAME_CHARS_MAX: usize = 40;

impl Gateway {
    /// Answers a press. It waits for the store at most.
    pub(super) async fn answer_press(&self, press: Press) -> PressReply {
        let Some(bot) = self.shared.bots.get(&press.bot).map(Arc::clone) else {
            return say(Aside::PressLater, Locale::default(), Tone::Error);
        };
        if self.drain().is_cancelled() {
            return say(Aside::PressLater, bot.locale, Tone::Error);
        }
        let told = format!("{}: {}", press.event_type, what(&press));
        // Every key is remembered, even if the first is known already.
        let known = press.keys.iter().filter(|key| !self.shared.notices.insert(**key)).count();
        if known > 0 && question(&press).is_none() {
            Event::Duplicate.emit();
            self.keep_note(&bot.name, press.subject, Verdict::Duplicate, &told);
            return say(Aside::PressUnknown, bot.locale, Tone::Warning);
        }
        let visitor = Visitor {
            person: &press.operator,
            relation: press.relation,
            channel: press.channel,
            chat: press.chat.as_ref(),
            // A press names the bot by itself, so it is the same in private and in groups.
            chat_kind: ChatKind::Group,
        };
        let standing = match self.admits(&bot, &visitor) {
            Ok(standing) => standing,
            Err((verdict, reason)) => {
                self.no_work(&bot.name, press.subject, verdict, reason);
                return say(Aside::PressNotAllowed, bot.locale, Tone::Warning);
            }
        };
        // No button of ours holds a command.
        let question = question(&press).filter(|asked| self.lane_of(asked) == Lane::Session);
        if let Some(message) = question {
            return self.ask_pressed(&bot, press, message, standing).await;
        }
        self.no_work(&bot.name, press.subject, Verdict::Filtered, &told);
        say(Aside::PressUnknown, bot.locale, Tone::Warning)
    }

    /// Accepts the question on a button, to its end: whoever pressed may be gone by then.
    async fn ask_pressed(
        &self,
        bot: &Arc<BotRuntime>,
        press: Press,
        message: AgentMessage,
        standing: Standing,
    ) -> PressReply {
        let (gateway, of, keys) = (self.clone(), Arc::clone(bot), press.keys.clone());
        let accepting = async move {
            let mut message = message.sent_at(gateway.shared.clock.now());
            message.session.id = of.session_of(&message);
            let mut row = gateway.row(message, Lane::Session);
            row.admitted.standing = standing;
            gateway.accept_row(&of, &keys, row).await
        };
        let accepted = self.shared.tasks.to_the_end("accept", accepting).await;
        if let Some(Ok(_submitted)) = accepted {
            return say(Aside::PressAsked, bot.locale, Tone::Info);
        }
        // It was not taken: pressing again is to count.
        press.keys.iter().for_each(|key| self.shared.notices.remove(key));
        say(Aside::PressLater, bot.locale, Tone::Error)
    }
}

/// The question that a button of ours asks, answered below its card.
fn question(press: &Press) -> Option<AgentMessage> {
    let ours = press.pressed.value.get(PRESS_MEMBER)?;
    let ButtonPress::Ask { text } = ButtonPress::deserialize(ours).ok()? else { return None };
    if text.chars().count() > QUESTION_CHARS_MAX {
        return None;
    }
    let (chat, card) = (press.chat.clone()?, press.message.clone()?);
    let id = match press.subject.as_str() {
        // A generation whose presses have no ids of their own.
        subject if subject.is_empty() || subject == card.as_str() => format!("press-{card}"),
        subject => subject.to_owned(),
    };
    let id = MessageId::new(id);
    let sender = Sender { id: press.operator.clone(), kind: SenderKind::User, display_name: None };
    let destination = Destination::reply(press.bot.clone(), press.channel, chat, card);
    Some(AgentMessage::pressed(id, sender, text, destination))
}

/// What was pressed, without what a person wrote into it.
fn what(press: &Press) -> String {
    let name = if press.pressed.name.is_empty() { &press.pressed.tag } else { &press.pressed.name };
    format!("the button `{}` is not one of this bot", ellipsis(name, NAME_CHARS_MAX))
}

fn say(aside: Aside, locale: Locale, tone: Tone) -> PressReply {
    PressReply { tone, text: Say::Aside(aside).text(locale) }
}
