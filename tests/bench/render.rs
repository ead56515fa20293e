//! What it costs to make cards of a long answer: cut into parts and rendered, beside the reading of
//! the same Markdown into a tree alone, in the same run.
//!
//!     cargo bench --bench render --features test-support -- [--times N] [--rounds N]
//!
//! Rounds of all rows alternate, so that a machine that slows down slows all of them; the best
//! round of each is shown.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and talks to whoever started it"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use larkspur::channels::lark::measure::{card_of, cost_of, most_of_a_part};
use larkspur::gateway::measure::parts;

/// The answer that the target speaks of, in bytes.
const ANSWER_BYTES: usize = 30_000;

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |name: &str, default: u32| -> Result<u32> {
        let given = words.iter().skip_while(|word| *word != name).nth(1);
        given.map_or(Ok(default), |text| text.parse().with_context(|| format!("{name} {text}")))
    };
    let (times, rounds) = (number("--times", 200)?, number("--rounds", 5)?);
    let text = answer()?;
    let cards = cards(&text);
    let bytes: usize = cards.iter().map(String::len).sum();
    println!(
        "{} bytes of Markdown, {} cards of {bytes} bytes; {times} times a round, {rounds} rounds",
        text.len(),
        cards.len()
    );
    ensure!(cards.len() > 1, "nothing was cut");

    let work: [(&str, &dyn Fn()); 3] = [
        ("read into a tree alone (comrak)", &|| read_alone(&text)),
        ("cut into parts", &|| drop(black_box(parts(&text, most_of_a_part(), &cost_of)))),
        ("cut and rendered", &|| drop(black_box(self::cards(&text)))),
    ];
    let mut best = [Duration::MAX; 3];
    for _round in 0..rounds {
        for ((_, work), best) in work.iter().zip(&mut best) {
            let began = Instant::now();
            (0..times).for_each(|_| work());
            *best = (*best).min(began.elapsed() / times);
        }
    }
    for ((row, _), best) in work.iter().zip(best) {
        println!("{row:34} {:>9.3} ms", best.as_secs_f64() * 1e3);
    }
    Ok(())
}

/// The messages of an answer as they travel.
fn cards(text: &str) -> Vec<String> {
    let parts = parts(text, most_of_a_part(), &cost_of);
    parts.iter().map(|part| card_of(part)).collect()
}

fn read_alone(text: &str) {
    let arena = comrak::Arena::new();
    let mut options = comrak::Options::default();
    options.extension.table = true;
    black_box(comrak::parse_document(&arena, text, &options));
}

/// Prose in two languages, lists, links, tables, code.
fn answer() -> Result<String> {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < ANSWER_BYTES {
        number += 1;
        write!(
            text,
            "## Step {number}: **deploy** the service\n\nDeployments run on Tuesdays, see [the \
             page](https://kb.example/deploy/{number}) and `make release`; 部署前请先通知值班同事，并在群\
             里确认没有正在进行的变更。If a < b, wait.\n\n- first *this*\n    - then that, @Ann\n- 最后检查日志\n\n\
             ```rust\nfn main() {{\n    println!(\"step {number}: {{}}\", \"<ready>\");\n}}\n```\n\n"
        )?;
        if number % 5 == 0 {
            text.push_str("| host | state | since |\n|---|---|---|\n");
            for row in 0..8 {
                writeln!(text, "| web-{row} | **up** | 09:{row}0 |")?;
            }
            text.push('\n');
        }
    }
    Ok(text)
}
