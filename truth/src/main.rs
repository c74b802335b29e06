//! Tests the product's statistics on simulated recordings of known law: limits of percentiles, misses and levels, odds
//! of a new maximum, and verdicts of comparisons. `cargo xtask truth` builds and runs it. The simulated recordings are
//! made by the same code as those of a measurement.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is what it is for")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "latencies in nanoseconds and numbers of runs are far below 2^53"
)]

mod claimed;
mod dice;
mod family;
mod fleet;
mod held;
mod law;
mod mood;
mod options;
mod pairs;
mod peers;
mod real;
mod rounds;
mod run;
mod table;
mod trend;

use anyhow::{Context, Result};
use claimed::Claimed;
use family::Family;
use options::Options;
use pairs::{DIFFERENCES, Decided, Difference};
use rounds::Rounds;
use serde::Serialize;
use std::process::ExitCode;

/// The results of one family.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub family: String,
    /// Length in seconds of a single run, and of each run of a pair.
    pub seconds: (u32, u32),
    pub claims: Option<Claimed>,
    pub pairs: Vec<Decided>,
    pub rounds: Option<Rounds>,
    /// Names of the limits that are broken.
    pub broken: Vec<&'static str>,
    /// Names of the limits known to be broken, each with whether it still is.
    pub open: Vec<(&'static str, bool)>,
    pub took_seconds: f64,
}

impl Found {
    /// Names of the limits that are broken without being listed as known to be.
    pub fn unforeseen(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.broken.iter().filter(|broken| !self.open.iter().any(|(open, _)| open == *broken)).copied()
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "fleet" => {
            return fleet::run(rest).map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS);
        }
        Some((first, rest)) if first == "trend" => return trend::run(rest).map_or_else(|error| failed(&error), sound),
        _ => {}
    }
    match Options::of(&words) {
        Ok(options) if options.help => {
            println!("{}", options::USAGE);
            ExitCode::SUCCESS
        }
        Ok(options) => run(&options).unwrap_or_else(|error| failed(&error)),
        Err(error) => failed(&error),
    }
}

fn sound(is_sound: bool) -> ExitCode {
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("truth: {error:#}");
    ExitCode::from(2)
}

fn run(options: &Options) -> Result<ExitCode> {
    let families = family::all();
    let drawn =
        families.iter().filter(|family| options.asks_for(family.name)).map(|family| Ok(vec![judged(family, options)]));
    let recorded = options.real.iter().map(|path| real::judged(path, options));
    let all: Box<dyn Iterator<Item = Result<Vec<Found>>>> =
        if options.real.is_empty() { Box::new(drawn) } else { Box::new(recorded) };
    if !options.json {
        print!("{}", table::heading(options));
    }
    let mut found = Vec::new();
    for more in all {
        let more = more?;
        if !options.json {
            for found in &more {
                print!("{}", table::line(found));
            }
        }
        found.extend(more);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&found).context("write JSON")?);
    } else {
        print!("{}", table::end(&found));
    }
    let sound = !found.is_empty() && found.iter().all(|found| found.unforeseen().next().is_none());
    Ok(self::sound(sound))
}

fn judged(family: &Family, options: &Options) -> Found {
    let started = std::time::Instant::now();
    let claims = options.claims().then(|| {
        let [mut one, other] = on_two(options.runs, |numbers| claimed::runs(family, numbers, claimed::product));
        one.merge(other);
        one
    });
    let differences = DIFFERENCES.into_iter().filter(|difference| options.pairs_of(*difference));
    let of = |difference: Difference| {
        let [mut one, other] = on_two(options.pairs, |numbers| pairs::pairs(family, numbers, difference));
        one.merge(other);
        one
    };
    let pairs: Vec<Decided> = differences.map(of).collect();
    let rounds = options.rounds().map(|n| {
        let [mut one, other] = on_two(n, |numbers| rounds::rounds(family, numbers));
        one.merge(other);
        one
    });
    let mut broken = claims.as_ref().map(Claimed::broken).unwrap_or_default();
    if pairs.iter().any(Decided::is_broken) {
        broken.push("equal pairs");
    }
    if rounds.as_ref().is_some_and(Rounds::is_broken) {
        broken.push("equal sides in rounds");
    }
    let open = options.open(family.name).iter().map(|limit| (*limit, broken.contains(limit))).collect();
    Found {
        open,
        family: family.name.to_owned(),
        seconds: family.seconds,
        claims,
        pairs,
        rounds,
        broken,
        took_seconds: started.elapsed().as_secs_f64(),
    }
}

/// Applies `of` to the even and to the odd numbers below `n`, each on a thread of its own.
fn on_two<T: Send>(n: u64, of: impl Fn(std::iter::StepBy<std::ops::Range<u64>>) -> T + Sync) -> [T; 2] {
    std::thread::scope(|scope| {
        let even = scope.spawn(|| of((0..n).step_by(2)));
        let odd = of((1.min(n)..n).step_by(2));
        [even.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), odd]
    })
}
