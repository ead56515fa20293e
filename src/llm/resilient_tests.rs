use std::collections::VecDeque;

use futures_util::FutureExt;

use super::*;
use crate::base::ManualClock;
use crate::llm::{Finish, ToolChoice, Usage};

/// What the model does with a call.
enum Line {
    Replies(&'static str),
    Fails(LlmErrorKind, Option<u64>),
    /// Says this, then fails.
    Breaks(&'static str),
    Hangs,
}

#[derive(Default)]
struct Script {
    lines: Mutex<VecDeque<Line>>,
    asked: AtomicU64,
}

fn error(kind: LlmErrorKind, retry_after: Option<u64>) -> LlmError {
    let retry_after = retry_after.map(Duration::from_secs);
    LlmError { kind, retry_after, text: format!("{kind:?}") }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn context_window(&self) -> u64 {
        7
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let line = self.lines.lock().unwrap().pop_front().expect("the script is long enough");
        match line {
            Line::Replies(text) => {
                sink.text(text);
                let usage = Usage::default();
                let text = text.to_owned();
                Ok(ModelReply { text, calls: Vec::new(), finish: Finish::Stop, usage })
            }
            Line::Fails(kind, retry_after) => Err(error(kind, retry_after)),
            Line::Breaks(text) => {
                sink.text(text);
                Err(error(CutOff, None))
            }
            Line::Hangs => std::future::pending().await,
        }
    }
}

struct Stage {
    model: ResilientModel,
    script: Arc<Script>,
    clock: ManualClock,
}

fn stage(lines: impl IntoIterator<Item = Line>) -> Stage {
    stage_with(lines, Gate::new(32))
}

fn stage_with(lines: impl IntoIterator<Item = Line>, gate: Gate) -> Stage {
    let lines = Mutex::new(lines.into_iter().collect());
    let script = Arc::new(Script { lines, asked: AtomicU64::default() });
    let clock = ManualClock::at(Timestamp::from_millis(1_760_000_000_000));
    let rules = RetryRules { retries: 3, first_wait: Duration::from_secs(2) };
    let inner: Arc<dyn Model> = Arc::<Script>::clone(&script);
    let model = ResilientModel::new(inner, rules, gate, Arc::new(clock.clone()));
    Stage { model, script, clock }
}

impl Stage {
    async fn ask(&self) -> Result<String, LlmErrorKind> {
        let asked = self.model.complete(&request(), &mut ()).await;
        asked.map(|reply| reply.text).map_err(|error| error.kind)
    }

    fn asked(&self) -> u64 {
        self.script.asked.load(Ordering::SeqCst)
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        max_tokens: 1,
        temperature: 0.0,
    }
}

/// The virtual time that `work` takes. Only tests whose time is paused use it.
#[expect(clippy::disallowed_methods, reason = "the paused clock of the test's runtime")]
async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begin = tokio::time::Instant::now();
    (work.await, begin.elapsed())
}

use LlmErrorKind::{
    CircuitOpen, ContextTooLong, CutOff, Malformed, Network, Overloaded, RateLimited, Rejected,
    Unauthorised,
};

const fn fails(kind: LlmErrorKind) -> Line {
    Line::Fails(kind, None)
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_repeated_three_times_with_growing_waits() {
    let stage = stage([
        fails(RateLimited),
        fails(Overloaded),
        fails(Network),
        Line::Replies("at last"),
        fails(CutOff),
        fails(CutOff),
        fails(CutOff),
        fails(CutOff),
    ]);
    let (answer, took) = timed(stage.ask()).await;
    assert_eq!(answer.as_deref(), Ok("at last"));
    // 2 s, 4 s and 8 s, each with up to one second more.
    assert!((14..17).contains(&took.as_secs()), "{took:?}");
    assert_eq!(stage.ask().await, Err(CutOff));
    assert_eq!(stage.asked(), 8);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_repeated() {
    for kind in
        [Unauthorised, Rejected, ContextTooLong, Malformed, LlmErrorKind::Timeout, CircuitOpen]
    {
        let stage = stage([fails(kind)]);
        assert_eq!(stage.ask().await, Err(kind));
        assert_eq!(stage.asked(), 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_provider_asks_for_is_kept_but_not_for_ever() {
    let late = stage([Line::Fails(RateLimited, Some(20)), Line::Replies("ok")]);
    let (answer, took) = timed(late.ask()).await;
    assert_eq!(answer.as_deref(), Ok("ok"));
    assert!((20..22).contains(&took.as_secs()), "{took:?}");

    let too_late = stage([Line::Fails(RateLimited, Some(61))]);
    let (answer, took) = timed(too_late.ask()).await;
    assert_eq!((answer, took.as_secs()), (Err(RateLimited), 0));

    let again = || Line::Fails(RateLimited, Some(25));
    let summed = stage([again(), again(), again()]);
    assert_eq!(summed.ask().await, Err(RateLimited));
    assert_eq!(summed.asked(), 3, "a third wait would make 75 s");
}

#[tokio::test(start_paused = true)]
async fn text_of_a_try_that_failed_is_void_before_the_next_begins() {
    #[derive(Default)]
    struct Heard(Vec<String>);
    impl StreamSink for Heard {
        fn text(&mut self, delta: &str) {
            self.0.push(delta.to_owned());
        }

        fn restart(&mut self) {
            self.0.push("|".to_owned());
        }
    }
    let stage =
        stage([Line::Breaks("half"), Line::Replies("whole"), Line::Fails(RateLimited, Some(99))]);
    let mut heard = Heard::default();
    stage.model.complete(&request(), &mut heard).await.unwrap();
    assert_eq!(heard.0, ["half", "|", "whole"]);
    let mut heard = Heard::default();
    stage.model.complete(&request(), &mut heard).await.unwrap_err();
    assert!(heard.0.is_empty(), "nothing follows: the beginning stays");
}

#[tokio::test(start_paused = true)]
async fn five_final_failures_open_the_breaker_and_a_probe_closes_it() {
    let stage = stage((0..20).map(|_| fails(Overloaded)).chain([
        fails(LlmErrorKind::Timeout),
        Line::Replies("back"),
        Line::Replies("again"),
    ]));
    for round in 0..5 {
        assert!(stage.model.resting().is_empty(), "round {round}");
        assert_eq!(stage.ask().await, Err(Overloaded));
    }
    assert_eq!(stage.model.resting(), ["script"]);
    assert_eq!(stage.ask().await, Err(CircuitOpen));
    assert_eq!(stage.asked(), 20, "an open breaker asks nobody");
    stage.clock.advance(Duration::from_secs(30));
    assert_eq!(stage.ask().await, Err(LlmErrorKind::Timeout), "the probe");
    assert_eq!(stage.ask().await, Err(CircuitOpen));
    stage.clock.advance(Duration::from_secs(59));
    assert_eq!(stage.ask().await, Err(CircuitOpen), "the second rest is a minute");
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!(stage.ask().await.as_deref(), Ok("back"));
    assert_eq!(stage.ask().await.as_deref(), Ok("again"));
    assert!(stage.model.resting().is_empty());
}

#[tokio::test(start_paused = true)]
async fn refusals_and_aborted_calls_open_no_breaker_and_leave_a_probe_to_the_next() {
    let refused = stage((0..9).map(|_| fails(Rejected)).chain([Line::Replies("ok")]));
    for _ in 0..9 {
        assert_eq!(refused.ask().await, Err(Rejected));
    }
    assert_eq!(refused.ask().await.as_deref(), Ok("ok"));

    let failures = (0..5).map(|_| fails(LlmErrorKind::Timeout));
    let stage = stage(failures.chain([Line::Hangs, fails(Rejected), Line::Replies("ok")]));
    for _ in 0..5 {
        assert_eq!(stage.ask().await, Err(LlmErrorKind::Timeout));
    }
    stage.clock.advance(Duration::from_secs(30));
    // The probe is dropped while it hangs; the next one is refused for its own sake.
    assert!(stage.ask().now_or_never().is_none());
    assert_eq!(stage.ask().await, Err(Rejected));
    assert_eq!(stage.ask().await.as_deref(), Ok("ok"));
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_wait_for_their_turn_in_order_and_a_dropped_one_frees_its_place() {
    let gate = Gate::new(1);
    let hanging = stage_with([Line::Hangs], gate.clone());
    let other = stage_with([Line::Replies("first"), Line::Replies("second")], gate);
    let mut hangs = Box::pin(hanging.ask());
    assert!((&mut hangs).now_or_never().is_none());
    let mut first = Box::pin(other.ask());
    let mut second = Box::pin(other.ask());
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(other.asked(), 0, "another model of the same server holds the place");
    drop(hangs);
    assert!((&mut second).now_or_never().is_none(), "it came later");
    assert_eq!(first.await.as_deref(), Ok("first"));
    assert_eq!(second.await.as_deref(), Ok("second"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_next_try_holds_no_place() {
    let gate = Gate::new(1);
    let failing = stage_with([fails(Overloaded), Line::Replies("later")], gate.clone());
    let other = stage_with([Line::Replies("now")], gate);
    let mut waits = Box::pin(failing.ask());
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(other.ask().await.as_deref(), Ok("now"));
    assert_eq!(waits.await.as_deref(), Ok("later"));
}

#[test]
fn the_part_added_to_a_wait_stays_within_its_bound_and_varies() {
    let most = Duration::from_secs(1);
    let now = Timestamp::from_millis(1_760_000_000_000);
    let mut drawn: Vec<Duration> = (0..100).map(|nth| jitter(now, nth, most)).collect();
    assert!(drawn.iter().all(|part| *part <= most));
    drawn.sort();
    drawn.dedup();
    assert!(drawn.len() > 90, "{} different parts", drawn.len());
    assert_eq!(jitter(now, 1, Duration::ZERO), Duration::ZERO);
}
