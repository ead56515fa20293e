//! The comparison: every contender once a round, each round beginning with another, all with the
//! same requests.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::events::{Requests, TURN_APPS, requests};
use crate::load::{self, Done};
use crate::platform::Platform;
use crate::report::{Spread, row, table};
use crate::servers::{Contender, Running, python};
use crate::{Plan, events};

/// Chats the events are spread over.
const CHATS: usize = 256;
/// Chats of whole turns: a chat takes five messages a second.
const TURN_CHATS: usize = 2000;
/// Events before the measured ones: at least one in each chat, and time for a compiler that
/// compiles what runs often.
const WARM_UP_EVENTS: usize = 2000;
/// How long the last turns may take.
const TURNS_PATIENCE: Duration = Duration::from_secs(60);

/// One measurement of one contender.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    /// Of the server's process, in microseconds an event.
    pub(crate) cpu_us: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Sample {
    pub(crate) fn new(done: &Done, elapsed: Duration, cpu: Duration) -> Self {
        // Counts of events are far below what a float holds exactly.
        let events = f64::from(u32::try_from(done.events).unwrap_or(u32::MAX));
        Self {
            per_second: events / elapsed.as_secs_f64(),
            cpu_us: cpu.as_secs_f64() * 1e6 / events,
            p50_ms: done.latency(50).as_secs_f64() * 1e3,
            p99_ms: done.latency(99).as_secs_f64() * 1e3,
        }
    }
}

pub(crate) fn run(plan: &Plan) -> Result<String> {
    let platform = Platform::start()?;
    let contenders: Vec<Contender> = Contender::ALL
        .into_iter()
        .filter(|one| plan.only.is_empty() || plan.only.iter().any(|word| word == one.word()))
        .collect();
    let mut samples: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    let mut alone = Vec::new();
    for round in 0..plan.rounds {
        let (feed, of_turns) = (Feed::new(round, plan, CHATS, 1), Feed::of_turns(round, plan));
        for step in 0..contenders.len() {
            let place = (round + step) % contenders.len();
            let contender = *contenders.get(place).context("no contender")?;
            let Some(server) = contender.start(plan, &platform)? else { continue };
            let feed = if contender == Contender::Turn { &of_turns } else { &feed };
            let sample = measure(contender, &server, feed, plan.connections, &platform)?;
            eprintln!("round {round}: {:8} {sample:.1?}", contender.word());
            samples.entry(place).or_default().push(sample);
        }
        if plan.only.is_empty() {
            alone.extend(python_alone(plan, &feed)?);
        }
    }
    Ok(report(&contenders, &samples, &alone))
}

/// The requests of a round.
struct Feed {
    warm_up: Requests,
    measured: Requests,
}

impl Feed {
    fn new(round: usize, plan: &Plan, chats: usize, apps: usize) -> Self {
        let chats: Vec<usize> = (0..chats).collect();
        let seed = u64::try_from(round).unwrap_or(0) << 32;
        Self {
            warm_up: requests(seed, WARM_UP_EVENTS, &chats, apps),
            measured: requests(seed + 1, plan.events, &chats, apps),
        }
    }

    fn of_turns(round: usize, plan: &Plan) -> Self {
        Self::new(round, plan, TURN_CHATS, TURN_APPS)
    }
}

fn measure(
    contender: Contender,
    server: &Running,
    feed: &Feed,
    connections: usize,
    platform: &Platform,
) -> Result<Sample> {
    let turns = contender == Contender::Turn;
    let mut due = platform.replies() + if turns { feed.warm_up.len() } else { 0 };
    load::run(&server.address, &feed.warm_up, connections)?;
    wait_for(platform, due)?;
    let before = server.cpu()?;
    let begun = Instant::now();
    let done = load::run(&server.address, &feed.measured, connections)?;
    let elapsed = if turns {
        due += done.events;
        wait_for(platform, due)?;
        begun.elapsed()
    } else {
        done.elapsed
    };
    Ok(Sample::new(&done, elapsed, server.cpu()?.saturating_sub(before)))
}

/// Waits until so many answers were sent to chats.
pub(crate) fn wait_for(platform: &Platform, replies: usize) -> Result<()> {
    let begun = Instant::now();
    while platform.replies() < replies {
        if begun.elapsed() > TURNS_PATIENCE {
            bail!("only {} of {replies} turns were answered", platform.replies());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The Python SDK's handler without any HTTP: events a second.
fn python_alone(plan: &Plan, feed: &Feed) -> Result<Option<f64>> {
    let Some(peers) = &plan.peers else { return Ok(None) };
    let mut child = python(peers, "alone").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    for request in feed.measured.iter() {
        input.write_all(&u32::try_from(request.len())?.to_le_bytes())?;
        input.write_all(request)?;
    }
    drop(input);
    let output = String::from_utf8(child.wait_with_output()?.stdout)?;
    let (seconds, wrong) = output.trim().split_once(' ').context("no figures")?;
    if wrong != "0" {
        bail!("the Python handler refused {wrong} events");
    }
    let events = f64::from(u32::try_from(feed.measured.len())?);
    Ok(Some(events / seconds.parse::<f64>()?))
}

fn report(
    contenders: &[Contender],
    samples: &BTreeMap<usize, Vec<Sample>>,
    alone: &[f64],
) -> String {
    let mut text = format!(
        "Events of a round are spread over {CHATS} chats, behind {WARM_UP_EVENTS} that are not \
         counted. Median (least to most):\n\n"
    );
    text.push_str(&table(&[
        "contender",
        "events a second",
        "CPU of the server, µs an event",
        "p50, ms",
        "p99, ms",
    ]));
    let mut medians = BTreeMap::new();
    for (place, samples) in samples {
        let Some(contender) = contenders.get(*place) else { continue };
        let of = |what: fn(&Sample) -> f64| Spread::of(samples.iter().map(what).collect());
        let rate = of(|sample| sample.per_second);
        let cpu = of(|sample| sample.cpu_us);
        medians.insert(contender.word(), (rate.median, cpu.median));
        text.push_str(&row(&[
            contender.title().to_owned(),
            rate.whole(),
            cpu.whole(),
            of(|sample| sample.p50_ms).tenths(),
            of(|sample| sample.p99_ms).tenths(),
        ]));
    }
    if !alone.is_empty() {
        let rate = Spread::of(alone.to_vec());
        medians.insert("alone", (rate.median, 1e6 / rate.median));
        let title = "Python SDK, the handler alone in its process, no HTTP".to_owned();
        text.push_str(&row(&[title, rate.whole(), String::new(), String::new(), String::new()]));
    }
    text.push_str(&ratios(&medians));
    text
}

/// Larkspur against each of the others, in rate and in processor time.
fn ratios(medians: &BTreeMap<&str, (f64, f64)>) -> String {
    let mut text = String::from("\n");
    let Some((rate, cpu)) = medians.get("accept") else { return text };
    text.push_str(&table(&["Larkspur accepting, against", "events a second", "CPU an event"]));
    for (word, (other_rate, other_cpu)) in medians {
        if *word != "accept" {
            text.push_str(&row(&[
                (*word).to_owned(),
                format!("{:.2} times", rate / other_rate),
                format!("1 / {:.2}", other_cpu / cpu),
            ]));
        }
    }
    text
}

/// The chats of a store of the given size that a measurement writes to.
pub(crate) fn spread_chats(of: usize, count: usize) -> Vec<usize> {
    let mut dice = events::Dice(7);
    (0..count).map(|_| dice.below(of)).collect()
}
