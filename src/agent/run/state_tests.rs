use proptest::prelude::*;
use serde_json::json;

use super::super::work::SUMMARY_TEMPERATURE_USER;
use super::super::{CALLS_PER_ROUND_MAX, Source};
use super::*;
use crate::agent::CompactionLevel;
use crate::base::id::TurnIds;
use crate::base::{Locale, SessionKey, UserId};
use crate::llm::{
    ChatMessage, Finish, LlmErrorKind, ModelReply, ModelRequest, ToolChoice, ToolSpec,
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + millis)
}

fn spec(source: Source, iterations_max: u32) -> RunSpec {
    RunSpec {
        turn: TurnIds::default().next(at(0)),
        session: SessionKey::new("s"),
        sender: UserId::new("u"),
        source,
        locale: Locale::EnUs,
        system: "system".to_owned(),
        history: Vec::new(),
        question: "question".to_owned(),
        context: Vec::new(),
        notice: String::new(),
        tools: vec![ToolSpec {
            name: "search".to_owned(),
            description: "searches".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        iterations_max,
        wall_time: Duration::from_secs(180),
        max_tokens: 4096,
        temperature: 0.7,
        context_window: 0,
        has_fallback: false,
        epoch: 0,
    }
}

fn started(spec: RunSpec) -> AgentRunV1 {
    let mut run = AgentRunV1::default();
    run.apply(Input::Started { at: at(0), spec: Box::new(spec) }).unwrap();
    run
}

fn says(text: &str) -> Input {
    replied(text, Vec::new())
}

fn replied(text: &str, calls: Vec<ToolCall>) -> Input {
    let reply = ModelReply {
        text: text.to_owned(),
        calls,
        finish: Finish::Stop,
        usage: Usage { input: 10, output: 1, cached: 0 },
    };
    Input::ModelReplied { at: at(1), reply }
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "search".to_owned(), arguments: json!({"query": id}) }
}

fn result(id: &str, text: &str) -> ToolResult {
    ToolResult {
        call_id: id.to_owned(),
        name: "search".to_owned(),
        text: text.to_owned(),
        succeeded: true,
        is_news: true,
        sources: Vec::new(),
    }
}

fn finished(results: Vec<ToolResult>) -> Input {
    Input::ToolsFinished { at: at(2), results }
}

fn failed() -> Input {
    failed_by(LlmErrorKind::Overloaded, None)
}

fn failed_by(kind: LlmErrorKind, retry_after: Option<Duration>) -> Input {
    Input::ModelFailed { at: at(3), kind, text: "x".to_owned(), retry_after, said: String::new() }
}

fn broke_off(said: &str) -> Input {
    let kind = LlmErrorKind::CutOff;
    let said = said.to_owned();
    Input::ModelFailed { at: at(3), kind, text: String::new(), retry_after: None, said }
}

fn partial_text(run: &AgentRunV1) -> String {
    match outcome(run) {
        Outcome::Answered { text, partial: true } => text,
        other => panic!("not partial: {other:?}"),
    }
}

fn request(run: &AgentRunV1) -> ModelRequest {
    match run.next_step() {
        Some(Step::CallModel(request)) => *request,
        other => panic!("not a model call: {other:?}"),
    }
}

fn outcome(run: &AgentRunV1) -> Outcome {
    match run.next_step() {
        Some(Step::Done(outcome)) => outcome,
        other => panic!("not done: {other:?}"),
    }
}

/// One round that searches and finds something.
fn search_once(run: &mut AgentRunV1, id: &str) {
    run.apply(replied("", vec![call(id)])).unwrap();
    run.apply(finished(vec![result(id, "the answer is 42")])).unwrap();
}

#[test]
fn a_text_is_the_answer() {
    let mut run = started(spec(Source::User, 12));
    run.apply(says("Final Answer: 42")).unwrap();
    assert_eq!(outcome(&run), Outcome::Answered { text: "42".to_owned(), partial: false });
}

#[test]
fn a_run_that_ends_on_half_a_reply_answers_with_it_and_says_so() {
    for second in [broke_off(""), says(""), failed_by(LlmErrorKind::CircuitOpen, None)] {
        let mut run = started(spec(Source::User, 12));
        run.apply(broke_off("The first half")).unwrap();
        run.apply(Input::Tick { at: at(3000) }).unwrap();
        run.apply(second).unwrap();
        let text = partial_text(&run);
        assert!(text.ends_with("\n\nThe first half") && text.contains("incomplete"), "{text}");
    }
    let mut run = started(spec(Source::User, 12));
    run.apply(broke_off("half")).unwrap();
    run.apply(Input::Tick { at: at(3000) }).unwrap();
    run.apply(says("whole")).unwrap();
    assert_eq!(outcome(&run), Outcome::Answered { text: "whole".to_owned(), partial: false });
}

#[test]
fn half_a_summary_goes_before_the_findings_and_findings_before_other_beginnings() {
    let summarising = |said: &str| {
        let mut run = started(spec(Source::User, 12));
        search_once(&mut run, "a");
        run.apply(broke_off("Let me look")).unwrap();
        run.apply(Input::Tick { at: at(3000) }).unwrap();
        run.apply(failed()).unwrap();
        run.apply(broke_off(said)).unwrap();
        partial_text(&run)
    };
    assert!(summarising("In short, it is 4").ends_with("In short, it is 4"));
    let found = summarising("");
    assert!(found.contains("the answer is 42") && !found.contains("Let me look"), "{found}");
}

#[test]
fn results_follow_their_calls_and_the_prefix_stays() {
    let mut run = started(spec(Source::User, 12));
    let first = request(&run);
    search_once(&mut run, "a");
    let second = request(&run);
    assert_eq!(second.messages[..first.messages.len()], first.messages[..]);
    assert_eq!(second.system, first.system);
    assert!(
        matches!(&second.messages[1], ChatMessage::Assistant { calls, .. } if calls.len() == 1)
    );
    assert!(matches!(&second.messages[2], ChatMessage::Tool { call_id, .. } if call_id == "a"));
}

#[test]
fn results_that_do_not_match_the_calls_are_refused_and_change_nothing() {
    let mut run = started(spec(Source::User, 12));
    run.apply(replied("", vec![call("a")])).unwrap();
    let before = run.clone();
    for results in [vec![], vec![result("b", "")], vec![result("a", ""), result("a", "")]] {
        assert!(run.apply(finished(results)).is_err());
    }
    assert!(run.apply(says("too early")).is_err());
    assert_eq!(run, before);
}

#[test]
fn at_most_eight_calls_are_carried_out_and_the_rest_is_named() {
    let mut run = started(spec(Source::User, 12));
    let calls: Vec<ToolCall> = (0..11).map(|number| call(&number.to_string())).collect();
    run.apply(replied("", calls)).unwrap();
    let Some(Step::CallTools { calls, .. }) = run.next_step() else { panic!("no tools") };
    assert_eq!(calls.len(), CALLS_PER_ROUND_MAX);
    let results = calls.iter().map(|call| result(&call.id, "")).collect();
    run.apply(finished(results)).unwrap();
    let last = request(&run).messages.pop().unwrap();
    assert!(matches!(last, ChatMessage::User { text } if text.contains("search, search, search")));
}

#[test]
fn tools_are_withheld_in_the_last_rounds_and_the_model_is_told() {
    let mut run = started(spec(Source::User, 5));
    for round in 1..=3 {
        assert_eq!(request(&run).tool_choice, ToolChoice::Auto, "round {round}");
        search_once(&mut run, &round.to_string());
    }
    let fourth = request(&run);
    assert_eq!(fourth.tool_choice, ToolChoice::None);
    let told = fourth.messages.last().unwrap();
    assert!(matches!(told, ChatMessage::User { text } if text.contains("4/5")));
}

#[test]
fn a_first_failure_waits_and_takes_the_round_back() {
    let mut run = started(spec(Source::User, 12));
    run.apply(failed()).unwrap();
    assert_eq!(run.next_step(), Some(Step::Wait { until: at(3 + 2000) }));
    assert_eq!(run.iteration(), 0);
    run.apply(Input::Tick { at: at(2003) }).unwrap();
    assert_eq!(run.iteration(), 1);
    run.apply(says("42")).unwrap();
    assert!(matches!(outcome(&run), Outcome::Answered { partial: false, .. }));
}

#[test]
fn two_failures_in_a_row_lead_to_a_summary_of_what_was_found() {
    let mut run = started(spec(Source::User, 12));
    search_once(&mut run, "a");
    run.apply(failed()).unwrap();
    run.apply(Input::Tick { at: at(2003) }).unwrap();
    run.apply(failed()).unwrap();
    let summary = request(&run);
    assert_eq!(summary.tool_choice, ToolChoice::None);
    assert_eq!(summary.messages.len(), 1, "only the prompt");
    assert!(matches!(&summary.messages[0], ChatMessage::User { text }
        if text.contains("question") && text.contains("the answer is 42")));
    run.apply(says("It is 42.")).unwrap();
    let Outcome::Answered { text, partial: true } = outcome(&run) else { panic!("not partial") };
    assert!(text.contains("incomplete") && text.contains("It is 42."));
}

#[test]
fn a_summary_that_fails_too_is_made_from_the_findings() {
    let mut run = started(spec(Source::User, 12));
    search_once(&mut run, "a");
    run.apply(failed_by(LlmErrorKind::CircuitOpen, None)).unwrap();
    let Outcome::Answered { text, partial: true } = outcome(&run) else { panic!("not partial") };
    assert!(text.contains("the answer is 42"));
}

#[test]
fn without_any_work_the_end_is_an_honest_apology_with_a_reference() {
    let spec = spec(Source::User, 12);
    let reference = spec.turn.to_string();
    let mut run = started(spec);
    run.apply(says("")).unwrap();
    let Outcome::Apologised { text, reason } = outcome(&run) else { panic!("no apology") };
    assert!(text.contains(&reference));
    assert_eq!(reason, "the model's reply was empty");
}

#[test]
fn a_run_of_the_system_takes_two_empty_replies_back() {
    let mut run = started(spec(Source::System, 12));
    for _ in 0..2 {
        run.apply(says(" \n")).unwrap();
        assert_eq!(run.iteration(), 1, "an empty reply costs no round");
    }
    run.apply(says("")).unwrap();
    assert!(matches!(outcome(&run), Outcome::Apologised { .. }));
}

#[test]
fn the_wall_time_ends_a_run_with_what_it_has() {
    let mut run = started(spec(Source::User, 12));
    search_once(&mut run, "a");
    assert_eq!(run.deadline(), Some(at(180_000)));
    run.apply(Input::Tick { at: at(180_000) }).unwrap();
    assert!((request(&run).temperature - SUMMARY_TEMPERATURE_USER).abs() < 1e-9);
    assert_eq!(run.deadline(), Some(at(210_000)), "the summary has its own time");
    run.apply(Input::Tick { at: at(210_000) }).unwrap();
    assert!(matches!(outcome(&run), Outcome::Answered { partial: true, .. }));
}

#[test]
fn a_provider_that_asks_to_wait_is_waited_for_within_the_wall_time() {
    let mut run = started(spec(Source::User, 12));
    run.apply(failed_by(LlmErrorKind::RateLimited, Some(Duration::from_secs(7)))).unwrap();
    assert_eq!(run.next_step(), Some(Step::Wait { until: at(7003) }));
    let mut run = started(spec(Source::User, 12));
    run.apply(failed_by(LlmErrorKind::RateLimited, Some(Duration::from_secs(3600)))).unwrap();
    assert!(matches!(outcome(&run), Outcome::Apologised { .. }), "it is not waited for in vain");
}

#[test]
fn a_wrong_key_ends_the_run_at_once() {
    let mut run = started(spec(Source::User, 12));
    run.apply(failed_by(LlmErrorKind::Unauthorised, None)).unwrap();
    let Outcome::Apologised { reason, .. } = outcome(&run) else { panic!("no apology") };
    assert_eq!(reason, "the model failed: x");
}

#[test]
fn a_run_whose_time_is_over_says_so_and_what_was_wrong_before() {
    let mut run = started(spec(Source::User, 12));
    run.apply(Input::Tick { at: at(180_000) }).unwrap();
    let Outcome::Apologised { reason, .. } = outcome(&run) else { panic!("no apology") };
    assert_eq!(reason, "its time was over");
    let mut run = started(spec(Source::User, 12));
    run.apply(failed()).unwrap();
    run.apply(Input::Tick { at: at(180_000) }).unwrap();
    let Outcome::Apologised { reason, .. } = outcome(&run) else { panic!("no apology") };
    assert_eq!(reason, "its time was over; before that, the model failed: x");
}

#[test]
fn an_answer_that_the_model_could_not_end_is_marked() {
    for finish in [Finish::Length, Finish::Filtered] {
        let mut run = started(spec(Source::User, 12));
        let reply = ModelReply {
            text: "half an ans".to_owned(),
            calls: Vec::new(),
            finish,
            usage: Usage::default(),
        };
        run.apply(Input::ModelReplied { at: at(1), reply }).unwrap();
        let Outcome::Answered { text, partial: true } = outcome(&run) else {
            panic!("{finish:?} is not partial")
        };
        assert!(text.contains("incomplete") && text.ends_with("half an ans"));
    }
}

#[test]
fn the_time_the_machine_was_down_does_not_count() {
    let mut run = started(spec(Source::User, 12));
    search_once(&mut run, "a");
    let mut journal =
        vec![entry(Input::Started { at: at(0), spec: Box::new(run.spec().unwrap().clone()) })];
    journal.push(entry(replied("", vec![call("a")])));
    journal.push(entry(finished(vec![result("a", "the answer is 42")])));
    // The last input came 2 ms after the beginning; an hour later the run is taken up again.
    journal.push(JournalEntryV1::Resumed { at: at(3_600_002) });
    run.resume(at(3_600_002));
    assert_eq!(replay(&journal).unwrap().0, run);
    assert_eq!(run.deadline(), Some(at(3_600_000 + 180_000)));
}

#[test]
fn a_run_that_was_begun_anew_holds_nothing_of_the_first_beginning() {
    let left = spec(Source::User, 12);
    let whole = RunSpec { question: "one\ntwo".to_owned(), ..left.clone() };
    let begun = |spec: RunSpec| entry(Input::Started { at: at(0), spec: Box::new(spec) });
    let anew = [begun(whole), JournalEntryV1::Resumed { at: at(5) }, begun(left.clone())];
    assert_eq!(replay(&anew).unwrap().0, started(left));
}

#[test]
fn a_call_of_an_earlier_round_does_not_count_as_begun() {
    let started = JournalEntryV1::ToolStarted { call_id: "a".to_owned() };
    let run_spec = spec(Source::User, 12);
    let mut journal = vec![
        entry(Input::Started { at: at(0), spec: Box::new(run_spec) }),
        entry(replied("", vec![call("a")])),
        started,
    ];
    assert_eq!(replay(&journal).unwrap().1, ["a"]);
    journal.push(entry(finished(vec![result("a", "done")])));
    assert!(replay(&journal).unwrap().1.is_empty());
}

#[test]
fn after_the_last_round_the_run_sums_up() {
    let mut run = started(spec(Source::User, 1));
    search_once(&mut run, "a");
    assert_eq!(run.iteration(), 1);
    assert!(request(&run).tools.is_empty(), "it is asked for a summary");
}

#[test]
fn a_round_that_ends_too_late_is_the_last_one() {
    let mut run = started(spec(Source::User, 12));
    run.apply(replied("", vec![call("a")])).unwrap();
    run.apply(Input::ToolsFinished { at: at(180_000), results: vec![result("a", "found")] })
        .unwrap();
    assert_eq!(run.iteration(), 1);
    assert!(request(&run).tools.is_empty(), "it is asked for a summary");
}

#[test]
fn what_a_person_says_meanwhile_is_heard_at_the_next_round() {
    let mut run = started(spec(Source::User, 12));
    run.apply(Input::UserSaid { at: at(1), text: "in French".to_owned() }).unwrap();
    run.apply(says("42")).unwrap();
    let heard = request(&run).messages;
    assert_eq!(
        heard[1..],
        [
            ChatMessage::Assistant { text: "42".to_owned(), calls: Vec::new() },
            ChatMessage::User { text: "in French".to_owned() },
        ]
    );
}

#[test]
fn calls_of_tools_that_were_not_offered_cost_their_round() {
    let mut run = started(spec(Source::System, 3));
    let mut asked = 0;
    while matches!(run.next_step(), Some(Step::CallModel(_) | Step::CallTools { .. })) {
        let input = if let Some(Step::CallTools { .. }) = run.next_step() {
            Input::ToolsFinished { at: at(1), results: vec![result("a", "found")] }
        } else {
            asked += 1;
            replied("", vec![call("a")])
        };
        run.apply(input).unwrap();
    }
    assert_eq!(asked, 4, "three rounds and the summary");
}

#[test]
fn a_stopped_run_takes_nothing_more() {
    let mut run = started(spec(Source::User, 12));
    run.apply(Input::Cancelled { at: at(1) }).unwrap();
    assert_eq!(outcome(&run), Outcome::Cancelled);
    let error = run.apply(says("late")).unwrap_err();
    assert_eq!(error.to_string(), "a run that is finished cannot take the input `model_replied`");
}

/// What a hostile world may answer, by a number.
fn answer(run: &AgentRunV1, choice: u8, time: u64) -> Input {
    let at = at(time);
    match run.next_step().unwrap() {
        Step::CallModel(_) => match choice % 8 {
            0 => says("an answer"),
            1 => says(""),
            2 => failed(),
            3 => Input::Tick { at },
            4 => replied("", (0..9).map(|number| call(&number.to_string())).collect()),
            _ => replied("thinking", vec![call("x")]),
        },
        Step::CallTools { calls, .. } => {
            let results = calls.iter().map(|call| ToolResult {
                succeeded: choice.is_multiple_of(2),
                ..result(&call.id, "found")
            });
            finished(results.collect())
        }
        Step::Wait { until } => Input::Tick { at: until },
        other => panic!("unexpected: {other:?}"),
    }
}

proptest! {
    #[test]
    fn every_run_ends_within_its_rounds_and_two_more_calls(
        choices in prop::collection::vec(any::<u8>(), 200),
        iterations_max in 1u32..30,
        is_user in any::<bool>(),
    ) {
        let source = if is_user { Source::User } else { Source::System };
        let mut run = started(spec(source, iterations_max));
        let mut journal = vec![entry(Input::Started {
            at: at(0),
            spec: Box::new(run.spec().unwrap().clone()),
        })];
        let mut successes = 0;
        for (time, choice) in (0..).zip(choices.into_iter().cycle()) {
            prop_assert!(time < 2000, "the run does not end");
            if let Some(Step::Done(_)) = run.next_step() {
                break;
            }
            let input = answer(&run, choice, time);
            successes += u32::from(matches!(&input, Input::ModelReplied { reply, .. }
                if !reply.text.is_empty() || !reply.calls.is_empty()));
            journal.push(entry(input.clone()));
            run.apply(input).unwrap();
            // Replaying what was journalled gives the identical run, at every step.
            prop_assert_eq!(&replay(&journal).unwrap().0, &run);
            prop_assert_eq!(&round_trip(&run), &run);
        }
        prop_assert!(successes <= iterations_max + 2);
    }
}

fn entry(input: Input) -> JournalEntryV1 {
    JournalEntryV1::Input { input: Box::new(input) }
}

fn round_trip(run: &AgentRunV1) -> AgentRunV1 {
    serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap()
}

#[test]
fn a_conversation_that_the_model_calls_too_long_is_made_shorter_once() {
    let mut run = started(spec(Source::User, 8));
    for id in ["a", "b"] {
        run.apply(replied("", vec![call(id)])).unwrap();
        run.apply(finished(vec![result(id, &"x".repeat(3000))])).unwrap();
    }
    let before = request(&run);
    run.apply(failed_by(LlmErrorKind::ContextTooLong, None)).unwrap();
    let after = request(&run);
    assert!(after.messages.len() < before.messages.len(), "asked again, at once");
    assert_eq!((run.compactions().len(), run.iteration()), (1, 3));
    assert_eq!(run.compactions()[0].level, CompactionLevel::Most);
    run.apply(failed_by(LlmErrorKind::ContextTooLong, None)).unwrap();
    assert!(request(&run).tools.is_empty(), "two strikes: it sums up");
}
