//! The engine through the real loop: tools, failures, long answers.

use std::time::Duration;

use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::json;

use crate::llm_script::{Captured, Mode, ToolCall, Turn};
use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{asked, bot_lines, late, text};

async fn ask(stage: &Stage, words: &str) -> (String, String) {
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, words).unwrap();
    let answer = stage.answer(&question).await;
    (question, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_searches_reads_a_recipe_and_answers() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([
        Turn::call("search_knowledge", &json!({"query": "部署"})),
        Turn::calls(vec![
            ToolCall::new("get_recipe", &json!({"id": "deploy"})),
            ToolCall::new("search_knowledge", &json!({"query": "nothing of the kind zzz"})),
        ]),
        Turn::text("On Tuesdays [deploy]."),
    ]));
    let (question, answer) = ask(&stage, "when do we deploy?").await;
    assert_eq!(answer, "On Tuesdays [deploy].");
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].tools(), ["search_knowledge", "get_recipe"]);
    let found = requests[1].fresh_results();
    assert!(found.len() == 1 && found[0].contains("\"id\":\"deploy\""), "{found:?}");
    let results = requests[2].fresh_results();
    assert!(results[0].contains("Deploy on Tuesdays only."), "{results:?}");
    assert!(results[1].contains("\"hits\":[]"), "{results:?}");
    stage.model.assert_clean();
    stage.verdict(&question, "answered").await;
    let chat = stage.sim.p2p("ann").chat_id;
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
    assert_eq!(stage.sim.seen(&stage.sim.answers_to(&question)[0].message_id).unwrap().edits, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipe_written_while_the_daemon_runs_is_found() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::Obedient);
    let order = "call search_knowledge {\"query\": \"espresso\"}";
    assert_eq!(ask(&stage, order).await.1, "results: {\"hits\":[]}");
    let recipe = "---\nid: coffee\ntitle: Coffee\n---\nThe espresso machine is on floor three.\n";
    std::fs::write(stage.path("knowledge/coffee.md"), recipe).unwrap();
    // The files are looked at about once a second.
    let found = async {
        while !ask(&stage, order).await.1.contains("floor three") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, found).await.is_ok(), "the recipe is never found");
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_and_bad_arguments_are_told_to_the_model_and_the_run_goes_on() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([
        Turn::call("rm_rf", &json!({"path": "/"})),
        Turn::Malformed("search_knowledge".to_owned()),
        Turn::call("search_knowledge", &json!({"limit": "many"})),
        Turn::call("get_recipe", &json!({"id": "no-such-recipe"})),
        Turn::text("made it"),
    ]));
    let (question, answer) = ask(&stage, "try").await;
    assert_eq!(answer, "made it");
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 5);
    for (request, expected) in requests[1..].iter().zip([
        ["no tool `rm_rf`", ""],
        ["error", ""],
        ["error", "query"],
        ["no recipe", "no-such-recipe"],
    ]) {
        let results = request.fresh_results();
        assert_eq!(results.len(), 1);
        assert!(expected.iter().all(|part| results[0].contains(part)), "{expected:?}: {results:?}");
    }
    stage.model.assert_clean();
    stage.verdict(&question, "answered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_obstinate_model_ends_within_its_rounds_with_an_honest_answer() {
    let stage = Stage::new().await;
    let call = ToolCall::new("search_knowledge", &json!({"query": "部署"}));
    stage.model.set_mode(Mode::Obstinate(call));
    let (question, answer) = ask(&stage, "deploy?").await;
    assert!(!answer.trim().is_empty());
    let is_honest = answer.contains("not available") || answer.contains("incomplete");
    assert!(is_honest, "{answer}");
    assert!(answer.contains("Tuesdays"), "what was found is told: {answer}");
    let requests = stage.model.requests().len();
    assert!(requests <= 14, "{requests} requests for twelve rounds");
    stage.model.assert_clean();
    stage.verdict(&question, "answered").await;
    assert_eq!(text(&stage.why(&question), "reason"), "partial");
    let chat = stage.sim.p2p("ann").chat_id;
    assert_eq!(bot_lines(&stage, &chat).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_obstinate_model_without_any_finding_ends_with_an_apology() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::Obstinate(ToolCall::new("no_such_tool", &json!({}))));
    let (question, answer) = ask(&stage, "well?").await;
    assert!(answer.contains("Sorry"), "{answer}");
    stage.verdict(&question, "failed").await;
    assert!(stage.model.requests().len() <= 14);
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_reply_is_an_apology_with_a_reference_and_not_silence() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::Empty]));
    let (question, answer) = ask(&stage, "well?").await;
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    assert!(answer.contains("Sorry") && answer.contains(text(&why, "turn")), "{answer}");
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failure_of_the_model_is_made_good() {
    for failure in [Turn::server_error(), Turn::Cut("half an ans".to_owned())] {
        let stage = Stage::new().await;
        stage.model.set_mode(Mode::script([failure, Turn::text("second try")]));
        let (question, answer) = ask(&stage, "well?").await;
        assert_eq!(answer, "second try");
        stage.verdict(&question, "answered").await;
        assert_eq!(stage.model.requests().len(), 2);
        assert_eq!(stage.sim.answers_to(&question).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_failures_are_an_apology_with_a_reference() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::Same(Turn::server_error()));
    let (question, answer) = ask(&stage, "well?").await;
    stage.verdict(&question, "failed").await;
    let why = stage.why(&question);
    assert!(answer.contains("Sorry") && answer.contains(text(&why, "turn")), "{answer}");
    assert!(!text(&why, "reason").is_empty());
    assert!(stage.log().contains(text(&why, "turn")), "the reference is found in the log");
    // Two strikes, each with three repetitions.
    assert_eq!(stage.model.requests().len(), 8);
    stage.model.set_mode(Mode::Echo);
    // The next question is not affected, and the failed turn left no history.
    assert_eq!(ask(&stage, "again?").await.1, "answer to: again?");
    assert_eq!(stage.model.last_request().messages().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_and_the_question_never_reach_the_log() {
    let stage = Stage::new().await;
    let rejected = Turn::unauthorized();
    stage.model.set_mode(Mode::script([rejected.clone(), rejected]));
    let (question, _) = ask(&stage, "a private matter").await;
    stage.verdict(&question, "failed").await;
    let log = stage.log();
    assert!(log.contains("model_failed"));
    assert!(!log.contains("sk-test") && !log.contains("a private matter"), "{log}");
    let authorization = stage.model.last_request().authorization;
    assert_eq!(authorization.as_deref(), Some("Bearer sk-test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_and_leads_of_the_model_are_not_shown() {
    let stage = Stage::new().await;
    let words = "<think>secret plan</think>Final Answer: **42**";
    stage.model.set_mode(Mode::script([Turn::text(words)]));
    assert_eq!(ask(&stage, "well?").await.1, "**42**");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_split_in_order() {
    let stage = Stage::new().await;
    let line = "一行不太长也不太短的文字，用来凑足够多的内容。";
    let whole: Vec<String> = (0..4500).map(|number| format!("{number}: {line}")).collect();
    stage.model.set_mode(Mode::script([Turn::text(&whole.join("\n"))]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "tell me everything").unwrap();
    stage.verdict(&question, "answered").await;
    let parts = bot_lines(&stage, &chat);
    assert!(parts.len() >= 2, "one message does not hold it");
    let shown: Vec<&str> = parts.iter().flat_map(|part| part.lines()).collect();
    assert_eq!(shown, whole, "nothing is lost, doubled or out of order");
    assert_eq!(stage.sim.answers_to(&question).len(), parts.len());
    assert_eq!(stage.sim.calls(Endpoint::Reply).len(), parts.len());
    let why = stage.why(&question);
    assert_eq!(why["message_ids"].as_array().unwrap().len(), parts.len());
    for answer in stage.sim.answers_to(&question) {
        assert_eq!(stage.why(&answer.message_id)["turn"], why["turn"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_works_in_the_middle_of_a_run_with_tools() {
    let stage = Stage::new().await;
    let search = Turn::call("search_knowledge", &json!({"query": "部署"}));
    stage.model.set_mode(Mode::script([search, Turn::Stall]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "deploy?").unwrap();
    asked(&stage, 2).await;
    stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&question, "stopped").await;
    assert!(stage.model.wait_for_aborted(1, PATIENCE).await);
    // What could be seen of it by then says that it is not complete.
    for answer in stage.sim.answers_to(&question) {
        assert_eq!(answer.text, "(stopped; the answer is not complete)");
    }
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_rounds_does_not_repeat_the_rounds_before() {
    let mut stage = Stage::new().await;
    let search = Turn::call("search_knowledge", &json!({"query": "部署"}));
    stage.model.set_mode(Mode::script([search, Turn::Stall, late(10, "from the journal")]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "deploy?").unwrap();
    asked(&stage, 2).await;
    stage.kill();
    stage.start(&[]).await;
    assert_eq!(stage.answer(&question).await, "from the journal");
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[2].messages(), requests[1].messages(), "the round begins again as it was");
    stage.model.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_keeps_its_order_through_faults_and_a_kill() {
    let mut stage = Stage::new().await;
    let whole: Vec<String> =
        (0..8_000).map(|number| format!("line {number} of the long answer")).collect();
    stage.model.set_mode(Mode::script([Turn::text(&whole.join("\n"))]));
    let second = |action| FaultRule { skip: 1, ..FaultRule::next(Endpoint::Reply, 1, action) };
    stage.sim.fault(second(FaultAction::DropAfter));
    stage.sim.fault(second(FaultAction::Slow { ms: 1500 }));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "everything").unwrap();
    stage.answers_of(&question, 2).await;
    stage.kill();
    stage.start(&[]).await;
    stage.verdict(&question, "answered").await;
    let parts = bot_lines(&stage, &chat);
    assert!(parts.len() >= 3, "{} parts", parts.len());
    let shown: Vec<&str> = parts.iter().flat_map(|part| part.lines()).collect();
    assert_eq!(shown, whole);
    assert_eq!(stage.why(&question)["message_ids"].as_array().unwrap().len(), parts.len());
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_cut_and_says_so() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::text(&"endless words ".repeat(60_000))]));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "everything").unwrap();
    stage.verdict(&question, "answered").await;
    let parts = bot_lines(&stage, &chat);
    assert_eq!(parts.len(), 20);
    let shown: usize = parts[..19].iter().map(|part| part.matches("words").count()).sum();
    let lost = "endless words ".len() * (60_000 - shown);
    let said: String = parts[19].chars().filter(char::is_ascii_digit).collect();
    let said: usize = said.parse().unwrap();
    assert!(said.abs_diff(lost) < 30, "{} of about {lost}", parts[19]);
    assert!(stage.why(&question)["reason"].as_str().unwrap().contains("were not sent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_cannot_mention_everybody() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben"]).chat_id;
    let words = "<at user_id=\"all\"></at> <AT user_id=\"all\">all</AT> @_all @all hello";
    stage.model.set_mode(Mode::script([Turn::text(words)]));
    let question = stage.sim.asks("ann", &group, "greet").unwrap();
    let answer = stage.answers(&question).await.remove(0);
    assert!(!answer.mentions_all && answer.mentions.is_empty(), "{answer:?}");
    assert!(answer.text.contains("hello"));
}

/// Row "three-level compaction": a conversation with people gets 12,000 tokens of a model of 16,000 and
/// 65 % of a smaller one. A run of nine rounds that read long recipes needs several times that.
#[tokio::test(flavor = "multi_thread")]
async fn three_level_compaction_keeps_a_long_run_within_the_models_budget() {
    // The model's context, the conversation's budget, calls a round, words of a recipe; what is done.
    let table = [
        (16_000, 12_000, 3, 900, "results"),
        (16_000, 12_000, 8, 220, "rounds"),
        (6_000, 3_900, 3, 900, "most"),
    ];
    for (context, budget, calls, words, how) in table {
        let (stage, question) = long_run(context, calls, words).await;
        stage.verdict(&question, "answered").await;
        // Every call has its result and every result its call, in every request.
        stage.model.assert_clean();
        let requests = stage.model.requests();
        assert_eq!(requests.len(), 10);
        for (number, request) in requests.iter().enumerate() {
            // As the server counts: four bytes a token. The system prompt is in it.
            let tokens = json!(request.messages()).to_string().len() / 4;
            assert!(tokens <= budget * 11 / 10, "{how}: request {number} has {tokens} tokens");
            assert_eq!(request.count_containing(LONG_QUESTION), 1, "{how}: request {number}");
        }
        let log = stage.log();
        assert!(log.contains(&format!("how=\"{how}\"")), "{how}: {}", log.matches("how=").count());
        let last = json!(requests[9].messages()).to_string();
        let has_digest = last.contains("Earlier work on this question is left out here");
        assert_eq!(has_digest, how != "results", "{how}");
        // Between two compactions a request begins with the one before: providers can cache it.
        let begins = |pair: &[Captured]| {
            let [before, after] = pair else { return false };
            after.messages().starts_with(before.messages())
        };
        let cached = requests.windows(2).filter(|pair| begins(pair)).count();
        let compactions = log.matches("event=\"compacted\"").count();
        assert!(compactions < 9 && cached + compactions >= 8, "{how}: {cached} {compactions}");
    }
}

const LONG_QUESTION: &str = "what do all the procedures say?";

/// A run that reads `calls` recipes of so many words in each of nine rounds.
async fn long_run(context: usize, calls: usize, words: usize) -> (Stage, String) {
    let model_lines = format!("context_window = {context}");
    let mut stage = Stage::set(Options { model_lines, ..Options::default() }).await;
    let text = format!("---\nid: long\ntitle: Long\n---\n{}\n", "Every step ".repeat(words / 2));
    std::fs::write(stage.path("knowledge/long.md"), text).unwrap();
    stage.start(&[]).await;
    let read = ToolCall::new("get_recipe", &json!({"id": "long"}));
    let rounds = (0..9).map(|_| Turn::calls(vec![read.clone(); calls]));
    stage.model.set_mode(Mode::script(rounds.chain([Turn::text("All read.")])));
    let (question, answer) = ask(&stage, LONG_QUESTION).await;
    assert_eq!(answer, "All read.");
    (stage, question)
}
