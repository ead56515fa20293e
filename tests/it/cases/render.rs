//! Component `render`.

use std::time::Duration;

use larkspur::playground::{Endpoint, FaultAction, FaultRule, LateStream, Say, SeenMessage};
use serde_json::{Value, json};

use crate::alerts::{
    BOTH_FIRE, NONE_FIRES, ONE_FIRES, SAID_BOTH, SAID_NONE, SAID_ONE, alert_stage, alerted,
};
use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, Stage};
use crate::talk::{bot_lines, late, until};

/// What a bot answers when the model says `said`.
async fn answers_to(said: &str) -> Vec<SeenMessage> {
    answers_in("card", said).await
}

async fn answers_in(form: &str, said: &str) -> Vec<SeenMessage> {
    let mut stage = Stage::set(Options::default()).await;
    stage.edit_bot("[lark]", &format!("[lark]\nrender = \"{form}\""));
    stage.start(&[]).await;
    stage.model.set_mode(Mode::script([Turn::text(said)]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "tell me").unwrap();
    stage.verdict(&question, "answered").await;
    stage.answers(&question).await
}

async fn answer_to(said: &str) -> SeenMessage {
    let mut answers = answers_to(said).await;
    assert_eq!(answers.len(), 1, "{answers:#?}");
    answers.remove(0)
}

fn elements(answer: &SeenMessage) -> Vec<Value> {
    let card = answer.card.as_ref().expect("a card");
    card.json.pointer("/body/elements").unwrap().as_array().unwrap().clone()
}

/// A stage whose model speaks slowly, a private chat, and a question there.
async fn slow(turns: impl IntoIterator<Item = Turn>, pause: Duration) -> (Stage, String, String) {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script(turns));
    stage.model.set_chunk_pause(pause);
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "tell me").unwrap();
    (stage, chat, question)
}

async fn grows(stage: &Stage, question: &str) {
    until("it is seen growing", || {
        let answers = stage.sim.answers_to(question);
        answers.iter().any(|answer| answer.card.as_ref().is_some_and(|card| card.streaming))
    })
    .await;
}

const PAUSE: Duration = Duration::from_millis(300);

/// More tables than a card allows: the reply is lost.
#[tokio::test(flavor = "multi_thread")]
async fn p035_six_tables_arrive_all_of_them() {
    let table = |number: usize| {
        format!("## T{number}\n\n| k{number} | v |\n|---|---|\n| a{number} | b |\n")
    };
    let said: Vec<String> = (1..=6).map(table).collect();
    let answer = answer_to(&said.join("\n")).await;
    let tables = elements(&answer).iter().filter(|element| element["tag"] == "table").count();
    assert_eq!(tables, 5);
    for number in 1..=6 {
        for word in [format!("T{number}"), format!("k{number}"), format!("a{number}")] {
            assert!(answer.text.contains(&word), "{word}: {}", answer.text);
        }
    }
}

/// A streaming card keeps hitting the limit of tables thousands of times.
#[tokio::test(flavor = "multi_thread")]
async fn p036_a_stream_that_is_refused_stops_and_the_answer_comes_whole() {
    let said = "| a | b |\n|---|---|\n| 1 | 2 |\n\n".repeat(8);
    let (stage, chat, question) = slow([Turn::text(&said)], Duration::from_millis(150)).await;
    for endpoint in [Endpoint::ElementContent, Endpoint::CardUpdate] {
        let action = FaultAction::Refuse { status: 400, code: 11_310, reset_s: None };
        stage.sim.fault(FaultRule::next(endpoint, 1, action));
    }
    stage.verdict(&question, "answered").await;
    assert!(stage.sim.calls(Endpoint::ElementContent).len() <= 2);
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].matches('1').count(), 8, "{lines:?}");
    let log = stage.log();
    assert!(log.lines().filter(|line| line.contains("11310")).count() <= 1, "{log}");
}

/// The second answer of a turn overwrites the first in the same card.
#[tokio::test(flavor = "multi_thread")]
async fn p045_what_is_said_before_a_call_and_after_it_both_stay_in_order() {
    let call = crate::llm_script::ToolCall::new("search_knowledge", &json!({"query": "x"}));
    let first = Turn::Calls { text: "First words of it.".to_owned(), calls: vec![call] };
    let (stage, _, question) =
        slow([first, Turn::text("Second words of it, some more")], PAUSE).await;
    stage.verdict(&question, "answered").await;
    let answer = stage.answers(&question).await.remove(0);
    let card = Value::from(elements(&answer)).to_string();
    let at = |words: &str| card.find(words).unwrap_or_else(|| panic!("{words}: {card}"));
    assert!(at("First words") < at("Second words"), "{card}");
}

/// A ghost second card and doubled text at the end of a stream.
#[tokio::test(flavor = "multi_thread")]
async fn p046_at_the_end_of_a_stream_there_is_one_card_and_one_copy() {
    let (stage, chat, question) = slow([Turn::text("Only once, and never twice.")], PAUSE).await;
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["Only once, and never twice."]);
}

/// Updates after ten minutes are taken silently and have no effect.
#[tokio::test(flavor = "multi_thread")]
async fn p098_an_answer_whose_stream_the_platform_ended_in_silence_is_whole_at_the_end() {
    let (stage, chat, question) =
        slow([Turn::text("It takes a while until all is said.")], PAUSE).await;
    stage.sim.switch(|switches| switches.late_stream = LateStream::Ignored);
    grows(&stage, &question).await;
    stage.sim.advance(Duration::from_secs(601));
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["It takes a while until all is said."]);
}

/// Headings that contain bold get four asterisks; cells show raw Markdown.
#[tokio::test(flavor = "multi_thread")]
async fn p121_a_heading_is_bold_once_and_cells_are_markdown() {
    let answer = answer_to("# **abc**\n\n| k | v |\n|---|---|\n| **a** | ~~b~~ |").await;
    let elements = elements(&answer);
    assert_eq!(elements[0]["content"], "# abc");
    assert_eq!(elements[1]["columns"][0]["data_type"], "markdown");
    assert_eq!(elements[1]["rows"][0]["c0"], "**a**");
}

/// Tables vanish inside of a post.
#[tokio::test(flavor = "multi_thread")]
async fn p122_a_table_is_seen_in_every_form() {
    for form in ["card", "post", "text"] {
        let answers = answers_in(form, "before\n\n| head |\n|---|\n| cell |\n\nbehind").await;
        for word in ["before", "head", "cell", "behind"] {
            assert!(answers[0].text.contains(word), "{form} {word}: {}", answers[0].text);
        }
        let kind = if form == "card" { "interactive" } else { form };
        assert_eq!(answers[0].msg_type, kind);
    }
}

/// A link that is none of the web makes the API refuse the message.
#[tokio::test(flavor = "multi_thread")]
async fn p124_links_that_lead_nowhere_become_words() {
    let answer = answer_to("see [main](src/main.go:10) and [docs](docs/readme.md)").await;
    assert_eq!(answer.text, "see main (src/main.go:10) and docs (docs/readme.md)");
}

/// Splitting a long answer breaks code fences.
#[tokio::test(flavor = "multi_thread")]
async fn p125_every_part_of_a_long_block_of_code_is_code_of_its_language() {
    let lines: Vec<String> =
        (0..4_000).map(|number| format!("let x{number} = \"{number}\";")).collect();
    let answers = answers_to(&format!("```rust\n{}\n```", lines.join("\n"))).await;
    assert!(answers.len() > 1);
    let mut seen = 0;
    for answer in &answers {
        let code =
            answer.text.strip_prefix("```rust\n").and_then(|code| code.strip_suffix("\n```"));
        let code = code.unwrap_or_else(|| panic!("no whole block: {:.80}", answer.text));
        for line in code.lines() {
            assert_eq!(line, lines[seen]);
            seen += 1;
        }
    }
    assert_eq!(seen, lines.len());
}

/// A split in the middle of a character.
#[tokio::test(flavor = "multi_thread")]
async fn p126_signs_of_several_characters_stay_whole() {
    let family = "👩‍👩‍👧‍👦";
    let said = format!("状态良好{family}").repeat(3_000);
    let answers = answers_to(&said).await;
    assert!(answers.len() > 1);
    let all: String = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(all, said);
    for answer in &answers {
        let joiners = answer.text.matches('\u{200d}').count();
        assert_eq!(joiners, answer.text.matches(family).count() * 3, "a family is torn");
    }
}

/// Reasoning reaches the chat.
#[tokio::test(flavor = "multi_thread")]
async fn p129_thoughts_are_never_seen_wherever_the_stream_is_cut() {
    for said in [
        "<think>a secret thought</think>The answer is here.",
        "a secret</think>The answer is here.",
    ] {
        let (stage, chat, question) = slow([Turn::text(said)], PAUSE).await;
        stage.verdict(&question, "answered").await;
        assert_eq!(bot_lines(&stage, &chat), ["The answer is here."]);
        let answer = stage.answers(&question).await.remove(0);
        if said.starts_with('<') {
            for state in stage.sim.states(&answer.message_id) {
                assert!(!state.text.contains("secret") && !state.text.contains("thi"), "{state:?}");
            }
        }
    }
}

/// The status of the group is firing if any member fires; resolved members are displayed as firing.
#[tokio::test(flavor = "multi_thread")]
async fn p169_each_alert_is_told_as_it_is_in_one_message_until_all_are_resolved() {
    let (mut stage, chat) = alert_stage().await;
    stage.start(&[]).await;
    for (members, said) in [(BOTH_FIRE, SAID_BOTH), (ONE_FIRES, SAID_ONE), (NONE_FIRES, SAID_NONE)]
    {
        alerted(&stage, &members).await;
        assert_eq!(bot_lines(&stage, &chat), [said]);
    }
    alerted(&stage, &BOTH_FIRE).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_NONE, SAID_BOTH]);
    alerted(&stage, &ONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_NONE, SAID_ONE], "the second message goes on");
}

/// The update of a card blocks the model's stream.
#[tokio::test(flavor = "multi_thread")]
async fn p147_a_slow_platform_holds_up_no_model() {
    let said = "word after word. ".repeat(60);
    let (stage, chat, question) = slow([Turn::text(&said)], Duration::from_millis(20)).await;
    for endpoint in [Endpoint::ElementContent, Endpoint::CardUpdate] {
        stage.sim.fault(FaultRule::next(endpoint, 1_000, FaultAction::Delay { ms: 2_000 }));
    }
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), [said.trim_end()]);
    // Only the newest state is sent: what the model said meanwhile does not queue up.
    assert!(stage.sim.calls(Endpoint::ElementContent).len() <= 4);
}

/// A streaming answer in a topic opens a new thread.
#[tokio::test(flavor = "multi_thread")]
async fn p145_an_answer_in_a_topic_grows_in_that_topic() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::text("first"), late(2_000, "It grows in here.")]));
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let root = stage.sim.asks("ann", &group, "the root").unwrap();
    stage.verdict(&root, "answered").await;
    let say = Say {
        parent: Some(root.clone()),
        in_thread: true,
        mention_bot: true,
        ..Say::new("ann", &group, "and here?")
    };
    let question = stage.sim.say(&say).unwrap();
    stage.verdict(&question, "answered").await;
    let thread = stage.sim.seen(&question).unwrap().thread_id;
    assert!(thread.is_some());
    let answer = stage.answers(&question).await.remove(0);
    assert_eq!((answer.thread_id, answer.text.as_str()), (thread, "It grows in here."));
    assert!(stage.sim.calls(Endpoint::Send).is_empty(), "everything is a reply");
}

/// A message that showed the progress was withdrawn; the answer went with it.
#[tokio::test(flavor = "multi_thread")]
async fn p185_a_growing_message_that_cannot_be_changed_is_made_anew_once() {
    let (stage, chat, question) =
        slow([Turn::text("It arrives all the same, later.")], PAUSE).await;
    grows(&stage, &question).await;
    for endpoint in [Endpoint::ElementContent, Endpoint::CardUpdate, Endpoint::CardSettings] {
        let action = FaultAction::Refuse { status: 400, code: 200_740, reset_s: None };
        stage.sim.fault(FaultRule::next(endpoint, 1_000, action));
    }
    stage.verdict(&question, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), ["It arrives all the same, later."]);
}
