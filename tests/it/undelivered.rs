//! Answers that the platform refuses for what they say, whole or in part.

use larkspur::base::{Locale, Say, Undelivered};
use larkspur::playground::{Endpoint, FaultAction, FaultRule};

use crate::failed::failed_turns;
use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{barrier, bot_lines, text};

fn refuse(code: i64) -> FaultAction {
    FaultAction::Refuse { status: 400, code, reset_s: None }
}

fn refusals(times: u32, code: i64) -> FaultRule {
    FaultRule::next(Endpoint::Reply, times, refuse(code))
}

/// What the chat says in the place of a whole answer.
fn refused_answer(stage: &Stage, question: &str) -> String {
    let reference = text(&stage.why(question), "turn").to_owned();
    Say::Undelivered(Undelivered::Answer { reference }).text(Locale::EnUs)
}

fn is_listed(stage: &Stage, question: &str) -> bool {
    failed_turns(stage).iter().any(|failed| failed["message"] == question)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_is_told_that_the_platform_refused_the_answer() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    // Sensitive, too long, stopped by a filter, badly formed, and a code that nobody knows.
    for code in [230_022, 230_025, 230_028, 230_001, 239_999] {
        // Some speak of the words, others may speak of the form: there are three.
        let times = if matches!(code, 230_022 | 230_028) { 1 } else { 3 };
        stage.sim.fault(refusals(times, code));
        let question = stage.sim.asks("ann", &group, &format!("code {code}?")).unwrap();
        stage.verdict(&question, "failed").await;
        let answers = stage.sim.answers_to(&question);
        assert_eq!(answers.len(), 1, "{code}");
        assert_eq!(answers[0].text, refused_answer(&stage, &question));
        let why = stage.why(&question);
        assert!(text(&why, "reason").contains(&format!("the answer was refused: {code}")), "{why}");
        assert_eq!(why["message_ids"][0], answers[0].message_id.as_str());
        assert!(is_listed(&stage, &question));
    }
    let uuids: Vec<_> =
        stage.sim.calls(Endpoint::Reply).into_iter().map(|call| call.uuid).collect();
    let different: std::collections::BTreeSet<_> = uuids.iter().collect();
    assert_eq!(different.len(), uuids.len(), "other words have another key");

    // The sentence may be refused as well; that is the end of it.
    stage.sim.fault(refusals(2, 230_022));
    let question = stage.sim.asks("ann", &group, "never?").unwrap();
    stage.verdict(&question, "failed").await;
    assert!(stage.sim.answers_to(&question).is_empty() && is_listed(&stage, &question));
    // Where the bot may not speak, no other words help.
    let calls = stage.sim.calls(Endpoint::Reply).len();
    stage.sim.fault(refusals(1, 230_035));
    let question = stage.sim.asks("ann", &group, "muted?").unwrap();
    stage.verdict(&question, "failed").await;
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), calls + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_neither_loses_nor_doubles_the_sentence_for_a_refused_answer() {
    for (point, times) in [("send.after", 2), ("send.before:2", 1), ("send.after:2", 1)] {
        let mut stage = Stage::set(Options::default()).await;
        stage.start(&[("LARKSPUR_FAULT", point)]).await;
        let chat = stage.sim.p2p("ann").chat_id;
        stage.sim.fault(refusals(times, 230_028));
        let question = stage.sim.says("ann", &chat, "refused?").unwrap();
        assert!(stage.ended(PATIENCE).await.is_some(), "{point} is not reached");
        stage.start(&[]).await;
        stage.verdict(&question, "failed").await;
        assert_eq!(bot_lines(&stage, &chat), [refused_answer(&stage, &question)], "{point}");
        assert!(is_listed(&stage, &question), "{point}");
        barrier(&stage, "ann", &chat).await;
        assert_eq!(bot_lines(&stage, &chat).len(), 2, "{point}");
    }
}

/// Asks for an answer of several messages, with the rules in force; the chat's lines then.
async fn long_answer(rules: Vec<FaultRule>) -> (Stage, String, Vec<String>) {
    let stage = Stage::new().await;
    let whole: Vec<String> =
        (0..12_000).map(|number| format!("line {number} of the long answer")).collect();
    stage.model.set_mode(Mode::script([Turn::text(&whole.join("\n"))]));
    let chat = stage.sim.p2p("ann").chat_id;
    for rule in rules {
        stage.sim.fault(rule);
    }
    let question = stage.sim.says("ann", &chat, "everything").unwrap();
    stage.verdict(&question, "failed").await;
    let lines = bot_lines(&stage, &chat);
    (stage, question, lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_refused_leaves_a_sentence_in_its_place() {
    let second = FaultRule { skip: 1, ..refusals(1, 230_022) };
    let (stage, question, lines) = long_answer(vec![second]).await;
    let (number, of) = (2, lines.len());
    assert!(of >= 4, "{of} parts");
    let why = stage.why(&question);
    let reference = text(&why, "turn").to_owned();
    let expected = Undelivered::Part { number, of, reference };
    assert_eq!(lines[1], Say::Undelivered(expected).text(Locale::EnUs));
    assert!(lines[0].starts_with("line 0 ") && lines[2].starts_with("line "));
    assert!(lines[of - 1].ends_with("line 11999 of the long answer"));
    let reason = text(&why, "reason");
    assert!(reason.starts_with(&format!("part 2 of {of} was refused: 230022")), "{reason}");
    assert!(reason.contains("a sentence in its place says so"), "{reason}");
    assert!(is_listed(&stage, &question));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_behind_a_gap_that_does_not_show() {
    // The sentence is refused as well; the bot was put out in the middle of its answer.
    for (times, code) in [(2, 230_022), (1, 230_002)] {
        let rule = FaultRule { skip: 1, ..refusals(times, code) };
        let (stage, question, lines) = long_answer(vec![rule]).await;
        assert_eq!(lines.len(), 1, "{code}");
        let calls = stage.sim.calls(Endpoint::Reply).len();
        assert_eq!(calls, 1 + usize::try_from(times).unwrap(), "{code}");
        let why = stage.why(&question);
        let reason = text(&why, "reason");
        assert!(reason.contains(&code.to_string()) && reason.contains("the rest was not"), "{why}");
        assert!(!reason.contains("says so"), "{why}");
    }
}
