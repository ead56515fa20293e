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
    let pushes: Vec<PushRecord> = chatter.sim.pushes_of(&question.id);
    let told = || format!("{question:?}: {answers:#?}; {pushes:#?}");
    assert!(answers.len() >= question.kind.parts_min(), "{}", told());
    assert!(!answers.iter().any(grows), "still growing: {}", told());
    assert!(!answers.iter().any(says_nothing), "an empty message: {}", told());
    assert!(joined(&answers) == question.expected, "not what was to be said: {}", told());
}

fn says_nothing(message: &SeenMessage) -> bool {
    message.recalled || reduced(&message.text).is_empty()
}

/// The same, seen from the chat: whatever stands in it.
fn nothing_invented(chatter: &Chatter, room: usize) {
    let questions = chatter.asked.iter().filter(|question| question.room == room);
    let expected: HashMap<&str, &str> =
        questions.map(|question| (question.id.as_str(), question.expected.as_str())).collect();
    let visible = chatter.sim.visible(chatter.chat_id(room));
    let mut said: HashMap<&str, Vec<&SeenMessage>> = HashMap::new();
    for message in visible.iter().filter(|message| message.from_bot) {
        let question = message.reply_to.as_deref().unwrap_or_default();
        assert!(expected.contains_key(question), "nobody asked for {message:?}");
        assert!(!says_nothing(message), "an empty message: {message:?}");
        said.entry(question).or_default().push(message);
    }
    assert_eq!(said.len(), expected.len(), "questions with an answer in {room}");
    for (question, messages) in said {
        let is_right = joined(&messages) == expected[question];
        assert!(is_right, "{question} in {room} was answered: {messages:#?}");
    }
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
