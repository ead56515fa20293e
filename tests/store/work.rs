//! Work for a store, and what must be in it afterwards.
//!
//! The work follows from a seed: rounds of requests, handed in together, each known by the facts
//! that it changes. After a crash, all facts of the acknowledged rounds must be there; of the
//! round that was not acknowledged, each request is there whole or not at all.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use larkspur::base::{
    BotName, ChatId, Faults, MessageId, SessionKey, Timestamp, TurnId, UserId, Verdict,
};
use larkspur::envelope::{AgentMessage, DedupKey, Exchange, Sender, SenderKind, Speaker};
use larkspur::store::{
    Acceptance, AdmittedV1, Change, InboxV1, Lane, NoteV1, ReceiptV1, SessionV1, Store, StoreError,
    open_sled,
};
use larkspur::task::TaskSet;
use tokio_util::sync::CancellationToken;

use crate::dice::Dice;

/// Requests of a round at most, and what they are about.
const REQUESTS_MAX: u64 = 5;
const SESSIONS: u64 = 12;
/// Turns that are open at the same time.
const OPEN_MAX: usize = 8;

/// What a store holds: the name of each fact, and its content.
pub(crate) type Facts = BTreeMap<String, String>;

/// One atomic write.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    key: Option<DedupKey>,
    changes: Vec<Change>,
    /// What it changes; `None`: the fact is gone.
    facts: Vec<(String, Option<String>)>,
}

/// All the work of a seed.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) rounds: Vec<Vec<Request>>,
    /// Turns are numbered from 0 to here.
    turns: u64,
}

/// How long texts are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// Mostly as people write.
    Usual,
    /// Many that are stored in several pieces.
    Large,
}

impl Size {
    fn drawn(self, dice: &mut Dice) -> usize {
        let roll = dice.below(10);
        match self {
            Self::Usual if roll < 8 => 20 + dice.size_below(700),
            Self::Large if roll < 3 => 20 + dice.size_below(3_000),
            Self::Usual => 3_000 + dice.size_below(9_000),
            Self::Large => 4_000 + dice.size_below(50_000),
        }
    }
}

/// A text of about that length; each is another.
fn text(dice: &mut Dice, size: Size) -> String {
    let (stamp, length) = (dice.next(), size.drawn(dice));
    let mut text = String::new();
    while text.len() < length {
        write!(text, "{stamp:016x}{:06}.", text.len()).unwrap();
    }
    text
}

fn turn_id(number: u64) -> TurnId {
    TurnId::from_bytes(u128::from(number + 1).to_be_bytes())
}

fn key(number: u64) -> DedupKey {
    DedupKey::new(Timestamp::from_millis(number), &["work"])
}

fn session_key(number: u64) -> SessionKey {
    SessionKey::new(format!("assistant/oc_{number}"))
}

fn trigger(number: u64) -> MessageId {
    MessageId::new(format!("om_{number}"))
}

struct Author {
    dice: Dice,
    size: Size,
    turns: u64,
    /// Open turns and the length of their journals.
    open: Vec<(u64, u32)>,
}

impl Work {
    /// The work of a seed.
    pub(crate) fn of(seed: u64, rounds: usize, size: Size) -> Self {
        let mut author = Author { dice: Dice::from(seed), size, turns: 0, open: Vec::new() };
        let rounds = (0..rounds).map(|_| author.round()).collect();
        Self { rounds, turns: author.turns }
    }

    /// What must be there after so many rounds.
    pub(crate) fn facts(&self, rounds: usize) -> Facts {
        let mut facts = Facts::new();
        for request in self.rounds[..rounds].iter().flatten() {
            request.apply(&mut facts);
        }
        facts
    }

    /// Compares a store with what must be there after so many acknowledged rounds. Says what is
    /// wrong, or which requests of the next round are there.
    pub(crate) async fn compare(
        &self,
        store: &Arc<dyn Store>,
        acknowledged: usize,
    ) -> Result<Vec<usize>, String> {
        let found = self.read(store).await.map_err(|error| error.to_string())?;
        let mut expected = self.facts(acknowledged);
        let mut there = Vec::new();
        let next = self.rounds.get(acknowledged).into_iter().flatten();
        for (place, request) in next.enumerate().filter(|(_, request)| request.is_in(&found)) {
            request.apply(&mut expected);
            there.push(place);
        }
        if found != expected {
            let wrong = |fact: &&String| found.get(*fact) != expected.get(*fact);
            let wrong: Vec<_> = found.keys().chain(expected.keys()).filter(wrong).take(6).collect();
            return Err(format!("after {acknowledged} rounds, lost, torn or changed: {wrong:?}"));
        }
        let rounds = self.rounds.iter().take(acknowledged).flatten();
        let next = there.iter().map(|place| &self.rounds[acknowledged][*place]);
        for key in rounds.chain(next).filter_map(|request| request.key) {
            // A known key changes nothing.
            if !matches!(store.accept(&[key], Vec::new()).await, Ok(Acceptance::Duplicate)) {
                return Err(format!("after {acknowledged} rounds, {key:?} is not known"));
            }
        }
        Ok(there)
    }

    /// Hands in together what is missing of a round, as whoever got no acknowledgement does, and
    /// waits until all of it is acknowledged.
    pub(crate) async fn finish(&self, store: &Arc<dyn Store>, round: usize, there: &[usize]) {
        let requests = self.rounds.get(round).into_iter().flatten().enumerate();
        let missing = requests.filter(|(place, _)| !there.contains(place));
        for answer in join_all(missing.map(|(_, request)| request.hand_in(store))).await {
            answer.unwrap();
        }
    }

    async fn read(&self, store: &Arc<dyn Store>) -> Result<Facts, StoreError> {
        let mut facts = Facts::new();
        for (_, row) in store.open_turns().await?.rows {
            facts.insert(format!("inbox {}", row.message.id), row.message.content);
        }
        for number in 0..self.turns {
            for (place, entry) in store.journal(turn_id(number)).await?.into_iter().enumerate() {
                let entry = String::from_utf8_lossy(&entry).into_owned();
                facts.insert(format!("journal om_{number}/{place}"), entry);
            }
        }
        for number in 0..SESSIONS {
            if let Some(session) = store.session(&session_key(number)).await? {
                let said = session.history.into_iter().map(|exchange| exchange.content).collect();
                facts.insert(format!("session {number}"), said);
            }
        }
        Ok(facts)
    }
}

impl Author {
    fn round(&mut self) -> Vec<Request> {
        // Requests of one round may be carried out in any order, so they share nothing.
        let mut busy = Vec::new();
        let mut sessions: Vec<u64> = (0..SESSIONS).collect();
        let count = 1 + self.dice.below(REQUESTS_MAX);
        (0..count).map(|_| self.request(&mut busy, &mut sessions)).collect()
    }

    fn request(&mut self, busy: &mut Vec<u64>, sessions: &mut Vec<u64>) -> Request {
        let idle = self.open.iter().position(|(number, _)| !busy.contains(number));
        match (self.dice.below(10), idle) {
            (0..3, Some(place)) if self.open.len() > OPEN_MAX / 2 => self.close(place, sessions),
            (0..6, Some(place)) => {
                busy.push(self.open[place].0);
                self.journal(place)
            }
            (6..8, _) => {
                let mut request = Request::empty();
                self.session(&mut request, sessions);
                request
            }
            (_, Some(place)) if self.open.len() >= OPEN_MAX => self.close(place, sessions),
            _ => self.accept(busy),
        }
    }

    fn accept(&mut self, busy: &mut Vec<u64>) -> Request {
        let number = self.turns;
        self.turns += 1;
        self.open.push((number, 0));
        busy.push(number);
        let content = text(&mut self.dice, self.size);
        let mut request = Request { key: Some(key(number)), ..Request::empty() };
        request.changes.push(inbox(number, &content));
        request.facts.push((format!("inbox om_{number}"), Some(content)));
        request
    }

    fn journal(&mut self, place: usize) -> Request {
        let entry = text(&mut self.dice, self.size);
        let (number, sequence) = self.open[place];
        self.open[place].1 += 1;
        // The next request takes another turn, if there is one.
        self.open.rotate_left(1);
        let mut request = Request::empty();
        request.changes.push(Change::PutJournal {
            turn: turn_id(number),
            sequence,
            entry: entry.clone().into_bytes(),
        });
        request.facts.push((format!("journal om_{number}/{sequence}"), Some(entry)));
        request
    }

    fn close(&mut self, place: usize, sessions: &mut Vec<u64>) -> Request {
        let (number, length) = self.open.remove(place);
        let mut request = Request::empty();
        self.session(&mut request, sessions);
        request.changes.push(close(number));
        request.facts.push((format!("inbox om_{number}"), None));
        for sequence in 0..length {
            request.facts.push((format!("journal om_{number}/{sequence}"), None));
        }
        request
    }

    fn session(&mut self, request: &mut Request, sessions: &mut Vec<u64>) {
        let number = sessions.swap_remove(self.dice.size_below(sessions.len()));
        let content = text(&mut self.dice, self.size);
        let said = Exchange { speaker: Speaker::User, content: content.clone() };
        let session = SessionV1 { history: vec![said], ..SessionV1::default() };
        let key = session_key(number);
        request.changes.push(Change::PutSession { key, session: Box::new(session) });
        request.facts.push((format!("session {number}"), Some(content)));
    }
}

impl Request {
    fn empty() -> Self {
        Self { key: None, changes: Vec::new(), facts: Vec::new() }
    }

    async fn hand_in(&self, store: &Arc<dyn Store>) -> Result<(), StoreError> {
        match self.key {
            Some(key) => {
                let acceptance = store.accept(&[key], self.changes.clone()).await?;
                assert_eq!(acceptance, Acceptance::New);
                Ok(())
            }
            None => store.commit(self.changes.clone()).await,
        }
    }

    fn apply(&self, facts: &mut Facts) {
        for (fact, content) in &self.facts {
            match content {
                Some(content) => facts.insert(fact.clone(), content.clone()),
                None => facts.remove(fact),
            };
        }
    }

    fn is_in(&self, facts: &Facts) -> bool {
        self.facts.iter().all(|(fact, content)| facts.get(fact) == content.as_ref())
    }
}

fn inbox(number: u64, content: &str) -> Change {
    let bot = BotName::new("assistant");
    let sender = Sender { id: UserId::new("ou_1"), kind: SenderKind::User, display_name: None };
    let message =
        AgentMessage::from_lark(bot.clone(), ChatId::new("oc_1"), trigger(number), sender, content);
    let accepted_at = Timestamp::from_millis(number);
    let admitted = AdmittedV1::default();
    let row = InboxV1 {
        bot,
        message,
        lane: Lane::Session,
        accepted_at,
        closing: None,
        admitted,
        merged: Vec::new(),
        in_place: None,
    };
    Change::PutInbox { turn: turn_id(number), row: Box::new(row) }
}

fn close(number: u64) -> Change {
    let receipt = ReceiptV1 {
        bot: BotName::new("assistant"),
        session: session_key(0),
        message: trigger(number),
        verdict: Verdict::Answered,
        reason: String::new(),
        accepted_at: Timestamp::from_millis(number),
        closed_at: Timestamp::from_millis(number),
        sent: Vec::new(),
        path: Vec::new(),
    };
    Change::CloseTurn { turn: turn_id(number), receipt: Box::new(receipt) }
}

/// How many events without work come at once, and what is said of each. In the log they are more
/// than two segments.
const NOISE: u64 = 3_000;
const NOISE_REASON: &str = "nobody named the bot, and this group is not one in which it listens";

/// Events that start no work. They are promised to nobody.
pub(crate) fn make_noise(store: &Arc<dyn Store>) {
    for number in 0..NOISE {
        store.note(NoteV1 {
            bot: BotName::new("assistant"),
            subject: format!("om_note_{number}"),
            verdict: Verdict::NotMentioned,
            reason: NOISE_REASON.to_owned(),
            at: Timestamp::from_millis(number),
        });
    }
}

/// Opens the store in a folder. A process that another test starts may hold the folder's lock for
/// a moment, between its fork and its own program.
pub(crate) fn open(data: &Path) -> Result<Arc<dyn Store>, StoreError> {
    tokio::task::block_in_place(|| {
        for _again in 0..500 {
            let tasks = TaskSet::new("test", CancellationToken::new());
            match open_sled(data, tasks, Faults::default()) {
                Err(StoreError::InUse { .. }) => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                other => return other,
            }
        }
        let tasks = TaskSet::new("test", CancellationToken::new());
        open_sled(data, tasks, Faults::default())
    })
}
