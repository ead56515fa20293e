//! What the themes have in common: ways to look at a chat, and barriers.

use std::time::Duration;

use larkspur::playground::Sent;
use serde_json::Value;

use crate::llm_script::Turn;
use crate::stage::{PATIENCE, Stage};

/// What the bot said in a chat and did not take back, in order.
pub(crate) fn bot_lines(stage: &Stage, chat: &str) -> Vec<String> {
    let seen = stage.sim.visible(chat).into_iter();
    seen.filter(|line| line.from_bot && !line.recalled).map(|line| line.text).collect()
}

/// Asks one more question and waits until its turn is closed. Turns of a chat are served in
/// order, so whatever the chat still owed is visible then.
pub(crate) async fn barrier(stage: &Stage, user: &str, chat: &str) {
    let last = stage.sim.asks(user, chat, "the last question").unwrap();
    stage.answers(&last).await;
    stage.verdict(&last, "answered").await;
}

/// Waits until the model was asked `count` times.
pub(crate) async fn asked(stage: &Stage, count: usize) {
    let in_time = stage.model.wait_for_requests(count, PATIENCE).await;
    assert!(in_time, "the model was not asked {count} times: {}", stage.log());
}

/// Waits until a condition holds; the text says what was waited for.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, holds).await.is_ok();
    assert!(in_time, "it never came to this: {what}");
}

/// A text of the model after a while.
pub(crate) fn late(milliseconds: u64, text: &str) -> Turn {
    Turn::text(text).later(Duration::from_millis(milliseconds))
}

/// The verdict word of a message now.
pub(crate) fn word(stage: &Stage, message: &str) -> String {
    stage.why(message)["verdict"].as_str().unwrap().to_owned()
}

/// Waits until the log has told of the end of a message's turn.
pub(crate) async fn told_closed(stage: &Stage, message: &str) {
    let why = stage.why(message);
    let turn = text(&why, "turn");
    let tells = |line: &str| line.contains("a turn ended") && line.contains(turn);
    until("the log tells of the end", || stage.log().lines().any(tells)).await;
}

/// A text field of a report.
pub(crate) fn text<'v>(report: &'v Value, key: &str) -> &'v str {
    report[key].as_str().unwrap()
}

/// What the model was last given beside a question; empty if it was given nothing.
pub(crate) fn context(stage: &Stage) -> String {
    let request = stage.model.last_request();
    let holds = |message: &&Value| message["role"] == "user";
    let texts: Vec<String> =
        request.messages().iter().filter(holds).map(crate::llm_script::text_of).collect();
    let before_question = texts.len().checked_sub(2).map(|place| texts[place].clone());
    before_question.filter(|text| text.contains("<context ")).unwrap_or_default()
}

/// A user sends a file into a chat; the message id and the file's key.
pub(crate) fn sent_file(
    stage: &Stage,
    user: &str,
    chat: &str,
    name: &str,
    text: &str,
) -> (String, String) {
    let sent = Sent {
        user: user.to_owned(),
        chat: chat.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        ..Sent::default()
    };
    stage.sim.sends(&sent).unwrap()
}
