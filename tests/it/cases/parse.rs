//! Component `parse`.

use larkspur::playground::{Endpoint, FaultAction, FaultRule, ForwardResources, Say, Sent};
use serde_json::json;

use crate::stage::Stage;
use crate::talk::{barrier, bot_lines, context, sent_file, text};

/// Own messages come back as those of an `app` and are answered.
#[tokio::test(flavor = "multi_thread")]
async fn p041_own_messages_are_ignored_whatever_their_sender_is_called() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let own = stage.sim.bot_open_id();
    for sender_type in ["app", "bot", "user"] {
        for id in [json!({"open_id": own}), json!({"app_id": stage.sim.app_id()})] {
            let sender = json!({"sender_type": sender_type, "sender_id": id});
            let patch = json!({"event": {"sender": sender}});
            let echo = Say::new("ann", &group, "my own reply").to_bot().with_overrides(patch);
            let echo = stage.sim.say(&echo).unwrap();
            stage.verdict(&echo, "filtered").await;
        }
    }
    let other = json!({"event": {"sender": {
        "sender_type": "app", "sender_id": {"open_id": "ou_another_app"},
    }}});
    let other = Say::new("ann", &group, "ping").to_bot().with_overrides(other);
    let other = stage.sim.say(&other).unwrap();
    stage.verdict(&other, "filtered").await;
    assert!(text(&stage.why(&other), "reason").contains("another bot"));
    barrier(&stage, "ann", &group).await;
    assert_eq!(bot_lines(&stage, &group).len(), 1);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn p024_a_command_behind_a_mention_is_a_command() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let variants = [
        "@{bot} /new",
        "@{bot}, /new",
        "@{bot}:/new",
        "@{bot}\u{a0}\u{3000}/new",
        "@{bot}：/NEW",
        "@{bot}\n/new",
        "@{bot}/new",
    ];
    for words in variants {
        let command = stage.sim.says("ann", &group, words).unwrap();
        stage.verdict(&command, "command").await;
    }
    assert!(stage.model.requests().is_empty(), "the model never saw one");
}

#[tokio::test(flavor = "multi_thread")]
async fn p199_a_sentence_that_mentions_a_command_goes_to_the_bot() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let words = "is it /model or /models that I need here?";
    let question = stage.sim.says("ann", &chat, words).unwrap();
    assert_eq!(stage.answer(&question).await, format!("answer to: {words}"));
    stage.verdict(&question, "answered").await;
    // What is taken for a command and refused leaves its trace.
    let unknown = stage.sim.says("ann", &chat, "/models").unwrap();
    assert!(stage.answer(&unknown).await.contains("no command /models"));
    stage.verdict(&unknown, "command").await;
    // A message that never becomes a turn, too.
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let beside = stage.sim.say(&Say::new("ann", &group, "/model gpt")).unwrap();
    stage.verdict(&beside, "not_mentioned").await;
    let patch = json!({"event": {"sender": {"tenant_key": "another"}}});
    let foreign = Say::new("ann", &group, "/model gpt").to_bot().with_overrides(patch);
    let foreign = stage.sim.say(&foreign).unwrap();
    stage.verdict(&foreign, "not_allowed").await;
    assert!(text(&stage.why(&foreign), "reason").contains("access.users"));
    barrier(&stage, "ann", &chat).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p030_flat_posts_and_files_beside_a_post_arrive() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let flat = r#"{"content":[{"tag":"text","text":"a"},{"tag":"text","text":"b"}]}"#;
    let flat = stage.sim.say(&Say::new("ann", &chat, "").with_content("post", flat)).unwrap();
    assert_eq!(stage.answer(&flat).await, "answer to: ab");

    let key = stage.sim.upload(false, "n.py", b"print(42)");
    let files = json!({"title": "", "content": [[]], "content_v2": [[]], "files": [
        {"file_key": key, "file_name": "n.py", "is_folder": false},
        {"file_key": "file_v3_folder", "file_name": "src", "is_folder": true},
    ]});
    let files = Say::new("ann", &chat, "").with_content("post", &files.to_string());
    let files = stage.sim.say(&files).unwrap();
    assert_eq!(stage.answer(&files).await, "answer to: [file: n.py]\n[folder: src]");
    let context = context(&stage);
    assert!(context.contains("from=\"n.py\"") && context.contains("print(42)"), "{context}");
    assert_eq!(stage.sim.calls(Endpoint::Resource).len(), 1, "a folder is not downloaded");
}

#[tokio::test(flavor = "multi_thread")]
async fn p032_what_a_quoted_message_is_reaches_the_model() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    stage.sim.change_user("ben", |user| user.name = "Ben Lee".to_owned());
    let (file, _) = sent_file(&stage, "ben", &group, "plan.txt", "ship on Tuesday");
    let post = json!({"title": "", "content": [[
        {"tag": "text", "text": "see "}, {"tag": "a", "text": "here", "href": "https://x.example/1"},
    ]]});
    let post = Say::new("ben", &group, "").with_content("post", &post.to_string());
    let post = stage.sim.say(&post).unwrap();
    let card = json!({"json_card": json!({"schema": "2.0", "body": {"elements": [
        {"tag": "markdown", "content": "**build 7** failed"},
    ]}}).to_string()});
    let card = Say::new("ben", &group, "").with_content("interactive", &card.to_string());
    let card = stage.sim.say(&card).unwrap();
    for (quoted, expected) in [
        (&file, &["[file: plan.txt]", "kind=\"file\" from=\"plan.txt\"", "ship on Tuesday"][..]),
        (&post, &["see [here](https://x.example/1)"]),
        (&card, &["[card]", "**build 7** failed"]),
    ] {
        let ask = Say::new("ann", &group, "summarise this").to_bot().replying_to(quoted);
        let question = stage.sim.say(&ask).unwrap();
        assert_eq!(stage.answer(&question).await, "answer to: summarise this");
        let context = context(&stage);
        assert!(context.contains("from=\"Ben Lee\" trust=\"member\""), "{context}");
        for expected in expected {
            assert!(context.contains(expected), "{expected}: {context}");
        }
    }
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn p119_a_merged_forward_is_read_in_order_with_its_senders() {
    let stage = Stage::new().await;
    stage.sim.switch(|switches| switches.forward_resources = ForwardResources::Served);
    let group = stage.sim.group("team", &["ben", "cat"]).chat_id;
    let text = stage.sim.says("ben", &group, "the build is red").unwrap();
    let post = json!({"title": "Why", "content": [[{"tag": "text", "text": "disk full"}]]});
    let post = Say::new("cat", &group, "").with_content("post", &post.to_string());
    let post = stage.sim.say(&post).unwrap();
    let card = json!({"title": "Alert", "elements": [[{"tag": "text", "text": "node 3"}]]});
    let card = Say::new("ben", &group, "").with_content("interactive", &card.to_string());
    let card = stage.sim.say(&card).unwrap();
    let (file, _) = sent_file(&stage, "cat", &group, "df.txt", "/dev/sda 100%");
    let image = Sent { msg_type: "image".to_owned(), ..sent("cat", &group, "", "pixels") };
    let (image, _) = stage.sim.sends(&image).unwrap();
    let inner = Say::new("cat", &group, "").forwarding(&[&text]);
    let inner = stage.sim.say(&inner).unwrap();
    let chat = stage.sim.p2p("ann").chat_id;
    let forward =
        Say::new("ann", &chat, "").forwarding(&[&text, &post, &card, &file, &image, &inner]);
    let forward = stage.sim.say(&forward).unwrap();
    stage.verdict(&forward, "answered").await;
    let context = context(&stage);
    let expected = "<context kind=\"forwarded messages\" trust=\"outside\">\n\
        ben: the build is red\ncat: Why\n\ndisk full\nben: [card: Alert]\nnode 3\n\
        cat: [file: df.txt]\ncat: [image]\ncat: [forwarded messages]\n    ben: the build is red\n\
        </context>";
    assert!(context.contains(expected), "{context}");
    assert!(context.contains("/dev/sda 100%"), "fetched by the forward's id: {context}");
}

fn sent(user: &str, chat: &str, name: &str, text: &str) -> Sent {
    Sent {
        user: user.to_owned(),
        chat: chat.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        ..Sent::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p138_a_failed_download_costs_neither_the_question_nor_the_answer() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for (fault, reason) in [
        (FaultAction::Refuse { status: 400, code: 234_008, reset_s: None }, "234008"),
        (FaultAction::Delay { ms: 120_000 }, "in time"),
    ] {
        stage.sim.fault(FaultRule::next(Endpoint::Resource, 1, fault));
        let (file, _) = sent_file(&stage, "ann", &chat, "report.txt", "secret numbers");
        let ask = Say::new("ann", &chat, "what does it say?").replying_to(&file);
        let question = stage.sim.say(&ask).unwrap();
        let answer = stage.answer(&question).await;
        assert!(answer.starts_with("answer to: what does it say?\n\n("), "{answer}");
        assert!(answer.contains("“report.txt”") && answer.contains(reason), "{answer}");
        let context = context(&stage);
        assert!(context.contains("[it could not be downloaded: "), "{context}");
        stage.verdict(&question, "answered").await;
    }
    stage.sim.says("ann", &chat, "and now?").unwrap();
    crate::talk::asked(&stage, 3).await;
    let request = stage.model.last_request();
    assert_eq!(request.count_containing("I could not read"), 0, "it is no part of the talk");
    assert_eq!(bot_lines(&stage, &chat).iter().filter(|line| line.contains("report")).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn p139_nothing_is_asked_for_by_a_type_the_platform_does_not_know() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    for (msg_type, name, seen) in [
        ("audio", "", "kind=\"voice message\""),
        ("media", "film.mp4", "kind=\"video\" from=\"film.mp4\""),
        ("image", "", "kind=\"image\""),
        ("file", "a.txt", "the words"),
    ] {
        let sent = Sent { msg_type: msg_type.to_owned(), ..sent("ann", &chat, name, "the words") };
        let (message, _) = stage.sim.sends(&sent).unwrap();
        stage.verdict(&message, "queued").await;
        let question = stage.sim.says("ann", &chat, "what is it?").unwrap();
        let answer = stage.answer(&question).await;
        assert!(answer.starts_with("answer to: what is it?"), "{answer}");
        assert_eq!(answer.contains("(I cannot look at pictures"), msg_type != "file", "{answer}");
        let context = context(&stage);
        assert!(context.contains(seen), "{context}");
    }
    let downloads = stage.sim.calls(Endpoint::Resource);
    assert!(downloads.iter().all(|call| call.status == 200), "{downloads:?}");
    assert!(downloads.iter().all(|call| call.path.ends_with("?type=file")), "{downloads:?}");
    assert_eq!(downloads.len(), 1, "what cannot be understood is not downloaded");
}
