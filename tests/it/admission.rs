//! Who is let in: lists, roles, codes, other bots, late messages, and what is said beside the bot.

use std::time::Duration;

use larkspur::playground::{Endpoint, FaultAction, FaultRule, RetryEventId, Say};
use serde_json::json;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, barrier, bot_lines, late, sent_file, text, word};

/// A stage whose bot has these lines under `[access]` and in front of it.
async fn with_access(access: &str, bot: &str) -> Stage {
    let mut stage = Stage::set(Options { bot: bot.to_owned(), ..Options::default() }).await;
    stage.edit_bot("users = [\"@tenant\"]\nchats = [\"*\"]\n", access);
    stage.start(&[]).await;
    stage
}

/// What stands behind `/pair` in a hint.
fn code_in(hint: &str) -> String {
    let (_, code) = hint.split_once("/pair ").unwrap_or_else(|| panic!("no code in {hint}"));
    code.trim().to_owned()
}

async fn says(stage: &Stage, user: &str, chat: &str, words: &str) -> String {
    let message = stage.sim.says(user, chat, words).unwrap();
    stage.answer(&message).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_one_code_and_is_let_in_when_an_admin_confirms_it() {
    let boss_id = Stage::set(Options::default()).await.sim.user("boss").open_id;
    let mut stage = with_access(&format!("admins = [\"{boss_id}\"]\n"), "").await;
    let (ann, boss) = (stage.sim.p2p("ann").chat_id, stage.sim.p2p("boss").chat_id);
    let ann_id = stage.sim.user("ann").open_id;
    let first = stage.sim.says("ann", &ann, "hello").unwrap();
    let code = code_in(&stage.answer(&first).await);
    stage.verdict(&first, "not_allowed").await;
    let second = stage.sim.says("ann", &ann, "hello?").unwrap();
    stage.verdict(&second, "not_allowed").await;
    assert!(stage.sim.answers_to(&second).is_empty(), "one hint a day");

    assert!(says(&stage, "boss", &boss, "/pair WRONGCOD").await.contains("Nobody has that code"));
    let list = says(&stage, "boss", &boss, "/pair").await;
    assert!(list.contains("Let in by code: 0") && list.contains("wait: 1"), "{list}");
    // The code outlives a crash, and so does the confirmation.
    stage.kill();
    stage.start(&[]).await;
    let typed = format!("/pair {}", code.to_lowercase());
    assert!(says(&stage, "boss", &boss, &typed).await.contains(&ann_id));
    assert_eq!(says(&stage, "ann", &ann, "now?").await, "answer to: now?");
    stage.kill();
    stage.start(&[]).await;
    assert_eq!(says(&stage, "ann", &ann, "and now?").await, "answer to: and now?");
    assert!(says(&stage, "boss", &boss, &typed).await.contains("Nobody"), "a code is good once");

    let refused = stage.sim.says("ann", &ann, "/pair ABCDEFGH").unwrap();
    assert!(stage.answer(&refused).await.contains("Only my admins"));
    stage.verdict(&refused, "refused").await;
    let revoke = format!("/pair revoke {ann_id}");
    assert!(says(&stage, "boss", &boss, &revoke).await.contains("no longer"));
    let shut_out = stage.sim.says("ann", &ann, "still?").unwrap();
    stage.verdict(&shut_out, "not_allowed").await;
    assert_ne!(code_in(&stage.answer(&shut_out).await), code, "a stranger again");
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_given_in_allowed_groups_to_who_names_the_bot_and_never_to_outsiders() {
    let stage = with_access("chats = [\"*\"]\n", "").await;
    stage.sim.change_user("eve", |user| user.tenant_key = "another-tenant".to_owned());
    let group = stage.sim.group("team", &["ann", "eve"]).chat_id;
    let outsider = stage.sim.asks("eve", &group, "let me in").unwrap();
    stage.verdict(&outsider, "not_allowed").await;
    let private = stage.sim.p2p("eve").chat_id;
    let alone = stage.sim.says("eve", &private, "let me in").unwrap();
    stage.verdict(&alone, "not_allowed").await;
    let beside = stage.sim.says("ann", &group, "what is that?").unwrap();
    stage.verdict(&beside, "not_mentioned").await;
    assert!(stage.log().contains(&format!("subject=\"{beside}\"")), "{}", stage.log());
    let named = stage.sim.asks("ann", &group, "hello").unwrap();
    code_in(&stage.answer(&named).await);
    stage.verdict(&named, "not_allowed").await;
    assert_eq!(bot_lines(&stage, &group).len(), 1);
    assert!(bot_lines(&stage, &private).is_empty());
    assert!(stage.model.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn departments_groups_and_owners_of_chats_are_let_in() {
    let access = "users = [\"@department/od-eng\", \"@group/g-ops\", \"@chat-owner\"]\n\
                  chats = [\"*\"]\n";
    let stage = with_access(access, "").await;
    stage.sim.change_user("ann", |user| user.departments = vec!["od-eng".to_owned()]);
    stage.sim.change_user("ben", |user| user.groups = vec!["g-ops".to_owned()]);
    let owner = stage.sim.user("cho").open_id;
    let group = stage.sim.group("team", &["ann", "ben", "cho", "dan"]).chat_id;
    stage.sim.change_chat(&group, |chat| chat.owner = Some(owner)).unwrap();
    for user in ["ann", "ben", "cho"] {
        let question = stage.sim.asks(user, &group, &format!("{user} asks")).unwrap();
        assert_eq!(stage.answer(&question).await, format!("answer to: {user} asks"));
    }
    let stranger = stage.sim.asks("dan", &group, "me too").unwrap();
    code_in(&stage.answer(&stranger).await);
    stage.verdict(&stranger, "not_allowed").await;
    let command = stage.sim.asks("dan", &group, "/status").unwrap();
    stage.verdict(&command, "not_allowed").await;
    assert!(stage.sim.answers_to(&command).is_empty(), "commands are no way around");

    let calls = stage.sim.calls(Endpoint::User).len();
    let again = stage.sim.asks("ann", &group, "again").unwrap();
    stage.answer(&again).await;
    assert_eq!(stage.sim.calls(Endpoint::User).len(), calls, "what was told counts for a while");
    let private = stage.sim.p2p("cho").chat_id;
    let elsewhere = stage.sim.says("cho", &private, "hello").unwrap();
    stage.verdict(&elsewhere, "not_allowed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_be_looked_up_is_not_let_in_and_why_says_so() {
    let stage = with_access("users = [\"@department/od-eng\"]\nchats = [\"*\"]\n", "").await;
    stage.sim.change_user("ann", |user| user.departments = vec!["od-eng".to_owned()]);
    let chat = stage.sim.p2p("ann").chat_id;
    let refuse = FaultAction::Refuse { status: 403, code: 41_050, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::User, 1, refuse));
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    stage.verdict(&question, "not_allowed").await;
    let why = stage.why(&question);
    assert!(text(&why, "reason").contains("could not be looked up"), "{why}");
    assert!(text(&why, "reason").contains("41050"), "{why}");
    assert!(bot_lines(&stage, &chat).is_empty());
    // A failure that passes is waited for, and the platform's answer does not count as one.
    let busy = FaultAction::Refuse { status: 429, code: 99_991_400, reset_s: Some(1) };
    stage.sim.fault(FaultRule::next(Endpoint::User, 1, busy));
    assert_eq!(says(&stage, "ann", &chat, "and now?").await, "answer to: and now?");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_acknowledgement_does_not_wait_for_a_look_up() {
    let stage = with_access("users = [\"@department/od-eng\"]\nchats = [\"*\"]\n", "").await;
    stage.sim.change_user("ann", |user| user.departments = vec!["od-eng".to_owned()]);
    let chat = stage.sim.p2p("ann").chat_id;
    // Longer than the platform waits for an acknowledgement.
    stage.sim.fault(FaultRule::next(Endpoint::User, 1, FaultAction::Delay { ms: 4000 }));
    let question = stage.sim.says("ann", &chat, "hello").unwrap();
    assert!(stage.sim.pushed(PATIENCE).await);
    let pushes = stage.sim.pushes_of(&question);
    assert!(pushes.len() == 1 && pushes[0].delivered(), "{pushes:?}");
    assert_eq!(word(&stage, &question), "running");
    assert_eq!(stage.answer(&question).await, "answer to: hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn smart_hears_replies_and_who_goes_on_talking() {
    let bot = "[groups]\nmention = \"smart\"".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let beside = stage.sim.says("ann", &group, "hello all").unwrap();
    stage.verdict(&beside, "not_mentioned").await;
    let named = stage.sim.asks("ann", &group, "how do we deploy?").unwrap();
    let answer = stage.answers(&named).await.remove(0).message_id;
    let goes_on = stage.sim.says("ann", &group, "and on Fridays?").unwrap();
    stage.verdict(&goes_on, "answered").await;
    for (user, words) in [("ben", "lunch?"), ("ann", "@{ben} lunch?"), ("ann", "@{all} lunch?")] {
        let aside = stage.sim.says(user, &group, words).unwrap();
        stage.verdict(&aside, "not_mentioned").await;
    }
    let to_ben = Say::new("ann", &group, "I agree").replying_to(&beside);
    let to_ben = stage.sim.say(&to_ben).unwrap();
    stage.verdict(&to_ben, "not_mentioned").await;
    stage.verdict(&named, "answered").await;
    let reply = stage.sim.say(&Say::new("ben", &group, "why?").replying_to(&answer)).unwrap();
    stage.verdict(&reply, "answered").await;
    assert_eq!(bot_lines(&stage, &group).len(), 3);
}

fn of_a_bot(group: &str, words: &str) -> Say {
    let sender = json!({"sender_type": "bot", "sender_id": {
        "open_id": "ou_other_bot", "union_id": null, "user_id": null,
    }});
    Say::new("ann", group, words).with_overrides(json!({"event": {"sender": sender}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn other_bots_that_name_this_one_are_heard_three_times_until_a_person_speaks() {
    let bot = "[groups]\nbots = \"mentioned\"".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let unnamed = stage.sim.say(&of_a_bot(&group, "ping")).unwrap();
    stage.verdict(&unnamed, "filtered").await;
    for round in 0..2 {
        for number in 0..3 {
            let words = format!("ping {round} {number}");
            let heard = stage.sim.say(&of_a_bot(&group, &words).to_bot()).unwrap();
            stage.verdict(&heard, "answered").await;
        }
        let too_many = stage.sim.say(&of_a_bot(&group, "ping").to_bot()).unwrap();
        stage.verdict(&too_many, "filtered").await;
        assert!(text(&stage.why(&too_many), "reason").contains("without a person"));
        let person = stage.sim.says("ann", &group, "what are you two doing?").unwrap();
        stage.verdict(&person, "not_mentioned").await;
    }
    assert_eq!(bot_lines(&stage, &group).len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_beside_the_bot_is_context_for_the_next_question() {
    let bot = "[groups]\nhistory = 3".to_owned();
    let mut stage = Stage::with(Options { bot, ..Options::default() }).await;
    stage.sim.change_user("eve", |user| user.tenant_key = "another-tenant".to_owned());
    let group = stage.sim.group("team", &["ann", "ben", "eve"]).chat_id;
    let elsewhere = stage.sim.group("other", &["ann"]).chat_id;
    stage.sim.says("ann", &elsewhere, "not for here").unwrap();
    for (user, words) in [
        ("ann", "too long ago"),
        ("ann", "the build is red"),
        ("ben", "since\nnoon"),
        ("eve", "pay me"),
    ] {
        let beside = stage.sim.says(user, &group, words).unwrap();
        stage.verdict(&beside, "not_mentioned").await;
    }
    let question = stage.sim.asks("ben", &group, "why?").unwrap();
    assert_eq!(stage.answer(&question).await, "answer to: why?");
    let context = stage.model.last_request();
    for (words, times) in [
        ("ann: the build is red", 1),
        ("ben: since noon", 1),
        ("eve (of another organisation): pay me", 1),
        ("too long ago", 0),
        ("not for here", 0),
    ] {
        assert_eq!(context.count_containing(words), times, "{words}");
    }
    // It is there after a restart, and a thread is a place of its own.
    assert!(stage.terminate().await.success());
    stage.start(&[]).await;
    let again = stage.sim.asks("ann", &group, "and now?").unwrap();
    stage.answer(&again).await;
    assert_eq!(stage.model.last_request().count_containing("since noon"), 1);
    let inside = Say::new("ann", &group, "in the thread?").to_bot();
    let inside = stage.sim.say(&inside.replying_to(&question).in_thread()).unwrap();
    stage.answer(&inside).await;
    assert_eq!(stage.model.last_request().count_containing("since noon"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_history_and_where_the_bot_may_not_be_nothing_is_kept() {
    let listed = Stage::set(Options::default()).await.sim.group("team", &["ann"]).chat_id;
    for (access, history, chats) in [
        ("users = [\"@tenant\"]\nchats = [\"*\"]\n".to_owned(), 0, ["team", "team"]),
        (format!("users = [\"@tenant\"]\nchats = [\"{listed}\"]\n"), 20, ["other", "team"]),
    ] {
        let stage = with_access(&access, &format!("[groups]\nhistory = {history}")).await;
        let [beside, asked] = chats.map(|chat| stage.sim.group(chat, &["ann"]).chat_id);
        let said = stage.sim.says("ann", &beside, "the build is red").unwrap();
        stage.verdict(&said, "not_mentioned").await;
        let question = stage.sim.asks("ann", &asked, "why?").unwrap();
        stage.answer(&question).await;
        assert_eq!(stage.model.last_request().count_containing("the build is red"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thread_can_be_a_conversation_of_its_own() {
    let bot = "[groups]\nsession = \"thread\"".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let topic = stage.sim.says("ann", &group, "a topic").unwrap();
    let inside = |user: &str, words: &str| {
        let say = Say::new(user, &group, words).to_bot().replying_to(&topic).in_thread();
        stage.sim.say(&say).unwrap()
    };
    stage.answer(&inside("ann", "the secret is 42")).await;
    let outside = stage.sim.asks("ann", &group, "which secret?").unwrap();
    stage.answer(&outside).await;
    assert_eq!(stage.model.last_request().count_containing("the secret is 42"), 0);
    stage.answer(&inside("ben", "which secret?")).await;
    assert_eq!(stage.model.last_request().count_containing("answer to: the secret is 42"), 1);
}

fn old(user: &str, chat: &str, words: &str, minutes: u64) -> Say {
    Say { age_ms: minutes * 60_000, ..Say::new(user, chat, words) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_question_is_answered_with_its_age() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.say(&old("ann", &chat, "is it up?", 125)).unwrap();
    assert_eq!(stage.answer(&question).await, "(Sent 2 h 5 min ago.)\nanswer to: is it up?");
    assert_eq!(stage.model.last_request().count_containing("125 minutes after it was sent"), 1);
    let next = stage.sim.says("ann", &chat, "and now?").unwrap();
    assert_eq!(stage.answer(&next).await, "answer to: and now?");
    assert_eq!(stage.model.last_request().count_containing("ago."), 0, "it is not remembered");
}

#[tokio::test(flavor = "multi_thread")]
async fn late_questions_can_be_dropped_and_the_sender_is_told_once() {
    let bot = "[groups]\nstale = { after = \"1h\", then = \"drop\" }".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let first = stage.sim.say(&old("ann", &chat, "one", 61)).unwrap();
    let second = stage.sim.say(&old("ann", &chat, "two", 62)).unwrap();
    let command = stage.sim.say(&old("ann", &chat, "/ping", 62)).unwrap();
    let in_time = stage.sim.say(&old("ann", &chat, "three", 59)).unwrap();
    assert_eq!(stage.answer(&in_time).await, "answer to: three");
    assert!(stage.answer(&first).await.contains("1 h 1 min after it was sent"));
    for dropped in [&first, &second] {
        stage.verdict(dropped, "stale").await;
    }
    stage.verdict(&command, "command").await;
    barrier(&stage, "ann", &chat).await;
    assert!(stage.sim.answers_to(&second).is_empty());
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_again_late_uses_up_no_notice_and_a_late_file_is_dropped_like_all_else() {
    let bot = "[groups]\nstale = { after = \"1h\", then = \"drop\" }".to_owned();
    let mut stage = Stage::with(Options { bot, ..Options::default() }).await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "in time").unwrap();
    stage.verdict(&question, "answered").await;
    assert!(stage.terminate().await.success());
    stage.start(&[("LARKSPUR_CLOCK_OFFSET_MS", "7200000")]).await;
    stage.sim.duplicate(&question, 1, RetryEventId::New).await.unwrap();
    let (file, _) = sent_file(&stage, "ann", &chat, "notes.txt", "buy milk");
    let answer = stage.answer(&file).await;
    assert!(answer.contains("after it was sent"), "{answer}");
    stage.verdict(&file, "stale").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_questions_of_one_person_can_be_answered_as_one() {
    let bot = "[groups]\nstale = { after = \"10m\", then = \"merge\" }".to_owned();
    let stage = Stage::with(Options { bot, ..Options::default() }).await;
    stage.model.set_mode(Mode::script([late(800, "busy"), Turn::text("all"), Turn::text("bens")]));
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let first = stage.sim.asks("ben", &group, "in time").unwrap();
    asked(&stage, 1).await;
    let mut backlog = Vec::new();
    for (user, words) in [("ann", "one"), ("ben", "mine"), ("ann", "two"), ("ann", "three")] {
        backlog.push(stage.sim.say(&old(user, &group, words, 60).to_bot()).unwrap());
    }
    assert_eq!(stage.answer(&first).await, "busy");
    let answer = stage.answer(&backlog[3]).await;
    assert_eq!(answer, "(Sent 1 h 0 min ago.)\nall", "the answer is to the last of them");
    assert_eq!(stage.model.requests()[1].last_user(), "one\ntwo\nthree");
    for merged in [&backlog[2], &backlog[3]] {
        stage.verdict(merged, "merged").await;
        assert!(text(&stage.why(merged), "reason").contains(&backlog[0]));
    }
    stage.verdict(&backlog[0], "answered").await;
    assert_eq!(stage.answer(&backlog[1]).await, "(Sent 1 h 0 min ago.)\nbens");
    assert_eq!(bot_lines(&stage, &group).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_questions_survive_a_kill() {
    let bot = "[groups]\nstale = { after = \"10m\", then = \"merge\" }".to_owned();
    let mut stage = Stage::with(Options { bot, ..Options::default() }).await;
    stage.model.set_mode(Mode::script([late(30_000, "never"), Turn::text("all")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let questions: Vec<String> =
        ["one", "two"].map(|words| stage.sim.say(&old("ann", &chat, words, 60)).unwrap()).to_vec();
    asked(&stage, 1).await;
    stage.verdict(&questions[1], "merged").await;
    stage.kill();
    stage.start(&[]).await;
    assert!(stage.answer(&questions[1]).await.ends_with("all"));
    stage.verdict(&questions[0], "answered").await;
    let request = stage.model.last_request();
    assert_eq!(request.last_user(), "one\ntwo");
    assert!(stage.sim.pushed(Duration::from_secs(10)).await);
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}
