//! What an event costs in a big store: after a restart, with the page cache dropped, each event in
//! a random one of the stored chats.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use larkspur::store::compact_sled;

use crate::Plan;
use crate::events::{TURN_APPS, requests};
use crate::fill::fill;
use crate::load;
use crate::platform::Platform;
use crate::report::{Spread, row, table};
use crate::rounds::{Sample, spread_chats, wait_for};
use crate::servers::{Daemon, WORK};

/// A store is filled anew when it is older: dedup keys expire.
const FILLED_AGE_MAX: Duration = Duration::from_secs(12 * 3600);
const IDLE: Duration = Duration::from_secs(3);
const SESSIONS: usize = 1_000_000;
const DEDUP_KEYS: usize = 10_000_000;
/// Chats the accepted events are spread over; whole turns each have a chat of their own.
const CHATS: usize = 256;

struct Size {
    title: &'static str,
    folder: &'static str,
    sessions: usize,
    dedup_keys: usize,
    /// Written anew with `store compact`; `false`: as writing in no order leaves it.
    compact: bool,
}

const SIZES: [Size; 4] = [
    Size { title: "empty", folder: "empty", sessions: 0, dedup_keys: 0, compact: false },
    Size {
        title: "1 M sessions, compact",
        folder: "compact",
        sessions: SESSIONS,
        dedup_keys: 0,
        compact: true,
    },
    Size {
        title: "1 M sessions, 10 M dedup keys, compact",
        folder: "dedup",
        sessions: SESSIONS,
        dedup_keys: DEDUP_KEYS,
        compact: true,
    },
    Size {
        title: "1 M sessions, as filled at random",
        folder: "random",
        sessions: SESSIONS,
        dedup_keys: 0,
        compact: false,
    },
];

/// What one start of one size came to.
struct Start {
    ready_ms: f64,
    resident_mib: f64,
    sample: Sample,
}

pub(crate) fn run(plan: &Plan, folder: &Path) -> Result<String> {
    let wanted =
        |size: &&Size| plan.only.is_empty() || plan.only.iter().any(|word| word == size.folder);
    let sizes: Vec<&Size> = SIZES.iter().filter(wanted).collect();
    for size in &sizes {
        prepare(size, folder)?;
    }
    let platform = Platform::start()?;
    let mut cold = true;
    let mut starts: Vec<[Vec<Start>; 2]> = sizes.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for round in 0..plan.rounds {
        for (size, starts) in sizes.iter().zip(&mut starts) {
            for (answers, starts) in [false, true].into_iter().zip(starts) {
                let program = Path::new(env!("CARGO_BIN_EXE_larkspur"));
                let daemon = Daemon { program, answers, platform: &platform };
                let (start, was_cold) = measure(plan, size, folder, &daemon, round)?;
                cold &= was_cold;
                eprintln!(
                    "{}, answers {answers}: ready {:.0} ms, {:.0} MiB, {:.1?}",
                    size.title, start.ready_ms, start.resident_mib, start.sample
                );
                starts.push(start);
            }
        }
    }
    Ok(report(&sizes, &starts, plan.events, cold))
}

/// Fills the store of a size unless a fresh one is there.
fn prepare(size: &Size, folder: &Path) -> Result<()> {
    let (store, marker) = (folder.join(size.folder), folder.join(format!("{}.done", size.folder)));
    let age = fs::metadata(&marker).and_then(|file| file.modified()).map(|time| time.elapsed());
    if let Ok(Ok(age)) = age
        && age < FILLED_AGE_MAX
    {
        return Ok(());
    }
    if store.exists() {
        fs::remove_dir_all(&store)?;
    }
    fs::create_dir_all(&store)?;
    let begun = Instant::now();
    fill(&store, size.sessions, size.dedup_keys)?;
    if size.compact {
        let compacted = compact_sled(&store)?;
        eprintln!("{}: {compacted:?}", size.title);
    }
    eprintln!("filled: {} in {:.0?}", size.title, begun.elapsed());
    fs::write(marker, "")?;
    Ok(())
}

fn measure(
    plan: &Plan,
    size: &Size,
    folder: &Path,
    daemon: &Daemon<'_>,
    round: usize,
) -> Result<(Start, bool)> {
    let work = tempfile::tempdir_in(WORK)?;
    copy(&folder.join(size.folder), &work.path().join("data"))?;
    // Accepting does not look at sessions, and the turns that hold the lines up should not either:
    // those chats are new in every store.
    let chats = if daemon.answers {
        spread_chats(SESSIONS, plan.events)
    } else {
        (SESSIONS..SESSIONS + CHATS).collect()
    };
    let seed = (u64::try_from(round).unwrap_or(0) << 32) + 0xC01D;
    let apps = if daemon.answers { TURN_APPS } else { 1 };
    let feed = requests(seed, plan.events, &chats, apps);
    let was_cold = drop_caches();
    let begun = Instant::now();
    let server = daemon.start(work.path())?;
    let ready_ms = begun.elapsed().as_secs_f64() * 1e3;
    std::thread::sleep(IDLE);
    let resident_mib = server.resident_mib()?;
    let due = daemon.platform.replies();
    let before = server.cpu()?;
    let begun = Instant::now();
    let done = load::run(&server.address, &feed, plan.connections)?;
    if daemon.answers {
        wait_for(daemon.platform, due + done.events)?;
    }
    let cpu = server.cpu()?.saturating_sub(before);
    Ok((
        Start { ready_ms, resident_mib, sample: Sample::new(&done, begun.elapsed(), cpu) },
        was_cold,
    ))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status().context("cp")?;
    if !status.success() {
        bail!("{} cannot be copied", from.display());
    }
    Ok(())
}

/// Empties the machine's page cache; `false` if this user may not.
fn drop_caches() -> bool {
    let synced = Command::new("sync").status().is_ok_and(|status| status.success());
    synced && fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

fn report(sizes: &[&Size], starts: &[[Vec<Start>; 2]], events: usize, cold: bool) -> String {
    let mut text = format!(
        "\nThe first {events} events after a restart, {}, median (least to most):\n\n",
        if cold { "page cache dropped" } else { "page cache NOT dropped (not root)" },
    );
    text.push_str(&table(&[
        "store",
        "ready, ms",
        "idle, MiB",
        "accepting, µs an event",
        "CPU, µs",
        "whole turn, µs",
        "CPU, µs",
    ]));
    for (size, [accepting, turns]) in sizes.iter().zip(starts) {
        let both = || accepting.iter().chain(turns);
        let of = |starts: &[Start], what: fn(&Start) -> f64| {
            Spread::of(starts.iter().map(what).collect()).whole()
        };
        text.push_str(&row(&[
            size.title.to_owned(),
            Spread::of(both().map(|start| start.ready_ms).collect()).whole(),
            Spread::of(both().map(|start| start.resident_mib).collect()).whole(),
            of(accepting, |start| 1e6 / start.sample.per_second),
            of(accepting, |start| start.sample.cpu_us),
            of(turns, |start| 1e6 / start.sample.per_second),
            of(turns, |start| start.sample.cpu_us),
        ]));
    }
    text
}
