//! Control commands: at once, whatever the session is busy with.

use larkspur::playground::{Endpoint, FaultAction, FaultRule, RetryEventId, Say};

use crate::llm_script::{Mode, Turn};
use crate::stage::{PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, text, told_closed, until};

async fn says(stage: &Stage, chat: &str, words: &str) -> (String, String) {
    let message = stage.sim.says("ann", chat, words).unwrap();
    let answer = stage.answer(&message).await;
    (message, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_answers_in_any_case_and_in_chinese() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let version = env!("CARGO_PKG_VERSION");
    let table = [
        ("/help", "Commands:"),
        ("/HELP", "Commands:"),
        ("帮助", "Commands:"),
        ("/status", "model scripted"),
        ("/Status", "model scripted"),
        ("状态", "model scripted"),
        ("查看状态？", "model scripted"),
        ("/ping", "Here."),
        ("在吗", "Here."),
        ("/version", version),
        ("版本", version),
        ("/stop", "Nothing is running here."),
        ("停止", "Nothing is running here."),
        ("/new", "A fresh conversation"),
        ("新对话", "A fresh conversation"),
        ("/why", "Reply to the message you mean"),
    ];
    for (command, expected) in table {
        let (message, answer) = says(&stage, &chat, command).await;
        assert!(answer.contains(expected), "{command}: {answer}");
        stage.verdict(&message, "command").await;
    }
    assert_eq!(bot_lines(&stage, &chat).len(), table.len());
    assert!(stage.model.requests().is_empty(), "no command asks the model");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_inside_a_sentence_is_a_question() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for question in ["what does /stop do", "git status 怎么用", "解释状态机", "/etc/hosts is what"]
    {
        let (_, answer) = says(&stage, &chat, question).await;
        assert_eq!(answer, format!("answer to: {question}"));
    }
    assert_eq!(stage.model.requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_answer_at_once_while_the_session_is_busy() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "a long story").unwrap();
    asked(&stage, 1).await;
    let waiting = stage.sim.says("ann", &chat, "and then?").unwrap();
    stage.verdict(&waiting, "queued").await;
    for (command, expected) in [
        ("/ping", "Here."),
        ("/status", "in this conversation 1 running, 1 waiting"),
        ("/help", "/help"),
        ("/version", "Larkspur"),
    ] {
        let (_, answer) = says(&stage, &chat, command).await;
        assert!(answer.contains(expected), "{command}: {answer}");
    }
    let why = Say::new("ann", &chat, "/why").replying_to(&question);
    let why = stage.sim.say(&why).unwrap();
    assert_eq!(stage.answer(&why).await, "Being worked on (running)");
    stage.verdict(&question, "running").await;
    assert_eq!(bot_lines(&stage, &chat).len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_closes_the_connection_to_the_model_and_empties_the_line() {
    let stage = Stage::new().await;
    let stalls = Turn::StallAfter("I was about to".to_owned());
    stage.model.set_mode(Mode::script([stalls]));
    let chat = stage.sim.p2p("ann").chat_id;
    let other = stage.sim.p2p("ben").chat_id;
    let running = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    let queued: Vec<String> = ["second", "third"]
        .into_iter()
        .map(|words| stage.sim.says("ann", &chat, words).unwrap())
        .collect();
    for message in &queued {
        stage.verdict(message, "queued").await;
    }
    let (stop, answer) = says(&stage, &chat, "/STOP").await;
    assert_eq!(answer, "Stopped 3 tasks.");
    assert!(stage.model.wait_for_aborted(1, PATIENCE).await, "the model's connection is closed");
    stage.verdict(&stop, "command").await;
    for message in std::iter::once(&running).chain(&queued) {
        stage.verdict(message, "stopped").await;
        told_closed(&stage, message).await;
        assert!(stage.sim.answers_to(message).is_empty());
    }
    assert_eq!(stage.model.requests().len(), 1, "what was queued never reached the model");
    barrier(&stage, "ann", &chat).await;
    barrier(&stage, "ben", &other).await;
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
    let asked = stage.model.last_request();
    assert_eq!(asked.count_containing("work"), 0, "a stopped turn leaves no history");
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_in_one_chat_leaves_another_alone() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(700, "kept"), Turn::Stall]));
    let (left, right) = (stage.sim.p2p("ben").chat_id, stage.sim.p2p("ann").chat_id);
    let kept = stage.sim.says("ben", &left, "keep").unwrap();
    asked(&stage, 1).await;
    let stopped = stage.sim.says("ann", &right, "stop me").unwrap();
    asked(&stage, 2).await;
    assert_eq!(says(&stage, &right, "停止").await.1, "Stopped 1 task.");
    stage.verdict(&stopped, "stopped").await;
    assert_eq!(stage.answer(&kept).await, "kept");
    assert_eq!((bot_lines(&stage, &left).len(), bot_lines(&stage, &right).len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_arrives_late_does_not_act() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(900, "finished")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    for command in ["/stop", "/new"] {
        let late = Say { age_ms: 11 * 60 * 1000, ..Say::new("ann", &chat, command) };
        let late = stage.sim.say(&late).unwrap();
        stage.verdict(&late, "stale").await;
        assert!(stage.sim.answers_to(&late).is_empty());
    }
    let young = Say { age_ms: 11 * 60 * 1000, ..Say::new("ann", &chat, "/ping") };
    let young = stage.sim.say(&young).unwrap();
    assert_eq!(stage.answer(&young).await, "Here.", "what changes nothing may be late");
    assert_eq!(stage.answer(&question).await, "finished");
    stage.verdict(&question, "answered").await;
    assert!(stage.model.aborted().is_empty());
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_kept_across_a_restart_and_forgotten_by_new() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    says(&stage, &chat, "my dog is called Rex").await;
    let (second, _) = says(&stage, &chat, "remember it").await;
    stage.verdict(&second, "answered").await;
    stage.kill();
    stage.start(&[]).await;
    let (third, _) = says(&stage, &chat, "which name?").await;
    stage.verdict(&third, "answered").await;
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("answer to: my dog is called Rex"), 1);
    let roles: Vec<&str> =
        request.messages().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);

    // Another chat knows nothing of it.
    let other = stage.sim.p2p("ben").chat_id;
    barrier(&stage, "ben", &other).await;
    assert_eq!(stage.model.last_request().count_containing("Rex"), 0);

    let (new, _) = says(&stage, &chat, "/NEW").await;
    stage.verdict(&new, "command").await;
    stage.kill();
    stage.start(&[]).await;
    says(&stage, &chat, "and now?").await;
    let request = stage.model.last_request();
    assert_eq!((request.count_containing("Rex"), request.messages().len()), (0, 2));
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_running_at_new_does_not_come_back_into_the_history() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([late(600, "the old topic")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let old = stage.sim.says("ann", &chat, "old").unwrap();
    asked(&stage, 1).await;
    says(&stage, &chat, "/new").await;
    stage.verdict(&old, "answered").await;
    says(&stage, &chat, "fresh").await;
    assert_eq!(stage.model.last_request().messages().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn why_explains_a_message_and_an_answer() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let ignored = stage.sim.says("ann", &group, "just talking").unwrap();
    stage.verdict(&ignored, "not_mentioned").await;
    let question = stage.sim.asks("ann", &group, "a question").unwrap();
    stage.verdict(&question, "answered").await;
    let answer = stage.answers(&question).await[0].message_id.clone();
    let ask = async |about: &str| {
        let why = Say::new("ann", &group, "/why").to_bot().replying_to(about);
        stage.answer(&stage.sim.say(&why).unwrap()).await
    };
    assert!(ask(&ignored).await.contains("(not_mentioned)"));
    assert!(ask(&question).await.contains("(answered)"));
    assert!(ask(&answer).await.contains("(answered)"));
    let named = stage.sim.asks("ann", &group, &format!("/why {question}")).unwrap();
    assert!(stage.answer(&named).await.contains("(answered)"));
    let unknown = stage.sim.asks("ann", &group, "/why om_nothing").unwrap();
    assert!(stage.answer(&unknown).await.contains("never_received"));
    assert_eq!(bot_lines(&stage, &group).len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_bot_does_not_have_is_refused_with_a_reason() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for (words, verdict, said, reason) in [
        ("/deploy", "command", "no command /deploy", ""),
        ("$ ls", "refused", "remote-exec", "policy"),
        ("> add a button", "refused", "no editor is connected", "no editor"),
        ("让 Copilot 帮我重构 auth 模块", "refused", "no editor is connected", "no editor"),
        ("$", "command", "$ git log -5", ""),
        (">", "command", "Write something behind >", ""),
    ] {
        let (message, answer) = says(&stage, &chat, words).await;
        assert!(answer.contains(said), "{words}: {answer}");
        stage.verdict(&message, verdict).await;
        let why = stage.why(&message);
        assert!(text(&why, "reason").contains(reason), "{words}: {why}");
    }
    assert!(stage.model.requests().is_empty());
    assert_eq!(bot_lines(&stage, &chat).len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_turn_is_not_answered_even_if_its_answer_waits_for_the_platform() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let action = FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(30) };
    stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
    let question = stage.sim.says("ann", &chat, "work").unwrap();
    let struck = || stage.sim.calls(Endpoint::Reply).len() == 1;
    until("the fault struck", struck).await;
    assert_eq!(says(&stage, &chat, "/stop").await.1, "Stopped 1 task.");
    stage.verdict(&question, "stopped").await;
    barrier(&stage, "ann", &chat).await;
    assert!(stage.sim.answers_to(&question).is_empty());
    assert_eq!(bot_lines(&stage, &chat).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_is_delivered_again_does_not_act_again() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall, late(500, "kept")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let stopped = stage.sim.says("ann", &chat, "work").unwrap();
    asked(&stage, 1).await;
    let (stop, _) = says(&stage, &chat, "/stop").await;
    stage.verdict(&stopped, "stopped").await;
    let kept = stage.sim.says("ann", &chat, "more work").unwrap();
    asked(&stage, 2).await;
    let pushes = stage.sim.duplicate(&stop, 20, RetryEventId::New).await.unwrap();
    assert!(pushes.iter().all(larkspur::playground::PushRecord::delivered));
    assert_eq!(stage.answer(&kept).await, "kept");
    stage.verdict(&kept, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["Stopped 1 task.", "kept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_answer_a_kill_interrupts_is_answered_once() {
    for point in ["accept.after_commit", "turn.after_plan", "send.after"] {
        let mut stage = Stage::set(crate::stage::Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let chat = stage.sim.p2p("ann").chat_id;
        let ping = stage.sim.says("ann", &chat, "/ping").unwrap();
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
        stage.start(&[]).await;
        stage.verdict(&ping, "command").await;
        barrier(&stage, "ann", &chat).await;
        assert_eq!(bot_lines(&stage, &chat)[0], "Here.", "{point}");
        assert_eq!(bot_lines(&stage, &chat).len(), 2, "{point}");
    }
}
