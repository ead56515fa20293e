//! A file first and the question second.

use larkspur::playground::{Endpoint, RetryEventId, Say};

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, context, sent_file, text, word};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_waits_for_the_question_and_is_taken_along_once() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    assert!(stage.answer(&file).await.starts_with("Got it."));
    stage.verdict(&file, "queued").await;
    let (second, _) = sent_file(&stage, "ann", &chat, "more.txt", "and bread");
    stage.verdict(&second, "queued").await;
    assert!(stage.model.requests().is_empty(), "nothing is answered by itself");
    assert_eq!(bot_lines(&stage, &chat).len(), 1, "several in a row have one line");

    let question = stage.sim.says("ann", &chat, "what do I need?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: what do I need?");
    let taken = context(&stage);
    assert!(taken.contains("buy milk") && taken.contains("and bread"), "{taken}");
    assert!(taken.contains("kind=\"file\" from=\"notes.txt\" trust=\"outside\""), "{taken}");
    for taken in [&file, &second] {
        stage.verdict(taken, "merged").await;
        assert!(text(&stage.why(taken), "reason").contains(&question));
    }

    stage.sim.duplicate(&second, 1, RetryEventId::New).await.unwrap();
    let again = stage.sim.says("ann", &chat, "and else?").unwrap();
    stage.verdict(&again, "answered").await;
    assert_eq!(context(&stage), "", "it is taken along once");
    assert_eq!(word(&stage, &second), "merged", "that it came again is no news");
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("what do I need?\n[file: notes.txt]"), 1, "but remembered");

    let quoting = Say::new("ann", &chat, "read it again").replying_to(&file);
    let quoting = stage.sim.say(&quoting).unwrap();
    stage.verdict(&quoting, "answered").await;
    assert!(context(&stage).contains("buy milk"), "a quote finds it at any time");
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_a_file_waits_silently_for_its_own_sender() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben", "eve"]).chat_id;
    stage.sim.change_user("eve", |user| user.tenant_key = "another-tenant".to_owned());
    let (file, _) = sent_file(&stage, "ann", &group, "notes.txt", "buy milk");
    stage.verdict(&file, "not_mentioned").await;
    assert!(text(&stage.why(&file), "reason").contains("next question"));
    let (foreign, _) = sent_file(&stage, "eve", &group, "evil.txt", "obey");
    stage.verdict(&foreign, "not_mentioned").await;
    assert_eq!(text(&stage.why(&foreign), "reason"), "");

    let other = stage.sim.asks("ben", &group, "what is in it?").unwrap();
    stage.verdict(&other, "answered").await;
    assert_eq!(context(&stage), "", "it is not his");
    let command = stage.sim.asks("ann", &group, "/ping").unwrap();
    stage.verdict(&command, "command").await;
    let shell = stage.sim.asks("ann", &group, "$ ls").unwrap();
    stage.verdict(&shell, "refused").await;

    let question = stage.sim.asks("ann", &group, "what is in it?").unwrap();
    stage.verdict(&question, "answered").await;
    assert!(context(&stage).contains("buy milk"), "commands take nothing along");
    stage.verdict(&file, "merged").await;
    assert_eq!(bot_lines(&stage, &group).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_taken_back_is_not_taken_along() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (secret, _) = sent_file(&stage, "ann", &chat, "secret.txt", "my password");
    stage.verdict(&secret, "queued").await;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    stage.verdict(&file, "queued").await;
    stage.sim.recalls(&secret).unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    stage.verdict(&secret, "recalled").await;
    let question = stage.sim.says("ann", &chat, "what do I need?").unwrap();
    stage.verdict(&question, "answered").await;
    let taken = context(&stage);
    assert!(taken.contains("buy milk") && !taken.contains("secret.txt"), "{taken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_like_work_for_an_editor_takes_the_file_along() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    stage.verdict(&file, "queued").await;
    let words = "refactor the function in src/main.rs and fix the compile error";
    let question = stage.sim.says("ann", &chat, words).unwrap();
    stage.verdict(&question, "answered").await;
    assert!(context(&stage).contains("buy milk"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_alone_is_a_question_about_the_file_before_it() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    sent_file(&stage, "ann", &group, "notes.txt", "buy milk");
    let question = stage.sim.asks("ann", &group, "").unwrap();
    let answer = stage.answer(&question).await;
    assert!(answer.contains("This message has no words"), "{answer}");
    assert!(context(&stage).contains("buy milk"));
    let nothing = stage.sim.asks("ann", &group, "").unwrap();
    assert!(stage.answer(&nothing).await.contains("I am here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_waits_outlives_a_kill_and_is_delivered_again_in_vain() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    stage.verdict(&file, "queued").await;
    stage.kill();
    stage.start(&[]).await;
    stage.sim.duplicate(&file, 3, RetryEventId::New).await.unwrap();
    let question = stage.sim.says("ann", &chat, "what do I need?").unwrap();
    stage.verdict(&question, "answered").await;
    assert_eq!(context(&stage).matches("buy milk").count(), 1);
    stage.sim.duplicate(&file, 3, RetryEventId::New).await.unwrap();
    let again = stage.sim.says("ann", &chat, "and else?").unwrap();
    stage.verdict(&again, "answered").await;
    assert_eq!(context(&stage), "", "what was consumed does not come back");
    assert_eq!(stage.sim.answers_to(&file).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_waits_silently_is_explained_after_a_kill_and_a_redelivery() {
    let mut stage = Stage::set(Options::default()).await;
    // Killed as soon as it is durable: notes may be lost.
    stage.start(&[("LARKSPUR_FAULT", "accept.after_commit")]).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let (file, _) = sent_file(&stage, "ann", &group, "notes.txt", "buy milk");
    assert!(stage.ended(PATIENCE).await.is_some(), "it is killed when the file is kept");
    stage.start(&[]).await;
    stage.verdict(&file, "not_mentioned").await;
    stage.sim.duplicate(&file, 2, RetryEventId::New).await.unwrap();
    let why = stage.why(&file);
    assert_eq!(why["verdict"], "not_mentioned");
    assert!(text(&why, "reason").contains("next question"), "{why}");
    let asked = stage.sim.asks("ann", &group, &format!("/why {file}")).unwrap();
    let answer = stage.answer(&asked).await;
    assert!(answer.contains("next question"), "{answer}");
    let question = stage.sim.asks("ann", &group, "what do I need?").unwrap();
    stage.verdict(&question, "answered").await;
    assert!(context(&stage).contains("buy milk"));
    assert!(text(&stage.why(&file), "reason").contains(&question));
}

/// The daemon dies at `point` while it accepts the question.
async fn killed_at(point: &str) {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR_FAULT", point)]).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    stage.verdict(&file, "queued").await;
    let question = stage.sim.says("ann", &chat, "what do I need?").unwrap();
    assert!(stage.ended(PATIENCE).await.is_some(), "{point} was never reached");
    stage.start(&[]).await;
    stage.sim.duplicate(&question, 1, RetryEventId::Same).await.unwrap();
    stage.verdict(&question, "answered").await;
    assert_eq!(context(&stage).matches("buy milk").count(), 1, "{point}");
    barrier(&stage, "ann", &chat).await;
    assert_eq!(context(&stage), "", "{point}");
    assert_eq!(stage.sim.answers_to(&question).len(), 1, "{point}");
    stage.verdict(&file, "merged").await;
    assert!(text(&stage.why(&file), "reason").contains(&question), "{point}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_before_the_question_is_stored_leaves_the_file_waiting() {
    killed_at("accept.before_commit:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_after_the_question_is_stored_leaves_the_file_with_it() {
    killed_at("accept.after_commit:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_out_is_not_looked_up_again_after_a_kill() {
    let mut stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Stall, Turn::text("milk")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    let question = Say::new("ann", &chat, "what do I need?").replying_to(&file);
    let question = stage.sim.say(&question).unwrap();
    asked(&stage, 1).await;
    let before = context(&stage);
    assert!(before.contains("buy milk"));
    stage.kill();
    stage.sim.recalls(&file).unwrap();
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    assert_eq!(context(&stage), before, "the run goes on with what it began with");
    assert_eq!(stage.sim.calls(Endpoint::Resource).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_waits_ten_minutes_and_no_longer() {
    let mut stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    stage.verdict(&file, "queued").await;
    assert!(stage.terminate().await.success());
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", "660000")]).await;
    stage.verdict(&file, "stale").await;
    let question = stage.sim.says("ann", &chat, "what do I need?").unwrap();
    stage.verdict(&question, "answered").await;
    assert_eq!(context(&stage), "");
    assert!(text(&stage.why(&file), "reason").contains("asked nothing about it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_six_files_the_first_is_let_go_and_says_so() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let mut files = Vec::new();
    for number in 1..=6 {
        let (file, _) = sent_file(&stage, "ann", &chat, &format!("{number}.txt"), "words");
        stage.verdict(&file, "queued").await;
        files.push(file);
    }
    stage.verdict(&files[0], "busy").await;
    assert!(text(&stage.why(&files[0]), "reason").contains("five wait at most"));
    // That the platform sends it again changes nothing about it.
    let again = stage.sim.duplicate(&files[0], 1, RetryEventId::New).await.unwrap();
    assert!(again.iter().all(larkspur::playground::PushRecord::delivered));
    let question = stage.sim.says("ann", &chat, "what is in them?").unwrap();
    stage.verdict(&question, "answered").await;
    for file in &files[1..] {
        stage.verdict(file, "merged").await;
        assert!(text(&stage.why(file), "reason").contains(&question));
    }
    assert_eq!(word(&stage, &files[0]), "busy");
}
