//! The welcome: once in every chat, and for nobody who is not let in.

use larkspur::playground::{
    CardButton, CardPress, Endpoint, EventPush, FaultAction, FaultRule, PushRecord,
};
use serde_json::json;

use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{barrier, bot_lines, text, until};

const IN_GROUP: &str = "Hello, I am assistant. When you need me, mention me in a message together \
                        with your question; mention me with /help for the commands.";
const IN_PRIVATE: &str =
    "Hello, I am assistant. Just send me your question; /help shows the commands.";

async fn stage() -> Stage {
    Stage::with(Options { welcome: true, ..Options::default() }).await
}

/// A user adds the bot to a group, or takes it out.
fn moved(stage: &Stage, how: &str, user: &str, chat: &str) -> EventPush {
    let user = stage.sim.user(user);
    let event = json!({
        "chat_id": chat, "external": false, "name": "team", "operator_tenant_key": user.tenant_key,
        "operator_id": {"open_id": user.open_id, "user_id": user.user_id},
    });
    EventPush::new(&format!("im.chat.member.bot.{how}_v1"), event)
}

fn entered(stage: &Stage, user: &str) -> EventPush {
    let (chat, user) = (stage.sim.p2p(user).chat_id, stage.sim.user(user));
    let ids = json!({"open_id": user.open_id, "user_id": user.user_id});
    let event = json!({"chat_id": chat, "operator_id": ids});
    EventPush::new("im.chat.access_event.bot_p2p_chat_entered_v1", event)
}

async fn delivered(stage: &Stage, event: EventPush) -> PushRecord {
    let record = stage.sim.push_event(event).await.unwrap();
    assert!(record.delivered(), "{record:?}");
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_welcomed_once_whatever_is_delivered_again() {
    let mut stage = stage().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let added = moved(&stage, "added", "ann", &group).with_id("ev_added");
    delivered(&stage, added.clone()).await;
    stage.verdict("ev_added", "answered").await;
    let why = stage.why("ev_added");
    assert_eq!(text(&why, "reason"), "the welcome of this chat");
    assert_eq!(why["message_ids"].as_array().unwrap().len(), 1);
    for _ in 0..3 {
        delivered(&stage, added.clone()).await;
    }
    let other = moved(&stage, "added", "ann", &group).with_id("ev_other");
    delivered(&stage, other).await;
    stage.verdict("ev_other", "filtered").await;
    assert_eq!(text(&stage.why("ev_other"), "reason"), "welcomed before");
    stage.kill();
    stage.start(&[]).await;
    delivered(&stage, added).await;
    delivered(&stage, moved(&stage, "added", "ann", &group)).await;
    assert_eq!(stage.why("ev_added"), why, "its fate stays the first one");
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group), [IN_GROUP, "answer to: the last question"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_comes_back_is_welcome_again() {
    let stage = stage().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    for (count, event) in ["added", "deleted", "added"].into_iter().enumerate() {
        delivered(&stage, moved(&stage, event, "ann", &group)).await;
        let welcomes = count / 2 + 1;
        until("the welcome", || bot_lines(&stage, &group).len() == welcomes).await;
    }
    assert_eq!(bot_lines(&stage, &group), [IN_GROUP, IN_GROUP]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_chat_is_welcomed_when_it_is_opened() {
    let stage = stage().await;
    let chat = stage.sim.p2p("ann").chat_id;
    delivered(&stage, entered(&stage, "ann").with_id("ev_1")).await;
    stage.verdict("ev_1", "answered").await;
    delivered(&stage, entered(&stage, "ann").with_id("ev_2")).await;
    stage.verdict("ev_2", "filtered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat), [IN_PRIVATE, "answer to: the last question"]);

    let other = stage.sim.p2p("ben");
    let user = stage.sim.user("ben");
    let ids = json!({"open_id": user.open_id, "user_id": user.user_id});
    let event = json!({"chat_id": other.chat_id, "operator": ids, "user": ids});
    let old = EventPush::new("p2p_chat_create", event).in_schema_1().with_id("uu_1");
    delivered(&stage, old.in_plain()).await;
    stage.verdict("uu_1", "answered").await;
    assert_eq!(bot_lines(&stage, &other.chat_id), [IN_PRIVATE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_chat_that_nobody_told_of_is_welcomed_with_its_first_message() {
    let mut stage = stage().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let questions: Vec<String> =
        (0..5).map(|number| stage.sim.says("ann", &chat, &format!("q{number}")).unwrap()).collect();
    let command = stage.sim.says("ann", &chat, "/ping").unwrap();
    for question in &questions {
        stage.verdict(question, "answered").await;
    }
    stage.verdict(&command, "command").await;
    let welcomes =
        |stage: &Stage| bot_lines(stage, &chat).iter().filter(|line| *line == IN_PRIVATE).count();
    until("the welcome", || welcomes(&stage) == 1).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 7);
    assert!(stage.terminate().await.success());
    stage.start(&[]).await;
    barrier(&stage, "ann", &chat).await;
    delivered(&stage, entered(&stage, "ann").with_id("ev_late")).await;
    stage.verdict("ev_late", "filtered").await;
    barrier(&stage, "ann", &chat).await;
    assert_eq!(welcomes(&stage), 1);
    assert_eq!(bot_lines(&stage, &chat).len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_point_gives_neither_none_nor_two() {
    for point in
        ["accept.before_commit", "accept.after_commit", "send.before", "send.after", "close.after"]
    {
        let mut stage = Stage::set(Options { welcome: true, ..Options::default() }).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let group = stage.sim.group("team", &["ann"]).chat_id;
        let added = moved(&stage, "added", "ann", &group).with_id("ev_added");
        stage.sim.push_event(added.clone()).await.unwrap();
        assert!(stage.ended(PATIENCE).await.is_some(), "{point}");
        stage.start(&[]).await;
        delivered(&stage, added.clone()).await;
        stage.verdict("ev_added", "answered").await;
        barrier(&stage, "ann", &group).await;
        assert_eq!(bot_lines(&stage, &group).len(), 2, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_welcomed_and_a_bot_may_be_told_to_keep_quiet() {
    let stage = stage().await;
    let group = stage.sim.group("team", &["ann", "eve"]).chat_id;
    stage.sim.change_user("eve", |user| {
        user.tenant_key = "another-tenant".to_owned();
        user.user_id = None;
    });
    delivered(&stage, moved(&stage, "added", "eve", &group).with_id("ev_eve")).await;
    stage.verdict("ev_eve", "not_allowed").await;
    delivered(&stage, entered(&stage, "eve").with_id("ev_in")).await;
    stage.verdict("ev_in", "not_allowed").await;
    let private = stage.sim.p2p("eve").chat_id;
    let question = stage.sim.says("eve", &private, "hello").unwrap();
    stage.verdict(&question, "not_allowed").await;
    assert!(bot_lines(&stage, &private).is_empty());
    assert!(bot_lines(&stage, &group).is_empty());

    let quiet = Stage::new().await;
    let group = quiet.sim.group("team", &["ann"]).chat_id;
    delivered(&quiet, moved(&quiet, "added", "ann", &group).with_id("ev_added")).await;
    quiet.verdict("ev_added", "filtered").await;
    assert_eq!(text(&quiet.why("ev_added"), "reason"), "im.chat.member.bot.added_v1");
    barrier(&quiet, "ann", &group).await;
    assert_eq!(bot_lines(&quiet, &group).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_roles_are_not_known_yet_is_welcomed_with_the_first_message() {
    let mut stage = Stage::set(Options { welcome: true, ..Options::default() }).await;
    let access = "users = [\"@department/od-eng\"]\nchats = [\"*\"]\n";
    stage.edit_bot("users = [\"@tenant\"]\nchats = [\"*\"]\n", access);
    stage.start(&[]).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    delivered(&stage, moved(&stage, "added", "ann", &group).with_id("ev_added")).await;
    stage.verdict("ev_added", "filtered").await;
    let why = stage.why("ev_added");
    assert!(text(&why, "reason").starts_with("welcomed with the first message"), "{why}");
    let private = stage.sim.p2p("ann").chat_id;
    delivered(&stage, entered(&stage, "ann").with_id("ev_in")).await;
    stage.verdict("ev_in", "filtered").await;
    assert!(bot_lines(&stage, &group).is_empty());
    assert!(bot_lines(&stage, &private).is_empty());
    stage.sim.change_user("ann", |user| user.departments = vec!["od-eng".to_owned()]);
    barrier(&stage, "ann", &private).await;
    assert_eq!(bot_lines(&stage, &private).len(), 2, "the welcome and the answer");

    // That a welcome is owed outlives the process.
    stage.kill();
    stage.start(&[]).await;
    for answers in [1, 2] {
        barrier(&stage, "ann", &group).await;
        until("the welcome", || bot_lines(&stage, &group).len() == answers + 1).await;
        let welcomes = bot_lines(&stage, &group).iter().filter(|line| *line == IN_GROUP).count();
        assert_eq!(welcomes, 1);
    }
    delivered(&stage, moved(&stage, "added", "ann", &group).with_id("ev_again")).await;
    stage.verdict("ev_again", "filtered").await;
    assert_eq!(text(&stage.why("ev_again"), "reason"), "welcomed before");
}

/// A bot whose welcome has a question to press.
async fn with_examples() -> Stage {
    let bot = "examples = [\"How do we deploy?\"]".to_owned();
    Stage::with(Options { welcome: true, bot, model: None, ..Options::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_the_welcome_can_be_pressed_by_whoever_may_ask() {
    let stage = with_examples().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    delivered(&stage, moved(&stage, "added", "ann", &group).with_id("ev_added")).await;
    stage.verdict("ev_added", "answered").await;
    let card = stage.sim.visible(&group).remove(0);
    assert_eq!(card.msg_type, "interactive");
    assert!(card.text.contains(IN_GROUP) && card.text.contains("How do we deploy?"));
    let press = CardPress::of_button("ben", &card.message_id, CardButton::Place(0));
    let press = CardPress { id: Some("ev_press".to_owned()), ..press };
    let outcome = stage.sim.press(press.clone()).await.unwrap();
    assert!(format!("{outcome:?}").contains("Asked"), "{outcome:?}");
    let answer = stage.answers(&card.message_id).await.remove(0).text;
    assert!(answer.starts_with("“How do we deploy?”") && answer.contains("[deploy]"), "{answer}");
    stage.verdict("ev_press", "answered").await;
    // The platform may deliver a press again.
    let value = card.card.as_ref().unwrap().buttons[0].value.clone();
    let action = json!({"tag": "button", "value": value});
    let again = CardPress::new("ben", &group, action);
    let again = CardPress { id: press.id, message_id: Some(card.message_id.clone()), ..again };
    stage.sim.press(again).await.unwrap();
    let answered = stage.sim.calls(Endpoint::Reply).len();
    barrier_without_model(&stage, &group).await;
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), answered + 1);
    assert!(stage.sim.calls(Endpoint::React).is_empty(), "a press is no message to put a sign on");
}

/// Whatever was on its way has arrived.
async fn barrier_without_model(stage: &Stage, group: &str) {
    let last = stage.sim.asks("ann", group, "/ping").unwrap();
    // The platform's own record of the call is complete a moment after the answer is seen.
    stage.verdict(&last, "command").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_the_platform_refuses_arrives_as_text() {
    let stage = with_examples().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let refuse = FaultAction::Refuse { status: 400, code: 230_099, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Send, 1, refuse));
    delivered(&stage, moved(&stage, "added", "ann", &group).with_id("ev_added")).await;
    stage.verdict("ev_added", "answered").await;
    let seen = stage.sim.visible(&group);
    assert_eq!((seen.len(), seen[0].msg_type.as_str()), (1, "post"));
    assert!(seen[0].text.contains(IN_GROUP), "{}", seen[0].text);
    let why = stage.why("ev_added");
    assert!(text(&why, "reason").contains("the card was refused (230099"), "{why}");
}
