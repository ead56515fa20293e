//! People who ask in several chats, and what each of them has to see for it in the end.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::time::Duration;

use larkspur::base::{Locale, Say};
use larkspur::playground::{Endpoint, FaultAction, FaultRule, Playground, PushRecord, SeenMessage};
use serde_json::json;

use crate::dice::Dice;
use crate::llm_script::{Latency, Mode, Rule, Turn, When};
use crate::stage::{Options, Stage};

/// An answer of at least four messages: no single one takes more than 30 KB.
const LENGTHY_BYTES: usize = 100_000;
const LENGTHY_PARTS: usize = 4;

/// One room in so many is for lengthy answers.
const LENGTHY_ROOM_EVERY: usize = 3;

/// What a person writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A question that the model answers at once.
    Plain,
    /// A question for which the model searches first.
    Lookup,
    /// A question whose answer takes several messages.
    Lengthy,
    /// A control command, which does not wait in the chat's line.
    Ping,
    /// A control command that changes the conversation.
    New,
}

impl Kind {
    /// Whether it waits in the chat's line.
    pub(crate) fn is_in_line(self) -> bool {
        matches!(self, Self::Plain | Self::Lookup | Self::Lengthy)
    }

    /// How many messages the answer has at least. How many there are depends on its form: one
    /// that grows before people's eyes may take one more than one that is sent at once.
    pub(crate) fn parts_min(self) -> usize {
        if self == Self::Lengthy { LENGTHY_PARTS } else { 1 }
    }
}

/// Something that was asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) room: usize,
    pub(crate) kind: Kind,
    /// What the answer says, its messages put together, [`reduced`].
    pub(crate) expected: String,
}

/// A text without white space and invisible characters. Where a message ends, the cut swallows
/// some of the former; what neutralises foreign text adds some of the latter.
pub(crate) fn reduced(text: &str) -> String {
    let is_left_out = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
    };
    text.chars().filter(|letter| !is_left_out(*letter)).collect()
}

/// What several messages say together.
pub(crate) fn joined(messages: &[impl Borrow<SeenMessage>]) -> String {
    messages.iter().map(|message| reduced(&message.borrow().text)).collect()
}

/// Whether a message is still growing.
pub(crate) fn grows(message: &SeenMessage) -> bool {
    message.card.as_ref().is_some_and(|card| card.streaming)
}

/// What is open at one moment.
pub(crate) struct Open {
    /// The messages that were acknowledged and have not got their whole answer.
    pub(crate) owed: HashSet<String>,
    /// How many of them there are in each room.
    pub(crate) per_room: Vec<usize>,
    /// How many are on their way in; what the platform will repeat later does not count.
    pub(crate) coming: Vec<usize>,
}

struct Room {
    speaker: String,
    chat_id: String,
    is_group: bool,
}

/// The people, and everything they asked.
pub(crate) struct Chatter {
    pub(crate) sim: Playground,
    pub(crate) asked: Vec<Question>,
    rooms: Vec<Room>,
    /// Indices into `asked` of what has not got its whole answer yet.
    waiting: Vec<usize>,
}

/// A stage whose daemon does not run yet, for a lot of work.
pub(crate) async fn stage() -> Stage {
    // The line is long, so that nobody is turned away.
    let bot = "[groups]\nqueue_max = 1000\n".to_owned();
    let stage = Stage::set(Options { bot, ..Options::default() }).await;
    script(&stage);
    stage
}

/// Gives the model its rules.
pub(crate) fn script(stage: &Stage) {
    let search = Turn::call("search_knowledge", &json!({"query": "how do we deploy"}));
    let says = |words: &str| When::UserSays(words.to_owned());
    stage.model.set_rules(vec![
        Rule::when(When::AfterResults, Mode::Echo),
        Rule::when(says("at length"), Mode::Same(Turn::Text(lengthy()))),
        Rule::when(says("look up"), Mode::Same(search)),
        Rule::always(Mode::Echo),
    ]);
}

/// The platform takes its time, now and then it answers nothing or carries a send out late.
pub(crate) fn rough_platform(stage: &Stage, dice: &mut Dice) {
    let delay = |ms| FaultAction::Delay { ms };
    for (endpoint, per_mille, action) in [
        (Endpoint::Reply, 30, FaultAction::DropAfter),
        (Endpoint::Reply, 100, FaultAction::Slow { ms: 20 + dice.below(40) }),
        (Endpoint::Reply, 400, delay(10 + dice.below(20))),
        (Endpoint::Reply, 600, delay(20 + dice.below(40))),
        (Endpoint::React, 30, FaultAction::DropAfter),
        (Endpoint::React, 300, delay(5 + dice.below(30))),
        (Endpoint::Unreact, 300, delay(5 + dice.below(30))),
    ] {
        stage.sim.fault(FaultRule::by_chance(endpoint, per_mille, action));
    }
    stage.model.set_latency(Latency::Random {
        seed: dice.next(),
        least: Duration::from_millis(5),
        most: Duration::from_millis(60),
    });
}

impl Chatter {
    /// Each of `private` people talks to the bot alone, and each of `groups` groups has one who
    /// mentions it.
    pub(crate) fn new(stage: &Stage, private: usize, groups: usize) -> Self {
        let sim = stage.sim.clone();
        let mut rooms = Vec::new();
        for number in 0..private {
            let speaker = format!("person{number}");
            let chat_id = sim.p2p(&speaker).chat_id;
            rooms.push(Room { speaker, chat_id, is_group: false });
        }
        for number in 0..groups {
            let speaker = format!("member{number}");
            let chat_id = sim.group(&format!("group{number}"), &[&speaker]).chat_id;
            rooms.push(Room { speaker, chat_id, is_group: true });
        }
        Self { sim, asked: Vec::new(), rooms, waiting: Vec::new() }
    }

    pub(crate) fn rooms(&self) -> usize {
        self.rooms.len()
    }

    pub(crate) fn chat_id(&self, room: usize) -> &str {
        &self.rooms[room].chat_id
    }

    /// Somebody writes something of that kind into a room.
    pub(crate) fn ask(&mut self, room: usize, kind: Kind) -> String {
        let number = self.asked.len();
        // No text comes twice: the daemon takes the same words of the same person in the same
        // millisecond for one message.
        let text = match kind {
            Kind::Plain => format!("question {number}?"),
            Kind::Lookup => format!("look up {number}, please"),
            Kind::Lengthy => format!("explain {number} at length"),
            Kind::Ping => format!("/ping {number}"),
            Kind::New => format!("/new {number}"),
        };
        let expected = match kind {
            Kind::Plain | Kind::Lookup => format!("answer to: {text}"),
            Kind::Lengthy => lengthy(),
            Kind::Ping => Say::Pong.text(Locale::EnUs),
            Kind::New => Say::FreshConversation.text(Locale::EnUs),
        };
        let Room { speaker, chat_id, is_group } = &self.rooms[room];
        let said = if *is_group {
            self.sim.asks(speaker, chat_id, &text)
        } else {
            self.sim.says(speaker, chat_id, &text)
        };
        let id = said.unwrap();
        let expected = reduced(&expected);
        self.asked.push(Question { id: id.clone(), room, kind, expected });
        self.waiting.push(number);
        id
    }

    /// Somebody writes something of a random kind. Long answers are for some rooms, where the
    /// conversation is started afresh each time, for the sake of the test's own speed.
    pub(crate) fn ask_anything(&mut self, room: usize, dice: &mut Dice) {
        if room.is_multiple_of(LENGTHY_ROOM_EVERY) {
            self.ask(room, Kind::Lengthy);
            self.ask(room, Kind::New);
            return;
        }
        let kind = match dice.below(20) {
            0..5 => Kind::Lookup,
            5 => Kind::Ping,
            6 => Kind::New,
            _ => Kind::Plain,
        };
        self.ask(room, kind);
    }

    /// The visible answers to a question.
    pub(crate) fn answers(&self, question: &Question) -> Vec<SeenMessage> {
        self.sim.answers_to(&question.id)
    }

    /// Whether nothing of the answer is missing. What is too much, the judgement notices.
    fn is_answered(&self, question: &Question) -> bool {
        let answers = self.answers(question);
        answers.len() >= question.kind.parts_min()
            && !answers.iter().any(grows)
            && joined(&answers).len() >= question.expected.len()
    }

    /// The messages whose push was acknowledged.
    pub(crate) fn acknowledged(&self) -> HashSet<String> {
        let pushes = self.sim.pushes().into_iter();
        pushes.filter(PushRecord::delivered).filter_map(|push| push.message_id).collect()
    }

    /// Looks at the world once.
    pub(crate) fn look(&mut self) -> Open {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|index| {
            let question = &self.asked[*index];
            !self.is_answered(question)
        });
        self.waiting = waiting;
        let (mut taken, mut refused) = (HashSet::new(), HashSet::new());
        for push in self.sim.pushes() {
            let ids = if push.delivered() { &mut taken } else { &mut refused };
            ids.extend(push.message_id);
        }
        let nobody = vec![0; self.rooms.len()];
        let mut open = Open { owed: HashSet::new(), per_room: nobody.clone(), coming: nobody };
        for question in self.waiting() {
            if taken.contains(&question.id) {
                open.owed.insert(question.id.clone());
                open.per_room[question.room] += 1;
            } else if !refused.contains(&question.id) {
                open.coming[question.room] += 1;
            }
        }
        open
    }

    /// Whether somebody sees a part of an answer and waits for the rest. A second message is only
    /// sent when the first is confirmed.
    pub(crate) fn is_half_said(&self) -> bool {
        self.waiting().any(|question| self.answers(question).len() > 1)
    }

    /// What waits for its answer, acknowledged or not.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Question> {
        self.waiting.iter().map(|index| &self.asked[*index])
    }
}

/// No piece of it comes twice: a part in the place of another is another text.
pub(crate) fn lengthy() -> String {
    let pieces = (0..).map(|number| format!("all-of-it-{number},"));
    let mut text = String::new();
    for piece in pieces {
        if text.len() >= LENGTHY_BYTES {
            break;
        }
        text.push_str(&piece);
    }
    text
}
