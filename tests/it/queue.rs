//! Order in a chat, none between chats.

use std::time::Duration;

use crate::llm_script::{Latency, Mode, Rule, Turn, When};
use crate::stage::Stage;
use crate::talk::{asked, bot_lines, late};

#[tokio::test(flavor = "multi_thread")]
async fn two_messages_in_one_chat_keep_their_order() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(500, "slow one"), Turn::text("quick two")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let first = stage.sim.says("ann", &chat, "one").unwrap();
    let second = stage.sim.says("ann", &chat, "two").unwrap();
    stage.verdict(&second, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["slow one", "quick two"]);
    assert_eq!(stage.answer(&first).await, "slow one");
    assert_eq!(stage.answer(&second).await, "quick two");
    assert_eq!(stage.model.running_most(), 1, "one chat, one turn at a time");
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("slow one"), 1, "the second knows the first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_in_one_chat_is_answered_in_order() {
    let stage = Stage::new().await;
    let latency =
        Latency::Random { seed: 7, least: Duration::ZERO, most: Duration::from_millis(40) };
    stage.model.set_latency(latency);
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let questions: Vec<String> = (0..20)
        .map(|number| {
            let user = if number % 2 == 0 { "ann" } else { "ben" };
            stage.sim.asks(user, &group, &format!("number {number}")).unwrap()
        })
        .collect();
    for question in &questions {
        stage.verdict(question, "answered").await;
    }
    let expected: Vec<String> =
        (0..20).map(|number| format!("answer to: number {number}")).collect();
    assert_eq!(bot_lines(&stage, &group), expected);
    for (question, expected) in questions.iter().zip(&expected) {
        assert_eq!(&stage.answer(question).await, expected, "each replies to its own question");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_chats_are_served_side_by_side() {
    let stage = Stage::new().await;
    let slow = Rule::when(When::UserSays("slow".to_owned()), Mode::script([Turn::Stall]));
    stage.model.set_rules(vec![slow, Rule::always(Mode::Echo)]);
    let (left, right) = (stage.sim.p2p("ann").chat_id, stage.sim.p2p("ben").chat_id);
    let stuck = stage.sim.says("ann", &left, "slow").unwrap();
    asked(&stage, 1).await;
    let quick = stage.sim.says("ben", &right, "quick").unwrap();
    assert_eq!(stage.answer(&quick).await, "answer to: quick");
    stage.verdict(&stuck, "running").await;
    assert_eq!(stage.model.running_most(), 2);
    assert_eq!((bot_lines(&stage, &left).len(), bot_lines(&stage, &right).len()), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_chats_get_each_their_own_answer() {
    let stage = Stage::new().await;
    stage.model.set_latency(Latency::Fixed(Duration::from_millis(100)));
    let asked: Vec<(String, String, String)> = (0..50)
        .map(|number| {
            let user = format!("user{number}");
            let chat = stage.sim.p2p(&user).chat_id;
            let text = format!("I am {number}");
            let question = stage.sim.says(&user, &chat, &text).unwrap();
            (chat, question, text)
        })
        .collect();
    for (chat, question, text) in &asked {
        assert_eq!(stage.answer(question).await, format!("answer to: {text}"));
        assert_eq!(bot_lines(&stage, chat).len(), 1);
    }
    assert!(stage.model.running_most() >= 10, "{}", stage.model.running_most());
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 50);
    assert!(requests.iter().all(|request| request.messages().len() == 2), "no chat hears another");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_survives_a_kill() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let questions: Vec<String> = (0..4)
        .map(|number| stage.sim.says("ann", &chat, &format!("number {number}")).unwrap())
        .collect();
    asked(&stage, 1).await;
    stage.verdict(&questions[3], "queued").await;
    stage.kill();
    stage.start(&[]).await;
    stage.verdict(&questions[3], "answered").await;
    let expected: Vec<String> =
        (0..4).map(|number| format!("answer to: number {number}")).collect();
    assert_eq!(bot_lines(&stage, &chat), expected);
}
