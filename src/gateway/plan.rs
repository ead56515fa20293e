//! From the end of a turn's work to its outbox: one commit that holds the whole answer.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Mutex, MutexGuard};

use super::bot::BotRuntime;
use super::cards::{kept_card, stamped};
use super::digest::Held;
use super::flow::Gateway;
use super::live::{Grown, ending};
use super::pairing::PairingStep;
use super::split::{Measure, split_text};
use super::stop::Stop;
use crate::base::{Locale, Say, SessionKey, TurnId, Verdict, limit};
use crate::envelope::{Attachment, Card, Destination, Draft, Exchange, Form, Operation, Speaker};
use crate::store::{Change, ClosingV1, InboxV1, Lane, SendState, SendV1, SessionV1, StoreError};

/// A conversation keeps at most this many lines.
const HISTORY_LINES_MAX: usize = 40;
/// Of each line at most this many characters.
const HISTORY_LINE_CHARS_MAX: usize = 4000;
/// Conversations are changed under one of this many locks.
const LOCKS: usize = 64;
/// An answer has at most this many messages; of a longer one the last says how much is missing.
const PARTS_MAX: usize = 20;

/// What becomes of the conversation when a turn ends.
#[derive(Clone, Debug)]
pub(super) enum Remember {
    /// Nothing changes.
    Nothing,
    /// Question and answer are added, unless the conversation was started afresh meanwhile.
    Exchange {
        /// The epoch the turn began in.
        epoch: u64,
        /// What was answered.
        answer: String,
    },
    /// It starts afresh.
    Afresh,
}

/// How a turn's work ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// What is said; `None`: nothing.
    pub(super) text: Option<String>,
    /// Says the same where the channel has cards.
    pub(super) card: Option<Card>,
    /// The verdict once that has arrived.
    pub(super) verdict: Verdict,
    /// Details for `/why`.
    pub(super) reason: String,
    /// What becomes of the conversation.
    pub(super) remember: Remember,
    /// What becomes of pairings.
    pub(super) pairing: Option<PairingStep>,
    /// What else must be true together with it.
    pub(super) changes: Vec<Change>,
    /// Kept from others until all of it is stored.
    pub(super) held: Option<Held>,
    /// What a growing message showed last.
    pub(super) shown: Draft,
}

impl Ended {
    /// A turn that ends with a sentence of the daemon.
    pub(super) fn saying(say: &Say, locale: Locale, verdict: Verdict) -> Self {
        Self {
            text: Some(say.text(locale)),
            card: None,
            verdict,
            reason: String::new(),
            remember: Remember::Nothing,
            pairing: None,
            changes: Vec::new(),
            held: None,
            shown: Draft::default(),
        }
    }

    /// The same with a line behind what is said, which the conversation does not remember.
    #[must_use]
    pub(super) fn with_notice(mut self, notice: &str) -> Self {
        if let Some(text) = self.text.as_mut().filter(|_| !notice.is_empty()) {
            text.push_str("\n\n");
            text.push_str(notice);
        }
        self
    }

    /// A turn that ends in silence.
    pub(super) fn silent(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            text: None,
            card: None,
            verdict,
            reason: reason.into(),
            remember: Remember::Nothing,
            pairing: None,
            changes: Vec::new(),
            held: None,
            shown: Draft::default(),
        }
    }

    /// Says why it was stopped, if it was.
    pub(super) fn restate(&mut self, stop: &Stop) {
        let closing = ClosingV1 { verdict: self.verdict, reason: std::mem::take(&mut self.reason) };
        let closing = stop.restated(closing);
        self.verdict = closing.verdict;
        self.reason = closing.reason;
    }
}

/// Keeps changes of one conversation apart: reading it and committing the change is one unit.
#[derive(Debug)]
pub(super) struct SessionLocks {
    hasher: RandomState,
    locks: [Mutex<()>; LOCKS],
    spare: Mutex<()>,
}

impl Default for SessionLocks {
    fn default() -> Self {
        let locks = std::array::from_fn(|_| Mutex::default());
        Self { hasher: RandomState::new(), locks, spare: Mutex::default() }
    }
}

impl SessionLocks {
    async fn lock(&self, key: &SessionKey) -> MutexGuard<'_, ()> {
        let hash = usize::try_from(self.hasher.hash_one(key)).unwrap_or(usize::MAX);
        self.locks.get(hash % LOCKS).unwrap_or(&self.spare).lock().await
    }
}

impl Gateway {
    /// Makes the answer durable: sends, conversation and the closing of the inbox row at once. If
    /// that fails, everything is as before, so that it can be planned again.
    pub(super) async fn plan(
        &self,
        bot: &BotRuntime,
        turn: TurnId,
        row: &mut InboxV1,
        ended: Ended,
    ) -> Result<(), StoreError> {
        let pairing = ended.pairing.clone();
        let planned = self.commit_plan(bot, turn, row, ended).await;
        if planned.is_err() {
            row.closing = None;
            if let Some(PairingStep::Offer(offer)) = &pairing {
                self.shared.pairings.withdraw(&bot.name, offer);
            }
        }
        planned
    }

    async fn commit_plan(
        &self,
        bot: &BotRuntime,
        turn: TurnId,
        row: &mut InboxV1,
        ended: Ended,
    ) -> Result<(), StoreError> {
        let key = row.message.session.id.clone();
        let _guard = self.shared.session_locks.lock(&key).await;
        let said = Saying { text: ended.text.as_deref().unwrap_or_default(), card: ended.card };
        let messages = messages(bot, turn, row, said);
        let grown = match row.lane {
            Lane::Session => Grown::among(&self.shared.store.sends(turn).await?, ended.shown),
            Lane::Control | Lane::Delivery => None,
        };
        let mut reason = ended.reason;
        if messages.chars_cut > 0 {
            let cut = format!("{} characters of the answer were not sent", messages.chars_cut);
            reason = if reason.is_empty() { cut } else { format!("{reason}; {cut}") };
        }
        row.closing = Some(ClosingV1 { verdict: ended.verdict, reason });
        let mut changes = vec![Change::PutInbox { turn, row: Box::new(row.clone()) }];
        match grown {
            Some(grown) => {
                let verdict = ended.verdict;
                changes.extend(grown_sends(bot, turn, row, (grown, messages, verdict)));
            }
            None => changes.extend(planned_sends(turn, row, messages)?),
        }
        changes.extend(ended.changes);
        if let Some(session) = self.changed_session(row, ended.remember).await? {
            changes.push(Change::PutSession { key, session: Box::new(session) });
        }
        let now = self.shared.clock.now();
        if let Some(step) = &ended.pairing {
            changes.extend(step.changes(&bot.name, now)?);
        }
        self.shared.faults.at("turn.before_plan");
        self.shared.store.commit(changes).await?;
        if let Some(step) = &ended.pairing {
            self.shared.pairings.apply(&bot.name, step, now);
        }
        self.shared.faults.at("turn.after_plan");
        Ok(())
    }

    async fn changed_session(
        &self,
        row: &InboxV1,
        remember: Remember,
    ) -> Result<Option<SessionV1>, StoreError> {
        if matches!(remember, Remember::Nothing) {
            return Ok(None);
        }
        let key = &row.message.session.id;
        let mut session = self.shared.store.session(key).await?.unwrap_or_default();
        session.updated_at = self.shared.clock.now();
        match remember {
            Remember::Nothing => return Ok(None),
            Remember::Afresh => {
                session.history.clear();
                session.epoch += 1;
            }
            Remember::Exchange { epoch, .. } if epoch != session.epoch => return Ok(None),
            Remember::Exchange { answer, .. } => {
                let question = asked(row);
                for (speaker, content) in
                    [(Speaker::User, question.as_str()), (Speaker::Assistant, answer.as_str())]
                {
                    let content = limit::ellipsis(content, HISTORY_LINE_CHARS_MAX);
                    session.history.push(Exchange { speaker, content });
                }
                let surplus = session.history.len().saturating_sub(HISTORY_LINES_MAX);
                session.history.drain(..surplus);
            }
        }
        Ok(Some(session))
    }
}

/// A turn without work: its closing and what it says, planned but not stored.
pub(super) fn planned_closing(
    bot: &BotRuntime,
    turn: TurnId,
    mut row: InboxV1,
    closing: ClosingV1,
    said: Saying<'_>,
) -> Result<(InboxV1, Vec<Change>), StoreError> {
    row.closing = Some(closing);
    let mut changes = vec![Change::PutInbox { turn, row: Box::new(row.clone()) }];
    changes.extend(planned_sends(turn, &row, messages(bot, turn, &row, said))?);
    Ok((row, changes))
}

/// What a turn says.
pub(super) struct Saying<'a> {
    pub(super) text: &'a str,
    /// Says the same where the channel has cards.
    pub(super) card: Option<Card>,
}

impl<'a> From<&'a str> for Saying<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, card: None }
    }
}

/// An answer as it is sent.
struct Messages {
    /// How the texts are shown.
    form: Form,
    /// In the place of the first and only text.
    card: Option<Box<Card>>,
    texts: Vec<String>,
    /// How much of it is not.
    chars_cut: usize,
}

/// Cuts an answer into messages for the channel it goes to.
fn messages(
    bot: &BotRuntime,
    turn: TurnId,
    row: &InboxV1,
    Saying { text, card }: Saying<'_>,
) -> Messages {
    let outlet = bot.outlets.get(&row.message.reply_fn.destination().channel);
    let form = outlet.map_or(Form::Text, |outlet| outlet.form(&bot.name));
    let card = card.map(|card| stamped(card, turn, row));
    let card = card.filter(|card| outlet.is_some_and(|outlet| outlet.takes_card(card)));
    if let Some(card) = card {
        let (card, texts) = (Some(Box::new(card)), vec![text.to_owned()]);
        return Messages { form, card, texts, chars_cut: 0 };
    }
    let most = outlet.map_or(usize::MAX, |outlet| outlet.text_bytes_max());
    let cost = |text: &str| outlet.map_or(text.len(), |outlet| outlet.text_bytes(text));
    let mut texts = split_text(text, Measure { most, cost: &cost });
    let mut chars_cut = 0;
    if texts.len() > PARTS_MAX {
        let beyond = texts.split_off(PARTS_MAX - 1);
        chars_cut = beyond.iter().map(|text| text.chars().count()).sum();
        texts.push(Say::AnswerCut { chars: chars_cut }.text(bot.locale));
    }
    Messages { form, card: None, texts, chars_cut }
}

fn planned_sends(
    turn: TurnId,
    row: &InboxV1,
    mut messages: Messages,
) -> Result<Vec<Change>, StoreError> {
    let destination = row.message.reply_fn.destination();
    let kept = kept_card(messages.card.as_deref())?;
    let form = messages.form;
    let sends = (0u16..).zip(messages.texts).map(|(part, text)| {
        let card = messages.card.take();
        planned_part(turn, part, operation(destination, text, form, card))
    });
    Ok(sends.chain(kept).collect())
}

/// The same behind a growing message, the turn's first send: that one ends with the first text.
fn grown_sends(
    bot: &BotRuntime,
    turn: TurnId,
    row: &InboxV1,
    (grown, messages, verdict): (Grown, Messages, Verdict),
) -> Vec<Change> {
    let destination = row.message.reply_fn.destination();
    let form = messages.form;
    let mut texts = messages.texts.into_iter();
    let last = ending(grown, texts.next(), verdict, (destination, bot.locale));
    let rest = texts.map(|text| operation(destination, text, form, None));
    let operations = (1u16..).zip(std::iter::once(last).chain(rest));
    operations.map(|(part, operation)| planned_part(turn, part, operation)).collect()
}

fn planned_part(turn: TurnId, part: u16, operation: Operation) -> Change {
    // The uuid follows from turn and part, so that it is the same for every try, before and after
    // a crash.
    let send = planned_send(operation, format!("{}-{part}", turn.simple()));
    Change::PutSend { turn, part, send: Box::new(send) }
}

/// The question as the conversation remembers it: with the names of files that came before it.
fn asked(row: &InboxV1) -> String {
    // Those of the messages themselves stand in their words.
    let is_earlier = |attachment: &&Attachment| {
        let carrier = attachment.carrier.as_ref();
        carrier.is_some_and(|carrier| row.originals().iter().all(|own| own.id != *carrier))
    };
    let earlier = row.message.attachments.iter().filter(is_earlier);
    let mut asked = row.message.content.clone();
    for attachment in earlier {
        let kind = attachment.kind.word();
        asked.push_str(&match &attachment.name {
            Some(name) => format!("\n[{kind}: {name}]"),
            None => format!("\n[{kind}]"),
        });
    }
    asked
}

pub(super) fn operation(
    destination: &Destination,
    text: String,
    form: Form,
    card: Option<Box<Card>>,
) -> Operation {
    let destination = destination.clone();
    match destination.reply_to {
        Some(_) => Operation::Reply { destination, text, form, card },
        None => Operation::Create { destination, text, form, card },
    }
}

/// A send that was not tried yet.
pub(super) fn planned_send(operation: Operation, uuid: String) -> SendV1 {
    SendV1 {
        operation,
        uuid,
        state: SendState::Planned,
        first_try_at: None,
        settled_at: None,
        doubtful: false,
        delivered_id: None,
        reason: String::new(),
        cause: None,
        repeats: 0,
        refused: None,
    }
}
