//! Holds the product's statistics against families of known law: limits of percentiles, misses and levels, odds, and what
//! comparisons decide. `cargo xtask truth` builds it and hands over its words. It knows the product's numbers alone, and
//! makes recordings by the same fold as a measurement.

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
mod held;
mod law;
mod mood;
mod options;
mod pairs;
mod run;
mod table;

use claimed::Claimed;
use family::Family;
use options::Options;
use pairs::{DIFFERENCES, Decided, Difference};
use serde::Serialize;
use std::process::ExitCode;

/// All that was found of a family.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub family: &'static str,
    /// Length of a run that claims, and of each run of a pair.
    pub seconds: (u32, u32),
    pub claims: Option<Claimed>,
    pub pairs: Vec<Decided>,
    pub broken: Vec<&'static str>,
    pub cpu_seconds: f64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Options::of(&words) {
        Ok(options) if options.help => {
            println!("{}", options::USAGE);
            ExitCode::SUCCESS
        }
        Ok(options) => run(&options),
        Err(error) => {
            eprintln!("truth: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> ExitCode {
    let families = family::all();
    let asked: Vec<&Family> = families.iter().filter(|family| options.asks_for(family.name)).collect();
    let mut all = Vec::new();
    if !options.json {
        print!("{}", table::heading(options));
    }
    for family in asked {
        let found = judged(family, options);
        if !options.json {
            print!("{}", table::line(&found));
        }
        all.push(found);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
    } else {
        print!("{}", table::end(&all));
    }
    let broken = all.is_empty() || all.iter().any(|found| !found.broken.is_empty());
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn judged(family: &Family, options: &Options) -> Found {
    let started = std::time::Instant::now();
    let claims = options.claims.then(|| {
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
    let mut broken = claims.as_ref().map(Claimed::broken).unwrap_or_default();
    if pairs.iter().any(Decided::is_broken) {
        broken.push("equal pairs");
    }
    Found {
        family: family.name,
        seconds: family.seconds,
        claims,
        pairs,
        broken,
        cpu_seconds: started.elapsed().as_secs_f64(),
    }
}

/// The numbers 0 to `n`, the even ones and the odd ones on a thread each.
fn on_two<T: Send>(n: u64, of: impl Fn(std::iter::StepBy<std::ops::Range<u64>>) -> T + Sync) -> [T; 2] {
    std::thread::scope(|scope| {
        let even = scope.spawn(|| of((0..n).step_by(2)));
        let odd = of((1.min(n)..n).step_by(2));
        [even.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), odd]
    })
}
