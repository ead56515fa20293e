//! What the long connection can take on one core: frames decoded, dispatched and answered without
//! a store, beside the decoding of the frames alone and of their JSON alone, in the same run.
//!
//!     cargo bench --bench link --features test-support -- [--events N] [--rounds N]
//!
//! Rounds of all rows alternate, so that a machine that slows down slows all of them; the best
//! round of each is shown.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a measurement reads the clock and talks to whoever started it"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use larkspur::base::{BotName, Clock, Secret, SystemClock, Verdict};
use larkspur::channels::lark::measure::{Frames, event_frame, read_alone};
use larkspur::channels::lark::{EventsVia, LarkBot, LarkBotSettings, LarkDeps, Limiter, Look};
use larkspur::envelope::{Arrival, Form, Inlet, InletError, Press, PressReply, Submitted, Tone};
use larkspur::net::HttpFactory;
use larkspur::task::TaskSet;
use larkspur::telemetry::CallMeter;
use prost::bytes::Bytes;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const APP: &str = "cli_a1b2c3d4e5f60718";
/// Different events; more would only measure the memory.
const DIFFERENT: usize = 512;
/// So many are handed in before their answers are taken, as with a burst.
const BURST: usize = 64;

/// Takes everything and does nothing.
#[derive(Default)]
struct Nowhere(AtomicUsize);

#[async_trait::async_trait]
impl Inlet for Nowhere {
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        drop(std::hint::black_box(arrival));
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Submitted::NoWork(Verdict::Filtered))
    }

    async fn press(&self, _press: Press) -> PressReply {
        PressReply { tone: Tone::Info, text: String::new(), card: None }
    }
}

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |name: &str, default: usize| -> Result<usize> {
        let given = words.iter().skip_while(|word| *word != name).nth(1);
        given.map_or(Ok(default), |text| text.parse().with_context(|| format!("{name} {text}")))
    };
    let (events, rounds) = (number("--events", 200_000)?, number("--rounds", 5)?);
    let payloads: Vec<String> = (0..DIFFERENT).map(payload).collect();
    let frames: Vec<Bytes> = payloads
        .iter()
        .zip(1..)
        .map(|(payload, number)| event_frame(number, &format!("frame-{number}"), payload))
        .collect();
    let bytes = frames.iter().map(Bytes::len).sum::<usize>() / DIFFERENT;
    println!("{events} events a round, {rounds} rounds, {bytes} bytes a frame, one thread");

    let rows =
        ["frame alone (prost)", "frame and JSON (serde_json::Value)", "decoded and dispatched"];
    let mut best = [Duration::MAX; 3];
    for _round in 0..rounds {
        let taken = [
            frames_alone(&frames, events)?,
            frames_and_json(&frames, &payloads, events)?,
            dispatched(&frames, events)?,
        ];
        for (best, taken) in best.iter_mut().zip(taken) {
            *best = (*best).min(taken);
        }
    }
    for (row, best) in rows.iter().zip(best) {
        let rate = events as f64 / best.as_secs_f64();
        println!("{row:36} {rate:>12.0} events/s  {:>8.2} µs", 1e6 / rate);
    }
    Ok(())
}

fn payload(number: usize) -> String {
    let message = json!({
        "message_id": format!("om_1a2b3c4d5e6f708192a3b4c5{number:08x}"),
        "create_time": "1760000000001", "update_time": "1760000000001",
        "chat_id": format!("oc_0f1e2d3c4b5a69788796a5b4{:08x}", number % 100),
        "chat_type": "p2p", "message_type": "text", "content": "{\"text\":\"部署进度如何? status\"}",
    });
    let sender = json!({
        "sender_id": {
            "union_id": "on_5b1f0c2d3e4a5968778695a4b3c2d1e0", "user_id": "9c3d7e1f",
            "open_id": "ou_7d8a6e1f2b3c4d5e6f708192a3b4c5d6",
        },
        "sender_type": "user", "tenant_key": "16f0d1a2b3c4d5e6",
    });
    let header = json!({
        "event_id": format!("e0a1b2c3d4e5f60718293a4b{number:08x}"),
        "token": "vT0k3n5aMpLeQ8xY2zR7wK4jN6bG1hD3", "create_time": "1760000000123",
        "event_type": "im.message.receive_v1", "tenant_key": "16f0d1a2b3c4d5e6", "app_id": APP,
    });
    let event = json!({ "sender": sender, "message": message });
    json!({ "schema": "2.0", "header": header, "event": event }).to_string()
}

fn frames_alone(frames: &[Bytes], events: usize) -> Result<Duration> {
    let began = Instant::now();
    let read = frames.iter().cycle().take(events).filter(|frame| read_alone(frame)).count();
    let taken = began.elapsed();
    ensure!(read == events, "{read} frames were read");
    Ok(taken)
}

fn frames_and_json(frames: &[Bytes], payloads: &[String], events: usize) -> Result<Duration> {
    let began = Instant::now();
    for (frame, payload) in frames.iter().zip(payloads).cycle().take(events) {
        ensure!(read_alone(frame), "a frame was not read");
        std::hint::black_box(serde_json::from_str::<Value>(payload)?);
    }
    Ok(began.elapsed())
}

fn dispatched(frames: &[Bytes], events: usize) -> Result<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let inlet = Arc::new(Nowhere::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let tasks = TaskSet::new("bench", CancellationToken::new());
    let bot = Arc::new(bot(&clock, &tasks)?);
    let way_in: Arc<dyn Inlet> = Arc::<Nowhere>::clone(&inlet);
    let mut reception = Frames::new(bot, way_in, clock, tasks);
    let began = Instant::now();
    runtime.block_on(async {
        let mut left = frames.iter().cycle().take(events);
        loop {
            for frame in left.by_ref().take(BURST) {
                reception.receive(frame);
            }
            if reception.in_work() == 0 {
                return;
            }
            while reception.in_work() > 0 {
                std::hint::black_box(reception.answer().await);
            }
        }
    });
    let taken = began.elapsed();
    let submitted = inlet.0.load(Ordering::Relaxed);
    ensure!(submitted == events, "{submitted} events came through");
    Ok(taken)
}

fn bot(clock: &Arc<dyn Clock>, tasks: &TaskSet) -> Result<LarkBot> {
    let deps = LarkDeps {
        client: HttpFactory::default().client()?,
        clock: Arc::clone(clock),
        tasks: tasks.clone(),
        limiter: Limiter::new(Arc::clone(clock)),
        meter: CallMeter::default(),
    };
    let settings = LarkBotSettings {
        bot: BotName::new("bench"),
        app_id: APP.to_owned(),
        app_secret: Secret::new("secret"),
        encrypt_key: Secret::new(""),
        verification_token: Secret::new(""),
        base_url: "http://127.0.0.1:1".to_owned(),
        events: EventsVia::LongConnection,
        look: Look { form: Form::Card, live: true },
        picture_hosts: Vec::new(),
    };
    Ok(LarkBot::new(settings, &deps)?)
}
