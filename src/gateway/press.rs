//! Presses in cards. Whoever pressed is told what came of it, whatever that is.
//!
//! This bot sends no cards with buttons yet, so no button means anything to it.

use super::flow::Gateway;
use super::welcome::Visitor;
use crate::base::limit::ellipsis;
use crate::base::{Aside, Locale, Say, Verdict};
use crate::envelope::{ChatKind, Press, PressReply, Tone};
use crate::telemetry::Event;

/// The longest part of a button's name that is noted, in characters.
const NAME_CHARS_MAX: usize = 40;

impl Gateway {
    /// Answers a press. Everything it needs is in memory.
    pub(super) fn answer_press(&self, press: Press) -> PressReply {
        let Some(bot) = self.shared.bots.get(&press.bot) else {
            return say(Aside::PressLater, Locale::default(), Tone::Error);
        };
        if self.drain().is_cancelled() {
            return say(Aside::PressLater, bot.locale, Tone::Error);
        }
        let told = format!("{}: {}", press.event_type, what(&press));
        // Every key is remembered, even if the first is known already.
        let known = press.keys.iter().filter(|key| !self.shared.notices.insert(**key)).count();
        if known > 0 {
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
        if let Err((verdict, reason)) = self.admits(bot, &visitor) {
            self.no_work(&bot.name, press.subject, verdict, reason);
            return say(Aside::PressNotAllowed, bot.locale, Tone::Warning);
        }
        self.no_work(&bot.name, press.subject, Verdict::Filtered, &told);
        say(Aside::PressUnknown, bot.locale, Tone::Warning)
    }
}

/// What was pressed, without what a person wrote into it.
fn what(press: &Press) -> String {
    let name = if press.pressed.name.is_empty() { &press.pressed.tag } else { &press.pressed.name };
    format!("the button `{}` is not one of this bot", ellipsis(name, NAME_CHARS_MAX))
}

fn say(aside: Aside, locale: Locale, tone: Tone) -> PressReply {
    PressReply { tone, text: Say::Aside(aside).text(locale) }
}
