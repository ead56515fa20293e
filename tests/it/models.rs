//! Models that fail, and what people notice of it.

use crate::llm_script::{Format, Mode, ModelServer, Turn};
use crate::stage::{Options, Stage};
use crate::talk::text;
use serde_json::json;

async fn ask(stage: &Stage, words: &str) -> (String, String) {
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, words).unwrap();
    let answer = stage.answer(&question).await;
    (question, answer)
}

fn counted(metrics: &str, event: &str) -> u64 {
    let start = format!("larkspur_events_total{{event=\"{event}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |count| count.parse().unwrap())
}

async fn metrics(stage: &Stage) -> String {
    let token = std::fs::read_to_string(stage.path("data/admin-token")).unwrap();
    let request = crate::stage::http().get(stage.url("/metrics")).bearer_auth(token.trim());
    let response = request.send().await.unwrap();
    let body = larkspur::net::read_capped(response, 1 << 20).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// A stage whose bot has a second model to ask, and that model's server.
async fn with_second(lines: &str) -> (Stage, ModelServer) {
    let second = ModelServer::start(Mode::Echo).await;
    let main = format!(
        "[models.second]\nprovider = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"spare\"\n",
        second.base_url()
    );
    let stage = Stage::with(Options {
        main,
        bot: "fallback_models = [\"second\"]".to_owned(),
        model_lines: lines.to_owned(),
        ..Options::default()
    })
    .await;
    (stage, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_busy_twice_is_asked_a_third_time() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([
        Turn::rate_limited(Some(0)),
        Turn::rate_limited(None),
        Turn::text("here you are"),
    ]));
    let (question, answer) = ask(&stage, "well?").await;
    assert_eq!(answer, "here you are");
    stage.verdict(&question, "answered").await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
    assert_eq!(counted(&metrics(&stage).await, "model_retried"), 2);
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_model_answers_while_the_first_is_down_and_status_names_it() {
    let (stage, second) = with_second("retries = 0").await;
    stage.model.set_mode(Mode::Same(Turn::server_error()));
    for number in 1..=6 {
        let words = format!("question {number}");
        assert_eq!(ask(&stage, &words).await.1, format!("answer to: {words}"));
    }
    // Five failures opened the breaker: the sixth question went to the second model at once.
    assert_eq!(stage.model.requests().len(), 5);
    assert_eq!(second.requests().len(), 6);
    second.assert_clean();
    assert_eq!(second.requests()[0].model(), "spare");
    let status = ask(&stage, "/status").await.1;
    assert!(status.contains("because of failures: scripted."), "{status}");
    let metrics = metrics(&stage).await;
    assert_eq!(counted(&metrics, "model_rests"), 1);
    assert_eq!(counted(&metrics, "model_replaced"), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_model_goes_on_with_what_the_first_found() {
    let (stage, second) = with_second("retries = 0").await;
    let search = Turn::call("search_knowledge", &json!({"query": "部署"}));
    stage.model.set_mode(Mode::script([search, Turn::Cut("On Tu".to_owned())]));
    second.set_mode(Mode::script([Turn::text("On Tuesdays.")]));
    assert_eq!(ask(&stage, "when do we deploy?").await.1, "On Tuesdays.");
    let results = second.last_request().fresh_results();
    assert!(results[0].contains("Deploy on Tuesdays only."), "{results:?}");
    second.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_reply_is_tried_on_the_second_model() {
    let (stage, second) = with_second("").await;
    stage.model.set_mode(Mode::Same(Turn::Empty));
    assert_eq!(ask(&stage, "well?").await.1, "answer to: well?");
    assert_eq!((stage.model.requests().len(), second.requests().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_every_model_is_down_the_knowledge_base_answers_and_says_so() {
    let lines = "retries = 0".to_owned();
    let stage = Stage::with(Options { model_lines: lines, ..Options::default() }).await;
    stage.model.set_mode(Mode::Same(Turn::server_error()));
    // Two failures a question: until the fifth, an apology is all there is.
    for _ in 0..2 {
        let (question, answer) = ask(&stage, "how do we deploy?").await;
        assert!(answer.contains("Sorry"), "{answer}");
        stage.verdict(&question, "failed").await;
    }
    for _ in 0..2 {
        let (question, answer) = ask(&stage, "how do we deploy?").await;
        assert!(answer.starts_with("(The model is not available at the moment"), "{answer}");
        assert!(answer.contains("[deploy]") && answer.contains("Tuesdays"), "{answer}");
        stage.verdict(&question, "answered").await;
    }
    assert_eq!(stage.model.requests().len(), 5);
    let (_, answer) = ask(&stage, "部署流程是什么？").await;
    assert!(answer.starts_with("（模型暂时不可用"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_stalls_again_and_again_is_answered_as_far_as_it_got() {
    let lines = "idle_timeout = \"300ms\"".to_owned();
    let stage = Stage::with(Options { model_lines: lines, ..Options::default() }).await;
    stage.model.set_mode(Mode::Same(Turn::StallAfter("The first three steps are these".into())));
    let (question, answer) = ask(&stage, "well?").await;
    assert!(answer.contains("incomplete") && answer.contains("three steps"), "{answer}");
    stage.verdict(&question, "answered").await;
    assert_eq!(text(&stage.why(&question), "reason"), "partial");
    assert_eq!(stage.model.requests().len(), 2, "a silence is not repeated by the provider layer");
    assert!(stage.model.wait_for_aborted(2, crate::stage::PATIENCE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_the_wait_for_another_try_at_once() {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::Same(Turn::rate_limited(Some(50))));
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "well?").unwrap();
    crate::talk::asked(&stage, 1).await;
    stage.sim.says("ann", &chat, "/stop").unwrap();
    stage.verdict(&question, "stopped").await;
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_speaks_with_models_of_every_format() {
    for format in [Format::Anthropic, Format::Gemini] {
        let stage = Stage::with(Options { format, ..Options::default() }).await;
        let search = |query: &str| {
            crate::llm_script::ToolCall::new("search_knowledge", &json!({"query": query}))
        };
        stage.model.set_mode(Mode::script([
            Turn::calls(vec![search("部署"), search("zzz")]),
            Turn::calls(vec![search("release")]),
            Turn::overloaded(),
            Turn::text("On Tuesdays [deploy]."),
        ]));
        let (question, answer) = ask(&stage, "when do we deploy?").await;
        assert_eq!(answer, "On Tuesdays [deploy].", "{format:?}");
        stage.verdict(&question, "answered").await;
        assert_eq!(stage.model.requests().len(), 4);
        let request = stage.model.last_request();
        assert_eq!(request.format, format);
        assert_eq!(request.authorization.as_deref(), Some("sk-test"));
        stage.model.assert_clean();
        // The next question carries the conversation.
        stage.model.set_mode(Mode::Echo);
        assert_eq!(ask(&stage, "again?").await.1, "answer to: again?");
        stage.model.assert_clean();
    }
}
