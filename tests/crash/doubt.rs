//! A send whose outcome was lost with the process, and a platform that may have forgotten it.

use std::time::Duration;

use larkspur::base::{Locale, Say};

use crate::stage::{Options, PATIENCE, Stage};

const MINUTE: Duration = Duration::from_secs(60);
/// The daemon no longer trusts the platform's memory; a minute before it would have.
const PAST: Duration = Duration::from_secs(56 * 60);
/// The platform has forgotten.
const FORGOTTEN: Duration = Duration::from_secs(61 * 60);

/// A message whose answer is visible, and a process that died before it could know that. Then the
/// daemon starts again, `daemon` later by its clock and `platform` later by the platform's.
async fn resumed(bot: &str, daemon: Duration, platform: Duration) -> (Stage, String, String) {
    let options = Options { bot: bot.to_owned(), ..Options::default() };
    let mut stage = Stage::set(options).await;
    stage.start(&[("LARKSPUR_FAULT", "send.after")]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "is it done?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "send.after is not reached");
    assert_eq!(stage.sim.answers_to(&question).len(), 1, "the answer was visible at the kill");
    stage.sim.advance(platform);
    let offset = daemon.as_millis().to_string();
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
    (stage, chat, question)
}

/// What the bot said in the chat, once it has answered the next question too.
async fn said(stage: &Stage, chat: &str, question: &str) -> Vec<String> {
    let next = stage.sim.says("ann", chat, "and now?").unwrap();
    assert_eq!(stage.answer(&next).await, "answer to: and now?");
    let mut visible = stage.sim.visible(chat);
    visible.retain(|message| message.from_bot);
    let last = visible.pop().unwrap();
    assert_eq!(last.reply_to.as_deref(), Some(next.as_str()));
    for message in &visible {
        assert_eq!(message.reply_to.as_deref(), Some(question));
    }
    visible.into_iter().map(|message| message.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_is_repeated_unseen_while_the_platform_remembers() {
    let remembered = PAST.saturating_sub(2 * MINUTE);
    let (stage, chat, question) = resumed("", remembered, remembered).await;
    stage.verdict(&question, "answered").await;
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_is_dropped_is_seen_once_and_explained() {
    let (stage, chat, question) = resumed("in_doubt = \"drop\"", PAST, FORGOTTEN).await;
    stage.verdict(&question, "in_doubt").await;
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_is_repeated_visibly_carries_its_mark() {
    let (stage, chat, question) = resumed("", PAST, FORGOTTEN).await;
    stage.verdict(&question, "answered").await;
    let mark = Say::PossiblyRepeated.text(Locale::EnUs);
    let again = format!("{mark}\nanswer to: is it done?");
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?", &again]);
}
