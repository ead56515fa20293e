//! The judgement: every message is answered exactly once, in order, and nothing else is said.
//!
//! It does not depend on the form of an answer: a text, a card, a card that grows; several
//! messages, cut wherever. It cannot pass wrongly:
//!
//! - Every message of the bot in a chat must answer a question that was asked there, and belongs
//!   to that one alone. What answers nothing or was taken back fails.
//! - Every message must say something that can be seen, so none can hide beside the others.
//! - All the messages of a question, put together in the order in which they stand, must be its
//!   expected text letter by letter, but for white space and invisible characters. No expected
//!   text holds a piece twice, and none is empty: with a part lost, doubled, exchanged or added it
//!   is another text, of whatever parts it is made.
//! - No message may still be growing, and a lengthy answer needs as many messages as its bytes
//!   need at least.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use larkspur::playground::{Endpoint, PushRecord, SeenMessage};

use crate::chatter::{Chatter, Kind, Question, grows, joined, reduced};
use crate::stage::{PATIENCE, Stage};

/// How often the world is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Waits until everything that was acknowledged is answered. The daemon runs.
pub(crate) async fn settle(chatter: &mut Chatter, stage: &mut Stage) {
    assert!(chatter.sim.pushed(PATIENCE).await, "first tries hang");
    let mut left = usize::MAX;
    let mut idle = Duration::ZERO;
    loop {
        let open: usize = chatter.look().owed.len();
        if open == 0 {
            return;
        }
        assert!(!stage.has_ended(), "the daemon ended: {}", stage.epitaph());
        // The work may be long; what must not happen is that it stands still.
        idle = if open < left { Duration::ZERO } else { idle + TICK };
        left = left.min(open);
        assert!(idle < PATIENCE, "acknowledged, unanswered: {}", explained(chatter, stage));
        tokio::time::sleep(TICK).await;
    }
}

/// What is not answered, and what the daemon and the platform know of it.
fn explained(chatter: &Chatter, stage: &Stage) -> String {
    let mut lines = Vec::new();
    for question in chatter.waiting() {
        let Question { id, room, kind, .. } = question;
        let calls = chatter.sim.calls(Endpoint::Any).into_iter();
        let calls: Vec<_> = calls.filter(|call| call.path.contains(id.as_str())).collect();
        lines.push(format!(
            "{kind:?} {id} in room {room}: {} answers; {}\npushes: {:#?}\ncalls: {calls:#?}",
            chatter.answers(question).len(),
            String::from_utf8_lossy(&stage.cli(&["why", id, "--json"]).stdout),
            chatter.sim.pushes_of(id),
        ));
    }
    lines.push(stage.log());
    lines.join("\n")
}

/// Lets the platform repeat what was not acknowledged until everything is, and waits for the
/// answers. The daemon runs and runs on.
///
/// Time is only moved while nothing is in flight: an hour later the platform has forgotten the
/// `uuid` of a send, which is not the subject here.
pub(crate) async fn redeliver(chatter: &mut Chatter, stage: &mut Stage) {
    for rung in [15, 5 * 60, 60 * 60, 6 * 60 * 60] {
        settle(chatter, stage).await;
        if chatter.sim.retries_waiting() == 0 && is_acknowledged(chatter) {
            return;
        }
        chatter.sim.advance(Duration::from_secs(rung));
        let repeated = async {
            while chatter.sim.retries_waiting() > 0 || !is_acknowledged(chatter) {
                tokio::time::sleep(TICK).await;
            }
        };
        // What is due later than this rung brings waits for the next one.
        let all = tokio::time::timeout(Duration::from_secs(5), repeated).await;
        drop(all);
    }
    settle(chatter, stage).await;
    assert!(is_acknowledged(chatter), "the platform gave up: {}", stage.log());
}

fn is_acknowledged(chatter: &Chatter) -> bool {
    let acknowledged = chatter.acknowledged();
    chatter.asked.iter().all(|question| acknowledged.contains(&question.id))
}

/// Everything at the end of a test: what is still open is finished, then judged.
pub(crate) async fn judge(chatter: &mut Chatter, stage: &mut Stage) {
    redeliver(chatter, stage).await;
    for room in 0..chatter.rooms() {
        chatter.ask(room, Kind::Plain);
    }
    redeliver(chatter, stage).await;

    for question in &chatter.asked {
        answered_once(chatter, question);
    }
    for room in 0..chatter.rooms() {
        nothing_invented(chatter, room);
        in_order(chatter, room);
    }
    no_sign_left(chatter, stage).await;
    stage.model.assert_clean();
}

fn answered_once(chatter: &Chatter, question: &Question) {
    let answers = chatter.answers(question);
    let answers: Vec<&SeenMessage> = answers.iter().collect();
    if let Some(flaw) = flaw(question, &answers) {
        let pushes: Vec<PushRecord> = chatter.sim.pushes_of(&question.id);
        panic!("{flaw}: {question:?}: {answers:#?}; {pushes:#?}");
    }
}

/// What is wrong with the messages that answer a question.
fn flaw(question: &Question, messages: &[&SeenMessage]) -> Option<&'static str> {
    let says_nothing =
        |message: &SeenMessage| message.recalled || reduced(&message.text).is_empty();
    if messages.len() < question.kind.parts_min() {
        Some("too few messages")
    } else if messages.iter().any(|message| grows(message)) {
        Some("still growing")
    } else if messages.iter().any(|message| says_nothing(message)) {
        Some("an empty message")
    } else if joined(messages) != question.expected {
        Some("not what was to be said")
    } else {
        None
    }
}

/// The same, seen from the chat: whatever stands in it.
fn nothing_invented(chatter: &Chatter, room: usize) {
    let visible = chatter.sim.visible(chatter.chat_id(room));
    let mut said: HashMap<&str, Vec<&SeenMessage>> = HashMap::new();
    for message in visible.iter().filter(|message| message.from_bot) {
        said.entry(message.reply_to.as_deref().unwrap_or_default()).or_default().push(message);
    }
    for question in chatter.asked.iter().filter(|question| question.room == room) {
        let messages = said.remove(question.id.as_str()).unwrap_or_default();
        let flaw = flaw(question, &messages);
        assert!(flaw.is_none(), "{flaw:?}: {question:?} in {room}: {messages:#?}");
    }
    assert!(said.is_empty(), "nobody asked for {said:#?}");
}

/// The answers stand in the order of the questions. That holds for what the platform pushed in
/// order: what it had to repeat has no place of its own.
fn in_order(chatter: &Chatter, room: usize) {
    let at_once: HashSet<String> = chatter
        .sim
        .pushes()
        .into_iter()
        .filter(|push| push.attempt == 1 && push.delivered())
        .filter_map(|push| push.message_id)
        .collect();
    let visible = chatter.sim.visible(chatter.chat_id(room));
    let questions = chatter.asked.iter().filter(|question| {
        question.room == room && question.kind.is_in_line() && at_once.contains(&question.id)
    });
    let order: Vec<&str> = questions.map(|question| question.id.as_str()).collect();
    let wanted: HashSet<&str> = order.iter().copied().collect();
    let mut answered: Vec<&str> = visible
        .iter()
        .filter(|message| message.from_bot)
        .filter_map(|message| message.reply_to.as_deref())
        .filter(|question| wanted.contains(question))
        .collect();
    // The messages of one answer stand together.
    answered.dedup();
    assert_eq!(answered, order, "the order in {room}");
}

/// The sign of work is taken away beside the answer, so it may be a moment late.
async fn no_sign_left(chatter: &Chatter, stage: &Stage) {
    let signed = || -> Vec<&Question> {
        let asked = chatter.asked.iter();
        asked
            .filter(|question| {
                chatter.sim.seen(&question.id).is_some_and(|seen| !seen.reactions.is_empty())
            })
            .collect()
    };
    let gone = async {
        while !signed().is_empty() {
            tokio::time::sleep(TICK).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), gone).await.is_ok();
    assert!(in_time, "the sign still stands at {:#?}; {}", signed(), stage.log());
}

/// One of several messages that answer a question.
fn part(text: &str) -> SeenMessage {
    SeenMessage {
        message_id: "om_1".to_owned(),
        chat_id: "oc_1".to_owned(),
        sender: "bot".to_owned(),
        from_bot: true,
        msg_type: "text".to_owned(),
        text: text.to_owned(),
        card: None,
        content: String::new(),
        recalled: false,
        edits: 0,
        presses: 0,
        reply_to: None,
        thread_id: None,
        mentions: Vec::new(),
        mentions_all: false,
        reactions: Vec::new(),
        at_ms: 0,
    }
}

#[test]
fn the_judgement_takes_any_cut_and_no_part_lost_doubled_exchanged_or_added() {
    let judged = |kind: Kind, expected: &str, parts: &[String]| {
        let expected = reduced(expected);
        let question = Question { id: "om_0".to_owned(), room: 0, kind, expected };
        let parts: Vec<SeenMessage> = parts.iter().map(|text| part(text)).collect();
        flaw(&question, &parts.iter().collect::<Vec<_>>())
    };
    let lengthy = crate::chatter::lengthy();
    let cut = |bytes: usize| -> Vec<String> {
        let pieces = lengthy.as_bytes().chunks(bytes);
        pieces.map(|piece| format!(" {}\u{200b}\n", str::from_utf8(piece).unwrap())).collect()
    };
    for bytes in [29_000, 23_000, 20_001] {
        let whole = cut(bytes);
        let is_flawed = |parts: &[String]| judged(Kind::Lengthy, &lengthy, parts).is_some();
        assert!(!is_flawed(&whole), "{bytes}");
        for place in 0..whole.len() {
            let mut lost = whole.clone();
            let part = lost.remove(place);
            assert!(is_flawed(&lost));
            let mut doubled = whole.clone();
            doubled.insert(place, part.clone());
            assert!(is_flawed(&doubled));
            let mut exchanged = whole.clone();
            exchanged.swap(place, (place + 1) % whole.len());
            assert!(is_flawed(&exchanged));
            let mut instead = whole.clone();
            instead[(place + 1) % whole.len()] = part;
            assert!(is_flawed(&instead));
            let mut with_empty = whole.clone();
            with_empty.insert(place, " \u{200b}".to_owned());
            assert!(is_flawed(&with_empty));
        }
    }
    let plain = |parts: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        judged(Kind::Plain, "answer to: question 7?", &parts)
    };
    assert_eq!(plain(&["answer to: question 7?"]), None);
    assert_eq!(plain(&["answer to:", "question 7?"]), None);
    assert_eq!(plain(&[]), Some("too few messages"));
    assert_eq!(plain(&["answer to: question 7?"; 2]), Some("not what was to be said"));
    assert_eq!(plain(&["answer to: question 7?", ""]), Some("an empty message"));
    assert_eq!(plain(&["answer to: question 8?"]), Some("not what was to be said"));
    assert!(judged(Kind::Lengthy, &lengthy, &cut(60_000)).is_some(), "larger than can be");
}
