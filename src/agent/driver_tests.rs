use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;
use crate::agent::policy::PolicyVerdict;
use crate::agent::run::{Source, replay};
use crate::base::id::TurnIds;
use crate::base::{Locale, SessionKey, SystemClock, UserId};
use crate::llm::{Finish, LlmError, ModelReply, Usage};
use crate::tools::{Tier, Tool, ToolError, ToolOutput, ToolRegistry};

/// What the model does next.
enum Line {
    Replies(ModelReply),
    Hangs,
    /// Says the first, begins again, says the second, and hangs.
    Stutters(&'static str, &'static str),
}

/// A model that follows a list.
struct Script(Mutex<VecDeque<Line>>);

#[async_trait]
impl Model for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn context_window(&self) -> u64 {
        0
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let next = self.0.lock().unwrap().pop_front().expect("the script is long enough");
        match next {
            Line::Hangs => std::future::pending().await,
            Line::Stutters(first, second) => {
                sink.text(first);
                sink.restart();
                sink.text(second);
                std::future::pending().await
            }
            Line::Replies(reply) => {
                sink.text(&reply.text);
                Ok(reply)
            }
        }
    }
}

fn says(text: &str) -> Line {
    Line::Replies(reply(text, Vec::new()))
}

fn calls(names: &[&str]) -> Line {
    let calls = names.iter().map(|name| ToolCall {
        id: format!("call-{name}"),
        name: (*name).to_owned(),
        arguments: json!({}),
    });
    Line::Replies(reply("", calls.collect()))
}

fn reply(text: &str, calls: Vec<ToolCall>) -> ModelReply {
    ModelReply { text: text.to_owned(), calls, finish: Finish::Stop, usage: Usage::default() }
}

/// Keeps what is recorded; can end the world after a number of records.
#[derive(Default)]
struct Kept {
    records: Mutex<Vec<Record>>,
    dies_after: Option<usize>,
}

impl Kept {
    fn entries(&self) -> Vec<JournalEntryV1> {
        let records = self.records.lock().unwrap();
        records
            .iter()
            .filter_map(|record| match record {
                Record::Entry(entry) => Some(entry.clone()),
                Record::Decision(_) => None,
            })
            .collect()
    }

    fn verdicts(&self) -> Vec<(String, PolicyVerdict)> {
        let records = self.records.lock().unwrap();
        records
            .iter()
            .filter_map(|record| match record {
                Record::Decision(decision) => {
                    Some((decision.action.tool.clone(), decision.verdict))
                }
                Record::Entry(_) => None,
            })
            .collect()
    }
}

#[async_trait]
impl Journal for Kept {
    async fn record(&self, new: Vec<Record>) -> Result<(), JournalError> {
        let mut records = self.records.lock().unwrap();
        if self.dies_after.is_some_and(|most| records.len() >= most) {
            return Err(JournalError("the disk is gone".to_owned()));
        }
        records.extend(new);
        Ok(())
    }
}

/// Counts its runs; can hang or panic.
struct Act {
    name: &'static str,
    tier: Tier,
    runs: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Act {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        "acts"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(200)
    }

    async fn execute(&self, _: &Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match self.name {
            "hangs" => std::future::pending().await,
            "breaks" => panic!("on purpose"),
            name => Ok(ToolOutput { text: format!("{name} done"), sources: vec![], is_news: true }),
        }
    }
}

struct Stage {
    driver: Driver,
    runs: Arc<AtomicUsize>,
}

fn new_stage(script: Vec<Line>) -> Stage {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut registry = ToolRegistry::default();
    for (name, tier) in [
        ("looks", Tier::Read),
        ("writes", Tier::Write),
        ("sends", Tier::External),
        ("hangs", Tier::Read),
        ("breaks", Tier::Read),
    ] {
        registry.add(Arc::new(Act { name, tier, runs: Arc::clone(&runs) }));
    }
    let driver = Driver {
        model: Arc::new(Script(Mutex::new(script.into()))),
        pipeline: Pipeline::new(registry, Tier::Write, None),
        clock: Arc::new(SystemClock::default()),
        faults: Faults::default(),
    };
    Stage { driver, runs }
}

fn spec(driver: &Driver) -> RunSpec {
    RunSpec {
        turn: TurnIds::default().next(driver.clock.now()),
        session: SessionKey::new("s"),
        sender: UserId::new("u"),
        source: Source::User,
        locale: Locale::EnUs,
        system: String::new(),
        history: Vec::new(),
        question: "question".to_owned(),
        context: Vec::new(),
        notice: String::new(),
        tools: driver.pipeline.specs(&["looks", "writes", "sends", "hangs", "breaks"]),
        iterations_max: 8,
        wall_time: Duration::from_secs(120),
        max_tokens: 100,
        temperature: 0.0,
        context_window: 0,
        has_fallback: false,
        epoch: 0,
    }
}

async fn drive(stage: &Stage, journal: &Kept) -> Result<Outcome, DriveError> {
    let driver = &stage.driver;
    let run = driver.begin(spec(driver), journal).await?;
    driver.drive(run, &[], journal, &(), &Halt::default()).await
}

/// Takes a run up again from what the journal holds.
async fn resume(stage: &Stage, journal: &Kept) -> Result<Outcome, DriveError> {
    let (run, begun) = replay(&journal.entries())?;
    let run = stage.driver.resume(run, journal).await?;
    stage.driver.drive(run, &begun, journal, &(), &Halt::default()).await
}

fn observation(journal: &Kept, tool: &str) -> String {
    let entries = journal.entries();
    let results = entries.iter().find_map(|entry| match entry {
        JournalEntryV1::Input { input } => match input.as_ref() {
            Input::ToolsFinished { results, .. } => Some(results.clone()),
            _ => None,
        },
        JournalEntryV1::ToolStarted { .. } | JournalEntryV1::Resumed { .. } => None,
    });
    results.unwrap().into_iter().find(|result| result.name == tool).unwrap().text
}

fn answered(text: &str) -> Outcome {
    Outcome::Answered { text: text.to_owned(), partial: false }
}

#[tokio::test]
async fn every_call_has_one_decision_that_stands_before_it_runs() {
    let script = vec![calls(&["looks", "sends", "lookz"]), says("done")];
    let (stage, journal) = (new_stage(script), Kept::default());
    assert_eq!(drive(&stage, &journal).await.unwrap(), answered("done"));
    assert_eq!(
        journal.verdicts(),
        [
            ("looks".to_owned(), PolicyVerdict::Allow),
            ("sends".to_owned(), PolicyVerdict::Deny),
            ("lookz".to_owned(), PolicyVerdict::Deny),
        ]
    );
    assert_eq!(stage.runs.load(Ordering::SeqCst), 1, "only the allowed call ran");
    assert!(observation(&journal, "sends").contains("blocked_by_policy"));
    assert!(observation(&journal, "lookz").contains("unknown_tool"));
}

#[tokio::test]
async fn without_a_recorded_decision_nothing_runs() {
    let stage = new_stage(vec![calls(&["writes"])]);
    // The beginning and the model's reply are recorded, the decision is not.
    let journal = Kept { dies_after: Some(2), ..Kept::default() };
    assert!(matches!(drive(&stage, &journal).await, Err(DriveError::Journal(_))));
    assert_eq!(stage.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn stopping_the_driver_at_any_step_and_resuming_gives_the_same_answer() {
    let script = || vec![calls(&["looks"]), calls(&["looks", "breaks"]), says("done")];
    let whole = Kept::default();
    let expected = drive(&new_stage(script()), &whole).await.unwrap();
    let steps = whole.records.lock().unwrap().len();
    for dies_after in 1..steps {
        let journal = Kept { dies_after: Some(dies_after), ..Kept::default() };
        let stage = new_stage(script());
        assert!(drive(&stage, &journal).await.is_err(), "dies after {dies_after}");
        let journal =
            Kept { records: Mutex::new(journal.records.into_inner().unwrap()), dies_after: None };
        // The provider was asked before the journal failed: what is asked again is the last call.
        let replies = journal
            .entries()
            .iter()
            .filter(|entry| {
                matches!(entry,
            JournalEntryV1::Input { input } if matches!(**input, Input::ModelReplied { .. }))
            })
            .count();
        let rest = script().into_iter().skip(replies).collect::<Vec<_>>();
        let again = new_stage(rest);
        assert_eq!(resume(&again, &journal).await.unwrap(), expected, "dies after {dies_after}");
    }
}

#[tokio::test]
async fn a_call_with_effects_that_was_under_way_is_not_repeated() {
    let (stage, journal) = (new_stage(vec![calls(&["writes"]), says("done")]), Kept::default());
    drive(&stage, &journal).await.unwrap();
    assert_eq!(stage.runs.load(Ordering::SeqCst), 1);
    // The same journal, as it was when the machine failed while the tool was running.
    let mut records = journal.records.into_inner().unwrap();
    let end = records.iter().position(|record| matches!(record, Record::Entry(JournalEntryV1::Input { input }) if matches!(**input, Input::ToolsFinished { .. })));
    records.truncate(end.unwrap());
    let journal = Kept { records: Mutex::new(records), dies_after: None };
    let again = new_stage(vec![says("checked")]);
    assert_eq!(resume(&again, &journal).await.unwrap(), answered("checked"));
    assert_eq!(again.runs.load(Ordering::SeqCst), 0, "it did not run again");
    assert!(observation(&journal, "writes").contains("outcome_unknown"));
}

#[tokio::test]
async fn a_tool_that_hangs_or_breaks_fails_its_call_only() {
    let script = vec![calls(&["hangs", "breaks", "looks"]), says("done")];
    let (stage, journal) = (new_stage(script), Kept::default());
    assert_eq!(drive(&stage, &journal).await.unwrap(), answered("done"));
    assert!(observation(&journal, "hangs").contains("timeout"));
    assert!(observation(&journal, "breaks").contains("failed"));
    assert_eq!(observation(&journal, "looks"), "looks done");
}

#[tokio::test]
async fn stopping_ends_a_model_call_and_a_tool_at_once() {
    for script in [vec![Line::Hangs], vec![calls(&["hangs"]), says("never")]] {
        let (stage, journal) = (new_stage(script), Kept::default());
        let driver = &stage.driver;
        let run = driver.begin(spec(driver), &journal).await.unwrap();
        let halt = Halt::default();
        let stop = async {
            tokio::task::yield_now().await;
            halt.stop.cancel();
        };
        let (outcome, ()) = tokio::join!(driver.drive(run, &[], &journal, &(), &halt), stop);
        assert_eq!(outcome.unwrap(), Outcome::Cancelled);
    }
}

#[tokio::test]
async fn a_draining_run_pauses_and_goes_on_later() {
    let (stage, journal) = (new_stage(vec![says("done")]), Kept::default());
    let driver = &stage.driver;
    let run = driver.begin(spec(driver), &journal).await.unwrap();
    let halt = Halt::default();
    halt.drain.cancel();
    let paused = driver.drive(run, &[], &journal, &(), &halt).await;
    assert!(matches!(paused, Err(DriveError::Drained)));
    assert_eq!(resume(&stage, &journal).await.unwrap(), answered("done"));
}

#[tokio::test]
async fn the_wall_time_ends_a_model_call_and_the_run_answers_with_what_it_has() {
    let script = vec![calls(&["looks"]), Line::Hangs, says("summed up")];
    let (stage, journal) = (new_stage(script), Kept::default());
    let driver = &stage.driver;
    let short = RunSpec { wall_time: Duration::from_millis(100), ..spec(driver) };
    let run = driver.begin(short, &journal).await.unwrap();
    let outcome = driver.drive(run, &[], &journal, &(), &Halt::default()).await.unwrap();
    let Outcome::Answered { text, partial: true } = outcome else { panic!("not partial") };
    assert!(text.contains("summed up"));
}

#[tokio::test]
async fn the_wall_time_ends_a_reply_and_its_beginning_is_the_answer() {
    /// What a person would see.
    #[derive(Default)]
    struct Seen(Mutex<String>);
    impl Progress for Seen {
        fn text(&self, delta: &str) {
            self.0.lock().unwrap().push_str(delta);
        }

        fn restart(&self) {
            self.0.lock().unwrap().clear();
        }

        fn tools(&self, _calls: &[ToolCall]) {}
    }
    for (line, shown) in [
        (Line::Stutters("one", "two"), "two"),
        // The second try said nothing: what the first said is all there is.
        (Line::Stutters("one", ""), "one"),
    ] {
        let (stage, journal, seen) = (new_stage(vec![line]), Kept::default(), Seen::default());
        let driver = &stage.driver;
        let short = RunSpec { wall_time: Duration::from_millis(100), ..spec(driver) };
        let run = driver.begin(short, &journal).await.unwrap();
        let outcome = driver.drive(run, &[], &journal, &seen, &Halt::default()).await.unwrap();
        let Outcome::Answered { text, partial: true } = outcome else { panic!("not partial") };
        assert!(text.ends_with(&format!("\n\n{shown}")), "{text}");
        let (replayed, _) = replay(&journal.entries()).unwrap();
        let again = replayed.next_step();
        assert!(
            matches!(again, Some(Step::Done(Outcome::Answered { text: same, .. })) if same == text)
        );
        assert!(!seen.0.into_inner().unwrap().contains("one"), "void text is taken back");
    }
}
