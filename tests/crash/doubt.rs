//! A send whose outcome was lost with the process, and a platform that may have forgotten it.

use std::time::Duration;

use larkspur::base::{Locale, Say};
use larkspur::playground::{Endpoint, FaultAction, FaultRule, Say as Says};

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};

const MINUTE: Duration = Duration::from_secs(60);
/// The daemon no longer trusts the platform's memory; a minute before it would have.
const PAST: Duration = Duration::from_secs(56 * 60);
/// The platform has forgotten.
const FORGOTTEN: Duration = Duration::from_secs(61 * 60);

/// A message whose answer is on its way, and a process that died at `point`. Then the daemon
/// starts again, `daemon` later by its clock and `platform` later by the platform's; where
/// `history` is closed, nobody can look whether the answer arrived.
struct Doubt {
    bot: &'static str,
    point: &'static str,
    daemon: Duration,
    platform: Duration,
    closed: bool,
}

impl Doubt {
    /// The answer was visible at the kill, and everybody has forgotten its `uuid`.
    const SEEN: Self =
        Self { bot: "", point: "send.after", daemon: PAST, platform: FORGOTTEN, closed: false };

    async fn resumed(self) -> (Stage, String, String) {
        let options = Options { bot: self.bot.to_owned(), ..Options::default() };
        let mut stage = Stage::set(options).await;
        stage.start(&[("LARKSPUR_FAULT", self.point)]).await;
        let chat = stage.sim.p2p("ann").chat_id;
        let question = stage.sim.says("ann", &chat, "is it done?").unwrap();
        assert!(stage.ended(PATIENCE).await.is_some(), "{} is not reached", self.point);
        let visible = usize::from(self.point == "send.after");
        assert_eq!(stage.sim.answers_to(&question).len(), visible, "at the kill");
        stage.sim.advance(self.platform);
        if self.closed {
            let refusal = FaultAction::Refuse { status: 400, code: 230_027, reset_s: None };
            stage.sim.fault(FaultRule::next(Endpoint::List, 1, refusal));
        }
        let offset = self.daemon.as_millis().to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        (stage, chat, question)
    }
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
    let doubt = Doubt { daemon: remembered, platform: remembered, ..Doubt::SEEN };
    let (stage, chat, question) = doubt.resumed().await;
    stage.verdict(&question, "answered").await;
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
    assert!(stage.sim.calls(Endpoint::List).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_arrived_is_found_in_the_chat() {
    for bot in ["", "in_doubt = \"drop\""] {
        let (stage, chat, question) = Doubt { bot, ..Doubt::SEEN }.resumed().await;
        stage.verdict(&question, "answered").await;
        let why = stage.why(&question);
        assert!(why["reason"].as_str().unwrap().contains("found in the chat"), "{why}");
        assert_eq!(why["message_ids"][0], stage.sim.answers_to(&question)[0].message_id.as_str());
        assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_never_arrived_is_sent_again_without_a_mark() {
    for bot in ["", "in_doubt = \"drop\""] {
        let doubt = Doubt { bot, point: "send.before", ..Doubt::SEEN };
        let (stage, chat, question) = doubt.resumed().await;
        stage.verdict(&question, "answered").await;
        assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_is_dropped_is_seen_once_and_explained() {
    let doubt = Doubt { bot: "in_doubt = \"drop\"", closed: true, ..Doubt::SEEN };
    let (stage, chat, question) = doubt.resumed().await;
    stage.verdict(&question, "in_doubt").await;
    let why = stage.why(&question);
    assert!(why["reason"].as_str().unwrap().contains("in_doubt = \"drop\""), "{why}");
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_send_that_is_repeated_visibly_carries_its_mark() {
    let (stage, chat, question) = Doubt { closed: true, ..Doubt::SEEN }.resumed().await;
    stage.verdict(&question, "answered").await;
    let why = stage.why(&question);
    assert!(why["reason"].as_str().unwrap().contains("in_doubt = \"resend\""), "{why}");
    let mark = Say::PossiblyRepeated.text(Locale::EnUs);
    let again = format!("{mark}\n\nanswer to: is it done?");
    assert_eq!(said(&stage, &chat, &question).await, ["answer to: is it done?", &again]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_answer_in_a_thread_is_looked_for_in_the_thread() {
    for (point, arrived) in [("send.after", 1), ("send.before", 0)] {
        let mut stage = Stage::set(Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let group = stage.sim.group("team", &["ann"]).chat_id;
        let topic = stage.sim.says("ann", &group, "a topic").unwrap();
        let ask = Says::new("ann", &group, "done?").to_bot().replying_to(&topic).in_thread();
        let question = stage.sim.say(&ask).unwrap();
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} is not reached");
        assert_eq!(stage.sim.answers_to(&question).len(), arrived);
        stage.sim.advance(FORGOTTEN);
        let offset = PAST.as_millis().to_string();
        stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
        stage.verdict(&question, "answered").await;
        let answers = stage.sim.answers_to(&question);
        assert_eq!(answers.len(), 1, "{point}");
        assert_eq!(answers[0].thread_id, stage.sim.seen(&question).unwrap().thread_id);
    }
}

/// Of a long answer the part in doubt is told from the others.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_answer_the_part_in_doubt_is_found_and_the_rest_follows() {
    let mut stage = Stage::set(Options::default()).await;
    let whole: Vec<String> = (0..4000).map(|number| format!("line {number} of many")).collect();
    stage.model.set_mode(Mode::script([Turn::text(&whole.join("\n"))]));
    stage.start(&[("LARKSPUR_FAULT", "send.after:2")]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "everything").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some());
    assert_eq!(stage.sim.answers_to(&question).len(), 2);
    stage.sim.advance(FORGOTTEN);
    let offset = PAST.as_millis().to_string();
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", &offset)]).await;
    stage.verdict(&question, "answered").await;
    let answers = stage.sim.answers_to(&question);
    let shown: Vec<&str> = answers.iter().flat_map(|answer| answer.text.lines()).collect();
    assert_eq!(shown, whole);
    assert!(answers.len() >= 3);
}
