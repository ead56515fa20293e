//! Groups: who is meant, and where the answer goes.

use larkspur::playground::{AppSettings, Say};
use serde_json::json;

use crate::stage::{Options, Stage};
use crate::talk::{barrier, bot_lines, text};

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_the_bot_speaks_only_when_it_is_named() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    for words in ["hello all", "@gateway-bot are you there", "@{ben} lunch?", "/status", "状态"] {
        let ignored = stage.sim.says("ann", &group, words).unwrap();
        stage.verdict(&ignored, "not_mentioned").await;
    }
    let named = stage.sim.asks("ann", &group, "and you?").unwrap();
    let answers = stage.answers(&named).await;
    assert_eq!(answers[0].text, "answer to: and you?");
    assert_eq!(answers[0].reply_to.as_deref(), Some(named.as_str()));
    assert_eq!(answers[0].chat_id, group);
    let inside = stage.sim.says("ben", &group, "please @{bot} help @{ann}").unwrap();
    assert!(stage.answer(&inside).await.contains("help @ann"), "others keep their names");
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn naming_everybody_names_nobody() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let all = stage.sim.says("ann", &group, "@{all} release today").unwrap();
    stage.verdict(&all, "not_mentioned").await;
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 1);
    let both = stage.sim.says("ann", &group, "@{all} @{bot} when?").unwrap();
    stage.verdict(&both, "answered").await;
    assert_eq!(bot_lines(&stage, &group).len(), 2);
    let lines = stage.sim.visible(&group);
    assert!(lines.iter().filter(|line| line.from_bot).all(|line| !line.mentions_all));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_can_be_told_to_hear_everything_and_everybody() {
    let bot = "[groups]\nmention = \"optional\"\nat_all = \"answer\"".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    for words in ["hello", "@{all} hello"] {
        let heard = stage.sim.says("ann", &group, words).unwrap();
        stage.verdict(&heard, "answered").await;
    }
    assert_eq!(bot_lines(&stage, &group).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_a_thread_stays_in_the_thread() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let topic = stage.sim.says("ann", &group, "a topic").unwrap();
    let reply = Say::new("ben", &group, "what about it?").to_bot().replying_to(&topic).in_thread();
    let reply = stage.sim.say(&reply).unwrap();
    let answer = stage.answers(&reply).await.remove(0);
    let thread = stage.sim.seen(&reply).unwrap().thread_id;
    assert!(thread.is_some());
    assert_eq!(answer.thread_id, thread);
    assert_eq!(answer.reply_to.as_deref(), Some(reply.as_str()));

    let quote = stage.sim.says("ann", &group, "another topic").unwrap();
    let plain = Say::new("ben", &group, "and this?").to_bot().replying_to(&quote);
    let plain = stage.sim.say(&plain).unwrap();
    assert_eq!(stage.answers(&plain).await[0].thread_id, None, "no thread is opened for a quote");
    assert_eq!(bot_lines(&stage, &group).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn own_messages_and_other_bots_are_not_heard() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let own = stage.sim.bot_open_id();
    let table = [
        (json!({"sender_type": "app", "sender_id": {"open_id": own}}), "own message"),
        (json!({"sender_type": "user", "sender_id": {"open_id": own}}), "own message"),
        (json!({"sender_type": "app", "sender_id": {"open_id": "ou_other_bot"}}), "another bot"),
        (json!({"sender_type": "bot", "sender_id": {"open_id": "ou_other_bot"}}), "another bot"),
    ];
    for (sender, reason) in table {
        let patch = json!({"event": {"sender": sender}});
        let say = Say::new("ann", &chat, "echo").with_overrides(patch);
        let echo = stage.sim.say(&say).unwrap();
        stage.verdict(&echo, "filtered").await;
        let why = stage.why(&echo);
        assert!(text(&why, "reason").contains(reason), "{sender}: {why}");
    }
    barrier(&stage, "ann", &chat).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_without_words_is_asked_for_more() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let bare = stage.sim.asks("ann", &group, "").unwrap();
    assert!(
        stage.answer(&bare).await.contains("put the question and the mention into one message")
    );
    stage.verdict(&bare, "answered").await;
    assert!(stage.model.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_people_of_a_chat_share_a_conversation_or_have_their_own() {
    for (bot, shared) in [("", 1), ("[groups]\nsession = \"user\"", 0)] {
        let options = Options { bot: bot.to_owned(), ..Options::default() };
        let stage = Stage::with(options).await;
        let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
        let first = stage.sim.asks("ann", &group, "the secret is 42").unwrap();
        stage.verdict(&first, "answered").await;
        barrier(&stage, "ben", &group).await;
        let heard = stage.model.last_request().count_containing("answer to: the secret is 42");
        assert_eq!(heard, shared, "{bot}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_bots_in_a_group_the_named_one_answers() {
    let mut stage = Stage::set(Options::default()).await;
    let app = AppSettings {
        app_id: "cli_second".to_owned(),
        name: "helper-bot".to_owned(),
        event_url: stage.url("/lark/helper/events"),
        ..AppSettings::default()
    };
    stage.sim.add_app(&app).unwrap();
    let helper = std::fs::read_to_string(stage.path("bots/assistant.toml"))
        .unwrap()
        .replace("\"assistant\"", "\"helper\"")
        .replace(&stage.sim.app_id(), "cli_second");
    std::fs::write(stage.path("bots/helper.toml"), helper).unwrap();
    stage.start(&[]).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    stage.sim.change_chat(&group, |chat| chat.bots.push("cli_second".to_owned())).unwrap();
    let first = stage.sim.says("ann", &group, "@{bot} the code is 42").unwrap();
    assert_eq!(stage.answers(&first).await[0].sender, "gateway-bot");
    let second = stage.sim.says("ann", &group, "@{cli_second} which code?").unwrap();
    assert_eq!(stage.answers(&second).await[0].sender, "helper-bot");
    assert_eq!(stage.model.last_request().count_containing("answer to"), 0, "each its own talk");
    let both = stage.sim.says("ann", &group, "@{bot} @{cli_second} hello").unwrap();
    let mut names: Vec<String> =
        stage.answers_of(&both, 2).await.into_iter().map(|answer| answer.sender).collect();
    names.sort_unstable();
    assert_eq!(names, ["gateway-bot", "helper-bot"]);
    assert_eq!(bot_lines(&stage, &group).len(), 4);
}
