//! Presses in cards. Whoever pressed is told what came of it, whatever that is.
//!
//! A button of ours asks a question in the name of whoever presses it: that is accepted like the
//! same question in a message, but once for everybody. The first press uses the button up; in its
//! place the card says who pressed. Whoever presses it again (a double click, somebody whose
//! screen still shows the button, the platform in its other generation of callbacks, a second copy
//! of the card in the same chat) is told so and gets the card as it stands. Anything else than a
//! genuine button starts nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::bot::BotRuntime;
use super::cards::CardV1;
use super::flow::Gateway;
use super::welcome::Visitor;
use crate::base::limit::ellipsis;
use crate::base::{Aside, Disposition, Locale, MessageId, Say, Verdict};
use crate::envelope::{
    AgentMessage, Button, ButtonPress, ChatKind, DedupKey, Delivery, Destination, GenuineButton,
    InletError, Operation, Press, PressReply, Sender, SenderKind, Submitted, Tone,
};
use crate::store::{Kept, Lane, Standing, StoreError};
use crate::telemetry::Event;

/// The longest part of a button's name that is noted, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Changing a card beside is tried this often.
const CHANGE_TRIES: u32 = 3;
const CHANGE_WAIT: Duration = Duration::from_secs(1);
/// The platform may ask to wait, but not for longer than anybody looks at the card.
const CHANGE_WAIT_MAX: Duration = Duration::from_secs(30);

/// A genuine press of somebody who may ask.
struct Pressing {
    bot: Arc<BotRuntime>,
    press: Press,
    button: GenuineButton,
    standing: Standing,
}

impl Gateway {
    /// Answers a press. It waits for the store at most.
    pub(super) async fn answer_press(&self, press: Press) -> PressReply {
        let Some(bot) = self.shared.bots.get(&press.bot).map(Arc::clone) else {
            return say(&Aside::PressLater, Locale::default(), Tone::Error);
        };
        if self.drain().is_cancelled() {
            return say(&Aside::PressLater, bot.locale, Tone::Error);
        }
        let button = match &press.button {
            Button::Genuine(button) => Some(GenuineButton::clone(button)),
            _ => None,
        };
        if button.is_none() {
            // Every key is remembered, even if the first is known already.
            let known = press.keys.iter().filter(|key| !self.shared.notices.insert(**key)).count();
            if known > 0 {
                return self.repeated_press(&bot, &press);
            }
        }
        // Where the kind of chat is not told, whoever may ask in groups may press.
        let chat_kind = button.as_ref().map_or(ChatKind::Group, |button| button.card.chat_kind);
        let visitor = Visitor {
            person: &press.operator,
            relation: press.relation,
            channel: press.channel,
            chat: press.chat.as_ref(),
            chat_kind,
        };
        let standing = match self.admits(&bot, &visitor) {
            Ok(standing) => standing,
            Err((verdict, reason)) => {
                self.no_work(&bot.name, press.subject, verdict, reason);
                return say(&Aside::PressNotAllowed, bot.locale, Tone::Warning);
            }
        };
        match button {
            Some(button) => self.ask_to_the_end(Pressing { bot, press, button, standing }).await,
            None => self.refuse_press(&bot, press),
        }
    }

    /// A press that starts nothing came again. What it was noted as stays.
    fn repeated_press(&self, bot: &BotRuntime, press: &Press) -> PressReply {
        Event::Duplicate.emit();
        let (_, aside, reason) = refusal(press);
        let told = format!("{}: {reason}", press.event_type);
        self.keep_note(&bot.name, press.subject.clone(), Verdict::Duplicate, &told);
        say(&aside, bot.locale, Tone::Warning)
    }

    fn refuse_press(&self, bot: &BotRuntime, press: Press) -> PressReply {
        let (verdict, aside, reason) = refusal(&press);
        let told = format!("{}: {reason}", press.event_type);
        self.no_work(&bot.name, press.subject, verdict, &told);
        say(&aside, bot.locale, Tone::Warning)
    }

    /// Accepts the question on a button, to its end: whoever pressed may be gone by then, and the
    /// platform may have waited no longer. Then the card is changed all the same.
    async fn ask_to_the_end(&self, pressing: Pressing) -> PressReply {
        let (told, tells) = oneshot::channel();
        let (gateway, locale) = (self.clone(), pressing.bot.locale);
        let asking = async move {
            let reply = gateway.ask_once(&pressing).await;
            let has_card = reply.card.is_some();
            let is_shown = told.send(reply).is_ok() && pressing.press.takes_card;
            if has_card && !is_shown {
                gateway.change_card_beside(pressing);
            }
        };
        // What it is answered with comes over the channel.
        let _done: Option<()> = self.shared.tasks.to_the_end("press", asking).await;
        tells.await.unwrap_or_else(|_panicked| say(&Aside::PressLater, locale, Tone::Error))
    }

    /// Asks the question on a button unless that was done.
    async fn ask_once(&self, pressing: &Pressing) -> PressReply {
        let Pressing { bot, press, button, standing } = pressing;
        let locale = bot.locale;
        // From looking whether it was pressed until it is.
        let _guard = self.shared.pressing.lock().await;
        let card = match CardV1::find(self.shared.store.as_ref(), &button.card.id).await {
            Ok(card) => card,
            Err(error) => return later(&error, locale),
        };
        if let Some(card) = card.as_ref().filter(|card| card.was_pressed(button.number)) {
            Event::Duplicate.emit();
            self.keep_note(&bot.name, press.subject.clone(), Verdict::Duplicate, "");
            return again(locale, Some(card));
        }
        let message = question(press, button).filter(|asked| self.lane_of(asked) == Lane::Session);
        let Some(message) = message else {
            // No button of ours holds a command.
            return self.refuse_press(bot, press.clone());
        };
        // Whoever is perhaps not let in asks, and does not use the button up for others.
        let is_clear = !standing.is_unclear();
        let now = self.shared.clock.now();
        let pressed = card.clone().filter(|_| is_clear);
        let pressed = pressed.map(|card| card.pressed(button.number, press.operator.clone(), now));
        let key = key(pressing, is_clear);
        match self.accept_pressed(pressing, message, key, pressed.as_ref()).await {
            Ok(Submitted::Accepted(_)) => PressReply {
                card: pressed.map(|card| Box::new(card.shown())),
                ..say(&Aside::PressAsked, locale, Tone::Info)
            },
            Ok(Submitted::Duplicate) => again(locale, card.as_ref()),
            Ok(Submitted::NoWork(_)) => reply(&Say::Busy, locale, Tone::Error),
            Err(_told) => say(&Aside::PressLater, locale, Tone::Error),
        }
    }

    /// Takes the question over, together with what the press changes.
    async fn accept_pressed(
        &self,
        pressing: &Pressing,
        message: AgentMessage,
        key: DedupKey,
        card: Option<&CardV1>,
    ) -> Result<Submitted, InletError> {
        let (bot, id) = (&pressing.bot, &pressing.button.card.id);
        let broken = |error: StoreError| InletError::Unavailable(error.to_string());
        let card = card.map(|card| card.change(id)).transpose().map_err(broken)?;
        let mut message = message.sent_at(self.shared.clock.now());
        message.session.id = bot.session_of(&message);
        let mut row = self.row(message, Lane::Session);
        row.admitted.standing = pressing.standing;
        let line = row.message.session.id.clone();
        let Some(seat) = self.shared.sessions.reserve(&line, bot.queue_max) else {
            // Pressing again is to count.
            let subject = pressing.press.subject.clone();
            return Ok(self.no_work(&bot.name, subject, Verdict::Busy, ""));
        };
        self.accept_seated(&[key], row, seat, card.into_iter().collect()).await
    }

    /// Changes a card by a call of its own, as far as that works: where the answer to the press
    /// cannot bring it, or came too late.
    fn change_card_beside(&self, pressing: Pressing) {
        let gateway = self.clone();
        self.shared.tasks.spawn("change_card", async move {
            tokio::select! {
                () = gateway.drain().cancelled() => {}
                () = gateway.change_card(&pressing) => {}
            }
        });
    }

    async fn change_card(&self, pressing: &Pressing) {
        let Pressing { bot, press, button, .. } = pressing;
        let outlet = bot.outlets.get(&press.channel);
        let (Some(outlet), Some(message)) = (outlet, &press.message) else { return };
        for attempt in 1..=CHANGE_TRIES {
            // As it stands now: more may have been pressed meanwhile.
            let card = CardV1::find(self.shared.store.as_ref(), &button.card.id).await;
            let Ok(Some(card)) = card else { return };
            let (message, card) = (message.clone(), Box::new(card.shown()));
            let operation = Operation::ChangeCard { message, card };
            let uuid = format!("{}c", button.card.id);
            let delivery = Delivery::of(bot.name.clone(), operation, uuid);
            let Err(error) = outlet.deliver(&delivery).await else { return };
            let Some(wait) = pause(error.disposition).filter(|_| attempt < CHANGE_TRIES) else {
                return Event::SideEffectFailed { what: "change_card", error: &error }.emit();
            };
            tokio::time::sleep(wait).await;
        }
    }
}

/// How long to wait before another try; `None`: that makes no sense.
fn pause(disposition: Disposition) -> Option<Duration> {
    match disposition {
        Disposition::Retry { after } => {
            Some(after.unwrap_or(CHANGE_WAIT).clamp(CHANGE_WAIT, CHANGE_WAIT_MAX))
        }
        Disposition::Reject | Disposition::Fatal => None,
    }
}

/// Tells one use of a button from all others.
fn key(pressing: &Pressing, is_clear: bool) -> DedupKey {
    let GenuineButton { card, number, .. } = &pressing.button;
    let (bot, number) = (pressing.bot.name.as_str(), number.to_string());
    let whose = if is_clear { "" } else { pressing.press.operator.as_str() };
    DedupKey::new(card.at, &["button", bot, &card.id, &number, whose])
}

/// The question that a button of ours asks, answered below its card.
fn question(press: &Press, button: &GenuineButton) -> Option<AgentMessage> {
    let ButtonPress::Ask { text } = &button.press else { return None };
    let is_own =
        |id: &&str| !id.is_empty() && press.message.as_ref().map(MessageId::as_str) != Some(id);
    let id = match Some(press.subject.as_str()).filter(is_own) {
        Some(subject) => subject.to_owned(),
        // A generation whose presses have no ids of their own.
        None => format!("press-{}-{}", button.card.id, button.number),
    };
    let sender = Sender { id: press.operator.clone(), kind: SenderKind::User, display_name: None };
    let destination = Destination {
        bot: press.bot.clone(),
        channel: press.channel,
        chat: button.card.chat.clone(),
        reply_to: press.message.clone(),
        in_thread: false,
        thread: None,
    };
    let message = AgentMessage::pressed(MessageId::new(id), sender, text.as_str(), destination);
    Some(match button.card.chat_kind {
        ChatKind::Private => message.in_private(),
        ChatKind::Group => message,
    })
}

/// Why a press starts nothing: the verdict, what is said, and what `/why` says.
fn refusal(press: &Press) -> (Verdict, Aside, String) {
    match &press.button {
        Button::Forged => (
            Verdict::Refused,
            Aside::PressUnknown,
            "the button does not have this bot's signature".to_owned(),
        ),
        Button::Elsewhere => (
            Verdict::Refused,
            Aside::PressElsewhere,
            "the button was made for another chat".to_owned(),
        ),
        Button::Expired => {
            (Verdict::Stale, Aside::PressExpired, "the button is too old".to_owned())
        }
        Button::Foreign | Button::Genuine(_) => {
            (Verdict::Filtered, Aside::PressUnknown, what(press))
        }
    }
}

/// What was pressed, without what a person wrote into it.
fn what(press: &Press) -> String {
    let name = if press.pressed.name.is_empty() { &press.pressed.tag } else { &press.pressed.name };
    format!("the button `{}` is not one of this bot", ellipsis(name, NAME_CHARS_MAX))
}

fn again(locale: Locale, card: Option<&CardV1>) -> PressReply {
    let card = card.map(|card| Box::new(card.shown()));
    PressReply { card, ..say(&Aside::PressAgain, locale, Tone::Info) }
}

fn later(error: &StoreError, locale: Locale) -> PressReply {
    Event::NotAccepted { error }.emit();
    say(&Aside::PressLater, locale, Tone::Error)
}

fn say(aside: &Aside, locale: Locale, tone: Tone) -> PressReply {
    reply(&Say::Aside(aside.clone()), locale, tone)
}

fn reply(say: &Say, locale: Locale, tone: Tone) -> PressReply {
    PressReply { tone, text: say.text(locale), card: None }
}
