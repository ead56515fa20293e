//! Cases of the component `send`: plain sends.

use larkspur::base::{BotName, ChatId, MessageId};
use larkspur::envelope::{Channel, Delivery, Destination, Form, Operation, Outlet, Thread};
use larkspur::playground::{CallRecord, Endpoint, FaultAction, FaultRule, Say};

use serde_json::json;

use crate::llm_script::{Mode, Turn};
use crate::looks::outlet;
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{barrier, bot_lines, text, until};

fn refuse(status: u16, code: i64) -> FaultAction {
    FaultAction::Refuse { status, code, reset_s: None }
}

fn for_ever(endpoint: Endpoint, action: FaultAction) -> FaultRule {
    FaultRule { times: None, ..FaultRule::next(endpoint, 1, action) }
}

fn replies(stage: &Stage) -> Vec<CallRecord> {
    stage.sim.calls(Endpoint::Reply)
}

/// All calls carry one key.
fn same_uuid(calls: &[CallRecord]) {
    assert!(
        calls.iter().all(|call| call.uuid.is_some() && call.uuid == calls[0].uuid),
        "{calls:?}"
    );
}

fn create(to: &str, thread: Option<Thread>, uuid: &str) -> Delivery {
    let bot = BotName::new("assistant");
    let mut destination =
        Destination::reply(bot.clone(), Channel::Lark, ChatId::new(to), MessageId::new(""));
    destination.reply_to = None;
    destination.in_thread = thread.is_some();
    destination.thread = thread;
    let operation =
        Operation::Create { destination, text: "unasked".to_owned(), form: Form::Text, card: None };
    Delivery::of(bot, operation, uuid.to_owned())
}

/// A question in a thread, and the message that the thread began with.
fn thread_question(stage: &Stage, group: &str) -> (String, String) {
    let topic = stage.sim.says("ann", group, "a topic").unwrap();
    let ask = Say::new("ann", group, "what of it?").to_bot().replying_to(&topic).in_thread();
    (stage.sim.say(&ask).unwrap(), topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn p007_a_retry_carries_the_same_key_and_is_seen_once() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 2, FaultAction::DropAfter));
    let question = stage.sim.says("ann", &chat, "once?").unwrap();
    stage.verdict(&question, "answered").await;
    let calls = replies(&stage);
    assert_eq!(calls.len(), 3);
    same_uuid(&calls);
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    assert_ne!(replies(&stage).last().unwrap().uuid, calls[0].uuid, "another answer, another key");
}

#[tokio::test(flavor = "multi_thread")]
async fn p026_into_a_topic_leads_a_reply_and_never_the_topics_id() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let (question, topic) = thread_question(&stage, &group);
    stage.answers(&question).await;
    let id = stage.sim.seen(&question).unwrap().thread_id.unwrap();

    // Known root, unknown root.
    let outlet = outlet(&stage.sim);
    for (root, uuid) in [(Some(MessageId::new(topic.as_str())), "known"), (None, "unknown")] {
        let thread = Thread { id: id.clone(), root };
        let sent = outlet.deliver(&create(&group, Some(thread), uuid)).await.unwrap();
        let seen = stage.sim.seen(&sent.id).unwrap();
        assert_eq!(seen.thread_id.as_deref(), Some(id.as_str()), "{uuid}");
        assert!(seen.reply_to.is_some(), "{uuid}");
    }
    assert!(stage.sim.calls(Endpoint::Send).is_empty(), "no stray topic");
}

#[tokio::test(flavor = "multi_thread")]
async fn p103_a_rate_limit_is_waited_out_in_order_and_with_the_same_key() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let action = FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(2) };
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 2, action));
    let first = stage.sim.says("ann", &chat, "first").unwrap();
    let second = stage.sim.says("ann", &chat, "second").unwrap();
    stage.verdict(&first, "answered").await;
    stage.verdict(&second, "answered").await;
    let calls = replies(&stage);
    assert_eq!(calls.len(), 4, "{calls:?}");
    same_uuid(&calls[..3]);
    for pair in calls[..3].windows(2) {
        assert!(pair[1].at_ms - pair[0].at_ms >= 2000, "{calls:?}");
    }
    assert_eq!(bot_lines(&stage, &chat), ["answer to: first", "answer to: second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p105_the_kind_of_a_receiver_follows_from_its_id() {
    let stage = Stage::set(Options::default()).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let ann = stage.sim.user("ann");
    let outlet = outlet(&stage.sim);
    for (number, to) in [&group, &ann.open_id, &ann.union_id].into_iter().enumerate() {
        let sent = outlet.deliver(&create(to, None, &format!("u{number}"))).await.unwrap();
        assert_eq!(stage.sim.seen(&sent.id).unwrap().text, "unasked", "{to}");
    }
    // The playground knows no addresses; what matters is how it was asked.
    let error = outlet.deliver(&create("a@b.example", None, "mail")).await.unwrap_err();
    assert_eq!(error.code, Some(230_034));
    let kinds: Vec<String> = stage.sim.calls(Endpoint::Send).into_iter().map(|c| c.path).collect();
    for (path, kind) in kinds.iter().zip(["chat_id", "open_id", "union_id", "email"]) {
        assert!(path.ends_with(&format!("receive_id_type={kind}")), "{path}");
    }
    stage.sim.fault(FaultRule::next(Endpoint::Send, 1, refuse(400, 99_992_361)));
    let error = outlet.deliver(&create("ou_foreign", None, "cross")).await.unwrap_err();
    assert!(error.text.contains("belongs to another app"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p132_a_send_that_a_drain_cuts_off_is_delivered_after_the_restart() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    stage.sim.fault(for_ever(Endpoint::Reply, refuse(503, 2200)));
    let question = stage.sim.says("ann", &chat, "ready?").unwrap();
    until("the send was tried", || !replies(&stage).is_empty()).await;
    assert_eq!(stage.terminate().await.code(), Some(0));
    assert!(bot_lines(&stage, &chat).is_empty());
    stage.sim.clear_faults();
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["answer to: ready?"]);
    same_uuid(&replies(&stage));
    assert_eq!(stage.model.requests().len(), 1, "it was not thought up again");
}

/// The case counts 230020 among the codes of a gone target; the protocol page says that it is a
/// rate limit, and the protocol page is right.
#[tokio::test(flavor = "multi_thread")]
async fn p161_an_answer_whose_question_is_gone_comes_without_it() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let words = "{\"msg\":\"The message was withdrawn.\"}".to_owned();
    let gone = [
        FaultAction::Answer { status: 400, body: words },
        refuse(400, 230_011),
        refuse(400, 231_003),
        refuse(400, 230_110),
    ];
    for (number, action) in gone.into_iter().enumerate() {
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
        let question = stage.sim.asks("ann", &group, &format!("number {number}")).unwrap();
        stage.verdict(&question, "answered").await;
        let why = stage.why(&question);
        assert!(text(&why, "reason").contains("is gone"), "{why}");
        let sent = stage.sim.seen(why["message_ids"][0].as_str().unwrap()).unwrap();
        assert_eq!(sent.text, format!("answer to: number {number}"));
        assert_eq!((sent.reply_to, sent.chat_id), (None, group.clone()));
    }
    assert_eq!(stage.sim.calls(Endpoint::Send).len(), 4);

    let (question, topic) = thread_question(&stage, &group);
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, refuse(400, 230_011)));
    stage.verdict(&question, "answered").await;
    let why = stage.why(&question);
    let sent = stage.sim.seen(why["message_ids"][0].as_str().unwrap()).unwrap();
    assert_eq!(sent.thread_id, stage.sim.seen(&question).unwrap().thread_id, "the same thread");
    assert_eq!(sent.reply_to.as_deref(), Some(topic.as_str()));

    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, refuse(400, 230_020)));
    let question = stage.sim.asks("ann", &group, "too fast?").unwrap();
    stage.verdict(&question, "answered").await;
    assert_eq!(stage.sim.answers_to(&question).len(), 1, "a rate limit is waited out");
}

/// The first try is in doubt, and then the question is gone: the chat tells whether it arrived.
#[tokio::test(flavor = "multi_thread")]
async fn p161_a_doubtful_answer_whose_question_is_gone_is_looked_for_first() {
    for (first, arrived) in [(FaultAction::DropAfter, true), (FaultAction::Drop, false)] {
        let stage = Stage::new().await;
        let chat = stage.sim.p2p("ann").chat_id;
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, first));
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, refuse(400, 230_011)));
        let question = stage.sim.says("ann", &chat, "gone?").unwrap();
        stage.verdict(&question, "answered").await;
        assert_eq!(bot_lines(&stage, &chat), ["answer to: gone?"]);
        assert_eq!(stage.sim.answers_to(&question).len(), usize::from(arrived));
        assert_eq!(stage.sim.calls(Endpoint::Send).len(), usize::from(!arrived));
        assert_eq!(stage.sim.calls(Endpoint::List).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p162_a_chat_that_the_bot_has_left_is_given_up_at_once_and_for_good() {
    let mut stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    stage.sim.fault(for_ever(Endpoint::Reply, refuse(400, 230_002)));
    let question = stage.sim.asks("ann", &group, "still here?").unwrap();
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    let reason = text(&why, "reason");
    assert!(reason.contains("230002") && reason.contains("add it to the group again"), "{reason}");
    stage.kill();
    stage.start(&[]).await;
    stage.verdict(&question, "failed").await;
    assert_eq!(replies(&stage).len(), 1, "no storm, not even after a restart");
    stage.sim.clear_faults();
    barrier(&stage, "ann", &group).await;
}

/// No tool sends into the chat: what a model tries to send by one reaches nobody, and the answer is
/// sent once. A tool that can must keep this.
#[tokio::test(flavor = "multi_thread")]
async fn p180_what_a_model_also_sends_by_a_tool_is_read_once() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let words = "The build is green again.";
    let arguments = json!({"chat_id": chat, "text": words});
    let turns = [Turn::call("send_message", &arguments), Turn::text(words)];
    stage.model.set_mode(Mode::script(turns));
    let question = stage.sim.says("ann", &chat, "is it green?").unwrap();
    stage.verdict(&question, "answered").await;
    barrier(&stage, "ann", &chat).await;
    let said = stage.sim.visible(&chat);
    let told = said.iter().filter(|seen| seen.from_bot && seen.text.contains(words));
    assert_eq!(told.count(), 1, "{said:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p187_a_recovered_answer_keeps_its_question_its_topic_and_its_key() {
    for (point, calls) in [("send.before", 1), ("send.after", 2)] {
        let mut stage = Stage::set(Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let group = stage.sim.group("team", &["ann"]).chat_id;
        let (question, _topic) = thread_question(&stage, &group);
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} is not reached");
        stage.start(&[]).await;
        stage.verdict(&question, "answered").await;
        let answers = stage.sim.answers_to(&question);
        assert_eq!(answers.len(), 1, "{point}");
        assert_eq!(answers[0].thread_id, stage.sim.seen(&question).unwrap().thread_id);
        assert_eq!(replies(&stage).len(), calls, "{point}");
        same_uuid(&replies(&stage));
        assert!(stage.sim.calls(Endpoint::Send).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p194_a_pending_send_outlives_a_client_that_is_not_ready() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR_FAULT", "send.before")]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "pending?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some());
    // No token, no identity: the client cannot come up.
    stage.sim.fault(for_ever(Endpoint::Any, FaultAction::Drop));
    stage.launch(&[]);
    let tried = || stage.log().matches("\"send_retried\"").count() >= 2;
    until("the send was tried in vain", tried).await;
    stage.sim.clear_faults();
    assert_eq!(stage.answer(&question).await, "answer to: pending?");
    stage.verdict(&question, "answered").await;
}
